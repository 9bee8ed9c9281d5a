/**
 * Pure functions on histograms: reading the server's rows, quantiles, densities and table rows.
 */

import { toNumber } from "tbcore/format.js";

/**
 * @typedef {import("./types.js").Buckets} Buckets
 * @typedef {import("./types.js").Histogram} Histogram
 * @typedef {import("./types.js").Range} Range
 */

/**
 * A histogram from one row of the server's response.
 * @param {any[]} row  wall time, step, and the histogram
 * @returns {Histogram}
 */
export function readHistogram([wallTime, step, [min, max, num, , , limits, counts, lefts]]) {
  const smallest = toNumber(min);
  const largest = toNumber(max);
  return {
    wallTime: toNumber(wallTime),
    step: toNumber(step),
    min: smallest,
    max: largest,
    num: toNumber(num),
    buckets: readBuckets(smallest, largest, limits.map(toNumber), counts.map(toNumber), lefts?.map(toNumber)),
  };
}

/**
 * The buckets without the empty ones at both ends. Writers use outer edges of up to 1.8e308, so
 * edges are clamped to the smallest and the largest sample. A right edge below the left edge of its
 * bucket is raised to the left edge, so that the bucket has no width.
 * @param {number} min
 * @param {number} max
 * @param {readonly number[]} limits  right edges
 * @param {readonly number[]} counts
 * @param {readonly number[]} [lefts]  left edges, of buckets with gaps or overlaps between them
 * @returns {Buckets}
 */
export function readBuckets(min, max, limits, counts, lefts = [min, ...limits]) {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  const left = [];
  const right = [];
  const placed = [];
  let total = 0;
  let numUnplaced = 0;
  for (let i = Math.max(0, first); i <= last; i++) {
    const count = counts[i] > 0 ? counts[i] : 0;
    const low = lefts[i] < min ? min : lefts[i];
    const high = limits[i] > max ? max : limits[i];
    total += count;
    if (!Number.isFinite(low) || !Number.isFinite(high)) {
      numUnplaced += count;
      continue;
    }
    left.push(low);
    right.push(Math.max(low, high));
    placed.push(count);
  }
  return { left: Float64Array.from(left), right: Float64Array.from(right), count: Float64Array.from(placed), total, numUnplaced };
}

/**
 * The range of values that the samples cover.
 * @param {readonly Histogram[]} histograms
 * @param {number} [trim]  percent of all samples to leave out at each end, assuming that samples
 *   are spread evenly within a bucket
 * @returns {Range | null} null if there are no samples
 */
export function rangeOf(histograms, trim = 0) {
  let min = Infinity;
  let max = -Infinity;
  for (const { buckets: { left, right } } of histograms) {
    if (left.length === 0) continue;
    min = Math.min(min, left[0]);
    max = Math.max(max, endOf(right));
  }
  if (!(min <= max)) return null;
  if (!(trim > 0)) return [min, max];
  return [quantileOf(histograms, trim / 100, min, max), quantileOf(histograms, 1 - trim / 100, min, max)];
}

/** The largest right edge: a bucket may overlap all that follow it. @param {Float64Array} right */
const endOf = (right) => right.reduce((largest, edge) => Math.max(largest, edge), -Infinity);

/**
 * The value that a share of all samples is below. Found by bisection, because buckets of different
 * steps overlap.
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
 * The number of samples at or below a value, assuming that samples are spread evenly within a
 * bucket.
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
 * The number of samples in each of many columns of equal width. A bucket's count is spread evenly
 * over the columns that it overlaps, so that narrow buckets are not lost.
 * @param {Buckets} buckets
 * @param {Range} range  from the left of the first column to the right of the last
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
      // The bucket has no width. A value at the end of the axis belongs to the last column.
      columns[Math.min(numColumns - 1, first)] += count[i];
      continue;
    }
    for (let k = first; k < Math.min(numColumns, to); k++) {
      columns[k] += (count[i] * (Math.min(k + 1, to) - Math.max(k, from))) / (to - from);
    }
  }
  return columns;
}

/** About how many bins of equal width the axis of values has. */
const NUM_BINS = 50;

/**
 * The width of bins for an axis: the 1, 2 or 5 times a power of ten that divides it into about 50
 * bins, at least 32 and at most 80.
 * @param {Range} range
 */
export function binWidthOf([min, max]) {
  const ideal = (max / 2 - min / 2) / (NUM_BINS / 2);
  const power = 10 ** Math.floor(Math.log10(ideal));
  const choices = [1, 2, 5, 10].map((factor) => factor * power);
  const distance = (/** @type {number} */ width) => Math.abs(Math.log(width / ideal));
  return choices.reduce((best, width) => (distance(width) < distance(best) ? width : best));
}

/**
 * The samples in bins of equal width, which start at multiples of the width, for display: writers
 * use up to 1,500 buckets whose widths differ by powers of ten, so that the densities of a few
 * hundred samples are a comb. A bucket's count is spread evenly over the bins that it overlaps.
 * @param {Buckets} buckets
 * @param {Range} view  bins outside it are left out
 * @returns {Buckets} the same buckets if none of them is narrower than a bin
 */
export function rebin(buckets, view) {
  const { left, right, count, total, numUnplaced } = buckets;
  const width = binWidthOf(view);
  const isFine = left.some((edge, i) => count[i] > 0 && right[i] - edge < width * (1 - 1e-9));
  if (!isFine || !(width > 0) || !Number.isFinite(width)) return buckets;
  const first = Math.floor(Math.max(view[0], left[0]) / width);
  const num = Math.max(1, Math.ceil(Math.min(view[1], endOf(right)) / width) - first);
  if (!(num <= 4 * NUM_BINS)) return buckets; // the width is below the precision of the values
  const edges = Float64Array.from({ length: num + 1 }, (_, i) => (first + i) * width);
  return { left: edges.slice(0, -1), right: edges.slice(1), count: columnsOf(buckets, [edges[0], edges[num]], num), total, numUnplaced };
}

/**
 * The value that a share of a histogram's samples is below, assuming that samples are spread evenly
 * within a bucket.
 * @param {Histogram} histogram
 * @param {number} share
 * @returns {number} NaN if there are no samples
 */
export function percentileOf(histogram, share) {
  const range = rangeOf([histogram]);
  return range ? quantileOf([histogram], share, ...range) : NaN;
}

/**
 * Index of the bucket that contains a value, otherwise of the nearest one. A value on an edge is in
 * the bucket to its right.
 * @param {Buckets} buckets
 * @param {number} value
 * @param {number} reach  maximum distance of a bucket that does not contain the value
 * @returns {number} -1 if there is none
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
 * Samples per unit of the axis; infinite for a bucket of no width.
 * @param {Buckets} buckets
 * @param {number} index
 */
export function densityOf({ left, right, count }, index) {
  return count[index] / (right[index] - left[index]);
}

/**
 * Table rows for downloads, one per bucket: wall time, step, left edge, right edge, count.
 * @param {readonly Histogram[]} histograms
 */
export function* bucketRows(histograms) {
  for (const { wallTime, step, buckets: { left, right, count } } of histograms) {
    for (let i = 0; i < left.length; i++) yield [wallTime, step, left[i], right[i], count[i]];
  }
}

/**
 * The position of a value within a range: 0 at the start, 1 at the end.
 * @param {Range} range
 * @param {number} value
 */
export function shareOf([min, max], value) {
  // Halves, because the difference of two large doubles may overflow to infinity.
  return (value / 2 - min / 2) / (max / 2 - min / 2);
}
