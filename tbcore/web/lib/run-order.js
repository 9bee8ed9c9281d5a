/**
 * What the run list says about when runs were written, and its order. Pure.
 */

import { formatStep } from "./format.js";

/** @typedef {import("../state.js").RunDetails} RunDetails */

/** A run is live while it was written to within this time: longer than most training loops are silent. */
const LIVE_SECONDS = 300;
/** Runs that log are listed by the minute: rows would not stay where they are otherwise. */
const ORDER_SECONDS = 60;

/** @typedef {"name" | "start" | "last"} Sort */

/**
 * Whether the run is being written: its files changed lately, and what is in them was new then. The files alone would not
 * do, for those of a copy are new whatever is in them; nor would the events, since the clocks of machines differ.
 * @param {RunDetails} details
 * @param {number} now  seconds since the epoch
 */
export function isLive({ last, modified }, now) {
  if (last === null) return false;
  const written = modified ?? last;
  return Math.abs(now - written) < LIVE_SECONDS && written - last < LIVE_SECONDS;
}

/**
 * Runs in the order of the list, newest first where it is one of time; runs without a time come last.
 * @param {readonly string[]} runs  by name
 * @param {Sort} sort
 * @param {ReadonlyMap<string, RunDetails>} details
 * @returns {readonly string[]}
 */
export function orderRuns(runs, sort, details) {
  if (sort === "name") return runs;
  const times = new Map(
    runs.map((run) => {
      const time = details.get(run)?.[sort] ?? -Infinity;
      return [run, sort === "last" ? Math.floor(time / ORDER_SECONDS) : time];
    }),
  );
  const timeOf = (/** @type {string} */ run) => times.get(run) ?? -Infinity;
  return [...runs].sort((a, b) => (timeOf(a) === timeOf(b) ? 0 : timeOf(b) - timeOf(a)));
}

/**
 * An age in two or three characters.
 * @param {number} seconds
 */
export function shortAge(seconds) {
  const minutes = Math.max(0, seconds) / 60;
  if (minutes < 1) return "now";
  if (minutes < 60) return `${Math.floor(minutes)}m`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h`;
  const days = Math.floor(minutes / 1440);
  return days < 1000 ? `${days}d` : `${Math.floor(days / 365.25)}y`;
}

/**
 * What there is to say about a run, a sentence a line.
 * @param {RunDetails} details
 * @param {number} now
 * @param {(wallTime: number) => string} formatTime
 */
export function describeRun(details, now, formatTime) {
  const { start, last, nonfinite } = details;
  const lines = [];
  if (start !== null) lines.push(`First event ${formatTime(start)}.`);
  if (last !== null) lines.push(`Last event ${formatTime(last)}.`);
  lines.push(
    isLive(details, now)
      ? `Live: new events came within the last ${LIVE_SECONDS / 60} minutes.`
      : `Finished, or silent: no new event for ${LIVE_SECONDS / 60} minutes.`,
  );
  if (nonfinite) lines.push(describeNonfinite(nonfinite));
  return lines.join("\n");
}

/** @param {NonNullable<RunDetails["nonfinite"]>} nonfinite */
export function describeNonfinite({ num_tags, tags, first_steps }) {
  const rest = num_tags - tags.length;
  const named = tags.map((tag, i) => (first_steps[i] === null ? tag : `${tag} from step ${formatStep(Number(first_steps[i]))}`));
  return `NaN or infinite values in ${named.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}
