/**
 * Which metric of a sweep matters most, and which of its values are best.
 * Pure functions.
 */

import { guessGoal, marksOfBest } from "tbcore/groups.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Goal} Goal
 */

/** Names of metrics that are measured on held-out data. */
const HELD_OUT = /(^|[^a-z])(val|valid|validation|eval|evaluation|test|dev|holdout)([^a-z]|$)/i;

/**
 * The metric that is optimised by default: the first that an experiment declares, if most groups
 * have it. Otherwise one with a known goal, measured on held-out data, that most groups have; one
 * that is not declared only if no declared one is informative, since some libraries declare a
 * metric that stays -1 unless it is used.
 * @param {readonly Column[]} metrics  in the order of the experiment, which decides between equals
 * @returns {Column | null}
 */
export function defaultMetric(metrics) {
  const first = metrics.find((metric) => metric.isDeclared && isInformative(metric) && presenceOf(metric) > 0.5);
  const declared = metrics.filter(({ isUndeclared }) => !isUndeclared);
  return first ?? highestScoring(declared.some(isInformative) ? declared : metrics);
}

/**
 * Metrics in the order of lists: first those that the experiment declares, as declared; then those
 * with a known goal; last those such as `epoch`, which nobody optimises, and those that are always
 * equal.
 * @param {readonly Column[]} metrics
 */
export function usefulFirst(metrics) {
  /** @param {Column} metric */
  const placeOf = (metric) => (metric.isDeclared ? 0 : guessGoal(`${metric.metric?.group}/${metric.metric?.tag}`) !== null && isInformative(metric) ? 1 : 2);
  return [...metrics].sort((a, b) => placeOf(a) - placeOf(b));
}

/** The share of the groups that have a finite value. @param {Column} metric */
function presenceOf({ cells }) {
  return cells.filter((cell) => Number.isFinite(cell)).length / Math.max(1, cells.length);
}

/** Whether a metric's values differ, or there is only one so far. @param {Column} metric */
function isInformative({ cells }) {
  const numbers = cells.filter((cell) => Number.isFinite(cell));
  return numbers.length === 1 || numbers.some((number) => number !== numbers[0]);
}

/**
 * The metric with the highest score: the share of groups that have a value, weighted up for a known
 * goal and for held-out data, and down if all values are equal.
 * @param {readonly Column[]} metrics
 * @returns {Column | null}
 */
function highestScoring(metrics) {
  /** @type {Column | null} */
  let best = null;
  let highestScore = -1;
  for (const metric of metrics) {
    const name = `${metric.metric?.group}/${metric.metric?.tag}`;
    const goal = guessGoal(name);
    const score = (isInformative(metric) ? 1 : 0.5) * presenceOf(metric) * (1 + (goal === null ? 0 : goal === "max" ? 2.5 : 2) + (HELD_OUT.test(name) ? 1 : 0));
    if (score > highestScore) {
      highestScore = score;
      best = metric;
    }
  }
  return best;
}

/**
 * The rows with the best finite value; those that are marked as the best if the rows are groups with averages. A
 * single value does not count as best.
 * @param {readonly number[]} rows
 * @param {Column | null} metric
 * @param {Goal} goal
 * @param {ReturnType<typeof bestMarks>} [marks]
 * @returns {readonly number[]} empty if fewer than two rows have a finite value
 */
export function bestRows(rows, metric, goal, marks = new Map()) {
  if (!metric) return [];
  if (marks.size > 0) return rows.filter((row) => marks.get(row)?.mark.startsWith("best"));
  const { cells } = metric;
  const finite = rows.filter((row) => Number.isFinite(cells[row]));
  if (finite.length < 2) return [];
  const sign = goal === "min" ? 1 : -1;
  const best = finite.reduce((least, row) => Math.min(least, sign * Number(cells[row])), Infinity);
  return finite.filter((row) => sign * Number(cells[row]) === best);
}

/**
 * What stands beside the rows of groups: which is the best by the average, and which cannot be told from it, and of
 * how many runs that is, if not of all; empty unless the rows are groups with averages. What the figure says of
 * itself, that n is too small, is not said again.
 * @param {readonly number[]} rows
 * @param {Column | null} metric
 * @param {Goal} goal
 * @param {Pick<import("./types.js").Sweep, "sessions" | "grouped">} [sweep]
 * @returns {ReadonlyMap<number, { mark: string, title: string }>}
 */
export function bestMarks(rows, metric, goal, { sessions, grouped } = { sessions: [], grouped: null }) {
  const { values, average, cells = [], figure, statistics } = metric ?? {};
  if (!values) return new Map();
  const hparams = grouped?.repeated.map(({ column, cells }) => /** @type {const} */ ([column.key, new Map(sessions.map(({ name, index }) => [name, cells[index]]))]));
  const marks = marksOfBest(rows.map((row) => values[row]), goal, hparams, average === "mean" ? undefined : rows.map((row) => Number(cells[row])));
  return new Map(
    rows.map((row, i) => {
      const { mark, title } = marks[i];
      const { count = 0, nonfinite = 0, missing = 0, diverged = 0 } = statistics?.[row] ?? {};
      const words = mark.split(", ").filter((word) => !figure?.(row)?.text.includes(word));
      if (/best/.test(mark)) words.push(...(nonfinite + missing > 0 ? [`${count} of ${count + nonfinite + missing}`] : []), ...(diverged > 0 ? [`${diverged} diverged`] : []));
      return [row, { mark: words.join(", "), title }];
    }),
  );
}

/**
 * The rows with those first whose value is finite, otherwise in the same order: no other is the best.
 * @param {readonly number[]} rows
 * @param {Column} metric
 */
export function finiteFirst(rows, { cells }) {
  const isFinite = (/** @type {number} */ row) => Number.isFinite(cells[row]);
  return [...rows.filter(isFinite), ...rows.filter((row) => !isFinite(row))];
}
