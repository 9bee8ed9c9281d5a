/**
 * Cells as text: short in the table, exact in the tooltip. Pure functions.
 */

import { formatName, formatStep, formatValue } from "tbcore/format.js";
import { textOf } from "./filters.js";
import { extentOf, isNumeric, labelOf } from "./scales.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 */

/** Which value over the steps a metric's cells show, in words. */
export const VALUE_NAMES = { last: "its last value", lowest: "its lowest value", highest: "its highest value" };
/** Significant digits of a metric. */
const DIGITS = 5;
/** What differs inside a group is listed up to this number of characters, and in a tooltip up to this number of values. */
const [MAX_LISTED_CHARS, MAX_LISTED_VALUES] = [20, 10];
/** Most decimals that all cells of a metric share; if it needs more, each is formatted alone. */
const MAX_DECIMALS = 6;

/** The short text of a cell. @param {Column} column @param {Cell} cell */
export function shortText(column, cell) {
  if (cell === null) return "—";
  if (typeof cell !== "number") return cell === "" ? "“”" : formatName(String(cell));
  if (column.isStep) return formatStep(cell);
  return isNumeric(column) ? labelOf(column, cell) : formatValue(cell);
}

/**
 * The step of a metric's cell, in words.
 * @param {Column} column
 * @param {number} row
 * @param {boolean} isMean  whether the cell is a mean of several sessions
 * @returns {string} such as `at step 905`; "" if there is none
 */
export function stepText({ steps }, row, isMean) {
  const step = steps?.[row];
  return typeof step === "number" ? `at step ${formatStep(step)}${isMean ? " on average" : ""}` : "";
}

/** The short text of a row's cell. @param {Column} column @param {number} row */
export function cellText(column, row) {
  return column.figure?.(row)?.text ?? shortText(column, column.cells[row]);
}

/**
 * What a hyperparameter shows where the sessions of a row have different values: these, or "varies"
 * if they are too many.
 * @param {readonly Cell[]} cells  of the sessions
 */
export function differenceOf(cells) {
  const values = [...new Set(cells)].map((cell) => (cell === null ? "not logged" : formatName(textOf(cell))));
  const text = values.join(", ");
  const more = values.length - MAX_LISTED_VALUES;
  return {
    text: text.length <= MAX_LISTED_CHARS ? text : "varies",
    title: `differs inside the group: ${values.slice(0, MAX_LISTED_VALUES).join(", ")}${more > 0 ? `, and ${more} more` : ""}`,
  };
}

/** The exact text of a row's cell, for the tooltip. @param {Column} column @param {number} row */
export function cellTitle(column, row) {
  return column.figure?.(row)?.title ?? exactText(column, column.cells[row]);
}

/** The exact text of a cell, for the tooltip. @param {Column} column @param {Cell} cell */
export function exactText(column, cell) {
  if (cell === null) return "not logged";
  const exact = column.type === "time" || column.type === "duration" ? shortText(column, cell) : textOf(cell);
  return cell === "" ? "empty text" : formatName(exact);
}

/**
 * A function that formats the cell of a row. Numbers of a metric have a common number of
 * decimals, so that decimal points are aligned.
 * @param {Column} column
 * @returns {(row: number) => string}
 */
export function writerOf(column) {
  const plain = (/** @type {number} */ row) => cellText(column, row);
  if (column.kind !== "metric" || column.figure) return plain;
  const sizes = column.cells.filter((cell) => cell !== null && cell !== 0).map((cell) => Math.abs(Number(cell)));
  const [smallest, largest] = extentOf(sizes);
  if (sizes.length === 0 || largest >= 1e9) return plain;
  const decimals = Math.max(0, DIGITS - 1 - Math.floor(Math.log10(largest)));
  const isWhole = sizes.every((size) => Number.isInteger(size) || !Number.isFinite(size));
  // The smallest value must keep at least two significant digits.
  if (isWhole || decimals > MAX_DECIMALS || smallest < 10 ** (1 - decimals)) return plain;
  return (row) => {
    const cell = column.cells[row];
    return typeof cell === "number" && Number.isFinite(cell) ? cell.toFixed(decimals).replace("-", "−") : plain(row);
  };
}
