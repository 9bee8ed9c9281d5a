/**
 * The importance of a hyperparameter for a metric, over the rows shown. Pure functions.
 *
 * Only ranks are used, so that neither a diverged run nor the scale of a hyperparameter affects the
 * result.
 */

import { isRepetition } from "tbcore/groups.js";

/** @typedef {import("./types.js").Column} Column */

/** With fewer rows, any pattern is likely to be chance. */
export const MIN_ROWS = 8;
/** Most shuffles of the metric that show what chance reaches. */
const MAX_SHUFFLES = 500;
/** Fewest shuffles. With many rows, chance reaches so little that a few are enough. */
const MIN_SHUFFLES = 50;
/** Number of rows that are shuffled in all, which takes some milliseconds. */
const SHUFFLED_ROWS = 400_000;
/** The share of the shuffles that must explain less. One in a hundred, since a sweep has many hyperparameters. */
const CHANCE_QUANTILE = 0.99;

/** Most bins that numeric values are divided into; all have about the same number of rows. */
const MAX_BINS = 6;
/** Smallest absolute rank correlation that is shown as an arrow. */
const MIN_TREND = 0.3;
/**
 * A rise or fall of the bins' mean ranks counts if it is larger than this share of their range;
 * smaller ones are noise.
 */
const MIN_TURN_SHARE = 0.25;

/**
 * @typedef {object} Importance
 * @property {number} share  of the variance of ranks that it explains, 0 to 1
 * @property {number} chance  the share that it reaches in 1 of 100 cases if the metric is shuffled
 * @property {boolean} isClear  whether the share is larger than that
 * @property {number} numRows  on which it is based
 * @property {number} trend  Spearman's rank correlation, -1 to 1; NaN if the values are not numbers
 * @property {boolean} isNonMonotonic  whether the metric both rises and falls with it
 */

/**
 * The share of the variance of the metric's ranks that a hyperparameter explains, corrected for
 * chance. Numeric values are divided into bins of equal size, so that a hyperparameter with its
 * optimum in the middle counts as well.
 * @param {Column} column
 * @param {Column} metric
 * @param {readonly number[]} rows
 * @returns {Importance | null} null if there are too few rows or values
 */
export function importanceOf(column, metric, rows) {
  const usable = rows.filter((row) => column.cells[row] !== null && Number.isFinite(metric.cells[row]));
  if (usable.length < MIN_ROWS) return null;
  const ys = ranks(usable.map((row) => /** @type {number} */ (metric.cells[row])));
  const cells = usable.map((row) => column.cells[row]);
  // The order of seeds means nothing, so each is a group of its own.
  const areNumbers = !isRepetition(column.key) && cells.every((cell) => typeof cell === "number" && !Number.isNaN(cell));
  const xs = areNumbers ? ranks(/** @type {number[]} */ (cells)) : null;
  const bins = xs && binsOf(xs);
  const groups = groupsOf(bins ?? cells);
  const share = omegaSquared(groups, ys);
  if (Number.isNaN(share)) return null;
  const trend = xs ? correlation(xs, ys) : NaN;
  const isNonMonotonic = xs !== null && bins !== null && (isNonMonotonicInBins(bins, ys) || endContradictsTrend(xs, ys, trend));
  const chance = chanceOf(groups, ys);
  return { share, chance, isClear: share > chance, numRows: usable.length, trend, isNonMonotonic };
}

/**
 * The share that groups explain of a shuffled metric: the quantile CHANCE_QUANTILE of many shuffles.
 * They are the same each time, so that a number does not change by itself.
 * @param {Groups} groups
 * @param {Float64Array} ys
 */
function chanceOf(groups, ys) {
  const count = Math.max(MIN_SHUFFLES, Math.min(MAX_SHUFFLES, Math.round(SHUFFLED_ROWS / ys.length)));
  const random = randomNumbers();
  const shuffled = Float64Array.from(ys);
  const shares = Float64Array.from({ length: count }, () => {
    for (let i = shuffled.length - 1; i > 0; i--) {
      const other = Math.floor(random() * (i + 1));
      [shuffled[i], shuffled[other]] = [shuffled[other], shuffled[i]];
    }
    return omegaSquared(groups, shuffled);
  }).sort();
  return shares[Math.ceil(count * CHANCE_QUANTILE) - 1];
}

/** Returns a generator of numbers from 0 to below 1 (mulberry32), which starts alike each time. */
function randomNumbers() {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Whether the metric contradicts the trend at an end: where the hyperparameter is smallest or
 * largest, the metric's mean rank is on the wrong side of the overall mean.
 * @param {Float64Array} xs  ranks of the hyperparameter
 * @param {Float64Array} ys  ranks of the metric
 * @param {number} trend
 */
function endContradictsTrend(xs, ys, trend) {
  const numAtEnd = Math.ceil(Math.sqrt(xs.length) / 4);
  const sorted = [...xs].sort((a, b) => a - b);
  const [low, high] = [sorted[numAtEnd - 1], sorted[sorted.length - numAtEnd]];
  const atLow = mean(ys.filter((_, i) => xs[i] <= low));
  const atHigh = mean(ys.filter((_, i) => xs[i] >= high));
  const middle = mean(ys);
  return (middle - atLow) * trend < 0 || (atHigh - middle) * trend < 0;
}

/**
 * Whether the mean ranks of ascending bins both rise and fall by more than noise.
 * @param {readonly number[]} bins
 * @param {Float64Array} ys
 */
function isNonMonotonicInBins(bins, ys) {
  const means = [...new Set(bins)].sort((a, b) => a - b).map((bin) => mean(ys.filter((_, i) => bins[i] === bin)));
  // `up` is the largest rise above an earlier mean, `down` the largest fall below one.
  let [lowest, highest, up, down] = [means[0], means[0], 0, 0];
  for (const each of means) {
    [lowest, highest] = [Math.min(lowest, each), Math.max(highest, each)];
    [up, down] = [Math.max(up, each - lowest), Math.max(down, highest - each)];
  }
  return Math.min(up, down) > MIN_TURN_SHARE * (highest - lowest);
}

/**
 * The bin of each rank. Bins have about the same number of rows; equal ranks are in the same bin.
 * @param {Float64Array} ranks
 */
function binsOf(ranks) {
  const distinct = new Set(ranks);
  const maxBins = Math.max(2, Math.min(MAX_BINS, Math.floor(Math.sqrt(ranks.length))));
  if (distinct.size <= maxBins) return Array.from(ranks);
  return Array.from(ranks, (rank) => Math.floor(((rank - 0.5) / ranks.length) * maxBins));
}

/**
 * Ranks, starting at 1; equal values share their mean rank.
 * @param {readonly number[]} values
 */
export function ranks(values) {
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  const result = new Float64Array(values.length);
  for (let i = 0; i < order.length; ) {
    let end = i + 1;
    while (end < order.length && values[order[end]] === values[order[i]]) end++;
    for (let k = i; k < end; k++) result[order[k]] = (i + 1 + end) / 2;
    i = end;
  }
  return result;
}

/**
 * Pearson's correlation; NaN if either is constant.
 * @param {Float64Array} xs
 * @param {Float64Array} ys
 */
function correlation(xs, ys) {
  const meanX = mean(xs);
  const meanY = mean(ys);
  let xx = 0;
  let yy = 0;
  let xy = 0;
  for (let i = 0; i < xs.length; i++) {
    xx += (xs[i] - meanX) ** 2;
    yy += (ys[i] - meanY) ** 2;
    xy += (xs[i] - meanX) * (ys[i] - meanY);
  }
  return xy / Math.sqrt(xx * yy);
}

/**
 * Groups of rows with equal labels.
 * @typedef {{ of: Int32Array, sizes: Float64Array }} Groups  the group of each row; their numbers of rows
 * @param {readonly unknown[]} labels
 * @returns {Groups}
 */
function groupsOf(labels) {
  const indices = new Map([...new Set(labels)].map((label, i) => [label, i]));
  const of = Int32Array.from(labels, (label) => /** @type {number} */ (indices.get(label)));
  const sizes = new Float64Array(indices.size);
  for (const group of of) sizes[group]++;
  return { of, sizes };
}

/**
 * Omega squared of a one-way analysis of variance: eta squared without its bias, which would be
 * large for many values with few rows each. At least 0; NaN if there is only one group, or as many
 * groups as rows.
 * @param {Groups} groups
 * @param {Float64Array} ys
 */
function omegaSquared({ of, sizes }, ys) {
  if (sizes.length < 2 || sizes.length === ys.length) return NaN;
  // (SS_between - df_between * MS_within) / (SS_total + MS_within), with sums of squares and mean
  // squares.
  const all = mean(ys);
  const sums = new Float64Array(sizes.length);
  let total = 0;
  for (let i = 0; i < ys.length; i++) {
    sums[of[i]] += ys[i] - all;
    total += (ys[i] - all) ** 2;
  }
  if (total === 0) return NaN;
  let between = 0;
  for (let i = 0; i < sizes.length; i++) between += sums[i] ** 2 / sizes[i];
  const within = (total - between) / (ys.length - sizes.length);
  return Math.max(0, (between - (sizes.length - 1) * within) / (total + within));
}

/** The arithmetic mean. @param {ArrayLike<number> & { reduce: any }} values @returns {number} */
function mean(values) {
  return values.reduce((/** @type {number} */ sum, /** @type {number} */ value) => sum + value, 0) / values.length;
}

/**
 * The importance as short text.
 * @param {Importance} importance
 * @returns {string} such as `62 % ↗`; `unclear` if chance reaches as much
 */
export function formatImportance({ share, isClear, trend, isNonMonotonic }) {
  if (!isClear) return "unclear";
  const arrow = isNonMonotonic ? "" : trend >= MIN_TREND ? " ↗" : trend <= -MIN_TREND ? " ↘" : "";
  return `${Math.round(share * 100)} %${arrow}`;
}

/** The importance in words. @param {Importance} importance @param {string} metric  its label */
export function explainImportance({ share, chance, isClear, numRows, trend, isNonMonotonic }, metric) {
  const rows = `over the rows shown (n = ${numRows})`;
  const limit = `a shuffled column reaches ${Math.round(chance * 100)} % in 1 of 100 cases`;
  if (!isClear) {
    return `Importance: unclear. Alone, it explains ${Math.round(share * 100)} % of the variance of ranks by ${metric}, ${rows}, but ${limit}.`;
  }
  const way = isNonMonotonic
    ? `; ${metric} rises and falls with it, so neither low nor high values are always better`
    : trend >= MIN_TREND
      ? `; ${metric} rises with it (ρ ${trend.toFixed(2)})`
      : trend <= -MIN_TREND
        ? `; ${metric} falls with it (ρ ${trend.toFixed(2)})`
        : "";
  return `Importance: alone, it explains ${Math.round(share * 100)} % of the variance of ranks by ${metric}, ${rows}${way}; ${limit}.`;
}
