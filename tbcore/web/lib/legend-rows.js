/**
 * The rows of a chart's legend. Pure.
 */

import { extent, lastIndex, xColumn } from "./series.js";

/**
 * @typedef {object} LegendRow
 * @property {string} key
 * @property {string} name
 * @property {string} run
 * @property {string} color
 * @property {readonly number[]} [dash]  of the line
 * @property {number} value
 * @property {number | null} smoothed  null: not smoothed
 * @property {number} step
 * @property {number} wallTime  seconds since the epoch
 * @property {number} relative  seconds
 * @property {number} min  of the line's finite values, or the means of a group; NaN when there is none
 * @property {number} max
 * @property {number} [low]  of a group: the edges of its band
 * @property {number} [high]
 * @property {string} [runs]  of a group: how many are in its mean
 *
 * @typedef {{ column: keyof LegendRow, descending: boolean }} LegendSort
 */

/** @type {WeakMap<Float64Array, [number, number]>} */
const extents = new WeakMap();

/**
 * A row for each line: where the chart is pointed at, or the line's last point. While it is pointed at, lines that have
 * no point near have NaN.
 * @param {readonly import("./line-chart.js").Line[]} lines
 * @param {readonly import("./line-chart.js").Hit[] | null} hits  as `onHover` gives them; null or empty: nothing
 * @param {import("./series.js").XAxis} [xAxis]  where the last point is looked for
 * @returns {LegendRow[]} in the order of the lines
 */
export function legendRows(lines, hits, xAxis = "step") {
  const isHovered = hits !== null && hits.length > 0;
  const indexes = new Map(hits?.map(({ line, index }) => [line?.value, index]));
  return lines.map((line) => {
    const { name, run = name, color, dash, key = name, value, smoothed, step, wallTime, startTime = wallTime[0] } = line;
    const index = isHovered ? (indexes.get(value) ?? -1) : lastIndex(xColumn(line, xAxis === "relative" ? "wall_time" : xAxis));
    /** @param {Float64Array} column */
    const at = (column) => column[index] ?? NaN;
    let range = extents.get(value);
    if (!range) extents.set(value, (range = extent(value) ?? [NaN, NaN]));
    return {
      ...{ key, name, run, color, dash, value: at(value), smoothed: smoothed ? at(smoothed) : null, step: at(step) },
      ...{ wallTime: at(wallTime), relative: at(wallTime) - startTime, min: range[0], max: range[1] },
    };
  });
}

/**
 * Rows in order. Those that have nothing in the column come last either way.
 * @param {readonly LegendRow[]} rows
 * @param {LegendSort | null} sort  null: as they are
 */
export function sortRows(rows, sort) {
  if (!sort) return [...rows];
  const { column, descending } = sort;
  const sign = descending ? -1 : 1;
  return [...rows].sort((one, other) => {
    const a = /** @type {string | number} */ (one[column] ?? NaN);
    const b = other[column] ?? NaN;
    if (typeof a === "string") return sign * a.localeCompare(String(b), undefined, { numeric: true });
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a === b ? 0 : sign * (a < Number(b) ? -1 : 1);
  });
}
