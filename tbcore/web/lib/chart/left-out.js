/**
 * What a chart leaves out: the range of a y axis that does not cover all values, and what is not
 * shown, in words. Loaded for charts that may leave something out.
 */

import { formatValue } from "../format.js";
import { toAxis } from "./axes.js";
import { MAX_CROSS_ROWS } from "./draw.js";
import { windowOf } from "./series.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Range} Range
 */

// --- the range of the y axis ---------------------------------------------------------------------

/**
 * The range of the values between two x, without outliers.
 * @param {readonly Item[]} items
 * @param {ReturnType<typeof import("./series.js").farLines>} far  of these items
 * @param {number} from @param {number} to
 */
export function rangeWithoutOutliers(items, { usual, isFar }, from, to) {
  /** The visible columns of an item, without the values by which it is far out of range. @param {Item} item @param {number} index */
  const columnsOf = ({ xs, raw, ys, columns, segments, line }, index) =>
    (line ? [raw ?? ys] : columns)
      .flatMap((column) => segments.map((segment) => column.subarray(...windowOf(xs, segment, from, to))))
      .map((column) => (isFar[index] ? column.filter((value) => value >= usual[0] && value <= usual[1]) : column));
  return clipRange(items.map(columnsOf));
}

/**
 * The range of some lines without outliers: from the 5 % to the 95 % quantile of the values of all
 * lines, extended on both sides by half of its length, but not past the smallest and largest value.
 * Each line counts alike, by 101 quantiles of about 500 evenly spaced values.
 * @param {readonly (readonly Float64Array[])[]} lines  the columns of each line
 * @returns {Range | null} null if no value is finite
 */
export function clipRange(lines) {
  const quantiles = lines.flatMap((columns) => {
    const every = Math.max(1, Math.floor(columns.reduce((sum, { length }) => sum + length, 0) / 500));
    const sample = [];
    for (const column of columns) for (let i = 0; i < column.length; i += every) if (Number.isFinite(column[i])) sample.push(column[i]);
    const sorted = Float64Array.from(sample).sort();
    return sorted.length > 0 ? Array.from({ length: 101 }, (_, i) => sorted[Math.round((i * (sorted.length - 1)) / 100)]) : [];
  });
  if (quantiles.length === 0) return null;
  const sorted = Float64Array.from(quantiles).sort();
  const low = sorted[Math.floor((sorted.length - 1) * 0.05)];
  const high = sorted[Math.ceil((sorted.length - 1) * 0.95)];
  const margin = high / 2 - low / 2;
  return [Math.max(sorted[0], low - margin), Math.min(sorted[sorted.length - 1], high + margin)];
}

/**
 * The range of a y axis whose ends are given. An end that the axis does not have, such as 0 on a
 * logarithmic one, is ignored, and so are both if the first is not less than the second.
 * @param {import("./types.js").Limits} limits
 * @param {import("./types.js").Axis} axis
 * @param {Range} range  of the values, in axis coordinates
 * @returns {Range}
 */
export function limitedRange(limits, axis, range) {
  const [low, high] = limits.map((end) => (end === null ? NaN : toAxis(axis, end)));
  if (low >= high) return range;
  const bottom = Number.isFinite(low) ? low : range[0];
  const top = Number.isFinite(high) ? high : range[1];
  if (bottom < top) return [bottom, top];
  // All values are beyond the only end.
  const length = range[1] - range[0];
  return bottom === low ? [low, low + length] : [high - length, high];
}

// --- words ---------------------------------------------------------------------------------------

/** Shows the note of a chart; if nothing can be shown, in its middle and whole. @param {HTMLElement} element @param {import("./model.js").ChartModel} model */
export function showNote(element, model) {
  const { axisItems, bandCode, y } = model;
  const isCrowded = !y.isEmpty && axisItems.some(({ band }) => band && !band.bar) && bandCode?.withArea(axisItems).length === 0;
  element.textContent = element.title = [noteOf(model), isCrowded && `over ${bandCode.MAX_AREAS} groups: point at one to see its band`].filter(Boolean).join(", ");
  element.style.cssText = model.x.isEmpty || model.y.isEmpty ? "top: 35%; text-align: center; white-space: normal" : "";
}

/**
 * The ends that a y axis was given: "y axis: 0 to 1", "y axis: from 0", and those that it cannot have.
 * @param {import("./types.js").Limits} limits @param {import("./types.js").Axis} axis
 */
function wordsOfLimits(limits, { log }) {
  if (limits[0] !== null && limits[1] !== null && limits[0] >= limits[1]) return [`y axis: ${limits.map((end) => formatValue(Number(end))).join(" is not less than ")}`];
  const isPossible = (/** @type {number | null} */ end) => end !== null && Number.isFinite(toAxis({ log }, end));
  const [from, to] = limits.map((end) => (isPossible(end) ? formatValue(Number(end)) : ""));
  const ends = from && to ? `${from} to ${to}` : from ? `from ${from}` : to && `up to ${to}`;
  const others = limits.filter((end) => end !== null && !isPossible(end)).map((end) => `${formatValue(Number(end))} is not on a log axis`);
  return [ends && `y axis: ${ends}`, ...others].filter(Boolean);
}

/**
 * A note on values that are not shown, such as clipped outliers. It does not count them, because
 * the rows may be a sample of all points. If nothing can be shown, a sentence that says why.
 * @param {import("./model.js").ChartModel} model
 */
export function noteOf({ axisItems, x, y, view, axes: { clip, tail, limits } }) {
  /** @type {string[]} */
  const notes = [];
  /** Why nothing is shown, as a sentence. */
  let reason = "";
  const inView = view ? " in view" : "";
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
    if (results.has(true) && results.has(false)) notes.push(`${what}s ≤ 0 not shown`);
    else if (results.has(true)) reason ||= `All ${what}s${inView} are 0 or below, which a log axis cannot show.`;
  };
  const isCut = (/** @type {number} */ value) => Number.isFinite(value) && (value < bottom || value > top);
  if (limits) notes.push(...wordsOfLimits(limits, y));
  if (tail) notes.push("y axis: range of the last 20 %");
  else if (clip && resultsOf(({ raw, ys }, i) => isCut((raw ?? ys)[i])).has(true)) notes.push("outliers clipped");
  /** The visible values that are over fewer runs than before: they do not set the range. */
  const fewer = axisItems.flatMap(({ xs, ys, segments }) => segments.flatMap((segment) => (segment.fewer && xs[segment.from] < x.range[1] && xs[segment.to - 1] > x.range[0] ? [...ys.subarray(...windowOf(xs, segment, ...x.range))] : [])));
  if (fewer.length > 0) notes.push(fewer.some(isCut) ? "dotted, no band: fewer runs, in part off the chart" : "dotted, no band: fewer runs than before");
  if (x.log) addHidden(x.kind === "step" ? "step" : x.kind === "number" ? "x value" : "time", ({ xs }, i) => !Number.isFinite(xs[i]));
  if (y.log) {
    addHidden("value", ({ line, band, raw, ys }, i) => {
      const value = line?.value ?? band?.mean;
      return value && Number.isFinite(value[i]) ? !Number.isFinite((raw ?? ys)[i]) : undefined;
    });
  }
  const crossed = axisItems.filter(({ line, xs, nonFinite }) => nonFinite.some((i) => Number.isNaN(line?.value[i]) && xs[i] >= x.range[0] && xs[i] <= x.range[1]));
  if (crossed.length > MAX_CROSS_ROWS) notes.push(`NaN in ${crossed.length} lines: at most ${MAX_CROSS_ROWS} crosses are below one another`);
  if (y.log === true && resultsOf(({ band, ys }, i) => (band?.low[i] ?? 1) <= 0 && Number.isFinite(ys[i])).has(true)) notes.push("band edges ≤ 0 not shown");
  if (y.isEmpty) reason ||= `No value${inView} is finite.`;
  return reason || notes.join(", ");
}
