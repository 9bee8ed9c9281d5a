/** The mark of runs with NaN or infinite values in the run list. Loaded for the first such run, with its styles. */

import { html } from "htm/preact";
import { formatValue, plural } from "../../lib/format.js";
import { adoptStyles } from "../../lib/ui/lazy.js";
import { describeNonfinite } from "../state/tree.js";

/** @import { RunDetails } from "../../host.js" */
/** @import { State } from "../state/reader-state.js" */
/** @import { Row } from "../state/tree.js" */

await adoptStyles(document, new URL("../diverged.css", import.meta.url)).catch(console.warn);

/** A mark for NaN or infinite values; that of a folder or group unchecks the runs that have them. @param {{ state: State, row: Row, diverged: string[] }} props */
export function DivergedMark({ state, row: { kind, name, runs }, diverged }) {
  const details = state.runDetails.value;
  const nonfinite = details.get(name)?.nonfinite;
  const text = nameNonfinite(diverged.map((run) => details.get(run)?.nonfinite));
  if (kind === "run") return html`<b class="tb-nan" title=${nonfinite && describeNonfinite(nonfinite)}>${text}</b>`;
  const title = `Hide ${diverged.length} of ${plural(runs.length, "run")}: NaN or infinite`;
  return html`<button type="button" class="tb-nan" tabindex="-1" title=${title} onClick=${() => state.checkRuns(diverged, false)}>${text} ${diverged.length}/${runs.length}</button>`;
}

/** What the badge of runs with non-finite values says: `NaN`, `∞`, or `NaN, ∞`. @param {readonly RunDetails["nonfinite"][]} runs */
function nameNonfinite(runs) {
  const values = new Set(runs.flatMap((run) => run?.first_values?.filter(Boolean) ?? []));
  return Array.from(values, (value) => formatValue(Number(value))).sort().join(", ") || "NaN";
}
