/** The figure of a group of runs as text: `0.684 ± 0.064`. No DOM. */

import { formatValue, plural } from "./format.js";

/**
 * @typedef {object} Statistics  of a value of each run of a group
 * @property {number} average  NaN if no value is finite
 * @property {number} low  of the spread; NaN if there are too few values for it
 * @property {number} high
 * @property {Spread} [spread]  what they are: by default the mean minus and plus the standard deviation
 *   of the sample; if the average is not the mean, the quartiles
 * @property {number} count  number of finite values
 * @property {number} nonfinite  number of values that are NaN or infinite
 * @property {number} live  number of runs that are still being written
 * @property {number} [common]  NaN, Infinity or −Infinity if all values are
 * @property {number} [missing]  number of runs without a value
 * @property {number} [ended]  of values at a step: number of runs that ended before, whose values are
 *   not in any other number
 * @property {number} [diverged]  of lowest and highest values: number of finite ones whose runs end
 *   with NaN or infinity
 */

/** @typedef {import("../host.js").Grouping["spread"]} Spread */

/** What stands after a mean and its spread, and what the spread is in headings and in words. @type {Readonly<Record<Spread, readonly [sign: string, heading: string, words: string]>>} */
const SPREADS = {
  deviation: ["", "± SD", "standard deviation (n − 1)"],
  error: [" SE", "± SE", "standard error"],
  interval: [" CI", "± 95 % CI", "95 % interval of the mean"],
  quartiles: ["", "[quartiles]", "quartiles"],
  range: [" range", "[min, max]", "minimum to maximum"],
};

/** Whether a spread is around the mean: `±`. @param {Spread} spread */
export function isAround(spread) {
  return ["deviation", "error", "interval"].includes(spread);
}

/** @param {Pick<Statistics, "spread">} statistics @param {string} average  in words @returns {Spread} */
function spreadOf({ spread }, average) {
  return spread ?? (average === "mean" ? "deviation" : "quartiles");
}

/** The deviation of a group, or what else is around its mean; NaN if no value is finite. @param {Pick<Statistics, "low" | "high">} statistics */
export function deviationOf({ low, high }) {
  return (high - low) / 2;
}

/**
 * What a reader must know behind a figure: `["2 not finite", "1 without the tag", "1 live"]`.
 * @param {Statistics} statistics
 */
export function countsOf({ low, count, nonfinite, live, missing = 0, ended = 0, diverged = 0 }) {
  return [
    count > 1 && Number.isNaN(low) && "n too small",
    ended > 0 && `${ended} ended before`,
    count > 0 && nonfinite > 0 && `${nonfinite} not finite`,
    count + nonfinite > 0 && missing > 0 && `${missing} without the tag`,
    diverged > 0 && `${diverged} diverged`,
    live > 0 && `${live} live`,
  ].filter((text) => text !== false);
}

/**
 * The average of a group with its spread, and what a reader must know behind it: `0.525 ± 0.010 (3 of
 * 5, 2 not finite, 1 live)`. The title has more digits, and says all of it in words.
 * @param {Statistics} statistics
 * @param {string} [average]  in words
 * @param {string} [what]  what the values are
 */
export function groupFigure(statistics, average = "mean", what = "last values") {
  const { average: value, low, high, count, nonfinite, live, common, missing = 0, ended = 0, diverged = 0 } = statistics;
  const given = spreadOf(statistics, average);
  const size = count + nonfinite + missing + ended;
  const text = figureAlone(statistics, average);
  const counts = [count < size && size > 1 && `${count || nonfinite} of ${size}`, ...countsOf(statistics)].filter(Boolean);
  const ends = isAround(given) ? formatValue(deviationOf(statistics)) : `${formatValue(low)} and ${formatValue(high)}`;
  const spread = Number.isNaN(low) ? `too few runs for a ${SPREADS[given][2]}` : `${isAround(given) ? "± " : ""}${SPREADS[given][2]} ${ends}`;
  const words = [
    count > 0 ? `${average} of the ${what} of ${plural(count, "run")}: ${formatValue(value)}` : `no finite ${what}`,
    count > 1 && spread,
    nonfinite > 0 && `${plural(nonfinite, "run")} ${common === undefined ? "NaN or infinite" : formatValue(common)}, not in it`,
    ended > 0 && `${plural(ended, "run")} ended before`,
    missing > 0 && `${plural(missing, "run")} without the tag`,
    diverged > 0 && `${plural(diverged, "run")} in it ${diverged === 1 ? "ends" : "end"} with NaN or infinity`,
    live > 0 && `${plural(live, "run")} still being written`,
  ];
  return { text: counts.length > 0 ? `${text} (${counts.join(", ")})` : text, title: words.filter(Boolean).join(", ") };
}

/** The number of runs of a group in words, and how many more were put away, which are in no average: `3 (+2 archived)`. @param {string | number} count @param {string | number} [archived]  the number, or several as `0 to 2` */
export function withArchived(count, archived = 0) {
  return Number(archived) === 0 ? String(count) : `${count} (+${archived} archived)`;
}

/** The average of a group with its spread alone: `0.525 ± 0.010`, or `∞`. @param {Statistics} statistics @param {string} [average]  in words @param {number} [decimals]  at least */
export function figureAlone(statistics, average = "mean", decimals = 0) {
  const { average: value, count, nonfinite, common } = statistics;
  if (count === 0) return nonfinite === 0 ? "–" : common === undefined ? "not finite" : formatValue(common);
  if (count === 1 || Number.isNaN(statistics.low)) return formatValue(value);
  const spread = spreadOf(statistics, average);
  return (isAround(spread) ? formatMean(value, deviationOf(statistics), decimals) : formatQuartiles(statistics, decimals)) + SPREADS[spread][0];
}

/** A spread in words: `± standard error`. @param {Spread} spread */
export function spreadName(spread) {
  return `${isAround(spread) ? "± " : ""}${SPREADS[spread][2]}`;
}

/** What a figure has, in a heading. @param {string} average  in words @param {Spread} spread */
export function figureHeading(average, spread) {
  return `${average} ${SPREADS[spread][1]}`;
}

/** What a figure has, in words. @param {string} average  in words @param {Spread} spread */
export function describeFigure(average, spread) {
  return `${average}${isAround(spread) ? "" : ","} ${spreadName(spread)}`;
}

/** A mean with its deviation: `0.684 ± 0.064`. @param {number} mean @param {number} deviation @param {number} [decimals]  at least */
export function formatMean(mean, deviation, decimals = 0) {
  return (together([mean, deviation], deviation, decimals) ?? [formatValue(mean), formatValue(deviation, 2)]).join(" ± ");
}

/** An average with the quartiles: `0.684 [0.640, 0.715]`. @param {Pick<Statistics, "average" | "low" | "high">} statistics @param {number} decimals  at least */
function formatQuartiles({ average, low, high }, decimals) {
  const numbers = [average, low, high];
  // Where the average is close to one of them, at most one decimal more than their distance has.
  const spread = Math.max(Math.min(average - low, high - average), (high - low) / 10);
  const [middle, first, third] = together(numbers, spread, decimals) ?? numbers.map((number) => formatValue(number, 4));
  return `${middle} [${first}, ${third}]`;
}

/**
 * Numbers with as many decimals as give a spread two digits; null if they are very large or very small,
 * so that each has an exponent of its own, or if they do not spread.
 * @param {readonly number[]} numbers @param {number} spread @param {number} least
 */
function together(numbers, spread, least) {
  const decimals = Math.max(least, 1 - Math.floor(Math.log10(spread)));
  const size = Math.max(...numbers.map(Math.abs));
  return size >= 1e-4 && size < 1e9 && decimals <= 8 ? numbers.map((number) => number.toFixed(decimals)) : null;
}
