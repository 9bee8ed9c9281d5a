/**
 * Column filters: which cells pass, and how filters are written in the page address. Pure
 * functions. Three filters in the address, by an interval, a list and a regular expression:
 *
 *     h.lr,in,0.001,*;h.optimizer,is,adam,sgd;name,has,seed
 */

import { formatValue } from "tbcore/format.js";
import { formatLists, parseLists } from "tbcore/text-names.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {ReadonlyMap<string, { matches: (name: string) => boolean }>} Patterns  the regular
 *   expressions among the filters, by the keys of their columns
 */

/** Stands for a missing bound, since lists in the address cannot have empty names. */
const UNBOUND = "*";

/**
 * The test that cells must pass. A missing cell passes only if it is among the values of the
 * filter.
 * @param {ColumnFilter} filter
 * @param {Patterns} patterns
 * @returns {(cell: Cell) => boolean}
 */
export function testOf(filter, patterns) {
  if ("values" in filter) {
    const values = new Set(filter.values);
    return (cell) => values.has(cell);
  }
  if ("text" in filter) {
    const pattern = patterns.get(filter.key);
    return (cell) => cell !== null && pattern?.matches(textOf(cell)) === true;
  }
  const { min, max } = filter;
  return (cell) => typeof cell === "number" && (min === null || cell >= min) && (max === null || cell <= max) && !Number.isNaN(cell);
}

/**
 * The rows that pass all filters, in their order.
 * @param {readonly number[]} rows
 * @param {readonly ColumnFilter[]} filters
 * @param {ReadonlyMap<string, Column>} byKey
 * @param {Patterns} patterns
 */
export function filterRows(rows, filters, byKey, patterns) {
  const tests = filters.flatMap((filter) => {
    const column = byKey.get(filter.key);
    if (!column) return [];
    const cells = "text" in filter ? (column.texts ?? column.cells) : column.cells;
    return [{ cells, test: testOf(filter, patterns) }];
  });
  return tests.length === 0 ? rows : rows.filter((row) => tests.every(({ cells, test }) => test(cells[row])));
}

/**
 * The filters, with the one for a column replaced, added or removed.
 * @param {readonly ColumnFilter[]} filters
 * @param {string} key
 * @param {ColumnFilter | null} filter  null removes it
 * @returns {ColumnFilter[]}
 */
export function replaceFilter(filters, key, filter) {
  const at = filters.findIndex((other) => other.key === key);
  if (at < 0) return filter ? [...filters, filter] : [...filters];
  return filters.flatMap((other, i) => (i !== at ? [other] : filter ? [filter] : []));
}

/**
 * Filters as text.
 * @param {readonly ColumnFilter[]} filters
 * @returns {string | null} for the page address
 */
export function formatFilters(filters) {
  return formatLists(
    filters.map((filter) => {
      if ("values" in filter) return [filter.key, "is", ...filter.values.map(formatCell)];
      if ("text" in filter) return [filter.key, "has", filter.text];
      return [filter.key, "in", formatBound(filter.min), formatBound(filter.max)];
    }),
  );
}

/**
 * Filters from the page address; invalid ones are left out.
 * @param {string | undefined} text
 * @returns {ColumnFilter[]}
 */
export function parseFilters(text) {
  return parseLists(text).flatMap(([key, kind, ...rest]) => parseOne(key, kind, rest));
}

/**
 * Parses one filter.
 * @param {string} key
 * @param {string} kind
 * @param {readonly string[]} rest
 * @returns {readonly ColumnFilter[]} none or one
 */
function parseOne(key, kind, rest) {
  if (kind === "is") return [{ key, values: rest.map(parseCell) }];
  if (kind === "has" && rest.length === 1) return [{ key, text: rest[0] }];
  if (kind !== "in" || rest.length !== 2) return [];
  const [min, max] = rest.map((bound) => (bound === UNBOUND ? null : Number(bound)));
  return Number.isNaN(min) || Number.isNaN(max) || (min === null && max === null) ? [] : [{ key, min, max }];
}

/** A bound as text for the address. @param {number | null} bound */
function formatBound(bound) {
  return bound === null ? UNBOUND : String(bound);
}

/**
 * A cell as JSON, except that NaN and infinities are written as `#NaN`, `#Infinity`; and a text has
 * no quotes if `parseCell` reads it as the same text.
 * @param {Cell} cell
 */
function formatCell(cell) {
  if (typeof cell === "number" && !Number.isFinite(cell)) return `#${cell}`;
  if (typeof cell !== "string") return String(cell);
  return cell !== "" && !cell.startsWith("#") && parseCell(cell) === cell ? cell : JSON.stringify(cell);
}

/** Reads what `formatCell` writes. @param {string} text @returns {Cell} */
function parseCell(text) {
  if (text.startsWith("#")) return Number(text.slice(1));
  try {
    const value = JSON.parse(text);
    return value === null || typeof value !== "object" ? value : text;
  } catch {
    return text;
  }
}

/**
 * A cell as exact text, for matching, axes and files.
 * @param {NonNullable<Cell>} cell
 */
export function textOf(cell) {
  if (cell === Infinity || cell === -Infinity) return cell > 0 ? "∞" : "−∞";
  return String(cell);
}

/** Different cells as text: a logged text is in quotes if it is empty, or also that of a number or boolean. @param {readonly NonNullable<Cell>[]} cells */
export function distinctTexts(cells) {
  const others = new Set(["", ...cells.filter((cell) => typeof cell !== "string").map(textOf)]);
  return cells.map((cell) => (typeof cell === "string" && others.has(cell) ? `“${cell}”` : textOf(cell)));
}

/**
 * A filter in words, for the button that removes it.
 * @param {ColumnFilter} filter
 * @param {(value: number) => string} [format]
 */
export function describeFilter(filter, format = (value) => formatValue(value)) {
  if ("values" in filter) {
    const names = filter.values.map((value) => (value === null ? "—" : typeof value === "number" ? format(value) : String(value)));
    return names.length === 0 ? "nothing" : names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
  }
  if ("text" in filter) return `matches “${filter.text}”`;
  const { min, max } = filter;
  if (min === null) return `≤ ${format(Number(max))}`;
  if (max === null) return `≥ ${format(min)}`;
  return `${format(min)} to ${format(max)}`;
}
