/**
 * The importance of a hyperparameter for a metric, over the rows shown. Pure functions.
 *
 * Only ranks are used, so that neither a diverged run nor the scale of a hyperparameter affects the
 * result.
 */

/** @typedef {import("./types.js").Column} Column */

/** With fewer rows, any pattern is likely to be chance. */
const MIN_ROWS = 8;

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
  const areNumbers = cells.every((cell) => typeof cell === "number" && !Number.isNaN(cell));
  const xs = areNumbers ? ranks(/** @type {number[]} */ (cells)) : null;
  const bins = xs && binsOf(xs);
  const share = omegaSquared(bins ?? cells, ys);
  if (Number.isNaN(share)) return null;
  const trend = xs ? correlation(xs, ys) : NaN;
  return { share, trend, isNonMonotonic: xs !== null && bins !== null && (isNonMonotonicInBins(bins, ys) || endContradictsTrend(xs, ys, trend)) };
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
 * Omega squared of a one-way analysis of variance: eta squared without its bias, which would be
 * large for many values with few rows each. At least 0; NaN if there is only one group, or as many
 * groups as rows.
 * @param {readonly unknown[]} labels
 * @param {Float64Array} ys
 */
function omegaSquared(labels, ys) {
  /** @type {Map<unknown, number[]>} */
  const groups = new Map();
  labels.forEach((label, i) => {
    const members = groups.get(label);
    if (members) members.push(ys[i]);
    else groups.set(label, [ys[i]]);
  });
  if (groups.size < 2 || groups.size === labels.length) return NaN;
  // (SS_between - df_between * MS_within) / (SS_total + MS_within), with sums of squares and mean
  // squares.
  const all = mean(ys);
  const total = ys.reduce((sum, y) => sum + (y - all) ** 2, 0);
  let between = 0;
  for (const members of groups.values()) between += members.length * (mean(members) - all) ** 2;
  const within = (total - between) / (labels.length - groups.size);
  if (total === 0) return NaN;
  return Math.max(0, (between - (groups.size - 1) * within) / (total + within));
}

/** The arithmetic mean. @param {ArrayLike<number> & { reduce: any }} values @returns {number} */
function mean(values) {
  return values.reduce((/** @type {number} */ sum, /** @type {number} */ value) => sum + value, 0) / values.length;
}

/**
 * The importance as short text.
 * @param {Importance} importance
 * @returns {string} such as `62 % ↗`
 */
export function formatImportance({ share, trend, isNonMonotonic }) {
  const arrow = isNonMonotonic ? "" : trend >= MIN_TREND ? " ↗" : trend <= -MIN_TREND ? " ↘" : "";
  return `${Math.round(share * 100)} %${arrow}`;
}

/** The importance in words. @param {Importance} importance @param {string} metric  its label */
export function explainImportance({ share, trend, isNonMonotonic }, metric) {
  const way = isNonMonotonic
    ? `; ${metric} rises and falls with it, so neither low nor high values are always better`
    : trend >= MIN_TREND
      ? `; ${metric} rises with it (ρ ${trend.toFixed(2)})`
      : trend <= -MIN_TREND
        ? `; ${metric} falls with it (ρ ${trend.toFixed(2)})`
        : "";
  return `Explains ${Math.round(share * 100)} % of the variance of ranks by ${metric}, over the rows shown${way}.`;
}
