/**
 * The columns of the run list while runs are grouped: what groups show, their order, and their
 * table. Pure functions, no DOM; loaded when the list has columns.
 */

import { isRepetition, marksOfBest } from "../../lib/comparisons.js";
import { formatStep } from "../../lib/format.js";
import { guessGoal } from "../../lib/goals.js";
import { countsOf, describeFigure, deviationOf, figureAlone, groupFigure, isAround } from "../../lib/group-figure.js";
import { AVERAGES, statisticsOf } from "../../lib/group-statistics.js";
import { STATISTICS, formatAttribute } from "../../lib/queries/names.js";
import { commonValue, formatCell, sortRuns } from "./columns.js";
import { membersOf } from "./grouped.js";

/** @import { Attribute } from "../../lib/queries/names.js" */
/** @import { Spread, Statistics } from "../../lib/group-figure.js" */
/** @import { Average } from "../../lib/group-statistics.js" */
/** @import { Values } from "./columns.js" */

/** The mark of a group with too few values for a comparison. */
const TOO_SMALL = "n too small";
/** How many more decimals than the figure with the fewest the figures of a column have in common. */
const MAX_MORE_DECIMALS = 1;
/** With more groups, not every figure is formatted to find the column's width. */
const MAX_MEASURED = 500;

/** Whether groups show the average of a column's values: those of a tag. In other columns, they show what their runs have in common. @param {Attribute | null} attribute */
export function hasAverages(attribute) {
  return attribute?.kind === "value";
}

/**
 * The statistics of a column of a tag's values, by group.
 * @param {ReadonlyMap<string, readonly string[]>} members
 * @param {Values} values
 * @param {Average} [average]
 * @param {Values | null} [last]  what `lastIn` returns
 * @param {Attribute | null} [attribute]  of values at a step, those of runs that ended before are not in it
 * @param {Spread} [spread]
 */
export function groupStatistics(members, values, average, last = null, attribute = null, spread) {
  return new Map(Array.from(members, ([name, runs]) => [name, statisticsOfRuns(runs, values, average, last, attribute, spread)]));
}

/** @param {readonly string[]} runs @param {Values} values @param {Average} [average] @param {Values | null} [last] @param {Attribute | null} [attribute] @param {Spread} [spread] @returns {Statistics} */
function statisticsOfRuns(runs, values, average, last = null, attribute = null, spread) {
  const isAt = attribute?.stat === "at";
  const known = runs.filter((run) => values.has(run));
  const logged = loggedOf(runs, values, last, attribute);
  const statistics = statisticsOf(logged.map((run) => Number(values.get(run))), average, 0, spread);
  const diverged = isAt ? 0 : logged.filter((run) => last?.has(run) && !Number.isFinite(Number(last.get(run))) && Number.isFinite(Number(values.get(run)))).length;
  return { ...statistics, missing: runs.length - known.length, ended: known.length - logged.length, diverged };
}

/** The runs whose values are in an average. @param {readonly string[]} runs @param {Values} values @param {Values | null} last @param {Attribute | null} attribute */
function loggedOf(runs, values, last, attribute) {
  const known = runs.filter((run) => values.has(run));
  return attribute?.stat === "at" ? known.filter((run) => !last?.has(run) || Number(last.get(run)) >= Number(attribute.step)) : known;
}

/**
 * What stands beside the averages of a column by which the list is sorted. Which is the best, the name of the tag says; where
 * it does not, the first is called the highest if the list descends, else the lowest.
 * @param {ReadonlyMap<string, readonly string[]>} members
 * @param {Values} values
 * @param {Values | null} last  what `lastIn` returns
 * @param {Attribute | null} attribute
 * @param {boolean} isDescending
 * @param {Parameters<typeof marksOfBest>[2]} [hparams]
 * @param {ReadonlyMap<string, Statistics>} [statistics]  of the groups, if these do not show means
 */
export function marksOfColumn(members, values, last, attribute, isDescending, hparams, statistics) {
  // A later first NaN is no better.
  const goal = attribute?.stat === "nan" ? null : guessGoal(attribute?.name ?? "");
  const averages = statistics && Array.from(members.keys(), (name) => Number(statistics.get(name)?.average));
  const marks = marksOfBest(Array.from(members.values(), (runs) => new Map(loggedOf(runs, values, last, attribute).map((run) => [run, Number(values.get(run))]))), goal ?? (isDescending ? "max" : "min"), hparams, averages);
  const inWords = (/** @type {string} */ text) => (goal ? text : text.replaceAll("best", isDescending ? "highest" : "lowest"));
  return new Map(Array.from(members.keys(), (name, i) => [name, { mark: inWords(marks[i].mark), title: inWords(marks[i].title) }]));
}

/** The hyperparameters that number repetitions; none while their names are read. @param {import("./attributes.js").Attributes} attributes */
export function repetitionsIn(attributes) {
  attributes.areNamesWanted.value = true;
  return attributes.names.value?.hparams.filter(isRepetition).map((name) => formatAttribute({ kind: "hparam", name })) ?? [];
}

/** The column of the last values that tells which runs behind a column of lowest or highest values have diverged, and behind one of values at a step have ended before; null for another column. @param {Attribute | null} attribute */
export function lastOf(attribute) {
  return attribute?.kind === "value" && ["min", "max", "at"].includes(attribute.stat ?? "") ? formatAttribute({ ...attribute, stat: "last", step: null }) : null;
}

/** The last values of the runs behind a column of lowest or highest values, and their steps for one of values at a step; null for another column, and before they are read. @param {import("./attributes.js").Attributes} attributes @param {Attribute | null} attribute @returns {Values | null} */
export function lastIn(attributes, attribute) {
  const last = lastOf(attribute);
  return last === null ? null : attribute?.stat === "at" ? attributes.column(last).steps.value : attributes.valuesOf(last);
}

/** What groups show in a column of a tag's values, in words. @param {Average} average @param {Spread} spread */
export function describeGroups(average, spread) {
  return `Groups: ${describeFigure(AVERAGES[average], spread)}`;
}

/** The figure of a group as short text; "" if its runs have no values. @param {Statistics} statistics @param {Average} [average] @param {number} [decimals]  at least */
export function formatGroup(statistics, average = "mean", decimals = 0) {
  const { count, nonfinite, ended = 0, low } = statistics;
  if (count + nonfinite + ended === 0) return "";
  const isAlone = decimals > 0 && count > 0 && (count === 1 || Number.isNaN(low));
  return isAlone ? formatCell(statistics.average, null, decimals) : figureAlone(statistics, AVERAGES[average], decimals);
}

/** What stands beside the figure of a group, such as `≈ best, 2 not finite`; "" for nothing. @param {Statistics} statistics @param {string} [mark] */
export function formatGroupCounts(statistics, mark) {
  const { count, nonfinite, missing = 0, ended = 0 } = statistics;
  return [...new Set([...(mark ? mark.split(", ") : []), ...(ended > 0 ? [`${count} of ${count + nonfinite + missing + ended}`] : []), ...countsOf({ ...statistics, live: 0 })])].join(", ");
}

/** What `formatGroupCounts` says, in a few characters: `4/5` are in the figure or not finite, `×2` are not finite, as a cross in charts is. @param {Statistics} statistics @param {string} [mark] */
export function formatGroupMarks(statistics, mark) {
  const { low, count, nonfinite, missing = 0, ended = 0, diverged = 0 } = statistics;
  const bad = diverged + (count > 0 ? nonfinite : 0);
  const words = mark?.split(", ") ?? [];
  const isSmall = words.includes(TOO_SMALL) || (count > 1 && Number.isNaN(low));
  const marks = [...words.filter((word) => word !== TOO_SMALL), isSmall && "n<3", count + nonfinite > 0 && missing + ended > 0 && `${count + nonfinite}/${count + nonfinite + missing + ended}`, bad > 0 && `×${bad}`];
  return marks.filter(Boolean).join(" ");
}

/**
 * The figure of a group in full: of how many runs it is, which values are not in it, and how many
 * runs are still being written.
 * @param {Statistics} statistics
 * @param {Attribute} attribute
 * @param {Average} [average]
 */
export function describeGroupCell(statistics, { name, stat, step }, average = "mean") {
  const steps = formatStep(Number(step));
  const what = `${STATISTICS.get(stat ?? "")?.[1]}${stat === "at" ? ` at step ${steps}` : stat === "change" ? ` over the last ${steps} steps` : ""}`;
  return `${name}: ${groupFigure(statistics, AVERAGES[average], what).title}`;
}

/**
 * The decimals that the figures of a column have in common: those of the one that has the most. What
 * needs far more than the others has its own.
 * @param {ReadonlyMap<string, Statistics> | null} statistics @param {Average} [average]
 */
export function decimalsOf(statistics, average) {
  const spread = [...(statistics?.values() ?? [])].filter(({ count, low, high }) => count > 1 && high > low).slice(0, MAX_MEASURED);
  const texts = spread.map((group) => formatGroup(group, average)).filter((text) => !text.includes("e"));
  const found = texts.map((text) => text.match(/\.(\d+)/)?.[1].length ?? 0).sort((a, b) => a - b);
  return found.length === 0 ? 0 : Math.min(found[found.length - 1], found[0] + MAX_MORE_DECIMALS);
}

/** The lowest and the highest value of runs that have no fact in common; null unless there are two. @param {readonly string[]} runs @param {Values} values @param {Attribute | null} attribute */
function spanOf(runs, values, attribute) {
  const numbers = attribute?.kind === "fact" ? runs.flatMap((run) => (values.has(run) ? [Number(values.get(run))] : [])).sort((a, b) => a - b) : [];
  return numbers[0] < numbers[numbers.length - 1] ? [numbers[0], numbers[numbers.length - 1]] : null;
}

/** The same as text: `820–1,180`; "" unless the values differ as they are shown. @param {readonly string[]} runs @param {Values} values @param {Attribute | null} attribute */
export function formatSpan(runs, values, attribute) {
  const [low, high] = spanOf(runs, values, attribute)?.map((number) => formatCell(number, attribute)) ?? [];
  return low && high && low !== high ? `${low}–${high}` : "";
}

/** The widths of a column's figures of groups, and of what stands after them, in characters. @param {ReadonlyMap<string, Statistics> | null} statistics @param {Average} [average] @param {ReturnType<typeof marksOfColumn> | null} [marks] @param {number} [decimals] */
export function measureGroups(statistics, average, marks, decimals) {
  const all = [...(statistics?.values() ?? [])];
  const longest = (/** @type {string[]} */ texts) => texts.reduce((most, text) => Math.max(most, text.length), 0);
  const countChars = longest(Array.from(statistics ?? [], ([name, group]) => formatGroupMarks(group, marks?.get(name)?.mark)));
  return { figureChars: longest(all.slice(0, MAX_MEASURED).map((group) => formatGroup(group, average, decimals))), countChars: countChars && countChars + 1 };
}

/**
 * Runs sorted by a column, with those of a group together. Groups with statistics are in the order
 * of their averages, with those without a finite value at the end in either direction; other groups
 * are in the order of their first runs.
 * @param {readonly string[]} runs
 * @param {Values} values
 * @param {ReadonlyMap<string, string>} groupOf
 * @param {ReadonlyMap<string, Statistics> | null} statistics
 * @param {Parameters<typeof sortRuns>[2]} options
 */
export function sortGroups(runs, values, groupOf, statistics, options) {
  const members = membersOf(sortRuns(runs, values, options), groupOf);
  if (!statistics) return [...members.values()].flat();
  /** @type {Map<string, number>} */
  const averages = new Map();
  for (const [name, { average, count, nonfinite }] of statistics) if (count + nonfinite > 0) averages.set(name, average);
  return sortRuns([...members.keys()], averages, options).flatMap((name) => members.get(name) ?? []);
}

/**
 * The rows of a table of groups in full precision, for `toCSV`: for each column of a tag's values the
 * average and what is around it, or both ends of what is beside it; then the
 * number of finite values and that of others; of lowest and highest values, how many runs end with
 * NaN or infinity all the same, and of values at a step, how many runs ended before and are in no
 * other number. For each other column what all runs have in common; of facts, else the lowest and the highest: `820–1180`.
 * @param {readonly string[]} runs
 * @param {ReadonlyMap<string, string>} groupOf  run to group
 * @param {readonly { text: string, attribute: Attribute | null, values: Values | null, last?: Values | null }[]} columns
 * @param {Average} [average]
 * @param {Spread} [spread]
 */
export function groupTableOf(runs, groupOf, columns, average = "mean", spread = average === "mean" ? "deviation" : "quartiles") {
  const parts = [average, ...(isAround(spread) ? [spread] : spread === "range" ? ["min", "max"] : ["quartile 1", "quartile 3"]), "n", "nonfinite"];
  /** @param {Attribute | null} attribute */
  const partsOf = (attribute) => (lastOf(attribute) ? [...parts, attribute?.stat === "at" ? "ended" : "diverged"] : parts);
  const header = columns.flatMap(({ text, attribute }) => (hasAverages(attribute) ? partsOf(attribute).map((what) => `${text} ${what}`) : [text]));
  const rows = Array.from(membersOf(runs, groupOf), ([name, members]) => {
    const cells = columns.flatMap(({ attribute, values, last }) => {
      if (!hasAverages(attribute)) return [commonValue(members, values ?? new Map(), attribute) ?? spanOf(members, values ?? new Map(), attribute)?.join("–") ?? ""];
      const statistics = statisticsOfRuns(members, values ?? new Map(), average, last, attribute, spread);
      const { low, high, count, nonfinite, diverged = 0, ended = 0 } = statistics;
      const ends = isAround(spread) ? [deviationOf(statistics)] : [low, high];
      return [count > 0 ? statistics.average : "", ...ends.map((end) => (count > 1 && !Number.isNaN(end) ? end : "")), count, nonfinite, ...(lastOf(attribute) ? [attribute?.stat === "at" ? ended : diverged] : [])];
    });
    return [name, members.length, ...cells.map((cell) => (typeof cell === "number" ? cell : String(cell)))];
  });
  return { header: ["group", "runs", ...header], rows };
}
