/**
 * Percentiles over the steps: as columns, as bands of a chart, and as texts. Pure.
 */

import { formatDuration, formatStep, formatTime, formatValue, plural, toNumber } from "tbcore/lib/format.js";
import { xColumn } from "tbcore/lib/series.js";

/**
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Percentiles} Percentiles
 * @typedef {import("./types.js").XAxis} XAxis
 */

/** What the points of a normal distribution are called. */
const NAMES = new Map([
  [0, "Least"],
  [5000, "Median"],
  [10000, "Greatest"],
]);

/**
 * @param {any[][]} rows  wall time, step, and pairs of point and value, as the server has them: none without samples
 * @returns {Percentiles}
 */
export function readPercentiles(rows) {
  /** @type {number[]} */
  const points = rows.find(([, , pairs]) => pairs.length > 0)?.[2].map((/** @type {[number, number]} */ [point]) => point) ?? [];
  return {
    wallTime: Float64Array.from(rows, ([wallTime]) => toNumber(wallTime)),
    step: Float64Array.from(rows, ([, step]) => toNumber(step)),
    points,
    values: points.map((_, k) => Float64Array.from(rows, ([, , pairs]) => (pairs.length > 0 ? toNumber(pairs[k][1]) : NaN))),
    empty: rows.map(([, , pairs]) => pairs.length === 0),
  };
}

/**
 * The percentiles as one band: the widest, narrower ones inside it, and the median.
 * @param {Percentiles} percentiles
 * @param {XAxis} xAxis
 * @param {boolean} tails  false: the least and the greatest are left out
 * @param {{ name: string, color: string }} run
 * @returns {Band[]} one, or none without samples
 */
export function bandsOf(percentiles, xAxis, tails, { name, color }) {
  const { values, step, wallTime } = percentiles;
  if (values.length === 0) return [];
  const middle = (values.length - 1) / 2;
  /** @type {[Float64Array, Float64Array][]} */
  const pairs = [];
  for (let k = tails ? 0 : 1; k < middle; k++) pairs.push([values[k], values[values.length - 1 - k]]);
  const [[low, high], ...inner] = pairs;
  const mean = values[middle];
  const count = new Float64Array(step.length).fill(1);
  return [{ name, color, x: xColumn({ step, wallTime, value: mean }, xAxis), mean, low, high, inner, count }];
}

/**
 * What is said of one step.
 * @param {Percentiles} percentiles
 * @param {number} index
 * @param {{ name: string, color: string }} run
 * @returns {import("tbcore/lib/chart-types.js").ReadOut}
 */
export function readOutOf({ points, values, step, wallTime, empty }, index, { name, color }) {
  const value = (/** @type {number} */ k) => formatValue(values[k][index]);
  const middle = (points.length - 1) / 2;
  /** @type {[string, string][]} the greatest at the top, as in the chart */
  const said = empty[index] ? [["Samples", "none"]] : points.map((point, k) => /** @type {[string, string]} */ ([nameOf(point), value(k)])).reverse();
  return {
    name,
    color,
    rows: [
      ["Step", formatStep(step[index])],
      ...said,
      ["Relative", formatDuration(wallTime[index] - wallTime[0])],
    ],
    note: formatTime(wallTime[index]),
    spoken: `step ${formatStep(step[index])}: ${empty[index] ? "no samples" : `median ${value(middle)}, from ${value(0)} to ${value(points.length - 1)}`}`,
  };
}

/**
 * One row for each step, to be saved.
 * @param {Percentiles} percentiles
 */
export function percentileTable({ points, values, step, wallTime }) {
  return {
    header: ["Wall time", "Step", ...points.map((point) => `${point / 100} %`)],
    rows: Array.from(step, (one, i) => [wallTime[i], one, ...values.map((column) => column[i])]),
  };
}

/**
 * What a chart of them does not show.
 * @param {Percentiles} percentiles
 */
export function noteOf({ values, step, empty }) {
  const numEmpty = empty.filter(Boolean).length;
  const numOdd = step.filter((_, i) => !empty[i] && values.some((column) => !Number.isFinite(column[i]))).length;
  const notes = [];
  if (numEmpty > 0) notes.push(numEmpty === step.length ? "no samples" : `${plural(numEmpty, "step")} without samples`);
  if (numOdd > 0) notes.push(`${plural(numOdd, "step")} with infinite values or NaN`);
  return notes.join(", ");
}

/** @param {number} point  hundredths of a percent */
export function nameOf(point) {
  return NAMES.get(point) ?? `${formatValue(point / 100)} %`;
}
