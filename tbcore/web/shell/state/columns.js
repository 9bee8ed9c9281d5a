/**
 * The columns of the run list: what they show, the order of runs by one of them, and all of them as
 * a table. Pure functions, no DOM; loaded when the list has columns.
 */

import { compareNames } from "../../lib/address.js";
import { formatDuration, formatName, formatStep, formatValue } from "../../lib/format.js";
import { STATISTICS, groupText, readNumber } from "../../lib/queries/names.js";

/** @import { Attribute } from "../../lib/queries/names.js" */
/** @import { AttributeValue, Meaning } from "./attributes.js" */

/**
 * The values of an attribute by run; runs that lack it are not in the map.
 * @typedef {ReadonlyMap<string, AttributeValue>} Values
 *
 * The step of each value of a tag, by run.
 * @typedef {ReadonlyMap<string, number>} Steps
 *
 * @typedef {object} Column
 * @property {string} text  the attribute, as in the address
 * @property {Attribute | null} attribute  null if the text names none, or until it is read
 * @property {string | null} error  what is wrong with a text that names none
 * @property {string} heading  different from all other headings
 * @property {string} title  a description, or what is wrong with the text
 */

/** Maximum number of characters of a number. */
const NUMBER_CHARS = 8;
/** Maximum number of characters of a heading for which a column is widened. */
const HEADING_CHARS = 12;
/** Number of characters of the arrow after the heading by which the list is sorted. */
export const ORDER_CHARS = 2;
/** Limits of a column's width, in characters; figures of groups have more. */
const [MIN_CHARS, MAX_CHARS, MAX_FIGURE_CHARS] = [5, 16, 24];
/** In a column with more runs, not every value is formatted to find the column's width. */
const MAX_MEASURED = 2000;
/** In the order of a list, ages are rounded down to this, so that the rows of live runs do not keep moving. */
const AGE_SECONDS = 60;
const FACT_TITLES = new Map([["step", "Last step"], ["age", "Time since the last event"], ["took", "Time from the first to the last event"]]);

/** The columns for these attributes, each once. @param {readonly string[]} texts @param {(text: string) => Meaning | null} meaningOf @returns {Column[]} */
export function parseColumns(texts, meaningOf) {
  /** @type {Map<string, Column>} */
  const columns = new Map();
  for (const text of texts) {
    const meaning = meaningOf(text) ?? { error: null };
    const key = "attribute" in meaning ? meaning.text : text;
    if (columns.has(key)) continue;
    if ("attribute" in meaning) {
      const { attribute } = meaning;
      columns.set(key, { text, attribute, error: null, title: titleOf(attribute), heading: headingOf(attribute) });
    } else columns.set(key, { text, attribute: null, error: meaning.error, title: meaning.error === null ? text : `${text}: ${meaning.error}`, heading: text });
  }
  const all = [...columns.values()];
  const isUnique = (/** @type {string} */ heading) => all.filter((column) => column.heading === heading).length === 1;
  return all.map((column) => ({ ...column, heading: isUnique(column.heading) ? column.heading : column.text }));
}

/** @param {Attribute} attribute */
function titleOf({ kind, name, stat, step }) {
  if (kind === "fact") return FACT_TITLES.get(name) ?? name;
  if (kind === "hparam") return `Hyperparameter ${name}`;
  const steps = formatStep(Number(step));
  const when = stat === "at" ? ` at step ${steps}, or the last before it` : stat === "change" ? ` over the last ${steps} steps` : "";
  return `${STATISTICS.get(stat ?? "")?.[0]} of ${name}${when}`;
}

/** The whole name: `val/loss` and `train/loss` differ also where only one of them is shown. @param {Attribute} attribute */
function headingOf({ kind, name, stat, step }) {
  if (kind !== "value" || stat === "last") return name;
  return stat === "at" ? `${name} @${formatStep(Number(step))}` : `${stat} ${name}${stat === "change" ? ` (${formatStep(Number(step))})` : ""}`;
}

// --- values --------------------------------------------------------------------------------------

/** A value as short text: numbers have at most eight characters. @param {AttributeValue} value @param {Attribute | null} attribute @param {number} [decimals]  what `decimalsOfColumn` returns */
export function formatCell(value, attribute, decimals = 0) {
  if (typeof value !== "number") return formatName(String(value));
  if (attribute?.stat === "nan") return formatStep(value);
  if (attribute?.kind === "fact") return attribute.name === "step" ? formatStep(value) : formatDuration(value);
  const own = formatNumber(value);
  if (decimals === 0 || !Number.isFinite(value)) return own;
  const fixed = value.toFixed(decimals);
  // What is much smaller or larger than other values has digits of its own.
  return fixed.length <= NUMBER_CHARS && (Math.abs(value) >= 10 ** (2 - decimals) || Number(fixed) === Number(own)) ? fixed : own;
}

/** A number with at most four significant digits, and eight characters. @param {number} value */
function formatNumber(value) {
  for (let digits = 4; digits > 0; digits--) {
    const text = formatValue(value, digits);
    if (text.length <= NUMBER_CHARS) return text;
  }
  return value.toExponential(2).replace("e+", "e");
}

/**
 * The decimals that the values of a tag have in common: those of the one that has the most, if the
 * largest has so many; 0 for another column.
 * @param {Values | null} values @param {Attribute | null} attribute
 */
export function decimalsOfColumn(values, attribute) {
  if (attribute?.kind !== "value" || attribute.stat === "nan") return 0;
  const parts = Array.from(values?.values() ?? []).slice(0, MAX_MEASURED).map((value) => /^(-?\d+)(?:\.(\d+))?$/.exec(formatCell(value, attribute)));
  const [whole, decimals] = [1, 2].map((part) => parts.reduce((most, found) => Math.max(most, found?.[part]?.length ?? 0), 0));
  return Math.max(0, Math.min(decimals, NUMBER_CHARS - 1 - whole));
}

/** A value in full, with the step that it was logged at. @param {AttributeValue} value @param {Attribute | null} attribute @param {number} [step] */
export function describeCell(value, attribute, step) {
  const isTime = attribute?.kind === "fact" && attribute.name !== "step";
  const text = isTime ? `${formatDuration(Number(value))} (${Math.round(Number(value))} s)` : formatName(String(value));
  return step === undefined ? text : `${text} at step ${formatStep(step)}`;
}

/** Whether a column's values are logged at steps that its heading does not name. @param {Attribute | null} attribute */
function hasSteps(attribute) {
  return attribute?.kind === "value" && attribute.stat !== "last" && attribute.stat !== "nan";
}

/** The step that a value was logged at, as `@700`; "" in columns that have no steps. @param {Attribute | null} attribute @param {number} [step] */
export function formatCellStep(attribute, step) {
  return step === undefined || !hasSteps(attribute) ? "" : `@${formatStep(step)}`;
}

/** The width of the steps in a column, in characters; 0 if it has none. @param {Column} column @param {Steps | null} steps */
export function measureSteps({ attribute }, steps) {
  if (!steps || !hasSteps(attribute)) return 0;
  const largest = [...steps.values()].reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a), 0);
  return steps.size === 0 ? 0 : formatCellStep(attribute, largest).length + 1;
}

/**
 * The width of a column in characters, without steps, and whether it has texts, which are aligned to
 * the left.
 * @param {Column} column
 * @param {Values | null} values
 * @param {number} [figureChars]  the width of the figures of groups
 * @param {number} [decimals]  what `decimalsOfColumn` returns
 */
export function measureColumn({ heading, attribute }, values, figureChars = 0, decimals = 0) {
  let numChars = attribute?.kind === "fact" || (values && values.size > MAX_MEASURED) ? NUMBER_CHARS : MIN_CHARS;
  let isText = false;
  for (const value of values?.values() ?? []) {
    if (typeof value === "string") isText = true;
    const isMeasured = numChars < NUMBER_CHARS || typeof value !== "number" || attribute?.name === "step";
    if (isMeasured && numChars < MAX_CHARS) numChars = Math.max(numChars, formatCell(value, attribute, decimals).length);
  }
  // The heading has an arrow after it. Widths are in digits, and an m or a w is one and a half digits wide.
  const headingChars = heading.length + (heading.match(/[mw]/gi)?.length ?? 0) / 2;
  const ownChars = Math.min(MAX_CHARS, Math.max(numChars, Math.min(headingChars, attribute ? HEADING_CHARS : NUMBER_CHARS) + ORDER_CHARS));
  return { numChars: Math.max(ownChars, Math.min(MAX_FIGURE_CHARS, figureChars)), isText };
}

/**
 * The value that a folder shows, and a group in columns without averages: the one that all of its runs have in common. Runs that
 * lack a value of a tag do not count; runs that lack a hyperparameter do. Undefined if there is none.
 * @param {readonly string[]} runs
 * @param {Values} values
 * @param {Attribute | null} attribute
 */
export function commonValue(runs, values, attribute) {
  /** @type {AttributeValue | undefined} */
  let common;
  for (const run of runs) {
    const value = values.get(run);
    if (value === undefined && attribute?.kind !== "hparam") continue;
    if (value === undefined || (common !== undefined && !Object.is(value, common) && groupText(value) !== groupText(common))) return undefined;
    common = value;
  }
  return common;
}

// --- order ---------------------------------------------------------------------------------------

/**
 * The runs sorted by a column: numbers, then texts in natural order, then NaN, and at the end the runs that lack a
 * value, in either direction. Runs with equal values keep their order.
 * @param {readonly string[]} runs
 * @param {Values} values
 * @param {{ isDescending?: boolean, attribute?: Attribute | null }} [options]
 */
export function sortRuns(runs, values, { isDescending = false, attribute = null } = {}) {
  const sign = isDescending ? -1 : 1;
  const isAge = attribute?.kind === "fact" && attribute.name === "age";
  const keyed = runs.map((run) => {
    const value = values.get(run);
    const key = typeof value === "string" ? (readNumber(value) ?? value) : typeof value === "boolean" ? String(value) : value;
    const number = typeof key === "number" ? (isAge ? Math.floor(key / AGE_SECONDS) : key) : 0;
    const rank = key === undefined ? 3 : typeof key === "string" ? 1 : Number.isNaN(key) ? 2 : 0;
    return { run, rank, number, text: typeof key === "string" ? key : "" };
  });
  keyed.sort((a, b) => {
    if (a.rank !== b.rank) return a.rank - b.rank;
    if (a.rank === 0) return a.number === b.number ? 0 : a.number < b.number ? -sign : sign;
    return a.rank === 1 ? sign * compareNames(a.text, b.text) : 0;
  });
  return keyed.map(({ run }) => run);
}

// --- table ---------------------------------------------------------------------------------------

/**
 * The rows of a table of runs with all columns, in full precision, for `toCSV`. A column of values
 * at various steps has another one with the steps after it, such as `loss:min step`.
 * @param {readonly string[]} runs
 * @param {ReadonlyMap<string, string> | null} groupOf  run to group
 * @param {readonly { text: string, attribute: Attribute | null, values: Values | null, steps: Steps | null }[]} given
 */
export function tableOf(runs, groupOf, given) {
  /** @type {{ text: string, values: Values | Steps | null }[]} */
  const columns = given.flatMap(({ text, attribute, values, steps }) => [{ text, values }, ...(hasSteps(attribute) ? [{ text: `${text} step`, values: steps }] : [])]);
  const header = ["run", ...(groupOf ? ["group"] : []), ...columns.map(({ text }) => text)];
  const rows = runs.map((run) => {
    const cells = columns.map(({ values }) => values?.get(run) ?? "");
    return [run, ...(groupOf ? [groupOf.get(run) ?? ""] : []), ...cells.map((cell) => (typeof cell === "number" ? cell : String(cell)))];
  });
  return { header, rows };
}
