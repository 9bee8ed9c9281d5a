/**
 * What to say where there is nothing to show.
 */

import { html } from "htm/preact";

/** An experiment may be described before its first session begins. */
export function NoSessions() {
  return html`<p class="tb-nothing">No session has logged its hyperparameters yet. They show here once one has.</p>`;
}

/** @param {{ tab: import("./tab.js").Tab }} props */
export function NoRows({ tab }) {
  const { candidates, view } = tab;
  if (candidates.length === 0) {
    return html`<p class="tb-nothing">No session is checked in the list of runs. Check one there, or change its filter.</p>`;
  }
  return html`<p class="tb-nothing">
    None of ${candidates.length} rows passes ${view.filters.length === 1 ? "the filter" : `all ${view.filters.length} filters`}.
    <button type="button" class="tb-button" onClick=${() => tab.set("filter", null)}>Clear the filters</button>
  </p>`;
}
