/**
 * The rows of a chart's legend. Pure functions, no DOM.
 */

import { extent, lastIndex, xColumn } from "./series.js";

/**
 * @typedef {object} LegendRow  a line of the chart, or the mean of a group
 * @property {string} key  unique in the legend
 * @property {string} name
 * @property {string} run  name of the line's run; for a group, the name of the group
 * @property {string} color
 * @property {readonly number[]} [dash]  pixels on, pixels off
 * @property {number} value  NaN if the line has no point at the cursor; then `step`, `wallTime`,
 *   `relative` and `smoothed` are NaN, too
 * @property {number | null} smoothed  null if the line is not smoothed
 * @property {number} step
 * @property {number} wallTime  seconds since the epoch
 * @property {number} relative  seconds since the run's start
 * @property {number} min  the lowest finite value of the line; for a group, the lowest mean. NaN if
 *   no value is finite
 * @property {number} max  the highest finite value of the line; for a group, the highest mean.
 *   NaN if no value is finite
 * @property {number} [low]  for a group: the lower edge of its band
 * @property {number} [high]  for a group: the upper edge of its band
 * @property {string} [runs]  for a group: the number of runs in its mean, as text
 *
 * @typedef {{ column: keyof LegendRow, descending: boolean }} LegendSort
 */

/** Maps a column of values to its extent. @type {WeakMap<Float64Array, [number, number]>} */
const extents = new WeakMap();

/**
 * A row for each line, with the line's point at the cursor, or its last point if nothing is
 * hovered.
 * @param {readonly import("./types.js").Line[]} lines
 * @param {readonly import("./types.js").Hit[] | null} hits  from the chart's `onHover`; null
 *   or empty if nothing is hovered
 * @param {import("./types.js").XAxis} [xAxis]  the axis that decides which point is the last
 * @returns {LegendRow[]} in the order of the lines
 */
export function legendRows(lines, hits, xAxis = "step") {
  const isHovered = hits !== null && hits.length > 0;
  // Maps the values of a line to the index of the hovered point. The line itself cannot be the key,
  // because the chart may have received another object for it.
  const indexOf = new Map(hits?.map(({ line, index }) => [line?.value, index]));
  return lines.map((line) => {
    const { name, run = name, color, dash, key = name, value, smoothed, step, wallTime, startTime = wallTime[0] } = line;
    const index = isHovered ? (indexOf.get(value) ?? -1) : lastIndex(xColumn(line, xAxis === "relative" ? "wall_time" : xAxis));
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
 * A sorted copy of the rows. Rows without a value in the column come last in both directions.
 * @param {readonly LegendRow[]} rows
 * @param {LegendSort | null} sort  null keeps the order of `rows`
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
