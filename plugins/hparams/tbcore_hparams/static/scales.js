/**
 * Scales of axes: they map cells to positions, and an interval of positions to a filter. Pure
 * functions.
 */

import { axisTicks } from "tbcore/cards.js";
import { formatDuration, formatTime, formatValue } from "tbcore/format.js";
import { distinctTexts } from "./filters.js";
import { countCells } from "./sorting.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Scale} Scale
 * @typedef {import("./types.js").Tick} Tick
 */

/**
 * Powers of ten that values must span for a logarithmic axis by default; fewer for hyperparameters
 * than for metrics.
 */
const MIN_DECADES_FOR_LOG = { hparam: 2, metric: 3, info: Infinity };
/**
 * An axis is logarithmic by default only if, on a linear one, half of the values would crowd into
 * less than this share of the axis.
 */
const CROWDED_SHARE = 0.2;
/**
 * If a hyperparameter has at most this many distinct values, they are its ticks: 16, 32, 64 rather
 * than 20, 40, 60. Metrics have round ticks.
 */
const MAX_EXACT_TICKS = 8;
/**
 * Kinds of ticks by type of column; others are plain numbers.
 * @type {Partial<Record<Column["type"], "wall_time" | "relative">>}
 */
const TICK_KINDS = { time: "wall_time", duration: "relative" };
/** Significant digits of a bound that was set by dragging. */
const BOUND_DIGITS = 4;

/** Whether a column has a numeric axis. @param {Column} column */
export function isNumeric({ type }) {
  return type === "number" || type === "time" || type === "duration";
}

/** Whether a column can have a logarithmic axis. @param {Column} column */
export function canBeLog(column) {
  return column.type === "number" && column.cells.some((cell) => typeof cell === "number" && cell > 0 && Number.isFinite(cell));
}

/**
 * Whether a column's axis is logarithmic by default.
 * @param {Column} column
 */
export function isLogByDefault(column) {
  if (column.type !== "number") return false;
  const [low, high] = extentOf(column.cells);
  if (!(low > 0 && Math.log10(high / low) >= MIN_DECADES_FOR_LOG[column.kind])) return false;
  const values = column.cells.filter((cell) => Number.isFinite(cell)).map(Number).sort((a, b) => a - b);
  return (values[(values.length - 1) >> 1] - low) / (high - low) < CROWDED_SHARE;
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
  /**
   * Where all values are equal, theirs is in the middle, and others are beyond the ends. Halves do
   * not overflow where a difference of huge values would.
   * @param {number} value
   */
  const shareOf = (value) => {
    const at = toAxis(value);
    if (to > from) return (at / 2 - from / 2) / (to / 2 - from / 2);
    return at === from ? 0.5 : (at - from) * Infinity;
  };
  /** @param {number} share */
  const valueAt = (share) => fromAxis(from + share * (to - from));
  const distinct = [...new Set(placed)].sort((a, b) => Number(a) - Number(b)).map(Number);
  return {
    kind: isLog ? "log" : "linear",
    categories: [],
    position: (cell) => {
      const share = typeof cell === "number" ? shareOf(cell) : NaN;
      return Number.isFinite(share) ? share : NaN;
    },
    ticks: (maxTicks) => {
      if (distinct.length <= (column.kind === "metric" ? 1 : MAX_EXACT_TICKS)) return thinTicks(distinct.map((value) => ({ share: shareOf(value), label: labelOf(column, value) })), maxTicks);
      const kind = TICK_KINDS[column.type] ?? "value";
      return axisTicks({ kind, log: isLog, range: [from, to] }, maxTicks).map(({ value, label }) => ({ share: shareOf(value), label: label.replace("\n", " ") }));
    },
    filterBetween: (a, b) => {
      const [first, last] = a < b ? [a, b] : [b, a];
      const min = first <= 0 ? null : rounded(valueAt(first), Math.floor);
      const max = last >= 1 ? null : rounded(valueAt(last), Math.ceil);
      return min === null && max === null ? null : { min, max };
    },
    intervalOf: (filter) => {
      if (!("min" in filter)) return null;
      const start = filter.min === null ? 0 : shareOf(filter.min);
      const end = filter.max === null ? 1 : shareOf(filter.max);
      return [clip(Number.isNaN(start) ? 0 : start), clip(Number.isNaN(end) ? 0 : end)];
    },
    unplacedLabel: unplacedLabelOf(column.cells, isLog),
  };
}

/**
 * A scale with one position for each distinct value, of any type.
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
    position: (cell) => {
      const index = indexes.get(cell);
      return index === undefined ? NaN : shareOf(index);
    },
    ticks: (maxTicks) => thinTicks(distinctTexts(categories).map((label, i) => ({ share: shareOf(i), label })), maxTicks),
    filterBetween: (a, b) => {
      const [first, final] = a < b ? [a, b] : [b, a];
      const inside = categories.filter((_, i) => shareOf(i) >= first && shareOf(i) <= final);
      const nearest = categories[Math.round(((first + final) / 2) * Math.max(0, last))];
      const values = inside.length > 0 ? inside : [nearest]; // the interval is between two values
      return values.length === categories.length && !cells.includes(null) ? null : { values };
    },
    intervalOf: (filter) => {
      if (!("values" in filter)) return null;
      const at = filter.values.flatMap((value) => indexes.get(value) ?? []).sort((a, b) => a - b);
      // Only values that are next to each other on the axis form an interval.
      if (at.length === 0 || at.length !== filter.values.length || at[at.length - 1] - at[0] !== at.length - 1) return null;
      const half = last > 0 ? 0.5 / last : 0.5;
      return [clip(shareOf(at[0]) - half), clip(shareOf(at[at.length - 1]) + half)];
    },
    unplacedLabel: cells.includes(null) ? "—" : "",
  };
}

/**
 * The smallest and the largest finite number.
 * @param {readonly Cell[]} cells
 * @returns {[number, number]} 0 and 1 if there is none
 */
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

/**
 * A label for the kinds of cells that have no position on a numeric axis.
 * @param {readonly Cell[]} cells
 * @param {boolean} isLog
 */
function unplacedLabelOf(cells, isLog) {
  const labels = [];
  if (cells.includes(null)) labels.push("—");
  if (cells.some((cell) => Number.isNaN(cell))) labels.push("NaN");
  if (cells.includes(Infinity) || cells.includes(-Infinity)) labels.push("∞");
  if (isLog && cells.some((cell) => typeof cell === "number" && cell <= 0 && cell !== -Infinity)) labels.push("≤ 0");
  return labels.join(" ");
}

/**
 * A number formatted by the type of its column.
 * @param {Pick<Column, "type">} column
 * @param {number} value
 */
export function labelOf({ type }, value) {
  if (type === "time") return formatTime(value);
  if (type === "duration") return formatDuration(value);
  return formatValue(value);
}

/**
 * Drops ticks so that labels do not overlap.
 * @param {Tick[]} ticks  ascending
 * @param {number} maxTicks
 */
function thinTicks(ticks, maxTicks) {
  const minGap = 0.9 / Math.max(1, maxTicks);
  /** @type {Tick[]} */
  const kept = [];
  for (const tick of ticks) if (kept.length === 0 || tick.share - kept[kept.length - 1].share >= minGap) kept.push(tick);
  // Both ends are kept: the last tick replaces the one before it.
  const last = ticks[ticks.length - 1];
  if (kept.length > 1 && kept[kept.length - 1] !== last) kept[kept.length - 1] = last;
  return kept;
}

/**
 * A bound rounded to few digits, so that the interval only becomes wider.
 * @param {number} value
 * @param {(value: number) => number} round  floor for a lower bound, ceil for an upper one
 */
function rounded(value, round) {
  if (value === 0 || !Number.isFinite(value)) return value;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - BOUND_DIGITS);
  return Number((round(value / unit) * unit).toPrecision(BOUND_DIGITS + 1));
}

/** The share, limited to the axis. @param {number} share */
function clip(share) {
  return Math.min(1, Math.max(0, share));
}
