/**
 * What the run list says of the selection: which runs are not shown by default, and what of a link
 * does not work here. Loaded when there is something to say.
 */

import { html } from "htm/preact";
import { formatName, plural } from "../../lib/format.js";
import { quoted } from "../../lib/queries/names.js";
import { AUTO, AUTO_LIMIT, selectionToText } from "../state/selection.js";
import { divergedRuns } from "./rows.js";

/** @import { State } from "../state/reader-state.js" */

/** How many runs that are gone have their names in the note, and how many display names are explained. */
const MAX_NAMES = 5;

/** All notes. @param {{ state: State }} props */
export function RunsNotes({ state }) {
  const limit = limitText(state);
  const { matching, newest } = state.candidates.value;
  const isOther = selectionToText(state.selection.value) !== null && newest.size < matching.length;
  const what = `newest ${AUTO_LIMIT}${state.groupOf.value ? " groups" : ""}`;
  return html`
    ${(limit || isOther) &&
    html`<p class="tb-runs-note">
      ${limit} ${isOther && html`<button type="button" class="tb-button" onClick=${() => (state.selection.value = AUTO)}>Back to the ${what}</button>`}
    </p>`}
    ${state.isSelectionStored.value &&
    html`<p class="tb-runs-note">Too many runs are selected to fit into a link. The selection is stored in this browser only; to share one, use a filter or groups.</p>`}
    ${state.selection.value === AUTO &&
    state.isSelectionMissing.value &&
    html`<p class="tb-runs-note" role="status">The selection of runs in this link is not stored in this browser. It was made in another browser, or has been removed since.</p>`}
    ${goneText(state) && html`<p class="tb-runs-note" role="status">${goneText(state)}</p>`}
    ${state.ruleErrors.value.map((error) => html`<p class="tb-runs-note" role="status">${error}.</p>`)}
  `;
}

/** Which runs that are checked one by one, as in a link, the log directory does not have. @param {State} state */
export function goneText({ selection, allRuns, status }) {
  // Until the first pass ends, they may yet be found.
  const { loading = true, passes = 0 } = status.value ?? {};
  if (loading && passes === 0) return "";
  const here = new Set(allRuns.value);
  const gone = [...selection.value.except].flatMap(([run, isChecked]) => (isChecked && !here.has(run) ? [formatName(run)] : []));
  if (gone.length === 0) return "";
  const more = gone.length > MAX_NAMES ? ` and ${(gone.length - MAX_NAMES).toLocaleString("en")} more` : "";
  return `${plural(gone.length, "run")} of this link ${gone.length === 1 ? "is" : "are"} not here: ${gone.slice(0, MAX_NAMES).join(", ")}${more}.`;
}

/** Why the list has no rows. @param {{ state: State }} props */
export function NoneFound({ state }) {
  const { error, note } = state.runFilter.value;
  return html`<p class="tb-runs-note">${error ? "The query has a mistake." : html`No runs match. ${note}`}</p>
    ${!error && meantBy(state).map(([text, query]) => html`<p class="tb-runs-note">${text} <button type="button" class="tb-button" onClick=${() => state.setRunFilter(query)}>Search for ${formatName(query)}</button></p>`)}`;
}

/** What a query that finds nothing may mean: the display name of a run, or runs with values that are not finite. @param {State} state @returns {[text: string, query: string][]} */
function meantBy(state) {
  const { text, matches, numAnswers = 1 } = state.runFilter.value;
  const { value: runs } = state.runs;
  if (numAnswers < 1) return [];
  const named = runs.flatMap((run) => {
    const { label = "" } = state.noted.value.get(run) ?? {};
    return label && matches(label) ? [/** @type {[string, string]} */ ([`“${formatName(label)}” is the display name of a run. Words in a query match real names.`, quoted(run)])] : [];
  });
  const diverged = text.trim().toLowerCase() === "is:failed" ? divergedRuns(state, runs) : [];
  return [
    ...named.slice(0, MAX_NAMES),
    ...(diverged.length > 0 ? [/** @type {[string, string]} */ ([`${plural(diverged.length, "run has", "runs have")} NaN or infinite values: that alone does not count as a failure.`, "has:nan"])] : []),
  ];
}

/** Which of the matching runs or groups are selected by default, unless all or none of them are shown. @param {State} state */
function limitText(state) {
  const { base, except } = state.selection.value;
  const { runs, matching, newest } = state.candidates.value;
  if (base !== "auto" || newest.size === matching.length) return "";
  const groupOf = state.groupOf.value;
  const num = groupOf ? new Set(matching.map((run) => groupOf.get(run) ?? run)).size : matching.length;
  const what = `${matching.length < runs.length ? "matching " : ""}${groupOf ? "groups" : "runs"}`;
  const numExceptions = matching.filter((run) => (except.get(run) ?? newest.has(run)) !== newest.has(run)).length;
  const numShown = state.shownRuns.value.length;
  if (numShown === 0 || numShown === matching.length) return "";
  // Two lines with and without exceptions, so that no row moves when one is made.
  const end = numExceptions > 0 ? `, with ${plural(numExceptions, "exception")}.` : ". Check others to add them.";
  return `The newest ${AUTO_LIMIT} of ${num.toLocaleString("en")} ${what} are selected${end}`;
}
