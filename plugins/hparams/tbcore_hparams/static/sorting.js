/**
 * The order of cells, rows and columns. Pure functions.
 */

import { compareNames } from "tbcore/text-names.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Sort} Sort
 */

/**
 * Compares cells, whose types may differ: booleans before numbers before texts; false before true;
 * texts in natural order.
 * @param {NonNullable<Cell>} a  no NaN
 * @param {NonNullable<Cell>} b
 */
function compareCells(a, b) {
  if (typeof a !== typeof b) return rankOf(a) - rankOf(b);
  if (typeof a === "string") return compareNames(a, /** @type {string} */ (b));
  return Number(a) - Number(b);
}

/** The rank of a cell's type. @param {NonNullable<Cell>} cell */
function rankOf(cell) {
  return { boolean: 0, number: 1, string: 2 }[/** @type {"boolean" | "number" | "string"} */ (typeof cell)];
}

/**
 * Sorts rows by several columns; equal rows are in the order of the sweep. NaN and, after it,
 * missing cells come last in both directions, since neither is ever the best.
 * @param {readonly number[]} rows
 * @param {readonly Sort[]} sorts
 * @param {ReadonlyMap<string, Column>} byKey
 * @returns {number[]}
 */
export function sortRows(rows, sorts, byKey) {
  const keys = sorts.flatMap(({ key, descending }) => {
    const column = byKey.get(key);
    return column ? [{ cells: column.cells, sign: descending ? -1 : 1 }] : [];
  });
  return [...rows].sort((one, other) => {
    for (const { cells, sign } of keys) {
      const a = cells[one];
      const b = cells[other];
      const byGroup = sortGroup(a) - sortGroup(b);
      if (byGroup !== 0) return byGroup;
      if (a === null || b === null || sortGroup(a) > 0) continue;
      const order = compareCells(a, b);
      if (order !== 0) return sign * order;
    }
    return one - other;
  });
}

/**
 * 0 for values, 1 for NaN, 2 for missing cells: groups that are sorted in this order.
 * @param {Cell} cell
 */
function sortGroup(cell) {
  return cell === null ? 2 : Number.isNaN(cell) ? 1 : 0;
}

/**
 * The order after a click on a heading, which is ascending, then descending, then none.
 * @param {readonly Sort[]} sorts
 * @param {string} key  of the column
 * @param {boolean} isAdded  whether Shift was held, so that the order by other columns stays
 * @returns {Sort[]}
 */
export function nextSort(sorts, key, isAdded) {
  const old = sorts.find((sort) => sort.key === key);
  const next = old === undefined ? [{ key, descending: false }] : old.descending ? [] : [{ key, descending: true }];
  if (!isAdded) return next;
  return old ? sorts.flatMap((sort) => (sort === old ? next : [sort])) : [...sorts, ...next];
}

/**
 * Distinct cells with their counts, in order; a missing cell comes last.
 * @param {Iterable<Cell>} cells
 * @returns {{ value: Cell, count: number }[]}
 */
export function countCells(cells) {
  /** @type {Map<Cell, number>} */
  const counts = new Map();
  for (const cell of cells) counts.set(cell, (counts.get(cell) ?? 0) + 1);
  return Array.from(counts, ([value, count]) => ({ value, count })).sort(({ value: a }, { value: b }) => {
    const byGroup = sortGroup(a) - sortGroup(b);
    return byGroup !== 0 || a === null || b === null ? byGroup : compareCells(a, b);
  });
}

/**
 * The keys with one of them moved to the position of another one.
 * @param {readonly string[]} keys
 * @param {string} key
 * @param {string} target
 * @returns {string[]}
 */
export function moveKey(keys, key, target) {
  const from = keys.indexOf(key);
  const to = keys.indexOf(target);
  if (from < 0 || to < 0 || from === to) return [...keys];
  const next = keys.filter((other) => other !== key);
  next.splice(to, 0, key);
  return next;
}
