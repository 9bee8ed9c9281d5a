/** The times at which runs were written: as text for the run list, and for sorting the list. Pure functions, no DOM. */

import { formatStep } from "../../format.js";

/** @typedef {import("../../host.js").RunDetails} RunDetails */

/** A run is live if it was written to within this time. Most training loops log more often. */
const LIVE_SECONDS = 300;
/**
 * For sorting, the times of last events are rounded down to multiples of this time, so that the
 * rows of live runs do not keep moving.
 */
const ORDER_SECONDS = 60;

/** @typedef {"name" | "start" | "last"} Sort */

/**
 * Whether the run is being written: its files were changed recently, and its last event was
 * logged shortly before that change. File times alone are not enough, because copied files are new
 * whatever they contain. Event times alone are not enough either, because the clocks of machines
 * differ.
 * @param {RunDetails} details
 * @param {number} now  seconds since the epoch
 */
export function isLive({ last, modified }, now) {
  if (last === null) return false;
  const written = modified ?? last;
  return Math.abs(now - written) < LIVE_SECONDS && written - last < LIVE_SECONDS;
}

/**
 * The runs in the order of the list. When sorted by time, the newest runs come first, and runs
 * without a time come last.
 * @param {readonly string[]} runs  in the order of names
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

/** An age in two or three characters. @param {number} seconds */
export function shortAge(seconds) {
  const minutes = Math.max(0, seconds) / 60;
  if (minutes < 1) return "now";
  if (minutes < 60) return `${Math.floor(minutes)}m`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h`;
  const days = Math.floor(minutes / 1440);
  return days < 1000 ? `${days}d` : `${Math.floor(days / 365.25)}y`;
}

/**
 * A description of a run, one sentence per line.
 * @param {RunDetails} details
 * @param {number} now  seconds since the epoch
 * @param {(wallTime: number) => string} formatTime
 */
export function describeRun(details, now, formatTime) {
  const { start, last, nonfinite } = details;
  const lines = [];
  if (start !== null) lines.push(`First event ${formatTime(start)}.`);
  if (last !== null) lines.push(`Last event ${formatTime(last)}.`);
  lines.push(
    isLive(details, now)
      ? `Live: new events in the last ${LIVE_SECONDS / 60} minutes.`
      : `Not live: no new events in the last ${LIVE_SECONDS / 60} minutes.`,
  );
  if (nonfinite) lines.push(describeNonfinite(nonfinite));
  return lines.join("\n");
}

/** A sentence about the tags with non-finite values. @param {NonNullable<RunDetails["nonfinite"]>} nonfinite */
export function describeNonfinite({ num_tags, tags, first_steps }) {
  const numUnnamed = num_tags - tags.length;
  const named = tags.map((tag, i) => {
    const step = first_steps[i];
    return step === null ? tag : `${tag} from step ${formatStep(Number(step))}`;
  });
  return `NaN or infinite values in ${named.join(", ")}${numUnnamed > 0 ? ` and ${numUnnamed} more` : ""}.`;
}
