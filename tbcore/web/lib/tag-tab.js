/**
 * A whole tab: its own controls and a filter for tags, and below them cards in groups of tags, one for each run that has
 * the tag, or one for the tag. It follows the runs that are shown, and what the server has.
 *
 *     const tags = await watchTags(host);
 *     html`<${TagTab} host=${host} tags=${tags} what="numbers" renderCard=${({ tag, run, group }) => html`...`} />`
 */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { FilterBox } from "./filter-box.js";
import { plural } from "./format.js";
import { formatLists, parseLists } from "./name-lists.js";
import { Name } from "./runs-panel.js";
import { TagGroups } from "./tag-groups.js";
import { indexTags } from "./tag-index.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("./tag-index.js").RunToTags} RunToTags
 */

/** So many runs of a tag at first, and more with each click. */
const PAGE = 24;

/**
 * The tags of each run, as the plugin's route `tags` has them, now and after they have changed.
 * @param {Host} host
 * @returns {Promise<import("@preact/signals-core").ReadonlySignal<RunToTags>>} rejects when they cannot be had at first
 */
export async function watchTags(host) {
  let { lists } = host.generations.value;
  let numAsked = 0;
  let newest = 0;
  const ask = async () => {
    const number = ++numAsked;
    const answer = await host.fetchJSON("tags");
    if (number < newest) return; // an answer to a later request has overtaken it
    newest = number;
    tags.value = answer;
  };
  const tags = signal(/** @type {RunToTags} */ ({}));
  await ask();
  // Called at once, too: there may be something new since it was asked.
  host.generations.subscribe(async (generations) => {
    if (generations.lists === lists) return;
    ({ lists } = generations);
    try {
      await ask();
    } catch {
      lists = ""; // the shell says that the server is away; asked again with the next reload
    }
  });
  return tags;
}

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
          if (renderTag) return renderTag({ tag, runs: members, group });
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
 * Which groups of tags are folded, as the address has it. The group of tags without one stands there as "/", which no
 * name of a group has.
 * @param {Host} host
 * @returns {{ closed: ReadonlySet<string>, onToggle: (name: string, open: boolean) => void }}
 */
export function foldedGroups(host) {
  const read = () => new Set(parseLists(host.settings.value.closed).flat().map((name) => (name === "/" ? "" : name)));
  /** @param {string} name @param {boolean} open */
  const onToggle = (name, open) => {
    const closed = read(); // as of now: another group may have been folded since the tab was drawn
    if (open) closed.delete(name);
    else closed.add(name);
    host.settings.set("closed", formatLists([[...closed].map((group) => group || "/")]));
  };
  return { closed: read(), onToggle };
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
  return html`${runs.slice(0, numShown).map((run) => renderCard({ tag, run, group }))}
  ${rest > 0 &&
  html`<button type="button" class="tb-button tb-more-runs" onClick=${() => setNumShown(numShown + PAGE)}>
    ${tag}: show ${Math.min(PAGE, rest)} more of ${rest} runs
  </button>`}`;
}

/**
 * A choice of a few in the bar.
 * @param {object} props
 * @param {string} props.label  for those who cannot see what it is about
 * @param {string} props.name  unlike those of the other choices in the tab
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 * @param {unknown} props.value
 * @param {(value: any) => void} props.onChange
 */
export function Choice({ label, name, choices, value, onChange }) {
  return html`<fieldset class="tb-segments">
    <legend class="tb-hidden">${label}</legend>
    ${choices.map(
      ([choice, title, why]) => html`<label title=${why}>
        <input type="radio" name=${name} checked=${value === choice} onChange=${() => onChange(choice)} />${title}
      </label>`,
    )}
  </fieldset>`;
}

/**
 * A choice of several in the bar, of which one is seen.
 * @param {object} props
 * @param {string} props.label
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 * @param {unknown} props.value
 * @param {(value: any) => void} props.onChange
 */
export function Pick({ label, choices, value, onChange }) {
  const at = choices.findIndex(([choice]) => choice === value);
  /** @param {Event} event */
  const onInput = (event) => onChange(choices[/** @type {HTMLSelectElement} */ (event.currentTarget).selectedIndex][0]);
  return html`<label class="tb-pick" title=${choices[at]?.[2]}>
    ${label}
    <select class="tb-input" onChange=${onInput}>
      ${choices.map(([choice, title, why], i) => html`<option value=${String(choice)} title=${why} selected=${i === at}>${title}</option>`)}
    </select>
  </label>`;
}

/**
 * What to say where no tag is shown.
 * @param {RunToTags} tags
 * @param {number} numRuns  shown
 * @param {import("./filter.js").Filter} filter
 * @param {string} what
 */
export function whyNothing(tags, numRuns, filter, what) {
  if (numRuns === 0) return "No run is selected. Check one in the list of runs, or change its filter.";
  if (filter.text !== "" && Object.values(tags).some((list) => list.length > 0)) return `No tag of the selected runs matches “${filter.text}”.`;
  return `The selected runs have no ${what}.`;
}
