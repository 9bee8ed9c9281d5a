/**
 * Axes of columns: where a cell lies, and what lies between two places. Pure.
 */

import { formatDuration, formatDurationTicks, formatTicks, formatTime, formatTimeTicks, formatValue } from "tbcore/lib/format.js";
import { durationTicks, logTicks, numberTicks, timeTicks } from "tbcore/lib/ticks.js";
import { textOf } from "./filters.js";
import { countCells } from "./order.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Scale} Scale
 * @typedef {import("./types.js").Tick} Tick
 */

/** Values that span so many powers of ten are drawn by their logarithms: settings sooner than results. */
const LOG_FROM = { hparam: 2, metric: 3, info: Infinity };
/** Where half of them lie in a smaller part of a linear axis than this; those spread evenly over it may stay so. */
const CROWDED = 0.2;
/** So few different settings are the ticks themselves: 16, 32, 64 rather than 20, 40, 60. Results have round ones. */
const FEW = 8;
/** A bound that was dragged is written with so many digits. */
const DIGITS = 4;

/** Whether all cells of a column have a place on an axis of numbers. @param {Column} column */
export function isNumeric({ type }) {
  return type === "number" || type === "time" || type === "duration";
}

/** Whether a logarithmic axis can be had. @param {Column} column */
export function canBeLog(column) {
  return column.type === "number" && column.cells.some((cell) => typeof cell === "number" && cell > 0 && Number.isFinite(cell));
}

/**
 * Whether an axis is logarithmic while nobody has said.
 * @param {Column} column
 */
export function isLogAtFirst(column) {
  if (column.type !== "number") return false;
  const [low, high] = extentOf(column.cells);
  if (!(low > 0 && Math.log10(high / low) >= LOG_FROM[column.kind])) return false;
  const values = column.cells.filter((cell) => Number.isFinite(cell)).map(Number).sort((a, b) => a - b);
  return (values[(values.length - 1) >> 1] - low) / (high - low) < CROWDED;
}

/**
 * The axis of a column.
 * @param {Column} column
 * @param {boolean} log
 * @returns {Scale}
 */
export function makeScale(column, log) {
  if (!isNumeric(column)) return ordinalScale(column.cells);
  const isLog = log && canBeLog(column);
  const toAxis = isLog ? Math.log10 : (/** @type {number} */ value) => value;
  const fromAxis = isLog ? (/** @type {number} */ at) => 10 ** at : (/** @type {number} */ at) => at;
  const placed = column.cells.filter((cell) => typeof cell === "number" && Number.isFinite(toAxis(cell)));
  const [low, high] = extentOf(placed);
  const [from, to] = [toAxis(low), toAxis(high)];
  /** @param {number} value */
  const shareOf = (value) => (to > from ? (toAxis(value) / 2 - from / 2) / (to / 2 - from / 2) : 0.5);
  /** @param {number} share */
  const valueAt = (share) => fromAxis(from + share * (to - from));
  const distinct = [...new Set(placed)].sort((a, b) => Number(a) - Number(b)).map(Number);
  return {
    kind: isLog ? "log" : "linear",
    categories: [],
    place: (cell) => {
      const share = typeof cell === "number" ? shareOf(cell) : NaN;
      return Number.isFinite(share) ? share : NaN;
    },
    ticks: (most) => {
      if (distinct.length <= (column.kind === "metric" ? 1 : FEW)) return thinned(distinct.map((value) => ({ share: shareOf(value), label: labelOf(column, value) })), most);
      return ticksOf(column, isLog, low, high, most).map(([value, label]) => ({ share: shareOf(value), label }));
    },
    part: (a, b) => {
      const [first, last] = a < b ? [a, b] : [b, a];
      const min = first <= 0 ? null : rounded(valueAt(first), Math.floor);
      const max = last >= 1 ? null : rounded(valueAt(last), Math.ceil);
      return min === null && max === null ? null : { min, max };
    },
    span: (filter) => {
      if (!("min" in filter)) return null;
      const start = filter.min === null ? 0 : shareOf(filter.min);
      const end = filter.max === null ? 1 : shareOf(filter.max);
      return [clip(Number.isNaN(start) ? 0 : start), clip(Number.isNaN(end) ? 0 : end)];
    },
    unplaced: unplacedOf(column.cells, isLog),
  };
}

/**
 * An axis of values of any kind, each at a place of its own.
 * @param {readonly Cell[]} cells
 * @returns {Scale}
 */
function ordinalScale(cells) {
  const categories = countCells(cells).flatMap(({ value }) => (value === null ? [] : [value]));
  const indexes = new Map(categories.map((value, i) => [/** @type {Cell} */ (value), i]));
  const last = categories.length - 1;
  /** @param {number} index */
  const shareOf = (index) => (last > 0 ? index / last : 0.5);
  return {
    kind: "ordinal",
    categories,
    place: (cell) => {
      const index = indexes.get(cell);
      return index === undefined ? NaN : shareOf(index);
    },
    ticks: (most) => thinned(categories.map((value, i) => ({ share: shareOf(i), label: value === "" ? "“”" : textOf(value) })), most),
    part: (a, b) => {
      const [first, final] = a < b ? [a, b] : [b, a];
      const inside = categories.filter((_, i) => shareOf(i) >= first && shareOf(i) <= final);
      const nearest = categories[Math.round(((first + final) / 2) * Math.max(0, last))];
      const values = inside.length > 0 ? inside : [nearest]; // between two of them
      return values.length === categories.length && !cells.includes(null) ? null : { values };
    },
    span: (filter) => {
      if (!("values" in filter)) return null;
      const at = filter.values.flatMap((value) => indexes.get(value) ?? []).sort((a, b) => a - b);
      // Only neighbours are an interval.
      if (at.length === 0 || at.length !== filter.values.length || at[at.length - 1] - at[0] !== at.length - 1) return null;
      const half = last > 0 ? 0.5 / last : 0.5;
      return [clip(shareOf(at[0]) - half), clip(shareOf(at[at.length - 1]) + half)];
    },
    unplaced: cells.includes(null) ? "—" : "",
  };
}

/** The least and the greatest finite number. @param {readonly Cell[]} cells @returns {[number, number]} 0 and 1 without any */
export function extentOf(cells) {
  let low = Infinity;
  let high = -Infinity;
  for (const cell of cells) {
    if (typeof cell !== "number" || !Number.isFinite(cell)) continue;
    if (cell < low) low = cell;
    if (cell > high) high = cell;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** What there is that has no place on an axis of numbers. @param {readonly Cell[]} cells @param {boolean} isLog */
function unplacedOf(cells, isLog) {
  const said = [];
  if (cells.includes(null)) said.push("—");
  if (cells.some((cell) => Number.isNaN(cell))) said.push("NaN");
  if (cells.includes(Infinity) || cells.includes(-Infinity)) said.push("∞");
  if (isLog && cells.some((cell) => typeof cell === "number" && cell <= 0 && cell !== -Infinity)) said.push("≤ 0");
  return said.join(" ");
}

/**
 * @param {Column} column
 * @param {boolean} isLog
 * @param {number} low
 * @param {number} high
 * @param {number} most
 * @returns {[value: number, label: string][]}
 */
function ticksOf({ type }, isLog, low, high, most) {
  const { at, spacing } =
    type === "time"
      ? timeTicks(low, high, most)
      : type === "duration"
        ? durationTicks(low, high, most)
        : isLog
          ? logTicks(low, high, most)
          : numberTicks(low, high, most);
  if (type === "time") return pair(at, formatTimeTicks(at, spacing).map((label) => label.replace("\n", " ")));
  return pair(at, type === "duration" ? formatDurationTicks(at, spacing) : formatTicks(at, spacing));
}

/** @param {number[]} values @param {string[]} labels @returns {[number, string][]} */
function pair(values, labels) {
  return values.map((value, i) => [value, labels[i]]);
}

/** A number of a column as its type wants it. @param {Pick<Column, "type">} column @param {number} value */
export function labelOf({ type }, value) {
  if (type === "time") return formatTime(value);
  if (type === "duration") return formatDuration(value);
  return formatValue(value);
}

/**
 * Not more ticks than fit, and none over another.
 * @param {Tick[]} ticks  rising
 * @param {number} most
 */
function thinned(ticks, most) {
  const least = 0.9 / Math.max(1, most);
  /** @type {Tick[]} */
  const kept = [];
  for (const tick of ticks) if (kept.length === 0 || tick.share - kept[kept.length - 1].share >= least) kept.push(tick);
  // The ends say most: the last one stays, rather than the one before it.
  const last = ticks[ticks.length - 1];
  if (kept.length > 1 && kept[kept.length - 1] !== last) kept[kept.length - 1] = last;
  return kept;
}

/** @param {number} value @param {(value: number) => number} round  outwards */
function rounded(value, round) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - DIGITS);
  return Number((round(value / unit) * unit).toPrecision(DIGITS + 1));
}

/** @param {number} share */
function clip(share) {
  return Math.min(1, Math.max(0, share));
}
