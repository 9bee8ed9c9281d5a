/**
 * Downloads of logged points, and of what a chart draws.
 */

import { xColumn } from "tbcore/cards.js";
import { post } from "tbcore/requests.js";
import { save, toCSV } from "tbcore/ui.js";
import { axisOf } from "./lines.js";

/** @import { Host, Line, Options, View } from "./types.js" */

/**
 * Saves all points of some tags and runs as a file, with those of a tag on the x axis.
 * @param {Host} host
 * @param {readonly string[]} tags
 * @param {readonly string[]} runs
 * @param {"csv" | "json"} format
 * @param {string} name  of the file, without its ending
 * @param {Options["x"]} [x]
 */
export async function saveNumbers(host, tags, runs, format, name, x = "step") {
  const { query } = axisOf(x);
  const all = typeof query === "string" ? tags : [...tags, query.tag];
  const response = await post(host, "download", { tags: all, runs, format });
  save(await response.blob(), `${name}.${format}`);
}

/**
 * What a chart draws, as CSV: the points of its lines in the view. If there are bands, there is a row
 * for each point of a group, and a run that is in no group is a group of its own.
 * @param {object} chart
 * @param {readonly Line[]} chart.lines
 * @param {readonly import("tbcore/chart.js").Band[]} chart.bands
 * @param {View | null} chart.view
 * @param {ReturnType<typeof import("./lines.js").yAxisOf>} [chart.y]  its scale and its ends are columns, unless it is linear and has all values
 * @param {Pick<Options, "x" | "smooth" | "average">} options
 */
export function drawnCSV({ lines, bands, view, y }, { x, smooth, average }) {
  const { xAxis, xTitle } = axisOf(x);
  const [from, to] = view ?? [-Infinity, Infinity];
  const isSmoothed = smooth > 0;
  const isPlain = !y || (y.yScale === "linear" && !y.limits);
  const [axis, ofAxis] = isPlain ? [[], []] : [["y_scale", "y_from", "y_to"], [y.yScale, ...(y.limits ?? [null, null]).map((end) => end ?? "")]];
  /** @param {{ key?: string, name: string }} source @param {ArrayLike<number>} xs @param {(index: number) => (number | null)[]} cells */
  const rowsOf = ({ key, name }, xs, cells) =>
    Array.from(xs, (at, index) => (at >= from && at <= to ? [...(key ? JSON.parse(key) : [name, ""]), ...cells(index).map(numberText), ...ofAxis] : [])).filter(({ length }) => length > 0);
  const shown = lines.filter((line) => !line.faint);
  const xsOf = (/** @type {Line} */ line) => xColumn(line, xAxis, line.startTime);
  if (bands.every(({ x }) => x.length === 0)) {
    const rows = shown.flatMap((line) => {
      const columns = [line.step, line.wallTime ?? new Float64Array(line.step.length).fill(NaN), ...(line.x ? [line.x] : []), line.value, ...(isSmoothed ? [line.smoothed ?? line.value] : [])];
      return rowsOf(line, xsOf(line), (index) => columns.map((column) => column[index]));
    });
    return toCSV(["run", "tag", "step", "wall_time", ...(xTitle ? ["x"] : []), "value", ...(isSmoothed ? ["smoothed"] : []), ...axis], rows);
  }
  // One value does not spread: 0 would be taken for a deviation.
  const spread = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ count) => (count > 1 && !Number.isNaN(low) ? [low, high] : [null, null]);
  const bandRows = bands.flatMap(({ key, name, x, mean, low, high, count }) => rowsOf({ key, name }, x, (i) => [x[i], mean[i], ...spread(low[i], high[i], count[i]), count[i]]));
  const lineRows = shown.flatMap((line) => {
    const [xs, values] = [xsOf(line), line.smoothed ?? line.value];
    return rowsOf(line, xs, (i) => [xs[i], values[i], null, null, 1]);
  });
  return toCSV(["group", "tag", xTitle ? "x" : x, average, "low", "high", "count", ...axis], [...bandRows, ...lineRows]);
}

/** A number as in the CSV files of the server; null is empty. @param {number | null} number */
function numberText(number) {
  if (number === null) return "";
  return Number.isFinite(number) ? String(number) : Number.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf";
}
