/** Statistics of a value of each run of a group; tbcore/values/statistics.py is the same for the server, and tests/statistics.json has what both must do. No DOM. */

import { MIN_VALUES, tQuantile } from "./comparisons.js";

/** The averages that a reader can choose, in words. */
export const AVERAGES = Object.freeze({ mean: "mean", median: "median", iqm: "interquartile mean" });

/** @typedef {keyof typeof AVERAGES} Average */

/**
 * The average of the finite values with its spread; an interquartile mean leaves out the lowest and
 * the highest quarter. Around a mean, that is the standard deviation of the sample, over n - 1, which
 * is 0 for a single value; its standard error or a 95 % interval, which need three values; around any
 * average, the quartiles, or the lowest and the highest value.
 * @param {readonly number[]} values
 * @param {Average} [average]
 * @param {number} [live]  number of runs that are still being written
 * @param {import("./group-figure.js").Spread} [spread]
 * @returns {import("./group-figure.js").Statistics}
 */
export function statisticsOf(values, average = "mean", live = 0, spread = average === "mean" ? "deviation" : "quartiles") {
  const finite = values.filter(Number.isFinite);
  const [count, nonfinite] = [finite.length, values.length - finite.length];
  if (count === 0) {
    const common = values.every((value) => Object.is(value, values[0])) ? values[0] : undefined;
    return { average: NaN, low: NaN, high: NaN, spread, count, nonfinite, live, common };
  }
  const { mean, deviation } = meanOf(finite);
  const around = spread === "deviation" ? deviation : count < MIN_VALUES ? NaN : (deviation / Math.sqrt(count)) * (spread === "interval" ? tQuantile(count - 1) : 1);
  finite.sort((a, b) => a - b);
  const cut = Math.floor(count / 4);
  const middle = average === "mean" ? mean : average === "median" ? quantileOf(finite, 0.5) : meanOf(finite.slice(cut, count - cut)).mean;
  const [low, high] = spread === "quartiles" ? [quantileOf(finite, 0.25), quantileOf(finite, 0.75)] : spread === "range" ? [finite[0], finite[count - 1]] : [mean - around, mean + around];
  return { average: middle, low, high, spread, count, nonfinite, live };
}

/** @param {readonly number[]} values  finite ones, at least one */
function meanOf(values) {
  // Scaled to at most 1, no sum or square overflows, and equal values have the deviation 0.
  const scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const mean = values.reduce((sum, value) => sum + value / scale, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value / scale - mean) ** 2, 0);
  return { mean: mean * scale, deviation: Math.sqrt(squares / Math.max(1, values.length - 1)) * scale };
}

/** A quantile, linear between two values. @param {readonly number[]} values  in ascending order @param {number} share */
function quantileOf(values, share) {
  const position = share * (values.length - 1);
  const below = Math.floor(position);
  const part = position - below;
  return values[below] * (1 - part) + values[Math.min(below + 1, values.length - 1)] * part;
}
