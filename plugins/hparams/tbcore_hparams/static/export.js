/**
 * The table as CSV, JSON and LaTeX: the rows and columns shown, in their order, with the name of
 * each row; that of LaTeX is the one to show. Pure functions.
 */

import { groupFigure } from "tbcore/groups.js";
import { toCSV } from "tbcore/ui.js";
import { nameOf } from "./labels.js";
import { withStepColumn } from "./sweep.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("tbcore/groups.js").Statistics} Statistics
 */

/**
 * @typedef {object} Shown  what the table shows
 * @property {readonly Column[]} columns
 * @property {readonly Group[]} groups  in the order of the sweep
 * @property {readonly number[]} rows  indexes into `groups`, in the order of the table
 */

/**
 * The table as CSV, with the steps of all metrics, and beside each average its spread and the number of
 * values.
 * @param {Shown} shown
 * @returns {string} a missing cell is empty
 */
export function csvOf({ columns: shown, groups, rows }) {
  const keys = new Set(shown.map(({ key }) => key));
  const columns = shown
    .flatMap((column) => (column.steps && !keys.has(`at.${column.key}`) ? withStepColumn(column) : [column]))
    .flatMap((column) => [column, ...spreadColumns(column)]);
  return toCSV(
    ["name", ...columns.map(({ label }) => label)],
    rows.map((row) => [nameOf(groups[row]), ...columns.map(({ cells }) => csvCell(cells[row]))]),
  );
}

/**
 * The spreads of a metric's averages, and the numbers of finite values; none unless rows have averages.
 * @param {Column} column
 */
function spreadColumns({ label, statistics, spread }) {
  if (!statistics) return [];
  return [
    ...spreadsOf(spread).map(([name, of]) => ({ label: `${label} ${name}`, cells: statistics.map((found) => numberOf(found, of)) })),
    ...countsOf(statistics.find((found) => found) ?? NONE).map(([name], i) => ({ label: `${label} ${name}`, cells: statistics.map((found) => countsOf(found ?? NONE)[i]?.[1] ?? 0) })),
  ];
}

/** The counts where no run has a value. */
const NONE = { average: NaN, low: NaN, high: NaN, count: 0, nonfinite: 0, live: 0 };

/** The counts beside an average; the last only for lowest and highest values. @param {Statistics} statistics @returns {[name: string, count: number][]} */
function countsOf({ count, nonfinite, diverged }) {
  return [["n", count], ["nonfinite", nonfinite], ...(diverged === undefined ? [] : [/** @type {[string, number]} */ (["diverged", diverged])])];
}

/** The names of what is around a mean, and of both ends of what is not. */
const SPREADS = { deviation: ["sd"], error: ["se"], interval: ["ci"], quartiles: ["q1", "q3"], range: ["min", "max"] };

/**
 * The numbers that say how far the values of a group spread, with their names.
 * @param {Column["spread"]} spread
 * @returns {[name: string, of: (statistics: Statistics) => number][]}
 */
function spreadsOf(spread = "deviation") {
  const [name, second] = SPREADS[spread];
  return second ? [[name, ({ low }) => low], [second, ({ high }) => high]] : [[name, ({ low, high }) => (high - low) / 2]];
}

/** What says how far values spread; null if at most one is finite. @param {Statistics | null} statistics @param {(statistics: Statistics) => number} of */
function numberOf(statistics, of) {
  return statistics && statistics.count > 1 && !Number.isNaN(statistics.low) ? of(statistics) : null;
}

/** A cell as in the CSV files of the server. @param {Cell} cell */
function csvCell(cell) {
  if (cell === null) return "";
  if (cell === Infinity || cell === -Infinity) return cell > 0 ? "inf" : "-inf";
  return Number.isNaN(cell) ? "nan" : String(cell);
}

/**
 * The table as JSON.
 * @param {Shown} shown
 * @returns {string} an object for each row; `sessions` has names of runs; if metrics are averages,
 *   `spreads` has their deviations or quartiles, and numbers of values
 */
export function jsonOf({ columns, groups, rows }) {
  return JSON.stringify(
    rows.map((row) => ({
      name: nameOf(groups[row]),
      sessions: groups[row].sessions.map(({ name }) => name),
      hparams: objectOf(columns, "hparam", row),
      metrics: objectOf(columns, "metric", row),
      ...(columns.some(({ statistics }) => statistics) && { spreads: spreadObject(columns, row) }),
    })),
    null,
    2,
  );
}

/**
 * The cells of one kind of column, by label.
 * @param {readonly Column[]} columns
 * @param {Column["kind"]} kind
 * @param {number} row
 */
function objectOf(columns, kind, row) {
  return Object.fromEntries(
    columns.flatMap((column) => {
      const cell = column.cells[row];
      if (column.kind !== kind || cell === null) return [];
      return [[column.label, typeof cell === "number" && !Number.isFinite(cell) ? String(cell) : cell]];
    }),
  );
}

/** The spread and the number of values of each average, by label. @param {readonly Column[]} columns @param {number} row */
function spreadObject(columns, row) {
  return Object.fromEntries(
    columns.flatMap(({ label, statistics, spread }) => {
      const found = statistics?.[row];
      return found ? [[label, { ...Object.fromEntries(spreadsOf(spread).map(([name, of]) => [name, numberOf(found, of)])), ...Object.fromEntries(countsOf(found)) }]] : [];
    }),
  );
}

/**
 * The table as a LaTeX tabular. Means have deviations, other averages quartiles; and both their number
 * of values if that is not the number of sessions, which is the column n.
 * @param {Shown} shown
 * @returns {string} numbers have three significant digits; deviations have two, and means as many
 *   decimals; averages with quartiles have four
 */
export function latexOf({ columns: shown, groups, rows }) {
  const hasAverages = shown.some(({ statistics }) => statistics);
  const columns = hasAverages ? shown.filter(({ key }) => key !== "sessions") : shown;
  const header = ["name", ...columns.map(({ label }) => label)].map(escapeLatex);
  const lines = rows.map((row) => {
    const size = groups[row].sessions.length;
    return [escapeLatex(groups[row].label), ...columns.map((column) => latexAverage(column, row, size) ?? latexCell(column.cells[row])), ...(hasAverages ? [`$${size}$`] : [])];
  });
  if (hasAverages) header.push("$n$");
  const table = [header, ...lines].map((cells) => `${cells.join(" & ")} \\\\`);
  table.splice(1, 0, "\\hline");
  return `\\begin{tabular}{l${columns.map(({ type }) => (type === "number" ? "r" : "l")).join("")}${hasAverages ? "r" : ""}}\n${table.join("\n")}\n\\end{tabular}\n`;
}

/**
 * An average with its spread as LaTeX; null if there is none.
 * @param {Column} column
 * @param {number} row
 * @param {number} size  of the group
 */
function latexAverage({ statistics, average, cells }, row, size) {
  const found = statistics?.[row];
  if (!found) return null;
  if (found.count === 0 && found.common === undefined) return `not finite ($n = 0$)`;
  const { text } = groupFigure({ ...found, nonfinite: 0, missing: 0, diverged: 0, live: 0 }, average);
  const [, numbers, sign = ""] = text.match(/^([^A-Z(]*?)( SE| CI| range)?( \(.*)?$/) ?? ["", text];
  const figure = found.count < 2 ? latexCell(cells[row]) : `$${numbers.replace(/[^\s±[\],]+/g, latexNumber).replace("±", "\\pm").replace(" [", "\\ [")}$${sign}`;
  return found.count === size ? figure : `${figure} ($n = ${found.count}$)`;
}

/** A number as LaTeX, without the signs around it. @param {string} text */
function latexNumber(text) {
  const [mantissa, exponent] = text.replaceAll("−", "-").replace("∞", "\\infty").split("e");
  return exponent ? `${mantissa} \\cdot 10^{${Number(exponent)}}` : mantissa;
}

/** A cell as LaTeX. @param {Cell} cell */
function latexCell(cell) {
  if (cell === null) return "-";
  if (typeof cell !== "number") return escapeLatex(String(cell));
  if (Number.isNaN(cell)) return "$\\mathrm{NaN}$";
  if (!Number.isFinite(cell)) return cell > 0 ? "$+\\infty$" : "$-\\infty$";
  if (Number.isInteger(cell) && Math.abs(cell) < 1e6) return `$${cell}$`;
  const [mantissa, exponent] = Number(cell.toPrecision(3)).toExponential().split("e");
  const power = Number(exponent);
  return power < -3 || power >= 4 ? `$${mantissa} \\cdot 10^{${power}}$` : `$${Number(cell.toPrecision(3))}$`;
}

/** Escapes LaTeX's special characters. @param {string} text */
function escapeLatex(text) {
  return text.replace(/[\\&%$#_{}~^]/g, (character) => {
    if (character === "\\") return "\\textbackslash{}";
    if (character === "~" || character === "^") return `\\${character}{}`;
    return `\\${character}`;
  });
}
