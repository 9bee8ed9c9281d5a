/**
 * Histograms as they were logged: their buckets, where their samples lie, and how densely. Pure.
 */

import { toNumber } from "tbcore/lib/format.js";
import { shareOf } from "tbcore/lib/axes.js";

/**
 * @typedef {import("./types.js").Buckets} Buckets
 * @typedef {import("./types.js").Histogram} Histogram
 * @typedef {import("./types.js").Range} Range
 */

/**
 * @param {any[]} row  wall time, step, and the histogram as the server has it
 * @returns {Histogram}
 */
export function readHistogram([wallTime, step, [min, max, num, , , limits, counts]]) {
  const least = toNumber(min);
  const most = toNumber(max);
  return {
    wallTime: toNumber(wallTime),
    step: toNumber(step),
    min: least,
    max: most,
    num: toNumber(num),
    buckets: readBuckets(least, most, limits.map(toNumber), counts.map(toNumber)),
  };
}

/**
 * Outer edges can lie far beyond the samples (those of writers go up to 1.8e308), so the least and the greatest sample
 * bound them. Edges that fall are taken for empty buckets of no width.
 * @param {number} min
 * @param {number} max
 * @param {readonly number[]} limits  right edges
 * @param {readonly number[]} counts
 * @returns {Buckets}
 */
export function readBuckets(min, max, limits, counts) {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  const left = [];
  const right = [];
  const kept = [];
  let total = 0;
  let numUnplaced = 0;
  for (let i = Math.max(0, first); i <= last; i++) {
    const count = counts[i] > 0 ? counts[i] : 0;
    const low = i === 0 ? min : limits[i - 1] < min ? min : limits[i - 1];
    const high = limits[i] > max ? max : limits[i];
    total += count;
    if (!Number.isFinite(low) || !Number.isFinite(high)) {
      numUnplaced += count;
      continue;
    }
    left.push(low);
    right.push(Math.max(low, high));
    kept.push(count);
  }
  return { left: Float64Array.from(left), right: Float64Array.from(right), count: Float64Array.from(kept), total, numUnplaced };
}

/**
 * The part of the axis on which the samples lie.
 * @param {readonly Histogram[]} histograms
 * @param {number} [trim]  percent of all samples, which lie beyond it at each end; samples lie evenly in their bucket
 * @returns {Range | null} null without samples
 */
export function rangeOf(histograms, trim = 0) {
  let min = Infinity;
  let max = -Infinity;
  for (const { buckets: { left, right } } of histograms) {
    if (left.length === 0) continue;
    min = Math.min(min, left[0]);
    max = Math.max(max, right[right.length - 1]);
  }
  if (!(min <= max)) return null;
  if (!(trim > 0)) return [min, max];
  return [quantileOf(histograms, trim / 100, min, max), quantileOf(histograms, 1 - trim / 100, min, max)];
}

/**
 * The value below which a share of all samples lies, by halving: the buckets of different steps overlap as they like.
 * @param {readonly Histogram[]} histograms
 * @param {number} share
 * @param {number} min
 * @param {number} max
 */
function quantileOf(histograms, share, min, max) {
  const all = histograms.reduce((sum, { buckets }) => sum + buckets.total - buckets.numUnplaced, 0);
  for (let i = 0; i < 60; i++) {
    const middle = min / 2 + max / 2;
    const below = histograms.reduce((sum, { buckets }) => sum + countBelow(buckets, middle), 0);
    if (below < share * all) min = middle;
    else max = middle;
  }
  return share < 0.5 ? min : max;
}

/**
 * So many samples lie at or below a value.
 * @param {Buckets} buckets
 * @param {number} value
 */
export function countBelow({ left, right, count }, value) {
  let below = 0;
  for (let i = 0; i < left.length && left[i] <= value; i++) {
    below += right[i] <= value ? count[i] : count[i] * shareOf([left[i], right[i]], value);
  }
  return below;
}

/**
 * How many samples lie in each of many columns of equal width: the integral of count / width, so that no bucket is lost
 * however narrow it is, and wide ones are as wide as they are.
 * @param {Buckets} buckets
 * @param {Range} range  of all columns together
 * @param {number} numColumns
 * @returns {Float64Array}
 */
export function columnsOf({ left, right, count }, range, numColumns) {
  const columns = new Float64Array(numColumns);
  for (let i = 0; i < left.length; i++) {
    const from = shareOf(range, left[i]) * numColumns;
    const to = shareOf(range, right[i]) * numColumns;
    if (!(to >= 0 && from <= numColumns) || count[i] === 0) continue;
    const first = Math.max(0, Math.floor(from));
    if (!(to - from > 1e-9)) {
      // All samples have one value; the last column ends where the axis does.
      columns[Math.min(numColumns - 1, first)] += count[i];
      continue;
    }
    for (let k = first; k < Math.min(numColumns, to); k++) {
      columns[k] += (count[i] * (Math.min(k + 1, to) - Math.max(k, from))) / (to - from);
    }
  }
  return columns;
}

/**
 * The bucket that holds a value: of two that meet there, the right one. Buckets of no width hold what is nearest.
 * @param {Buckets} buckets
 * @param {number} value
 * @param {number} reach  how far a bucket may lie beside the value
 * @returns {number} -1: none
 */
export function bucketAt({ left, right }, value, reach = 0) {
  let nearest = -1;
  let distance = reach;
  for (let i = left.length - 1; i >= 0; i--) {
    if (left[i] <= value && value < right[i]) return i;
    const beside = Math.max(left[i] - value, value - right[i]);
    if (beside < distance || (beside === distance && nearest === -1)) {
      nearest = i;
      distance = beside;
    }
  }
  return nearest;
}

/**
 * Samples for each unit of the axis; infinite where all lie at one value.
 * @param {Buckets} buckets
 * @param {number} index
 */
export function densityOf({ left, right, count }, index) {
  return count[index] / (right[index] - left[index]);
}

/**
 * One row for each bucket that was logged, to be saved.
 * @param {readonly Histogram[]} histograms
 */
export function* bucketRows(histograms) {
  for (const { wallTime, step, buckets: { left, right, count } } of histograms) {
    for (let i = 0; i < left.length; i++) yield [wallTime, step, left[i], right[i], count[i]];
  }
}
