/** What the run list says of a selection or a rule in a link that does not work here. Loaded when there is something to say. */

import { html } from "htm/preact";

/** Why the address has no selection of runs, and which rules are invalid. @param {{ state: import("../state/reader-state.js").State }} props */
export function RunsNotes({ state }) {
  return html`
    ${state.isSelectionStored.value &&
    html`<p class="tb-runs-note">Too many runs are selected to fit into a link. The selection is stored in this browser only; to share one, use a filter or groups.</p>`}
    ${state.selection.value.base === "auto" &&
    state.isSelectionMissing.value &&
    html`<p class="tb-runs-note" role="status">The selection of runs in this link is not stored in this browser. It was made in another browser, or has been removed since.</p>`}
    ${state.groupError.value && html`<p class="tb-runs-note" role="status">Cannot group by “${state.groupRule.value}”: ${state.groupError.value}.</p>`}
    ${state.colorError.value && html`<p class="tb-runs-note" role="status">Cannot colour by “${state.colorRule.value}”: ${state.colorError.value}.</p>`}
  `;
}
