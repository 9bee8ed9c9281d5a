/** The rows of the table: what each column has, and whether that differs. No DOM. */

import { formatDuration, formatStep, formatTime, formatValue, plural, toNumber } from "tbcore/format.js";
import { groupFigure, guessGoal, marksOfBest, statisticsOf } from "tbcore/groups.js";
import { compareNames } from "tbcore/text-names.js";

/**
 * @typedef {import("./columns.js").Column} Column
 *
 * @typedef {object} Facts  what a run has, as the route `runs` sends it
 * @property {string} name
 * @property {boolean} exists
 * @property {boolean} live
 * @property {{ first: number, last: number, step: number } | null} times  of its scalars
 * @property {{ source: string, rows: [path: string[], type: string, value: any][] } | null} hparams
 * @property {string} [hparams_error]
 * @property {[tag: string, type: string][]} tags
 *
 * @typedef {ReadonlyMap<string, Facts>} FactsOf  by name of the run
 *
 * @typedef {object} Value  the values of a tag in a run
 * @property {number} count @property {number} nonfinite
 * @property {number} last @property {number} last_step
 * @property {number} min @property {number} min_step
 * @property {number} max @property {number} max_step
 *
 * @typedef {object} Cell
 * @property {string} text
 * @property {string} [title]
 * @property {string} [note]  less important text
 * @property {boolean} [isMissing]  whether the column lacks it
 * @property {string} [mark]  such as `best`
 * @property {string} [why]  a test for it
 * @property {ReadonlyMap<string, number>} [values]  of a group, whose average is \`value\`: those of its runs
 * @property {number} [value]  to compute how far it is from the baseline's
 * @property {string} [change]  that distance
 *
 * @typedef {object} Row
 * @property {string} key
 * @property {string} label
 * @property {string} [note]  less important text after the label
 * @property {Cell[]} cells  one of each column
 * @property {boolean} isSame  whether all columns have the same
 * @property {boolean} [isTime]  whether it differs between any two runs, and is kept on one line
 */

/** What a cell without a value says. */
const NOT_LOGGED = "not logged";
/** Significant digits of a number: at least, if they tell the numbers of a row apart, and all. */
const [MIN_DIGITS, MAX_DIGITS] = [4, 17];
/** Maximum number of different values of a group that a cell lists. */
const MAX_LISTED = 4;

/** Whether the cells are the same. @param {readonly Cell[]} cells */
function areSame(cells) {
  const keys = cells.map(({ text, note = "", value }) => JSON.stringify([text, note, String(value)]));
  return keys.every((key) => key === keys[0]);
}

// --- runs ----------------------------------------------------------------------------------------

/** When and how long the runs were written. @param {readonly Column[]} columns @param {FactsOf} factsOf @returns {Row[]} */
export function timeRows(columns, factsOf) {
  const found = columns.map(({ runs, isGroup }) => {
    const facts = runs.flatMap(({ name }) => factsOf.get(name) ?? []);
    return { facts, isGroup, times: facts.flatMap(({ times }) => times ?? []) };
  });
  /** @param {string} label @param {(times: NonNullable<Facts["times"]>[]) => string} textOf @param {string} which  of a group's */
  const row = (label, textOf, which) => {
    const cells = found.map(({ facts, times, isGroup }) => {
      if (facts.length === 0) return { text: "…" };
      if (times.length === 0) return { text: facts.every(({ exists }) => exists) ? "no scalars" : "deleted", isMissing: true };
      const numLive = label === "Last scalar" ? facts.filter(({ live }) => live).length : 0;
      const notes = [isGroup && which, numLive > 0 && (isGroup ? `${numLive} live` : "live")];
      return { text: textOf(times), note: notes.filter(Boolean).join(", ") };
    });
    return { key: label, label, cells, isSame: areSame(cells), isTime: true };
  };
  const max = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  const min = (/** @type {number[]} */ numbers) => numbers.reduce((a, b) => Math.min(a, b), Infinity);
  return [
    row("Last step", (times) => formatStep(max(times.map(({ step }) => step))), "the highest"),
    row("Duration", (times) => formatDuration(statisticsOf(times.map(({ first, last }) => last - first)).average), "mean"),
    row("First scalar", (times) => formatTime(min(times.map(({ first }) => first))), "the earliest"),
    row("Last scalar", (times) => formatTime(max(times.map(({ last }) => last))), "the latest"),
  ];
}

// --- hyperparameters -----------------------------------------------------------------------------

/** The hyperparameters of all columns, by name. @param {readonly Column[]} columns @param {FactsOf} factsOf @returns {Row[]} */
export function hparamRows(columns, factsOf) {
  /** @type {Map<string, { path: string[], found: Map<string, string>[], counts: number[], sources: Set<string>[] }>} */
  const rows = new Map();
  columns.forEach(({ runs }, at) => {
    for (const { name } of runs) {
      const hparams = factsOf.get(name)?.hparams;
      for (const [path, type, value] of hparams?.rows ?? []) {
        const key = JSON.stringify(path);
        const row = rows.get(key) ?? { path, found: columns.map(() => new Map()), counts: columns.map(() => 0), sources: columns.map(() => new Set()) };
        rows.set(key, row);
        row.found[at].set(`${type} ${value}`, textOfHParam(type, value));
        row.counts[at]++;
        if (hparams && hparams.source !== name) row.sources[at].add(hparams.source);
      }
    }
  });
  const sorted = [...rows].sort(([, a], [, b]) => compareNames(a.path.join("."), b.path.join(".")));
  return sorted.map(([key, { path, found, counts, sources }]) => {
    const short = shortNumbers(found.flatMap((values) => [...values]).flatMap(([typed, text]) => (typed.startsWith("number ") ? Number(text) : [])));
    const cells = columns.map(({ runs }, at) => cellOfHParam(runs.length, found[at], short, counts[at], sources[at], runs.some(({ name }) => !factsOf.has(name))));
    // A group whose runs have several values is not the same in all, though others may have as many.
    const isMixed = found.some((values, at) => values.size > 1 || counts[at] < columns[at].runs.length);
    const [first] = found[0].keys();
    return { key, label: path.join("."), cells, isSame: !isMixed && found.every((values) => values.has(first)) };
  });
}

/**
 * The texts of numbers with as few digits as tell them apart, at least four, by all their digits.
 * Integers have all.
 * @param {readonly number[]} numbers
 */
function shortNumbers(numbers) {
  const all = [...new Set(numbers)];
  for (let digits = MIN_DIGITS; ; digits++) {
    const texts = all.map((number) => String(Number.isInteger(number) ? number : Number(number.toPrecision(digits))));
    if (digits === MAX_DIGITS || new Set(texts).size === all.length) return new Map(all.map((number, i) => [String(number), texts[i]]));
  }
}

/** @param {number} numRuns @param {ReadonlyMap<string, string>} found @param {ReadonlyMap<string, string>} short  what `shortNumbers` returns @param {number} count @param {ReadonlySet<string>} sources @param {boolean} isLoading @returns {Cell} */
function cellOfHParam(numRuns, found, short, count, sources, isLoading) {
  if (count === 0) return isLoading ? { text: "…" } : { text: NOT_LOGGED, isMissing: true };
  const all = [...found.values()].sort(compareNames);
  const texts = [...new Set(all.map((each) => short.get(each) ?? each))];
  const text = texts.length > MAX_LISTED ? `${texts.slice(0, MAX_LISTED - 1).join(", ")}, … (${texts.length} values)` : texts.join(", ");
  const isShort = texts.length > MAX_LISTED || all.some((each, at) => each !== texts[at]);
  const notes = [sources.size > 0 && `logged in ${[...sources].join(", ")}`, isShort && all.join(", ")];
  return { text, title: notes.filter(Boolean).join("\n"), note: count < numRuns ? `${count} of ${numRuns} runs` : "" };
}

/** A hyperparameter as it was logged. @param {string} type @param {any} value */
function textOfHParam(type, value) {
  if (type === "number") return String(toNumber(value));
  if (type === "text") return value === "" ? "“”" : value;
  return String(value);
}

/** Runs whose hyperparameters cannot be decoded, in sentences. @param {readonly Column[]} columns @param {FactsOf} factsOf */
export function hparamErrors(columns, factsOf) {
  return columns.flatMap(({ runs }) => runs.flatMap(({ name, label }) => (factsOf.get(name)?.hparams_error ? [`Hyperparameters of ${label}: ${factsOf.get(name)?.hparams_error}`] : [])));
}

// --- values --------------------------------------------------------------------------------------

/** Which extremes of a tag are shown: the one that is the best, or both if that is not known. @param {string} tag @returns {("min" | "max")[]} */
export function extremesOf(tag) {
  const goal = guessGoal(tag);
  return goal ? [goal] : ["min", "max"];
}

const NAMES = { last: "last", min: "lowest", max: "highest" };

/**
 * The last values of tags, and the lowest or highest ones or both.
 * @param {readonly Column[]} columns
 * @param {FactsOf} factsOf
 * @param {readonly string[]} tags
 * @param {(run: string, tag: string) => Value | null | undefined} valueOf  null if it was not logged,
 *   undefined while that is not known
 * @param {Pick<import("tbcore/host.js").Grouping, "average" | "averageName" | "spread">} averaging  of groups
 * @returns {Row[]}
 */
export function valueRows(columns, factsOf, tags, valueOf, averaging) {
  const hparams = columns.some(({ isGroup }) => isGroup) ? hparamsOf(columns, factsOf) : [];
  /** @param {string} tag @param {"last" | "min" | "max"} which @returns {Row} */
  const rowOf = (tag, which) => {
    const cells = columns.map(({ runs, isGroup }) => {
      const values = runs.map(({ name }) => valueOf(name, tag));
      if (values.includes(undefined)) return { text: "…" };
      const logged = values.flatMap((value) => value ?? []);
      const names = runs.flatMap(({ name }, i) => (values[i] ? [name] : []));
      if (logged.length === 0) return { text: NOT_LOGGED, isMissing: true };
      if (!isGroup) return cellOfValue(logged[0], which);
      const live = runs.filter(({ name }, i) => values[i] && factsOf.get(name)?.live).length;
      const byRun = new Map(names.map((name, i) => [name, logged[i][which]]));
      return { ...cellOfGroup(logged, which, runs.length - logged.length, live, averaging), values: byRun };
    });
    const [base] = cells;
    for (const cell of cells.slice(1)) cell.change = changeOf(base.value, cell.value);
    const [better, other] = extremesOf(tag);
    if (!other) markBest(cells, better, hparams, averaging.average === "mean");
    return { key: `${which} ${tag}`, label: tag, note: NAMES[which], cells, isSame: areSame(cells) };
  };
  return tags.flatMap((tag) => /** @type {("last" | "min" | "max")[]} */ (["last", ...extremesOf(tag)]).map((which) => rowOf(tag, which)));
}

/** @param {Value} value @param {"last" | "min" | "max"} which @returns {Cell} */
function cellOfValue(value, which) {
  const { count, nonfinite } = value;
  const number = value[which];
  const some = nonfinite > 0 ? `${plural(nonfinite, "value")} not finite` : "";
  if (which !== "last" && Number.isNaN(number)) return { text: "no finite value", note: some, isMissing: true };
  const step = `step ${formatStep(value[`${which}_step`])}`;
  return {
    text: formatValue(number),
    title: `${number} at ${step}, of ${plural(count, "point")}`,
    note: which === "last" || !some ? step : `${step}, ${some}`,
    value: number,
  };
}

/** @param {readonly Value[]} logged @param {"last" | "min" | "max"} which @param {number} missing @param {number} live @param {Parameters<typeof valueRows>[4]} averaging @returns {Cell} */
function cellOfGroup(logged, which, missing, live, { average, averageName, spread }) {
  const numbers = logged.map((value) => value[which]);
  const diverged = which === "last" ? 0 : logged.filter((value) => Number.isFinite(value[which]) && !Number.isFinite(value.last)).length;
  const statistics = { ...statisticsOf(numbers, average, live, spread), missing, diverged };
  const { text, title } = groupFigure(statistics, averageName, `${NAMES[which]} values`);
  return { text, title, value: statistics.count > 0 ? statistics.average : (statistics.common ?? NaN) };
}

/**
 * How far a value is from the baseline's: `+0.25 (+50 %)`, without percent if the baseline is 0; "" if
 * one of them is not finite or missing.
 * @param {number | undefined} base @param {number | undefined} value
 */
export function changeOf(base, value) {
  if (base === undefined || value === undefined || !Number.isFinite(value - base)) return "";
  const change = value - base;
  if (change === 0) return "±0";
  const sign = change > 0 ? "+" : "−";
  const text = `${sign}${formatValue(Math.abs(change), 4)}`;
  return base === 0 ? text : `${text} (${sign}${formatValue(Math.abs(change / base) * 100, 3)} %)`;
}

/** The values of hyperparameters by run, each with its name. @param {readonly Column[]} columns @param {FactsOf} factsOf */
function hparamsOf(columns, factsOf) {
  /** @type {Map<string, Map<string, unknown>>} */
  const found = new Map();
  for (const { name } of columns.flatMap(({ runs }) => runs)) {
    for (const [path, , value] of factsOf.get(name)?.hparams?.rows ?? []) {
      const key = path.join(".");
      found.set(key, (found.get(key) ?? new Map()).set(name, value));
    }
  }
  return [...found];
}

/** Marks the cells with the best value, unless all have it, and means of groups that cannot be told from the best one. @param {Cell[]} cells @param {"min" | "max"} which @param {ReturnType<typeof hparamsOf>} hparams @param {boolean} areMeans */
function markBest(cells, which, hparams, areMeans) {
  const marks = cells.every(({ values, isMissing }) => values || isMissing) ? marksOfBest(cells.map(({ values }) => values), which, hparams, areMeans ? undefined : cells.map(({ value }) => Number(value))) : [];
  const numbers = cells.flatMap(({ value }) => (value !== undefined && Number.isFinite(value) ? [value] : []));
  const best = numbers.reduce((a, b) => (which === "min" ? Math.min(a, b) : Math.max(a, b)), which === "min" ? Infinity : -Infinity);
  const areEqual = numbers.every((number) => number === best);
  for (const [i, cell] of cells.entries()) {
    const { mark, title } = marks[i] ?? { mark: !areEqual && cell.value === best ? "best" : "", title: "" };
    Object.assign(cell, { mark, why: title });
  }
}

// --- tags ----------------------------------------------------------------------------------------

/**
 * All tags, with the columns that have them.
 * @param {readonly Column[]} columns @param {FactsOf} factsOf @param {(tag: string) => boolean} matches
 * @param {(tag: string) => string} [titleOf]  of texts
 * @returns {Row[]}
 */
export function tagRows(columns, factsOf, matches, titleOf = String) {
  /** @type {Map<string, { tag: string, type: string, counts: number[] }>} */
  const rows = new Map();
  columns.forEach(({ runs }, at) => {
    for (const { name } of runs) {
      for (const [tag, type] of factsOf.get(name)?.tags ?? []) {
        if (!matches(tag)) continue;
        const key = `${type} ${tag}`;
        const row = rows.get(key) ?? { tag, type, counts: columns.map(() => 0) };
        rows.set(key, row);
        row.counts[at]++;
      }
    }
  });
  const sorted = [...rows].sort(([, a], [, b]) => compareNames(a.tag, b.tag) || compareNames(a.type, b.type));
  return sorted.map(([key, { tag, type, counts }]) => {
    const cells = columns.map(({ runs }, at) => {
      if (runs.some(({ name }) => !factsOf.has(name))) return { text: "…" };
      if (counts[at] === 0) return { text: NOT_LOGGED, isMissing: true };
      return { text: counts[at] === runs.length ? "logged" : `${counts[at]} of ${runs.length} runs` };
    });
    // The graph of a run has no name.
    return { key, label: (type === "text" ? titleOf(tag) : tag) || type, note: tag && type, cells, isSame: columns.every(({ runs }, at) => counts[at] === runs.length) };
  });
}
