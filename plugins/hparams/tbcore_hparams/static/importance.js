/**
 * How much a hyperparameter goes with a metric, over the rows that are shown. Pure.
 *
 * Everything is by ranks, so that neither a diverged run nor a logarithmic hyperparameter changes what it says.
 */

/** @typedef {import("./types.js").Column} Column */

/** Of fewer rows any order is likely to be chance. */
const LEAST_ROWS = 8;

/** Numbers are cut into so many parts at most, of as many rows each. */
const MOST_PARTS = 6;
/** From here on the rank correlation is worth an arrow. */
const CLEAR = 0.3;
/** A way back that is longer than this share of all the way is no noise. */
const WAY_BACK = 0.25;

/**
 * @typedef {object} Importance
 * @property {number} share  of the differences in rank that it accounts for, 0 to 1
 * @property {number} trend  Spearman's rank correlation, -1 to 1; NaN of values that are no numbers
 * @property {boolean} turns  the metric goes both up and down along it: the best is in between
 */

/**
 * The share of the variance of the metric's ranks that lies between the values of a hyperparameter, less what chance
 * alone would give. Numbers of many values are cut into parts of equal size, so that one which is best in the middle
 * counts as well.
 * @param {Column} column
 * @param {Column} metric
 * @param {readonly number[]} rows
 * @returns {Importance | null} null: too little to say anything
 */
export function importanceOf(column, metric, rows) {
  const known = rows.filter((row) => column.cells[row] !== null && Number.isFinite(metric.cells[row]));
  if (known.length < LEAST_ROWS) return null;
  const ys = ranks(known.map((row) => /** @type {number} */ (metric.cells[row])));
  const cells = known.map((row) => column.cells[row]);
  const areNumbers = cells.every((cell) => typeof cell === "number" && !Number.isNaN(cell));
  const xs = areNumbers ? ranks(/** @type {number[]} */ (cells)) : null;
  const parts = xs && partsOf(xs);
  const share = shareBetween(parts ?? cells, ys);
  if (Number.isNaN(share)) return null;
  const trend = xs ? correlation(xs, ys) : NaN;
  return { share, trend, turns: xs !== null && parts !== null && (doTurn(parts, ys) || doesEndTurn(xs, ys, trend)) };
}

/**
 * Whether the least or the greatest values, a few of many, have metrics in the other half than the trend says.
 * @param {Float64Array} xs
 * @param {Float64Array} ys
 * @param {number} trend
 */
function doesEndTurn(xs, ys, trend) {
  const few = Math.ceil(Math.sqrt(xs.length) / 4);
  const sorted = [...xs].sort((a, b) => a - b);
  const [low, high] = [sorted[few - 1], sorted[sorted.length - few]];
  const atLow = mean(ys.filter((_, i) => xs[i] <= low));
  const atHigh = mean(ys.filter((_, i) => xs[i] >= high));
  const middle = mean(ys);
  return (middle - atLow) * trend < 0 || (atHigh - middle) * trend < 0;
}

/**
 * Whether the mean ranks of rising parts go up and down.
 * @param {readonly number[]} parts
 * @param {Float64Array} ys
 */
function doTurn(parts, ys) {
  const means = [...new Set(parts)].sort((a, b) => a - b).map((part) => mean(ys.filter((_, i) => parts[i] === part)));
  let [least, most, up, down] = [means[0], means[0], 0, 0];
  for (const each of means) {
    [least, most] = [Math.min(least, each), Math.max(most, each)];
    [up, down] = [Math.max(up, each - least), Math.max(down, most - each)];
  }
  return Math.min(up, down) > WAY_BACK * (most - least);
}

/** Ranks as parts of about as many rows each; equal ranks stay together. @param {Float64Array} ranks */
function partsOf(ranks) {
  const distinct = new Set(ranks);
  const most = Math.max(2, Math.min(MOST_PARTS, Math.floor(Math.sqrt(ranks.length))));
  if (distinct.size <= most) return Array.from(ranks);
  return Array.from(ranks, (rank) => Math.floor(((rank - 0.5) / ranks.length) * most));
}

/**
 * Ranks from 1; equal values share the mean of theirs.
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

/** Pearson's correlation; NaN where one of the two is constant. @param {Float64Array} xs @param {Float64Array} ys */
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
 * Omega squared of a one-way analysis of variance: eta squared without its bias, which is large where there are many
 * values of few rows each. Not below 0; NaN where it says nothing.
 * @param {readonly unknown[]} labels
 * @param {Float64Array} ys
 */
function shareBetween(labels, ys) {
  /** @type {Map<unknown, number[]>} */
  const groups = new Map();
  labels.forEach((label, i) => {
    const members = groups.get(label);
    if (members) members.push(ys[i]);
    else groups.set(label, [ys[i]]);
  });
  if (groups.size < 2 || groups.size === labels.length) return NaN;
  const all = mean(ys);
  const total = ys.reduce((sum, y) => sum + (y - all) ** 2, 0);
  let between = 0;
  for (const members of groups.values()) between += members.length * (mean(members) - all) ** 2;
  const within = (total - between) / (labels.length - groups.size);
  if (total === 0) return NaN;
  return Math.max(0, (between - (groups.size - 1) * within) / (total + within));
}

/** @param {ArrayLike<number> & { reduce: any }} values @returns {number} */
function mean(values) {
  return values.reduce((/** @type {number} */ sum, /** @type {number} */ value) => sum + value, 0) / values.length;
}

/** @param {Importance} importance  @returns {string} `62 % ↗` */
export function formatImportance({ share, trend, turns }) {
  const arrow = turns ? "" : trend >= CLEAR ? " ↗" : trend <= -CLEAR ? " ↘" : "";
  return `${Math.round(share * 100)} %${arrow}`;
}

/** For a reader who has not met it. @param {Importance} importance @param {string} metric */
export function explainImportance({ share, trend, turns }, metric) {
  const way = turns ? ", which turns along it: neither less nor more is always better" : trend >= CLEAR ? `, which rises with it (ρ ${trend.toFixed(2)})` : trend <= -CLEAR ? `, which falls with it (ρ ${trend.toFixed(2)})` : "";
  return `Accounts for ${Math.round(share * 100)} % of the differences in rank by ${metric} over the rows shown${way}.`;
}
