/** What is known of a run, in sentences, for the tooltips of its row. Loaded when the pointer is first over one. */

import { formatName, formatTime } from "../../lib/format.js";
import { LIVE_SECONDS, runState } from "../state/tree.js";

/** @import { State } from "../state/reader-state.js" */
/** @import { RunDetails } from "../../host.js" */

/** Sets the tooltips of a row. The one of a group's name has its number of runs, which may be cut. @param {Element} row @param {State} state @param {string} name */
export function setTitles(row, state, name) {
  const [label, age, count] = ["label", ".tb-age", ".tb-folder .tb-run-info [title]"].map((selector) => /** @type {HTMLElement | null} */ (row.querySelector(selector)));
  const details = state.runDetails.value.get(name);
  if (label && count) label.title = `${formatName(name)}\n${count.title}`;
  else if (age && details) age.title = describeRun(details, state.now.value, formatTime);
  if (label && age && details?.source) label.title = `${state.noted.value.get(name)?.title ?? formatName(name)}\n${describeSource(details.source)}`;
}

/** Maps the states of runs of other programs to sentences. */
const SENTENCES = new Map([["finished", " It finished."], ["failed", " It failed."], ["running", " It has logged no end."]]);

/** Where a run of another program is from, and what that says about its end. @param {NonNullable<RunDetails["source"]>} source */
function describeSource({ file, has_times: hasTimes, state }) {
  return `From ${file}${hasTimes ? "" : ", which has no times of its own"}.${SENTENCES.get(state) ?? ""}`;
}

/** A description of a run, one sentence per line. @type {(details: RunDetails, now: number, formatTime: (wallTime: number) => string) => string} */
export function describeRun(details, now, formatTime) {
  const { start, last, source } = details;
  const state = runState(details, now);
  const minutes = LIVE_SECONDS / 60;
  const lines = [
    start !== null && `First event ${formatTime(start)}.`,
    last !== null && `${source && !source.has_times ? "File last written" : "Last event"} ${formatTime(last)}.`,
    state === "live" && `Live: new events in the last ${minutes} minutes.`,
    state === "quiet" && `Not live: no new events in the last ${minutes} minutes.`,
    source && describeSource(source),
  ];
  return lines.filter(Boolean).join("\n");
}
