/**
 * A complete tab: a toolbar with a filter for tags and the plugin's own controls, and below it
 * cards in groups of tags. There is one card for each tag and run, or one for each tag. The tab
 * updates when the selected runs or the tags change. Cards are rendered when they come near the
 * visible part of the page.
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

/** Number of cards that a tag shows at first, and that each click adds. */
const PAGE_SIZE = 24;

/**
 * The tab. It needs either `renderCard` or `renderTag`.
 * @param {object} props
 * @param {Host} props.host
 * @param {import("@preact/signals-core").ReadonlySignal<RunToTags>} props.tags
 * @param {string} props.what  what the cards show, in the plural: `numbers`
 * @param {unknown} [props.controls]  shown in the toolbar, after the filter
 * @param {string} [props.size]  CSS class of the content, which may set the cards' minimum width
 *   with `--tb-card-width`
 * @param {(card: { tag: string, run: Run, group: string }) => unknown} [props.renderCard]
 *   renders the card of one tag and run; its key must be unique for both
 * @param {(card: { tag: string, runs: readonly Run[], group: string }) => unknown} [props.renderTag]
 *   renders the card of one tag, for all runs; its key must be unique
 */
export function TagTab({ host, tags, what, controls, size = "", renderCard, renderTag }) {
  const runs = runsInGroupOrder(host);
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
 * Preact hook: the runs to show, as a flat list. If runs are grouped, the list has the runs of the
 * first group, then the runs of the second one, and so on.
 * @param {Host} host
 * @returns {readonly Run[]} the same array until something changes
 */
export function runsInGroupOrder(host) {
  const grouping = host.groups.value;
  const runs = host.runs.value;
  return useMemo(() => grouping?.groups.flatMap((group) => group.runs) ?? runs, [grouping, runs]);
}

// The name of the hook in the documentation, which plugins import.
export { runsInGroupOrder as runsByGroup };

/**
 * The label of a run in a card: its colour, group and name.
 * @param {{ run: Run }} props
 */
export function RunLabel({ run }) {
  return html`<i style=${{ background: run.color }}></i>
    ${run.group !== null && run.group !== run.name && html`<span class="tb-run-group">${run.group}</span>`}
    <${Name} name=${run.name} />`;
}

/**
 * The cards of a tag, one for each run.
 * @param {object} props
 * @param {string} props.tag
 * @param {string} props.group
 * @param {readonly Run[]} props.runs
 * @param {(card: { tag: string, run: Run, group: string }) => unknown} props.renderCard
 */
function TagCards({ tag, group, runs, renderCard }) {
  const [numShown, setNumShown] = useState(PAGE_SIZE);
  const rest = runs.length - numShown;
  return html`${runs.slice(0, numShown).map(
    (run) => html`<${LazyCard} key=${run.name} title=${tag} label="${tag} in ${run.name}" draw=${() => renderCard({ tag, run, group })} />`,
  )}
  ${rest > 0 &&
  html`<button type="button" class="tb-button tb-more-runs" onClick=${() => setNumShown(numShown + PAGE_SIZE)}>
    ${tag}: show ${Math.min(PAGE_SIZE, rest)} more of ${rest} runs
  </button>`}`;
}
