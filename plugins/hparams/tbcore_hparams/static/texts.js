/**
 * Cells as text: short in the table, exact in the title. Pure.
 */

import { formatValue } from "tbcore/lib/format.js";
import { textOf } from "./filters.js";
import { extentOf, isNumeric, labelOf } from "./scales.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 */

/** What a metric's cell is of what was logged. */
export const VALUE_OF = { last: "its last value", lowest: "its lowest value", highest: "its highest value" };
/** Significant digits of a metric. */
const DIGITS = 5;
/** A column that needs more decimals than this for its smallest value is written without a common number of them. */
const MOST_DECIMALS = 6;

/** @param {Column} column @param {Cell} cell */
export function shortText(column, cell) {
  if (cell === null) return "—";
  if (typeof cell !== "number") return cell === "" ? "“”" : String(cell);
  return isNumeric(column) ? labelOf(column, cell) : formatValue(cell);
}

/** All digits, for the title; "" where the short text says it all. @param {Column} column @param {Cell} cell */
export function exactText(column, cell) {
  if (cell === null) return "not logged";
  const exact = column.type === "time" || column.type === "duration" ? shortText(column, cell) : textOf(cell);
  return cell === "" ? "empty text" : exact;
}

/**
 * Writes the cells of a column: numbers of a metric with as many decimals each, so that their points stand one below
 * the other.
 * @param {Column} column
 * @returns {(cell: Cell) => string}
 */
export function writerOf(column) {
  const plain = (/** @type {Cell} */ cell) => shortText(column, cell);
  if (column.kind !== "metric") return plain;
  const sizes = column.cells.filter((cell) => cell !== null && cell !== 0).map((cell) => Math.abs(Number(cell)));
  const [least, most] = extentOf(sizes);
  if (sizes.length === 0 || most >= 1e9) return plain;
  const decimals = Math.max(0, DIGITS - 1 - Math.floor(Math.log10(most)));
  const isWhole = sizes.every((size) => Number.isInteger(size) || !Number.isFinite(size));
  if (isWhole || decimals > MOST_DECIMALS || least < 10 ** (1 - decimals)) return plain;
  return (cell) => (typeof cell === "number" && Number.isFinite(cell) ? cell.toFixed(decimals).replace("-", "−") : plain(cell));
}
