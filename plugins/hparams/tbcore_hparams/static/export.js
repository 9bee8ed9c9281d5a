/**
 * The table as CSV, JSON and LaTeX: the rows and columns shown, in their order, with the name of
 * each row. Pure functions.
 */

import { formatMean } from "tbcore/groups.js";
import { toCSV } from "tbcore/ui.js";
import { withStepColumn } from "./sweep.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Group} Group
 */

/**
 * @typedef {object} Shown  what the table shows
 * @property {readonly Column[]} columns
 * @property {readonly Group[]} groups  in the order of the sweep
 * @property {readonly number[]} rows  indexes into `groups`, in the order of the table
 */

/**
 * The table as CSV, with the steps of all metrics, and beside each mean its deviation and the number of
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
    rows.map((row) => [groups[row].label, ...columns.map(({ cells }) => csvCell(cells[row]))]),
  );
}

/**
 * The deviations of a metric's means, and the numbers of finite values; none unless rows have means.
 * @param {Column} column
 */
function spreadColumns({ label, statistics }) {
  if (!statistics) return [];
  return [
    { label: `${label} sd`, cells: statistics.map(deviationOf) },
    { label: `${label} n`, cells: statistics.map((found) => found?.count ?? 0) },
  ];
}

/** The standard deviation of a sample; null if it has no value. @param {import("tbcore/groups.js").Statistics | null} statistics */
function deviationOf(statistics) {
  return statistics && statistics.count > 0 ? (statistics.high - statistics.low) / 2 : null;
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
 * @returns {string} an object for each row; `sessions` has names of runs; if metrics are means, `spreads`
 *   has their deviations and numbers of values
 */
export function jsonOf({ columns, groups, rows }) {
  return JSON.stringify(
    rows.map((row) => ({
      name: groups[row].label,
      sessions: groups[row].sessions.map(({ name }) => name),
      hparams: objectOf(columns, "hparam", row),
      metrics: objectOf(columns, "metric", row),
      ...(columns.some(({ statistics }) => statistics) && { spreads: spreadsOf(columns, row) }),
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

/** The deviation and the number of values of each mean, by label. @param {readonly Column[]} columns @param {number} row */
function spreadsOf(columns, row) {
  return Object.fromEntries(columns.flatMap(({ label, statistics }) => (statistics?.[row] ? [[label, { sd: deviationOf(statistics[row]), n: statistics[row].count }]] : [])));
}

/**
 * The table as a LaTeX tabular. Means have deviations, and their number of values if that is not the
 * number of sessions, which is the column n.
 * @param {Shown} shown
 * @returns {string} numbers have three significant digits; deviations have two, and means as many
 *   decimals
 */
export function latexOf({ columns: shown, groups, rows }) {
  const hasMeans = shown.some(({ statistics }) => statistics);
  const columns = hasMeans ? shown.filter(({ key }) => key !== "sessions") : shown;
  const header = ["name", ...columns.map(({ label }) => label)].map(escapeLatex);
  const lines = rows.map((row) => {
    const size = groups[row].sessions.length;
    return [escapeLatex(groups[row].label), ...columns.map(({ cells, statistics }) => latexMean(statistics?.[row], size) ?? latexCell(cells[row])), ...(hasMeans ? [`$${size}$`] : [])];
  });
  if (hasMeans) header.push("$n$");
  const table = [header, ...lines].map((cells) => `${cells.join(" & ")} \\\\`);
  table.splice(1, 0, "\\hline");
  return `\\begin{tabular}{l${columns.map(({ type }) => (type === "number" ? "r" : "l")).join("")}${hasMeans ? "r" : ""}}\n${table.join("\n")}\n\\end{tabular}\n`;
}

/**
 * A mean with its deviation as LaTeX; null if there is none.
 * @param {import("tbcore/groups.js").Statistics | null | undefined} statistics
 * @param {number} size  of the group
 */
function latexMean(statistics, size) {
  if (!statistics) return null;
  const { average, count } = statistics;
  const mean = count > 1 ? `$${formatMean(average, Number(deviationOf(statistics))).split(" ± ").map(latexNumber).join(" \\pm ")}$` : latexCell(average);
  return count === size ? mean : `${mean} ($n = ${count}$)`;
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
