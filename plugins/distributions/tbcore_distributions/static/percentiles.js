/**
 * Pure functions that turn percentiles over the steps into columns, chart bands, texts and table
 * rows.
 */

import { xColumn } from "tbcore/cards.js";
import { formatDuration, formatStep, formatTime, formatValue, plural, toNumber } from "tbcore/format.js";

/**
 * @typedef {import("./types.js").PercentileBand} PercentileBand
 * @typedef {import("./types.js").Percentiles} Percentiles
 * @typedef {import("./types.js").XAxis} XAxis
 */

/** Maps basis points to the names of percentiles that have one. */
const PERCENTILE_NAMES = new Map([
  [0, "Minimum"],
  [5000, "Median"],
  [10000, "Maximum"],
]);

/**
 * The server's rows as columns.
 * @param {any[][]} rows  wall time, step, and pairs of basis point and value; a step without
 *   samples has no pairs
 * @returns {Percentiles}
 */
export function readPercentiles(rows) {
  /** @type {number[]} */
  const basisPoints = rows.find(([, , pairs]) => pairs.length > 0)?.[2].map((/** @type {[number, number]} */ [point]) => point) ?? [];
  return {
    wallTime: Float64Array.from(rows, ([wallTime]) => toNumber(wallTime)),
    step: Float64Array.from(rows, ([, step]) => toNumber(step)),
    basisPoints,
    values: basisPoints.map((_, k) => Float64Array.from(rows, ([, , pairs]) => (pairs.length > 0 ? toNumber(pairs[k][1]) : NaN))),
    empty: rows.map(([, , pairs]) => pairs.length === 0),
  };
}

/**
 * The percentiles as one band with narrower bands inside it, and the median as its mean.
 * @param {Percentiles} percentiles
 * @param {XAxis} xAxis
 * @param {boolean} tails  whether to include the minimum and the maximum
 * @param {{ label: string, color: string }} run
 * @returns {PercentileBand[]} one band; none if no step has samples
 */
export function bandsOf(percentiles, xAxis, tails, { label, color }) {
  const { values, step, wallTime } = percentiles;
  if (values.length === 0) return [];
  const middle = (values.length - 1) / 2;
  const shown = shownValues(values, tails);
  /** @type {[Float64Array, Float64Array][]} */
  const pairs = [];
  for (let k = 0; k < shown.length - 1 - k; k++) pairs.push([shown[k], shown[shown.length - 1 - k]]);
  const [[low, high], ...inner] = pairs;
  const mean = values[middle];
  const count = new Float64Array(step.length).fill(1);
  return [{ name: label, color, x: xColumn({ step, wallTime, value: mean }, xAxis), mean, low, high, inner, count, percentiles }];
}

/** The columns of percentiles that the chart shows. @param {readonly Float64Array[]} values @param {boolean} tails */
function shownValues(values, tails) {
  return tails ? values : values.slice(1, -1);
}

/**
 * The smallest and the largest finite value that the chart shows.
 * @param {Percentiles} percentiles
 * @param {boolean} tails  whether to include the minimum and the maximum
 * @returns {[min: number, max: number] | null} null if there are none
 */
export function rangeOf({ values }, tails) {
  let min = Infinity;
  let max = -Infinity;
  for (const column of shownValues(values, tails)) {
    for (const value of column) {
      if (!Number.isFinite(value)) continue;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  }
  return min <= max ? [min, max] : null;
}

/**
 * The text about one step, for the tooltip and screen readers.
 * @param {Pick<PercentileBand, "name" | "color" | "percentiles">} band
 * @param {number} index
 * @returns {import("tbcore/chart.js").ReadOut}
 */
export function readOutOf({ name, color, percentiles: { basisPoints, values, step, wallTime, empty } }, index) {
  const value = (/** @type {number} */ k) => formatValue(values[k][index]);
  const middle = (basisPoints.length - 1) / 2;
  /** @type {[string, string][]} the maximum first, as in the chart */
  const rows = empty[index] ? [["Samples", "none"]] : basisPoints.map((point, k) => /** @type {[string, string]} */ ([percentileName(point), value(k)])).reverse();
  return {
    name,
    color,
    rows: [
      ["Step", formatStep(step[index])],
      ...rows,
      ["Relative", formatDuration(wallTime[index] - wallTime[0])],
    ],
    note: formatTime(wallTime[index]),
    spoken: `step ${formatStep(step[index])}: ${empty[index] ? "no samples" : `median ${value(middle)}, from ${value(0)} to ${value(basisPoints.length - 1)}`}`,
  };
}

/**
 * A table with one row per step, for downloads.
 * @param {Percentiles} percentiles
 */
export function percentileTable({ basisPoints, values, step, wallTime }) {
  return {
    header: ["Wall time", "Step", ...basisPoints.map((basisPoint) => `${basisPoint / 100} %`)],
    rows: Array.from(step, (rowStep, i) => [wallTime[i], rowStep, ...values.map((column) => column[i])]),
  };
}

/**
 * A note on the steps that the chart cannot show, and on the pinned step if it has no histogram; "" if there are none.
 * @param {Percentiles} percentiles
 * @param {number | null} pinned
 */
export function noteOf({ values, step, empty }, pinned) {
  const numEmpty = empty.filter(Boolean).length;
  const numNonFinite = step.filter((_, i) => !empty[i] && values.some((column) => !Number.isFinite(column[i]))).length;
  const notes = [];
  if (numEmpty > 0) notes.push(numEmpty === step.length ? "no samples" : `${plural(numEmpty, "step")} without samples`);
  if (numNonFinite > 0) notes.push(`${plural(numNonFinite, "step")} with infinite values or NaN`);
  const last = Math.max(...step.filter((each) => pinned !== null && each <= pinned));
  if (pinned !== null && last < pinned) notes.push(`${Number.isFinite(last) ? `step ${formatStep(last)} is the last` : "nothing"} up to step ${formatStep(pinned)}`);
  return notes.join(", ");
}

/** The name of a percentile. @param {number} basisPoint */
export function percentileName(basisPoint) {
  return PERCENTILE_NAMES.get(basisPoint) ?? `${formatValue(basisPoint / 100)} %`;
}
