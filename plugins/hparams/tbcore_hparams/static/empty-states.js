/**
 * Messages that are shown if there are no sessions or rows.
 */

import { html } from "htm/preact";

/** No session yet: an experiment may be logged before its first session starts. */
export function NoSessions() {
  return html`<p class="tb-nothing">No session has logged hyperparameters yet. Sessions appear here as soon as they do.</p>`;
}

/** What cannot be decoded; nothing if all can. @param {{ problems: import("./types.js").Sweep["problems"] }} props */
export function Problems({ problems: { count, first } }) {
  return count > 0 && html`<p class="note problems" role="status" title=${first.join("\n")}>${first[0]}${count > 1 && ` (and ${count - 1} more)`}</p>`;
}

/**
 * No rows: no session is selected, or none passes the filters.
 * @param {{ tab: import("./tab.js").Tab }} props
 */
export function NoRows({ tab }) {
  const { candidates, view } = tab;
  if (candidates.length === 0) {
    return html`<p class="tb-nothing">No session is selected. Check one in the list of runs, or change its filter.</p>`;
  }
  return html`<p class="tb-nothing">
    None of the ${candidates.length} rows matches ${view.filters.length === 1 ? "the filter" : `all ${view.filters.length} filters`}.
    <button type="button" class="tb-button" onClick=${() => tab.set("filter", null)}>Clear filters</button>
  </p>`;
}
