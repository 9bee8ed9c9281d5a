/**
 * Pure functions on curves of precision over recall: reading responses, axis ranges, paths and hit
 * tests.
 */

import { toNumber } from "tbcore/format.js";

/**
 * @typedef {object} Curve  columns of equal length, by ascending threshold
 * @property {number[]} precision
 * @property {number[]} recall
 * @property {number[]} true_positives
 * @property {number[]} false_positives
 * @property {number[]} true_negatives
 * @property {number[]} false_negatives
 * @property {number[]} thresholds
 * @property {number} area  under the curve
 *
 * @typedef {object} CurveAtStep  the server's latest curve at or before a step
 * @property {number | null} first_step  of the series
 * @property {number} step
 * @property {number} nth  index among curves that were logged at the same step
 * @property {Curve | null} curve  null if nothing was logged so early
 * @property {string} [display_name]  that the writer gave the tag
 * @property {string} [description]
 *
 * @typedef {import("tbcore/chart.js").Range} Range
 * @typedef {Pick<Curve, "precision" | "recall">} Points
 *
 * @typedef {object} Box  the plot's position and size in CSS pixels, and the ranges of its axes
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 * @property {Range} recall
 * @property {Range} precision
 */

/** The full range of both axes. @type {Range} */
export const FULL_RANGE = [0, 1];
/** Space above and below the visible part of the curves, as a share of its height. */
const PADDING = 0.06;
/** Maximum distance outside the plot at which a point can be hit. */
const HIT_MARGIN_PX = 1;

/** The fields of a response that are columns. */
const COLUMNS = /** @type {const} */ ([
  "precision", "recall", "true_positives", "false_positives", "true_negatives", "false_negatives", "thresholds",
]);

/** Reads a response of the route `step`. @param {any} json @returns {CurveAtStep} */
export function readFound(json) {
  const [sample] = json.samples;
  if (!sample) return { ...json, curve: null };
  const columns = COLUMNS.map((name) => [name, sample[name].map(toNumber)]);
  return { ...json, curve: { ...sample, ...Object.fromEntries(columns), area: toNumber(sample.area) } };
}

/**
 * Table rows for downloads, one per threshold: run, step, threshold, precision, recall and the four
 * counts.
 * @param {string} run
 * @param {CurveAtStep} found  with a curve
 * @returns {(string | number)[][]}
 */
export function rowsOf(run, { step, curve }) {
  const { thresholds, precision, recall, ...counts } = /** @type {Curve} */ (curve);
  const columns = [thresholds, precision, recall, counts.true_positives, counts.false_positives, counts.true_negatives, counts.false_negatives];
  return thresholds.map((_, i) => [run, step, ...columns.map((column) => column[i])]);
}

/**
 * The ranges of the axes. If zoomed or fitted, the precision axis covers what the curves have in the
 * visible range of recall.
 * @param {readonly (Points | null)[]} curves
 * @param {Range | null} zoomed  visible range of recall; null: everything
 * @param {boolean} isFitted
 * @returns {Pick<Box, "recall" | "precision">}
 */
export function rangesOf(curves, zoomed, isFitted) {
  if (!zoomed && !isFitted) return { recall: FULL_RANGE, precision: FULL_RANGE };
  const view = zoomed ?? FULL_RANGE;
  let lowest = Infinity;
  let highest = -Infinity;
  const include = (/** @type {number} */ precision) => {
    if (!Number.isFinite(precision)) return;
    lowest = Math.min(lowest, precision);
    highest = Math.max(highest, precision);
  };
  for (const curve of curves) {
    const { recall, precision } = curve ?? { recall: [], precision: [] };
    for (let i = 0; i < recall.length; i++) {
      if (recall[i] >= view[0] && recall[i] <= view[1]) include(precision[i]);
      // Where a line crosses an edge of the view, its precision there counts too.
      for (const edge of view) {
        const share = (edge - recall[i - 1]) / (recall[i] - recall[i - 1]);
        if (share > 0 && share < 1) include(precision[i - 1] + share * (precision[i] - precision[i - 1]));
      }
    }
  }
  if (lowest > highest) return { recall: view, precision: FULL_RANGE };
  // A single precision has as much space around it as fits, but at least something.
  const padding = lowest < highest ? (highest - lowest) * PADDING : highest * 0.1 || 1;
  return { recall: view, precision: [Math.max(0, lowest - padding), Math.min(1, highest + padding)] };
}

/** The horizontal position of a recall. @param {Box} box @param {number} recall */
export function xOf({ left, width, recall: [from, to] }, recall) {
  return left + (width * (recall - from)) / (to - from);
}

/** The vertical position of a precision. @param {Box} box @param {number} precision */
export function yOf({ top, height, precision: [from, to] }, precision) {
  return top + (height * (to - precision)) / (to - from);
}

/**
 * The curve as an SVG path, interrupted at non-finite values.
 * @param {Points} curve
 * @param {Box} box
 */
export function pathOf({ precision, recall }, box) {
  let path = "";
  let isDown = false;
  for (let i = 0; i < recall.length; i++) {
    const [x, y] = [xOf(box, recall[i]), yOf(box, precision[i])];
    const isPoint = Number.isFinite(x) && Number.isFinite(y);
    if (isPoint) path += `${isDown ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    isDown = isPoint;
  }
  return path;
}

/**
 * The visible point nearest to a position on the screen.
 * @param {readonly (Points | null)[]} curves
 * @param {Box} box
 * @param {number} x
 * @param {number} y
 * @returns {{ curve: number, index: number } | null} null if no point is visible
 */
export function nearest(curves, box, x, y) {
  let best = Infinity;
  let found = null;
  for (const [at, curve] of curves.entries()) {
    if (!curve) continue;
    for (let i = 0; i < curve.recall.length; i++) {
      const across = xOf(box, curve.recall[i]) - box.left;
      if (across < -HIT_MARGIN_PX || across > box.width + HIT_MARGIN_PX) continue;
      const distance = (box.left + across - x) ** 2 + (yOf(box, curve.precision[i]) - y) ** 2;
      if (distance < best) {
        best = distance;
        found = { curve: at, index: i };
      }
    }
  }
  return found;
}

/**
 * Index of the threshold nearest to a value.
 * @param {readonly number[]} thresholds  ascending
 * @param {number} threshold
 */
export function nearestIndex(thresholds, threshold) {
  let low = 0;
  let high = thresholds.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (thresholds[middle] < threshold) low = middle + 1;
    else high = middle;
  }
  return low > 0 && threshold - thresholds[low - 1] <= thresholds[low] - threshold ? low - 1 : low;
}

/**
 * Lines in the order of the area under their curves; those without a curve are the last.
 * @template {Pick<import("./curve-card.js").Line, "found">} L
 * @param {readonly L[]} lines @param {"" | "ascending" | "descending"} order  "" keeps them as they are
 */
export function sortedByArea(lines, order) {
  if (order === "") return lines;
  const sign = order === "ascending" ? 1 : -1;
  /** Infinity for those that come last. @param {L} line */
  const keyOf = ({ found }) => {
    const key = sign * (found?.curve?.area ?? NaN);
    return Number.isNaN(key) ? Infinity : key;
  };
  return [...lines].sort((a, b) => keyOf(a) - keyOf(b) || 0);
}

/**
 * The curves with the index of the selected threshold.
 * @param {readonly Omit<import("./curve-card.js").Line, "index">[]} results
 * @param {import("./curve-card.js").Reading | null} reading
 * @returns {import("./curve-card.js").Line[]}
 */
export function linesAt(results, reading) {
  return results.map((line) => ({
    ...line,
    index: reading && line.found?.curve ? nearestIndex(line.found.curve.thresholds, reading.threshold) : -1,
  }));
}
