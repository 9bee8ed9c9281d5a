/**
 * A curve of precision over recall: what the server says of it, and where it is on the screen. Pure.
 */

import { toNumber } from "tbcore/lib/format.js";

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
 * @typedef {{ left: number, top: number, width: number, height: number }} Box  of the plot, CSS pixels
 */

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

/** @param {Box} box @param {number} recall */
export function xOf({ left, width }, recall) {
  return left + width * recall;
}

/** @param {Box} box @param {number} precision */
export function yOf({ top, height }, precision) {
  return top + height * (1 - precision);
}

/**
 * The line as an SVG path. What is no number interrupts it.
 * @param {Pick<Curve, "precision" | "recall">} curve
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
 * The point that is nearest to a place on the screen.
 * @param {readonly (Pick<Curve, "precision" | "recall"> | null)[]} curves
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
      const distance = (xOf(box, curve.recall[i]) - x) ** 2 + (yOf(box, curve.precision[i]) - y) ** 2;
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
