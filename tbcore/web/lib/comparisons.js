/**
 * Which groups of values cannot be told from the best one; docs/queries.md has the rule. `tbcore ls` does
 * the same: tests/comparisons.json has what both must do. No DOM.
 */

import { plural } from "./format.js";
import { NUMBER, SEED } from "./word-rules.js";

/** Minimum number of finite values of a group that is compared. */
export const MIN_VALUES = 3;
/** With a smaller p value, two groups differ. */
const MAX_P = 0.05;
/** A smaller difference, relative to the largest value, is a rounding error. */
const ROUNDING = 1e-13;
const MAX_DIGITS = 3;
/** Names of hyperparameters that number the repetitions of a training, with a `_` where a capital begins a word. */
const REPETITION = /(^|[^a-z])(seeds?|random_state|repeat|replicate|repetition|trial|fold)([^a-z]*|[^a-z]+(id|number|index))$/;

/** The values of a group, by the names of their runs. @typedef {ReadonlyMap<string, number>} Group */
/** The values of a hyperparameter, by the names of runs. @typedef {readonly [name: string, values: ReadonlyMap<string, unknown>]} Hyperparameter */

/** Whether a hyperparameter numbers the repetitions of a training, as `seed` does. @param {string} name */
export function isRepetition(name) {
  return REPETITION.test(name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase());
}

/**
 * What stands beside the figure of each group: that it is the best, cannot be told from the best, or has
 * too few values; and why. A group of too few is the best only if all are. Empty texts for others, and
 * for all if fewer than two groups have a finite value. Only means are compared: of other averages, those
 * that are not the best have no mark.
 * @param {readonly (Group | null | undefined)[]} groups
 * @param {"min" | "max"} goal
 * @param {readonly Hyperparameter[]} [hparams]  of the runs; those that number repetitions may tell which runs are pairs
 * @param {readonly number[]} [averages]  of the groups, if they are not means
 * @returns {{ mark: "" | "best" | "best, n too small" | "≈ best" | "n too small", title: string }[]}
 */
export function marksOfBest(groups, goal, hparams = [], averages) {
  const given = bySeeds(groups.map((group) => new Map([...(group ?? [])].filter(([, value]) => Number.isFinite(value)))), hparams);
  const numOut = groups.map((group, i) => (group?.size ?? 0) - given[i].size);
  const finite = given.filter((group) => group.size > 0);
  if (finite.length < 2) return given.map(() => ({ mark: "", title: "" }));
  const differences = averages ? bestOf(given, goal, averages).map((isBest, i) => ({ p: isBest ? 2 : given[i].size < MIN_VALUES ? NaN : 0, best: given[i] })) : differencesFromBest(given, goal);
  const what = averages ? "average" : "mean";
  const numCompared = differences.filter(({ p }) => p <= 1).length;
  const numLeft = differences.filter(({ p }) => Number.isNaN(p)).length;
  const corrected = numCompared > 1 ? `, corrected by Holm for ${numCompared} comparisons with the best` : "";
  const left = numLeft > 0 ? `; ${plural(numLeft, "group")} of fewer than ${MIN_VALUES} values ${numLeft > 1 ? "are" : "is"} not compared` : "";
  const isKnown = given.some(({ size }) => size >= MIN_VALUES);
  return differences.map(({ p, best }, i) => {
    const numPairs = pairsOf(best, given[i]).length;
    const numOthers = best.size + given[i].size - 2 * numPairs;
    const test = numPairs > 0 ? `t-test, paired over ${numPairs} equal seeds${numOthers > 0 ? ` without ${plural(numOthers, "value")} of other seeds` : ""}` : "Welch’s t-test";
    const why = `p ${p < 0.001 ? "< 0.001" : `= ${Number(p.toPrecision(MAX_DIGITS))}`}: ${test}${corrected}${left}${numOut[i] > 0 ? `; without ${plural(numOut[i], "value")} not finite` : ""}`;
    if (p === 2) return isKnown ? { mark: "best", title: `The best ${what} of at least ${MIN_VALUES} values${averages ? "; only means are compared with it" : ""}` } : { mark: "best, n too small", title: `The best ${what}, of fewer than ${MIN_VALUES} values: n is too small to compare it` };
    if (Number.isNaN(p)) return given[i].size > 0 ? { mark: "n too small", title: `Fewer than ${MIN_VALUES} values cannot be compared with the best` } : { mark: "", title: "" };
    if (averages) return { mark: "", title: "" };
    return p < MAX_P ? { mark: "", title: `Differs from the best, ${why}` } : { mark: "≈ best", title: `Cannot be told from the best, ${why}` };
  });
}

/**
 * The values of groups by the first hyperparameter for repetitions that differs between all runs of each
 * group, and of which two groups have a value in common; without one, by their names.
 * @param {readonly Group[]} groups  of finite values @param {readonly Hyperparameter[]} hparams
 */
function bySeeds(groups, hparams) {
  const seedsOf = hparams.filter(([name]) => isRepetition(name)).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, seeds] of seedsOf) {
    const found = groups.map((group) => new Map(Array.from(group, ([run, value]) => [String(seeds.get(run) ?? ""), value])));
    const isWhole = found.every((group, i) => group.size === groups[i].size && !group.has(""));
    const keys = found.flatMap((group) => [...group.keys()]);
    if (isWhole && new Set(keys).size < keys.length) return found;
  }
  return groups.map(bySeed);
}

/** The values by what distinguishes the runs: the seeds in their names, else numbers at the ends; by their names if two runs have the same. @param {Group} group @returns {Group} */
function bySeed(group) {
  for (const part of [SEED, NUMBER]) {
    const seeds = new Map(Array.from(group, ([run, value]) => [run.split("/").flatMap((segment) => segment.match(part) ?? []).join("/").toLowerCase().replace(/[^a-z0-9/]/g, ""), value]));
    if (seeds.size === group.size && !seeds.has("")) return seeds;
  }
  return group;
}

/**
 * The corrected p value of each group's difference from the best ones, which have 2; NaN with too few values.
 * `best` is the one it was compared with: of several, that with the highest p.
 * @param {readonly Group[]} groups  of finite values by seed
 * @param {"min" | "max"} goal
 */
export function differencesFromBest(groups, goal) {
  // Half of the mean, so that no sum overflows.
  const isBest = bestOf(groups, goal, groups.map((group) => [...group.values()].reduce((sum, value) => sum + value / 2 / group.size, 0)));
  // Many may have the same values, such as an accuracy of 1: these are compared once.
  const all = [...new Map(groups.filter((_, i) => isBest[i]).map((group) => [JSON.stringify([...group]), group])).values()];
  const found = groups.map((group, i) => {
    if (isBest[i]) return { p: 2, best: group };
    const each = all.map((best) => pValue(best, group));
    const p = each.reduce((most, one) => Math.max(most, one), all.length > 0 ? 0 : NaN);
    return { p, best: all[each.indexOf(p)] ?? group };
  });
  const compared = found.filter(({ p }) => p < 2).sort((a, b) => a.p - b.p);
  let most = 0;
  for (const [rank, one] of compared.entries()) one.p = Math.min(1, (most = Math.max(most, one.p * (compared.length - rank))));
  return found;
}

/** Which groups have the best average, of those with enough values if there are any: several if only rounding errors differ. @param {readonly Group[]} groups @param {"min" | "max"} goal @param {readonly number[]} averages */
function bestOf(groups, goal, averages) {
  const sign = goal === "min" ? 1 : -1;
  const least = groups.some(({ size }) => size >= MIN_VALUES) ? MIN_VALUES : 1;
  const ranges = groups.map((group, i) => {
    const average = group.size >= least ? sign * averages[i] : Infinity;
    const margin = ROUNDING * largestOf([...group.values()]);
    return [average - margin, average + margin];
  });
  const limit = ranges.reduce((least, [, high]) => Math.min(least, high), Number.MAX_VALUE);
  return ranges.map(([low]) => low <= limit);
}

/** The seeds over which two groups are compared in pairs; none if they have too few in common. @param {Group} a @param {Group} b */
function pairsOf(a, b) {
  const keys = [...a.keys()].filter((key) => b.has(key));
  return keys.length >= MIN_VALUES && 2 * keys.length > Math.max(a.size, b.size) ? keys : [];
}

/** The p value of the difference between two groups; NaN with too few values. @param {Group} a @param {Group} b */
function pValue(a, b) {
  if (Math.min(a.size, b.size) < MIN_VALUES) return NaN;
  const pairs = pairsOf(a, b);
  // Pairs are as Welch's test of their differences and zeros. Scaled, no square overflows.
  const given = pairs.length > 0 ? [pairs.map((key) => Number(a.get(key)) / 2 - Number(b.get(key)) / 2), pairs.map(() => 0)] : [[...a.values()], [...b.values()]];
  const scale = largestOf(given.flat()) || 1;
  const samples = given.map((sample) => sample.map((value) => value / scale));
  const means = samples.map(meanOf);
  const squares = samples.map((sample, i) => sample.reduce((sum, value) => sum + (value - means[i]) ** 2, 0) / (sample.length - 1) / sample.length);
  const distance = Math.abs(means[0] - means[1]);
  const error = squares.reduce((sum, square) => sum + square, 0);
  if (error <= ROUNDING ** 2) return Number(distance <= ROUNDING);
  return tPValue(distance / Math.sqrt(error), error ** 2 / squares.reduce((sum, square, i) => sum + square ** 2 / (samples[i].length - 1), 0));
}

/** @param {readonly number[]} values */
function largestOf(values) {
  return values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** @param {readonly number[]} values */
function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The probability of at least this distance from 0, in Student's t distribution. @param {number} t @param {number} freedom */
export function tPValue(t, freedom) {
  let [a, b, x] = [freedom / 2, 0.5, freedom / (freedom + t * t)];
  const isOtherSide = x > (a + 1) / (a + b + 2);
  if (isOtherSide) [a, b, x] = [b, a, (t * t) / (freedom + t * t)];
  let fraction = 1;
  for (let m = 30 + Math.floor(3 * Math.sqrt(a + b)); m > 0; m--) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    fraction = 1 + even / (1 + odd / fraction);
  }
  fraction = 1 - ((a + b) * x) / (a + 1) / fraction;
  const share = Math.exp(a * Math.log(x) + b * Math.log1p(-x) - logGamma(a) - logGamma(b) + logGamma(a + b)) / a / fraction;
  return isOtherSide ? 1 - share : share;
}

/** By Stirling's series, which is exact enough from 15 on. @param {number} x */
function logGamma(x) {
  let below = 0;
  for (; x < 15; x++) below += Math.log(x);
  const square = 1 / (x * x);
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + (1 / 12 - (1 / 360 - (1 / 1260 - square / 1680) * square) * square) / x - below;
}

/** @type {Map<number, number>} */
const quantiles = new Map();

/** The distance from 0 that 95 % of Student's t distribution are within. @param {number} freedom */
export function tQuantile(freedom) {
  let [low, high] = quantiles.has(freedom) ? [quantiles.get(freedom) ?? 0, quantiles.get(freedom) ?? 0] : [1.9, 13];
  for (let i = 0; i < 60 && low < high; i++) {
    const middle = (low + high) / 2;
    if (tPValue(middle, freedom) > MAX_P) low = middle;
    else high = middle;
  }
  quantiles.set(freedom, (low + high) / 2);
  return (low + high) / 2;
}
