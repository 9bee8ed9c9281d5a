/** The mark of runs with NaN or infinite values in the run list. Loaded for the first such run, with its styles. */

import { html } from "htm/preact";
import { formatStep, formatValue, plural } from "../../lib/format.js";
import { adoptStyles } from "../../lib/ui/lazy.js";

/** @import { RunDetails } from "../../host.js" */
/** @import { State } from "../state/reader-state.js" */
/** @import { Row } from "../state/tree.js" */

await adoptStyles(document, new URL("../diverged.css", import.meta.url)).catch(console.warn);

/** A mark for NaN or infinite values; that of a folder or group unchecks the runs that have them, or checks them if none is. @param {{ state: State, row: Row, diverged: string[], isCurrent: boolean }} props */
export function DivergedMark({ state, row: { kind, name, runs }, diverged, isCurrent }) {
  const details = state.runDetails.value;
  const nonfinite = details.get(name)?.nonfinite;
  const text = nameNonfinite(diverged.map((run) => details.get(run)?.nonfinite));
  if (kind === "run") return html`<b class="tb-nan" title=${nonfinite && describeNonfinite(nonfinite)}>${text}</b>`;
  const { isHiding, toggled } = toggleOf(state, diverged);
  const title = `${isHiding ? "Hide" : "Show"} ${toggled.length} of ${plural(runs.length, "run")}: NaN or infinite`;
  return html`<button type="button" class="tb-nan" tabindex=${isCurrent ? 0 : -1} title=${title} onClick=${() => state.checkRuns(toggled, !isHiding)}>${text} ${diverged.length}/${runs.length}</button>`;
}

/** Which of these runs a click hides, or shows if it hides none: then only those that are shown by default. @param {State} state @param {readonly string[]} diverged */
export function toggleOf(state, diverged) {
  const shown = diverged.filter((run) => state.checked.value.has(run));
  const { newest } = state.candidates.value;
  const isHiding = shown.length > 0;
  return { isHiding, toggled: isHiding ? shown : diverged.filter((run) => newest.has(run)) };
}

/** What the badge of runs with non-finite values says: `NaN`, `∞`, or `NaN, ∞`. @param {readonly RunDetails["nonfinite"][]} runs */
function nameNonfinite(runs) {
  const values = new Set(runs.flatMap((run) => run?.first_values?.filter(Boolean) ?? []));
  return Array.from(values, (value) => formatValue(Number(value))).sort().join(", ") || "NaN";
}

/** A sentence about the tags with non-finite values. @param {NonNullable<RunDetails["nonfinite"]>} nonfinite */
function describeNonfinite({ num_tags, tags, first_steps }) {
  const numUnnamed = num_tags - tags.length;
  const named = tags.map((tag, i) => {
    const step = first_steps[i];
    return step === null ? tag : `${tag} from step ${formatStep(Number(step))}`;
  });
  return `NaN or infinite values in ${named.join(", ")}${numUnnamed > 0 ? ` and ${numUnnamed} more` : ""}.`;
}
