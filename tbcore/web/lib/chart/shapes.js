/**
 * What a line does, as claims: it rises, is level from a step on, has a spike, is NaN. Pure functions
 * of the points that are there. A claim is made only where it is clear. `words.js` puts claims into
 * words, and the README of the scalars tab says what they mean.
 *
 * All sizes are shares of the height that the line takes, from its lowest point to its highest.
 */

import { extent } from "./series.js";

/**
 * @typedef {object} Shape  rows are indices of the columns that were passed
 * @property {"rise" | "fall" | "valley" | "peak" | "level" | null} trend  null: not clear
 * @property {number} from  typical value at the start; NaN without finite values
 * @property {number} to  typical value at the end
 * @property {number} turn  the row around which a valley or a peak is; -1 for other trends
 * @property {number} levelFrom  the row from which the line is level after a trend; -1 if it is not
 * @property {boolean} isNoisy
 * @property {number[]} spikes  rows
 * @property {number[]} nonFinite  rows
 */

/** Lines with fewer finite points have no parts: they have a trend only if each point is above, or below, the one before. */
const MIN_POINTS = 16;
const MAX_PARTS = 16;
const POINTS_PER_PART = 5;
/** A trend goes at least this far, and at least this many standard errors of a part. */
const MIN_TREND = 0.25;
const MIN_TREND_ERRORS = 6;
/** How much of a trend may go the other way in between. */
const MAX_REVERSAL = 0.12;
/** A level line stays within this much. */
const MAX_LEVEL = 0.06;
/** The part of the line, and of its x range, that must be level at its end to be mentioned. */
const MIN_LEVEL_SHARE = 0.25;
/** A line is noisy if its points are this far from its typical values and from the middle of their neighbours: the standard deviation. With few points, it may be a wave. */
const MIN_POINTS_OF_NOISE = 64;
const MIN_NOISE = 0.08;
/** A spike stands out of the points on both sides by this much, and by this many standard deviations. */
const MIN_SPIKE = 0.15;
const MIN_SPIKE_DEVIATIONS = 8;
/** Of the points beside a spike, the nearest may belong to it; the next ones on each side are compared. */
const SPIKE_WIDTH = 2;
const NUM_BESIDE = 4;

/**
 * The shape of a line, or of a part of it.
 * @param {ArrayLike<number>} xs  in the order of logging
 * @param {ArrayLike<number>} ys  as drawn, such as logarithms; `from` and `to` are among them
 * @param {ArrayLike<number>} values  as logged; those that are not finite are found here
 * @returns {Shape}
 */
export function shapeOf(xs, ys, values = ys) {
  const all = Array.from(ys, (_, row) => row);
  const nonFinite = all.filter((row) => !Number.isFinite(values[row]));
  const rows = all.filter((row) => Number.isFinite(ys[row]));
  const none = { trend: null, from: NaN, to: NaN, turn: -1, levelFrom: -1, isNoisy: false, spikes: [], nonFinite };
  if (rows.length === 0) return none;
  const column = rows.map((row) => ys[row]);
  const numAtEnds = Math.min(5, Math.max(1, Math.floor(column.length / 100)));
  const ends = { from: median(column.slice(0, numAtEnds)), to: median(column.slice(-numAtEnds)) };
  const [min, max] = /** @type {[number, number]} */ (extent(column));
  const height = max - min;
  if (column.length < MIN_POINTS || height === 0) return { ...none, ...ends, trend: trendOfFew(column) };

  const spikes = spikesIn(column, height);
  const isSpike = new Set(spikes);
  const calm = rows.filter((_, i) => !isSpike.has(i));
  const parts = partsOf(calm.map((row) => ys[row]));
  const { noise, error } = noiseOf(parts);
  const shape = trendOf(parts.map(median), height, error);
  /** The first row of a part. @param {number} part */
  const rowOf = (part) => calm[parts.slice(0, part).reduce((sum, { length }) => sum + length, 0)];
  const last = calm[calm.length - 1];
  const turn = shape.turn < 0 ? -1 : turnIn(calm.filter((row) => row >= rowOf(shape.turn - 1) && !(row > rowOf(shape.turn + 2))), ys, shape.trend === "peak" ? 1 : -1);
  const level = shape.levelFrom < 0 ? -1 : rowOf(shape.levelFrom);
  const isLong = level >= 0 && xs[last] - xs[level] >= MIN_LEVEL_SHARE * Math.abs(xs[last] - xs[calm[0]]);
  return { ...none, ...ends, trend: shape.trend, turn, levelFrom: isLong ? level : -1, isNoisy: calm.length >= MIN_POINTS_OF_NOISE && noise >= MIN_NOISE * height && deviationOf(calm.map((row) => ys[row])) >= MIN_NOISE * height, spikes: spikes.map((i) => rows[i]) };
}

/** The trend of a line without parts. @param {readonly number[]} column @returns {Shape["trend"]} */
function trendOfFew(column) {
  const steps = column.slice(1).map((value, i) => Math.sign(value - column[i]));
  if (steps.length < 2) return null;
  const [first] = steps;
  if (!steps.every((step) => step === first)) return null;
  return first === 0 ? "level" : first > 0 ? "rise" : "fall";
}

/** Parts of about equal length. @param {readonly number[]} column @returns {number[][]} */
function partsOf(column) {
  const count = Math.max(3, Math.min(MAX_PARTS, Math.floor(column.length / POINTS_PER_PART)));
  const edge = (/** @type {number} */ part) => Math.round((part * column.length) / count);
  return Array.from({ length: count }, (_, part) => column.slice(edge(part), edge(part + 1)));
}

/**
 * How far points are from their part's slope.
 * @param {readonly (readonly number[])[]} parts
 * @returns {{ noise: number, error: number }} standard deviations of a point, and of a part's median;
 *   neighbours that are alike count as fewer points
 */
function noiseOf(parts) {
  const residuals = parts.map((part) => {
    const slope = median(part.slice(2).map((value, i) => (value - part[i]) / 2));
    const flat = part.map((value, i) => value - slope * i);
    const middle = median(flat);
    return flat.map((value) => value - middle);
  });
  const noise = Math.max(...[0.5, 0.75].map((share) => quantile(residuals.map((part) => 1.5 * median(part.map(Math.abs))), share)));
  let product = 0;
  let square = 0;
  for (const part of residuals) {
    for (let i = 1; i < part.length; i++) {
      product += part[i] * part[i - 1];
      square += (part[i] ** 2 + part[i - 1] ** 2) / 2;
    }
  }
  const alike = Math.min(0.9, Math.max(0, square && product / square) + 1 / Math.sqrt(parts[0].length * parts.length));
  return { noise, error: 1.25 * noise * Math.sqrt((1 + alike) / (1 - alike) / parts[0].length) };
}

/**
 * The trend of the parts' typical values.
 * @param {readonly number[]} medians @param {number} height @param {number} error
 * @returns {{ trend: Shape["trend"], turn: number, levelFrom: number }} numbers of parts
 */
function trendOf(medians, height, error) {
  const none = { trend: null, turn: -1, levelFrom: -1 };
  const last = medians.length - 1;
  const [min, max] = /** @type {[number, number]} */ (extent(medians));
  if (error > 0.03 * height) return none;
  if (max - min <= MAX_LEVEL * height) return { ...none, trend: "level" };
  const enough = Math.max(MIN_TREND * height, MIN_TREND_ERRORS * error);
  /** Whether the typical values go from one part to another without going back much. @param {number} from @param {number} to */
  const goes = (from, to) => {
    const total = medians[to] - medians[from];
    const sign = Math.sign(total);
    let furthest = medians[from];
    let back = 0;
    for (let part = from; part <= to; part++) {
      if (sign * (medians[part] - furthest) > 0) furthest = medians[part];
      back = Math.max(back, sign * (furthest - medians[part]));
    }
    return Math.abs(total) >= enough && back <= MAX_REVERSAL * Math.abs(total);
  };
  let level = last;
  const end = median(medians.slice(Math.floor(last * (1 - MIN_LEVEL_SHARE))));
  while (level > 0 && Math.abs(medians[level - 1] - end) <= (MAX_LEVEL / 2) * height) level--;
  // Where the level begins, the line may still come from elsewhere.
  const levelFrom = level + 1 <= last * (1 - MIN_LEVEL_SHARE) ? level + 1 : -1;
  if (goes(0, last)) return { trend: medians[last] > medians[0] ? "rise" : "fall", turn: -1, levelFrom };
  for (const [trend, value] of /** @type {const} */ ([["valley", min], ["peak", max]])) {
    const turn = medians.indexOf(value);
    if (turn > 0 && turn < last && goes(0, turn) && goes(turn, last)) return { trend, turn, levelFrom: levelFrom > turn ? levelFrom : -1 };
  }
  return none;
}

/** How far points are from the middle of their neighbours: of independent points, 1.2 standard deviations. @param {readonly number[]} column */
function deviationOf(column) {
  return 1.5 * median(column.slice(2).map((value, i) => Math.abs(column[i + 1] - (value + column[i]) / 2)));
}

/** The row around which a turn is: the typical value of it and its neighbours is the highest, or the lowest. @param {readonly number[]} rows @param {ArrayLike<number>} ys @param {number} sign */
function turnIn(rows, ys, sign) {
  const heights = rows.map((_, i) => sign * median(rows.slice(Math.max(0, i - 2), i + 3).map((row) => ys[row])));
  return rows[heights.indexOf(Math.max(...heights))];
}

/** The points that stand out of those on both sides. @param {readonly number[]} column @param {number} height */
function spikesIn(column, height) {
  const reach = SPIKE_WIDTH + NUM_BESIDE;
  const least = Math.max(MIN_SPIKE * height, MIN_SPIKE_DEVIATIONS * deviationOf(column));
  /** @type {number[]} */
  const spikes = [];
  for (let i = reach; i < column.length - reach; i++) {
    for (const sign of [1, -1]) {
      // This fails for nearly all points.
      if (sign * (column[i] - column[i - reach]) < least || sign * (column[i] - column[i + reach]) < least) continue;
      const standsOut = (/** @type {number} */ other) => sign * (column[i] - other) >= least;
      const beside = [...column.slice(i - reach, i - SPIKE_WIDTH), ...column.slice(i + SPIKE_WIDTH + 1, i + reach + 1)];
      const isTop = column.slice(i - SPIKE_WIDTH, i + SPIKE_WIDTH + 1).every((other, at) => at === SPIKE_WIDTH || sign * (column[i] - other) > 0);
      // A spike stands out of a calm line, however loud the line is elsewhere.
      const spread = 3 * (Math.max(...beside) - Math.min(...beside));
      if (isTop && beside.every((other) => standsOut(other) && sign * (column[i] - other) >= spread)) spikes.push(i);
    }
  }
  return spikes;
}

/** @param {readonly number[]} values */
function median(values) {
  return quantile(values, 0.5);
}

/** A quantile, rounded down to one of the values, or the mean of the middle two for the median. @param {readonly number[]} values @param {number} share */
function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * share;
  return (sorted[Math.floor(at)] + sorted[Math.ceil(at)]) / 2;
}
