/**
 * The exact points of lines at one x. A chart draws only some points of a long series.
 */

import { xColumn } from "tbcore/cards.js";
import { axisOf, fetchColumns, queryFor } from "./lines.js";

/** @import { Host, Line, Options } from "./types.js" */

/**
 * Fetches the logged points at an x and next to it.
 * @param {Pick<Host, "fetch">} host
 * @param {readonly Line[]} lines  from `cachedLines`
 * @param {Options} options
 * @param {number} x  in units of the x axis
 * @param {AbortSignal} [signal]
 * @returns {Promise<Map<string, Line>>} maps a line's `key` to the line with only these
 *   points; rejects with the server's message
 */
export async function fetchPointsAt(host, lines, options, x, signal) {
  /** @type {Map<string, Map<string, Line>>} maps tag and run to line */
  const linesByTag = new Map();
  for (const line of lines) {
    const [run, tag] = JSON.parse(line.key ?? "");
    linesByTag.set(tag, (linesByTag.get(tag) ?? new Map()).set(run, line));
  }
  /** @type {Map<string, Line>} */
  const found = new Map();
  await Promise.all(
    [...linesByTag].map(async ([tag, lineByRun]) => {
      const query = queryFor(tag, { ...options, logX: "" }, [x, x], 1);
      const { header, tables } = await fetchColumns(host, "window", { ...query, runs: [...lineByRun.keys()] }, signal);
      header.runs.forEach((/** @type {{ run: string, segments: number[] }} */ { run, segments }, /** @type {number} */ index) => {
        const line = /** @type {Line} */ (lineByRun.get(run));
        const { step, wall_time: wallTime, value, x: xs, smoothed = null } = tables[index];
        found.set(line.key ?? "", { ...line, step, wallTime: line.wallTime && wallTime, value, x: xs, smoothed, segments, overview: undefined });
      });
    }),
  );
  return found;
}

/**
 * The next logged x of any line.
 * @param {Host} host
 * @param {readonly Line[]} lines
 * @param {Options} options
 * @param {number} x
 * @param {-1 | 1} direction
 * @returns {Promise<number | null>} null if there is none
 */
export async function fetchNextX(host, lines, options, x, direction) {
  const found = await fetchPointsAt(host, lines, { ...options, smooth: 0 }, x);
  let next = direction * Infinity;
  for (const line of found.values()) {
    for (const other of xColumn(line, axisOf(options.x).xAxis, line.startTime)) {
      // The tolerance skips x itself, which may have been rounded to fewer digits.
      if (direction * (other - x) > Math.abs(x) * 1e-14 && direction * (next - other) > 0) next = other;
    }
  }
  return Number.isFinite(next) ? next : null;
}
