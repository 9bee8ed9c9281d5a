/**
 * What lines have at one x, from all points that were logged: a chart draws a selection of them.
 */

import { readColumns } from "tbcore/lib/columns.js";
import { post } from "tbcore/lib/post.js";
import { xColumn } from "tbcore/lib/series.js";
import { questionOf } from "./feed.js";

/**
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Options} Options
 */

/**
 * The lines with the rows at an x and those next to it, in place of what is drawn.
 * @param {Pick<import("./types.js").Host, "fetch">} host
 * @param {readonly Line[]} lines  of `knownLines`
 * @param {Options} options
 * @param {number} x  in units of the x axis
 * @param {AbortSignal} [signal]
 * @returns {Promise<Map<string, Line>>} by the keys of the lines; rejects with what the server said
 */
export async function linesAt(host, lines, options, x, signal) {
  /** @type {Map<string, Map<string, Line>>} tag to run to line */
  const tags = new Map();
  for (const line of lines) {
    const [run, tag] = JSON.parse(line.key ?? "");
    tags.set(tag, (tags.get(tag) ?? new Map()).set(run, line));
  }
  /** @type {Map<string, Line>} */
  const found = new Map();
  await Promise.all(
    [...tags].map(async ([tag, runs]) => {
      const { view: _, ...question } = questionOf(tag, options, null, 1);
      const body = { ...question, scale: "linear", from: x, to: x, runs: [...runs.keys()] };
      const { header, tables } = readColumns(await (await post(host, "window", body, signal)).arrayBuffer());
      header.runs.forEach((/** @type {{ run: string, segments: number[] }} */ { run, segments }, /** @type {number} */ index) => {
        const line = /** @type {Line} */ (runs.get(run));
        const { step, wall_time: wallTime, value, smoothed = null } = tables[index];
        found.set(line.key ?? "", { ...line, step, wallTime, value, smoothed, segments, overview: undefined });
      });
    }),
  );
  return found;
}

/**
 * The next x at which any line has a point.
 * @param {Iterable<Line>} lines
 * @param {Options} options
 * @param {number} x
 * @param {-1 | 1} direction
 * @returns {number | null} null: there is none
 */
export function nextAfter(lines, options, x, direction) {
  let next = direction * Infinity;
  for (const line of lines) {
    for (const other of xColumn(line, options.x, line.startTime)) {
      // Not the same x once more, written with fewer digits.
      if (direction * (other - x) > Math.abs(x) * 1e-14 && direction * (next - other) > 0) next = other;
    }
  }
  return Number.isFinite(next) ? next : null;
}
