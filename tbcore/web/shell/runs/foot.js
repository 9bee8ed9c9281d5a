/**
 * What stands below the list of runs: the meaning of their colours, which groups are not shown as a
 * whole, what the notes put away, and once the offer to average over seeds. Below the list, none of this moves a row. Loaded
 * when there is something to show.
 */

import { html } from "htm/preact";
import { plural } from "../../lib/format.js";
import { Lazy } from "../../lib/ui/lazy.js";
import { notShown } from "../state/not-shown.js";
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
  if (!state.groupOf.value) return "";
  const { groups, inPart: { unchecked, older, unmatched } } = notShown(state);
  if (groups.size === 0) return "";
  const hidden = unchecked + older;
  const reasons = [hidden > 0 && `${plural(hidden, "run is", "runs are")} unchecked`, unmatched > 0 && `${plural(unmatched, "run does", "runs do")} not match`];
  const text = reasons.filter(Boolean).join(", and ");
  return `${plural(groups.size, "group is", "groups are")} shown in part: ${text}.`;
}
