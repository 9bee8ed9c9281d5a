/** What a chart leaves out, in words. Loaded for charts that may leave something out. */

import { windowOf } from "./series.js";

/** @typedef {import("./types.js").Item} Item */

/**
 * A note on values that are not shown, such as clipped outliers. It does not count them, because
 * the rows may be a sample of all points.
 * @param {import("./model.js").ChartModel} model
 */
export function noteOf({ axisItems, x, y, axes: { clip, tail } }) {
  /** @type {string[]} */
  const notes = [];
  const [bottom, top] = y.range;
  /**
   * The distinct results of a test for the visible points; undefined is ignored.
   * @param {(item: Item, i: number) => boolean | undefined} test
   */
  const resultsOf = (test) => {
    const results = new Set();
    for (const item of axisItems) {
      for (const segment of item.segments) {
        const [from, to] = windowOf(item.xs, segment, ...x.range);
        for (let i = from; i < to && results.size < 2; i++) {
          const result = test(item, i);
          if (result !== undefined) results.add(result);
        }
      }
    }
    return results;
  };
  /** Adds a note if any points are hidden. @param {string} what @param {(item: Item, i: number) => boolean | undefined} isHidden */
  const addHidden = (what, isHidden) => {
    const results = resultsOf(isHidden);
    if (!results.has(true)) return;
    notes.push(results.has(false) ? `${what}s ≤ 0 not shown` : `no positive ${what}s`);
  };
  const isCut = (/** @type {number} */ value) => Number.isFinite(value) && (value < bottom || value > top);
  if (tail) notes.push("y axis: range of the last 20 %");
  else if (clip && resultsOf(({ raw, ys }, i) => isCut((raw ?? ys)[i])).has(true)) notes.push("outliers clipped");
  const showsFewer = axisItems.some(({ xs, segments }) => segments.some(({ fewer, from, to }) => fewer && xs[from] < x.range[1] && xs[to - 1] > x.range[0]));
  if (showsFewer) notes.push("dashed: fewer runs than before");
  if (x.log) addHidden(x.kind === "step" ? "step" : x.kind === "number" ? "x value" : "time", ({ xs }, i) => !Number.isFinite(xs[i]));
  if (y.log) {
    addHidden("value", ({ line, band, raw, ys }, i) => {
      const value = line?.value ?? band?.mean;
      return value && Number.isFinite(value[i]) ? !Number.isFinite((raw ?? ys)[i]) : undefined;
    });
  }
  return notes.join(", ");
}
