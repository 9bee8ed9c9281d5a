/**
 * The table as CSV, JSON and LaTeX: the rows and columns shown, in their order, with the name of
 * each row. Pure functions.
 */

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

/** The table as CSV, with the steps of all metrics. @param {Shown} shown @returns {string} a missing cell is empty */
export function csvOf({ columns: shown, groups, rows }) {
  const keys = new Set(shown.map(({ key }) => key));
  const columns = shown.flatMap((column) => (column.steps && !keys.has(`at.${column.key}`) ? withStepColumn(column) : [column]));
  return toCSV(
    ["name", ...columns.map(({ label }) => label)],
    rows.map((row) => [groups[row].label, ...columns.map(({ cells }) => csvCell(cells[row]))]),
  );
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
 * @returns {string} an object for each row; `sessions` has names of runs
 */
export function jsonOf({ columns, groups, rows }) {
  return JSON.stringify(
    rows.map((row) => ({
      name: groups[row].label,
      sessions: groups[row].sessions.map(({ name }) => name),
      hparams: objectOf(columns, "hparam", row),
      metrics: objectOf(columns, "metric", row),
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

/**
 * The table as a LaTeX tabular.
 * @param {Shown} shown
 * @returns {string} numbers have three significant digits
 */
export function latexOf({ columns, groups, rows }) {
  const header = ["name", ...columns.map(({ label }) => label)].map(escapeLatex);
  const lines = rows.map((row) => [escapeLatex(groups[row].label), ...columns.map(({ cells }) => latexCell(cells[row]))]);
  const table = [header, ...lines].map((cells) => `${cells.join(" & ")} \\\\`);
  table.splice(1, 0, "\\hline");
  return `\\begin{tabular}{l${columns.map(({ type }) => (type === "number" ? "r" : "l")).join("")}}\n${table.join("\n")}\n\\end{tabular}\n`;
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
