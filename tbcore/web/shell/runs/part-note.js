/** The line below the list of runs about groups that are not shown as a whole. Loaded when runs are grouped. */

import { html } from "htm/preact";
import { plural } from "../../lib/format.js";
import { notShown } from "../state/not-shown.js";

/** How many runs are hidden of the groups that are shown in part; nothing if all groups are whole. @param {{ state: import("../state/reader-state.js").State }} props */
export function PartNote({ state }) {
  const { groups, inPart: { unchecked, older, unmatched } } = notShown(state);
  if (groups.size === 0) return null;
  const hidden = unchecked + older;
  const reasons = [hidden > 0 && `${plural(hidden, "run is", "runs are")} unchecked${state.columnsText.value ? ", but in the averages of columns" : ""}`, unmatched > 0 && `${plural(unmatched, "run does", "runs do")} not match`];
  return html`<div class="tb-legend" role="status">${plural(groups.size, "group is", "groups are")} shown in part: ${reasons.filter(Boolean).join(", and ")}.</div>`;
}
