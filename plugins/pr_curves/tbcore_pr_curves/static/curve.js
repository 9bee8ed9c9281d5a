/**
 * A curve of precision over recall: what the server says of it, and where it is on the screen. Pure.
 */

import { toNumber } from "tbcore/lib/format.js";
import { padded } from "tbcore/lib/series.js";

/**
 * @typedef {object} Curve  columns of one length, in the order of the thresholds, which rise
 * @property {number[]} precision
 * @property {number[]} recall
 * @property {number[]} true_positives
 * @property {number[]} false_positives
 * @property {number[]} true_negatives
 * @property {number[]} false_negatives
 * @property {number[]} thresholds
 * @property {number} area
 * @property {string} display_name
 * @property {string} description
 *
 * @typedef {object} Found  what the server has at a step, or last before it
 * @property {number | null} first_step  of the series
 * @property {number} step
 * @property {number} nth
 * @property {Curve | null} curve  null: nothing was logged so early
 *
 * @typedef {import("tbcore/lib/chart-types.js").Range} Range
 * @typedef {Pick<Curve, "precision" | "recall">} Points
 *
 * @typedef {object} Box  the plot, CSS pixels, and what it shows
 * @property {number} left
 * @property {number} top
 * @property {number} width
 * @property {number} height
 * @property {Range} recall
 * @property {Range} precision
 */

/** @type {Range} */
const EVERYTHING = [0, 1];
/** Air above and below the part that is shown of the curves, as a share of it. */
const AIR = 0.06;
/** So far beside the plot a point is still in it, CSS pixels. */
const BESIDE = 1;

const COLUMNS = /** @type {const} */ ([
  "precision", "recall", "true_positives", "false_positives", "true_negatives", "false_negatives", "thresholds",
]);

/** @param {any} json @returns {Found} */
export function readFound(json) {
  const [sample] = json.samples;
  if (!sample) return { ...json, curve: null };
  const columns = COLUMNS.map((name) => [name, sample[name].map(toNumber)]);
  return { ...json, curve: { ...sample, ...Object.fromEntries(columns), area: toNumber(sample.area) } };
}

/**
 * A row for each threshold: run, step, threshold, precision, recall and the four counts.
 * @param {string} run
 * @param {Found} found  with a curve
 * @returns {(string | number)[][]}
 */
export function rowsOf(run, { step, curve }) {
  const { thresholds, precision, recall, ...counts } = /** @type {Curve} */ (curve);
  const columns = [thresholds, precision, recall, counts.true_positives, counts.false_positives, counts.true_negatives, counts.false_negatives];
  return thresholds.map((_, i) => [run, step, ...columns.map((column) => column[i])]);
}

/**
 * What the axes show of the curves: all there can be, or a part of the recalls and the precisions that are there.
 * @param {readonly (Points | null)[]} curves
 * @param {Range | null} view  recalls; null: everything
 * @returns {Pick<Box, "recall" | "precision">}
 */
export function rangesOf(curves, view) {
  if (!view) return { recall: EVERYTHING, precision: EVERYTHING };
  let least = Infinity;
  let most = -Infinity;
  const take = (/** @type {number} */ precision) => {
    if (!Number.isFinite(precision)) return;
    least = Math.min(least, precision);
    most = Math.max(most, precision);
  };
  for (const curve of curves) {
    const { recall, precision } = curve ?? { recall: [], precision: [] };
    for (let i = 0; i < recall.length; i++) {
      if (recall[i] >= view[0] && recall[i] <= view[1]) take(precision[i]);
      // Lines come in at the edges.
      for (const edge of view) {
        const share = (edge - recall[i - 1]) / (recall[i] - recall[i - 1]);
        if (share > 0 && share < 1) take(precision[i - 1] + share * (precision[i] - precision[i - 1]));
      }
    }
  }
  const [low, high] = padded(least <= most ? [least, most] : null, AIR);
  return { recall: view, precision: [Math.max(0, low), Math.min(1, high)] };
}

/** @param {Box} box @param {number} recall */
export function xOf({ left, width, recall: [from, to] }, recall) {
  return left + (width * (recall - from)) / (to - from);
}

/** @param {Box} box @param {number} precision */
export function yOf({ top, height, precision: [from, to] }, precision) {
  return top + (height * (to - precision)) / (to - from);
}

/**
 * The line as an SVG path. What is no number interrupts it.
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
 * The point that is nearest to a place on the screen, of those that are shown.
 * @param {readonly (Points | null)[]} curves
 * @param {Box} box
 * @param {number} x
 * @param {number} y
 * @returns {{ curve: number, index: number } | null} null where there is no point
 */
export function nearest(curves, box, x, y) {
  let best = Infinity;
  let found = null;
  for (const [at, curve] of curves.entries()) {
    if (!curve) continue;
    for (let i = 0; i < curve.recall.length; i++) {
      const across = xOf(box, curve.recall[i]) - box.left;
      if (across < -BESIDE || across > box.width + BESIDE) continue;
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
 * Where a curve has the threshold that is nearest.
 * @param {readonly number[]} thresholds  rising
 * @param {number} threshold
 */
export function indexOf(thresholds, threshold) {
  let low = 0;
  let high = thresholds.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (thresholds[middle] < threshold) low = middle + 1;
    else high = middle;
  }
  return low > 0 && threshold - thresholds[low - 1] <= thresholds[low] - threshold ? low - 1 : low;
}
