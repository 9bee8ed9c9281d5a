/** The rows of a chart's legend. Pure functions, no DOM. */

import { compareNames } from "../address.js";
import { groupFigure } from "../group-figure.js";
import { countText, nearestIndex } from "./hover.js";
import { extent, lastIndex, xColumn } from "./series.js";

/**
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").XAxis} XAxis
 *
 * @typedef {object} LegendRow  a line of the chart, or the mean of a group
 * @property {string} key  unique in the legend
 * @property {string} name  shown
 * @property {string} run  name of the line's run; for a group, the name of the group
 * @property {string} color
 * @property {readonly number[]} [dash]  pixels on, pixels off
 * @property {number} value  NaN if the line has no point at the cursor; then `step`, `wallTime`,
 *   `relative` and `smoothed` are NaN, too
 * @property {number | null} smoothed  null if the line is not smoothed
 * @property {number} step
 * @property {number} [x]  on an axis of numbers
 * @property {number} wallTime  seconds since the epoch
 * @property {number} relative  seconds since the run's start
 * @property {number} min  the lowest finite value of the line; for a group, the lowest mean. NaN for none
 * @property {number} max  the highest finite value of the line; for a group, the highest mean. NaN for none
 * @property {number} [low]  for a group: the lower edge of its band
 * @property {number} [high]  for a group: the upper edge of its band
 * @property {number} [final]  the last value of the whole line; for a group, the average of the last
 *   values of its runs
 * @property {{ text: string, title: string }} [figure]  for a group: this average with its spread
 * @property {string} [runs]  for a group: the number of runs in its mean, as text
 *
 * @typedef {{ column: keyof LegendRow, descending: boolean }} LegendSort
 */

/** Maps a column of values to its extent. @type {WeakMap<Float64Array, [number, number]>} */
const extents = new WeakMap();

/**
 * A row for each line, with the line's point at the cursor, or its last point if nothing is
 * hovered.
 * @param {readonly Line[]} lines
 * @param {readonly Hit[] | null} hits  from the chart's `onHover`; null or empty if nothing is hovered
 * @param {XAxis} [xAxis]  the axis that decides which point is the last
 * @returns {LegendRow[]} in the order of the lines
 */
export function legendRows(lines, hits, xAxis = "step") {
  if (!hits?.length) return lines.map((line) => lineRow(line, lastIndex(xColumn(line, xAxis === "relative" ? "wall_time" : xAxis), Infinity, xAxis)));
  // Maps the values of a line to the index of the hovered point. The line itself cannot be the key,
  // because the chart may have received another object for it.
  const indexOf = new Map(hits.map(({ line, index }) => [line?.value, index]));
  return lines.map((line) => lineRow(line, indexOf.get(line.value) ?? -1));
}

/** The row of a line's point. @param {Line} line @param {number} index  -1 for none @returns {LegendRow} */
function lineRow({ name, label = name, run = name, color, dash, key = name, value, smoothed, step, x, wallTime, startTime = wallTime?.[0] ?? NaN, overview }, index) {
  const at = (/** @type {Float64Array | undefined} */ column) => column?.[index] ?? NaN;
  let range = extents.get(value);
  if (!range) extents.set(value, (range = extent(value) ?? [NaN, NaN]));
  return {
    ...{ key, name: label, run, color, dash, value: at(value), smoothed: smoothed ? at(smoothed) : null, step: at(step), ...(x && { x: at(x) }) },
    ...{ wallTime: at(wallTime), relative: at(wallTime) - startTime, min: range[0], max: range[1], final: (overview?.value ?? value).at(-1) },
  };
}

/**
 * The line with only its rows inside the view; rows beyond the view's edges are fetched, too.
 * @param {Line} line @param {XAxis} xAxis @param {Range | null} view @returns {Line}
 */
export function partOf(line, xAxis, view) {
  if (!view) return line;
  const xs = xColumn(line, xAxis, line.startTime);
  const isInside = (/** @type {unknown} */ _, /** @type {number} */ i) => xs[i] >= view[0] && xs[i] <= view[1];
  return {
    ...line,
    step: line.step.filter(isInside),
    x: line.x?.filter(isInside),
    wallTime: line.wallTime?.filter(isInside),
    value: line.value.filter(isInside),
    smoothed: line.smoothed?.filter(isInside),
    startTime: line.startTime ?? line.wallTime?.[0],
  };
}

/** The table row of a line at the pinned x, which may be outside the view. @param {Line} line @param {number} pin @param {XAxis} xAxis */
export function pinnedRow(line, pin, xAxis) {
  const indexIn = (/** @type {Line} */ { startTime, ...columns }) => rowAt(xColumn(columns, xAxis, startTime), pin);
  const index = indexIn(line);
  if (index >= 0 || !line.overview) return lineRow(line, index);
  const whole = { ...line, smoothed: null, ...line.overview };
  return lineRow(whole, indexIn(whole));
}

/**
 * The index of the row nearest to an x; -1 if x is farther from this row than both rows beside it.
 * @param {ArrayLike<number>} xs @param {number} x @returns {number}
 */
export function rowAt(xs, x) {
  const index = nearestIndex(xs, x);
  const maxDistance = Math.max(...[index - 1, index + 1].map((other) => Math.abs(xs[other] - xs[index]) || 0));
  return Math.abs(xs[index] - x) <= maxDistance ? index : -1;
}

/**
 * The table row of a group: its mean and the edges of its band at the pin or pointer, otherwise at
 * the end of the view; and the extremes of its mean.
 * @param {Band} band @param {readonly Hit[] | null} hits @param {number | null} pin
 * @param {XAxis} xAxis @param {Range | null} view @returns {LegendRow}
 */
export function bandRow(band, hits, pin, xAxis, view) {
  const { key = band.name, name, color, dash, x, mean, low, high, final } = band;
  let index = x.length - 1;
  if (pin !== null) index = rowAt(x, pin);
  else if (hits) index = hits.find((hit) => hit.band && hit.band.key === band.key)?.index ?? -1;
  else if (view) while (index > 0 && x[index] > view[1]) index--;
  const at = (/** @type {Float64Array} */ column) => column[index] ?? NaN;
  const [min, max] = extent(view ? mean.filter((_, i) => x[i] >= view[0] && x[i] <= view[1]) : mean) ?? [NaN, NaN];
  return {
    ...{ key, name, run: name, color, dash, value: at(mean), smoothed: null, low: at(low), high: at(high), min, max },
    ...(final && { final: final.average, figure: groupFigure(final, band.average) }),
    // The x of a bar is not one at which a run has logged.
    step: xAxis === "step" && !band.bar ? at(x) : NaN,
    ...(xAxis === "number" && { x: band.bar ? NaN : at(x) }),
    wallTime: xAxis === "wall_time" && !band.bar ? at(x) : NaN,
    relative: xAxis === "relative" && !band.bar ? at(x) : NaN,
    runs: index < 0 ? "" : countText(band, index),
  };
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
    if (typeof a === "string") return sign * compareNames(a, String(b));
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a === b ? 0 : sign * (a < Number(b) ? -1 : 1);
  });
}
