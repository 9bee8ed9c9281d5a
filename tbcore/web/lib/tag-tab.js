/**
 * A whole tab: its own controls and a filter for tags, and below them cards in groups of tags, one for each run that has
 * the tag, or one for the tag. It follows the runs that are shown, and what the server has. Cards are drawn as they come near
 * the visible part of the page.
 *
 *     const tags = await watchTags(host);
 *     html`<${TagTab} host=${host} tags=${tags} what="numbers" renderCard=${({ tag, run, group }) => html`...`} />`
 */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { Check, Choice, Pick } from "./controls.js";
import { FilterBox } from "./filter-box.js";
import { plural } from "./format.js";
import { LazyCard } from "./lazy-card.js";
import { Name } from "./runs-panel.js";
import { TagGroups } from "./tag-groups.js";
import { indexTags } from "./tag-index.js";
import { foldedGroups, watchTags, whyNothing } from "./tags.js";

export { Check, Choice, Pick, foldedGroups, watchTags, whyNothing };

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("./tag-index.js").RunToTags} RunToTags
 */

/** So many runs of a tag at first, and more with each click. */
const PAGE = 24;

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {import("@preact/signals-core").ReadonlySignal<RunToTags>} props.tags
 * @param {string} props.what  the cards show, in the plural: `numbers`
 * @param {unknown} [props.controls]  in the bar, after the filter
 * @param {string} [props.size]  a class for the grids: their least width of a card is `--tb-card-width`
 * @param {(card: { tag: string, run: Run, group: string }) => unknown} [props.renderCard]  give it a key of both
 * @param {(card: { tag: string, runs: readonly Run[], group: string }) => unknown} [props.renderTag]  instead of it: one card
 *   for all runs of a tag; give it a key
 */
export function TagTab({ host, tags, what, controls, size = "", renderCard, renderTag }) {
  const runs = runsByGroup(host);
  const filter = host.tagFilter.value;
  const { groups, runsOf, numTags } = useMemo(() => indexTags(tags.value, runs, filter.matches), [tags.value, runs, filter]);
  const { closed, onToggle } = foldedGroups(host);
  return html`
    <div class="tb-toolbar" role="toolbar" aria-label=${what}>
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter tags (regular expression)" />
      ${controls}
      <span class="tb-summary" role="status">${plural(numTags, "tag")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content ${size}">
      ${numTags === 0 && html`<p class="tb-nothing">${whyNothing(tags.value, runs.length, filter, what)}</p>`}
      <${TagGroups}
        groups=${groups}
        closed=${closed}
        onToggle=${onToggle}
        renderCard=${(/** @type {string} */ tag, /** @type {string} */ group) => {
          const members = runsOf.get(tag) ?? [];
          if (renderTag) return html`<${LazyCard} key=${tag} title=${tag} draw=${() => renderTag({ tag, runs: members, group })} />`;
          return html`<${TagCards} key=${tag} tag=${tag} group=${group} runs=${members} renderCard=${renderCard} />`;
        }}
      />
    </div>
  `;
}

/**
 * The runs to show; where they are grouped those of a group together.
 * @param {Host} host
 * @returns {readonly Run[]} the same array as long as nothing changes
 */
export function runsByGroup(host) {
  const grouping = host.groups.value;
  const runs = host.runs.value;
  return useMemo(() => grouping?.groups.flatMap((group) => group.runs) ?? runs, [grouping, runs]);
}

/**
 * A run in the line that says what is shown: its colour, its group, its name.
 * @param {{ run: Run }} props
 */
export function RunLabel({ run }) {
  return html`<i style=${{ background: run.color }}></i>
    ${run.group !== null && run.group !== run.name && html`<span class="tb-run-group">${run.group}</span>`}
    <${Name} name=${run.name} />`;
}

/**
 * The cards of a tag.
 * @param {object} props
 * @param {string} props.tag
 * @param {string} props.group
 * @param {readonly Run[]} props.runs
 * @param {(card: { tag: string, run: Run, group: string }) => unknown} props.renderCard
 */
function TagCards({ tag, group, runs, renderCard }) {
  const [numShown, setNumShown] = useState(PAGE);
  const rest = runs.length - numShown;
  return html`${runs.slice(0, numShown).map(
    (run) => html`<${LazyCard} key=${run.name} title=${tag} label="${tag} in ${run.name}" draw=${() => renderCard({ tag, run, group })} />`,
  )}
  ${rest > 0 &&
  html`<button type="button" class="tb-button tb-more-runs" onClick=${() => setNumShown(numShown + PAGE)}>
    ${tag}: show ${Math.min(PAGE, rest)} more of ${rest} runs
  </button>`}`;
}
