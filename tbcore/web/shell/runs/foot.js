/**
 * What stands below the list of runs: the meaning of their colours, which groups are not shown as a
 * whole, what the notes put away, and once the offer to average over seeds. Below the list, none of this moves a row. Loaded
 * when there is something to show.
 */

import { html } from "htm/preact";
import { plural } from "../../lib/format.js";
import { Lazy } from "../../lib/ui/lazy.js";
import { SeedsOffer } from "./seeds-offer.js";

/** @import { State } from "../state/reader-state.js" */

/** The legend, the note and the offer. @param {{ state: State }} props */
export function RunsFoot({ state }) {
  const text = partText(state);
  return html`${state.notes.value?.foot.value}
    ${state.colorLegend.value && html`<${Lazy} load=${() => import("./color-legend.js")} of="ColorLegend" state=${state} />`}
    ${text && html`<div class="tb-legend" role="status">${text}</div>`}
    <${SeedsOffer} state=${state} />`;
}

/** How many runs are hidden of the groups that are shown in part; "" if all groups are whole. @param {State} state */
function partText(state) {
  const sizes = state.rules.value?.groupSizes.value;
  const shown = state.groups.value?.groups ?? [];
  const inPart = new Set(shown.flatMap(({ name, runs }) => (runs.length < (sizes?.get(name) ?? 0) ? name : [])));
  if (inPart.size === 0) return "";
  const { matching } = state.candidates.value;
  const numMatching = matching.filter((run) => inPart.has(state.groupOf.value?.get(run) ?? run)).length;
  const sum = (/** @type {number[]} */ counts) => counts.reduce((a, b) => a + b, 0);
  const numAll = sum(Array.from(inPart, (name) => sizes?.get(name) ?? 0));
  const numShown = sum(shown.map(({ name, runs }) => (inPart.has(name) ? runs.length : 0)));
  const reasons = [
    numShown < numMatching && `${plural(numMatching - numShown, "run is", "runs are")} unchecked`,
    numMatching < numAll && `${plural(numAll - numMatching, "run does", "runs do")} not match`,
  ];
  const text = reasons.filter(Boolean).join(", and ");
  return `${plural(inPart.size, "group is", "groups are")} shown in part: ${text}.`;
}
