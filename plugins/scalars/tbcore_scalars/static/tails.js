/** The points that a line got since its rows were sent. */

/** @import { Rows } from "./types.js" */

/**
 * Adds points at the end of rows.
 * @param {Rows} rows  changed
 * @param {any} entry  what the response says of the run
 * @param {Record<string, Float64Array>} table  the points
 * @param {string} smoothing  of the points
 */
export function append(rows, entry, table, smoothing) {
  const isSmoothed = rows.smoothed && table.smoothed && rows.smoothing === smoothing;
  if (!isSmoothed) rows.smoothing = "";
  rows.smoothed = isSmoothed ? joined(rows.smoothed, table.smoothed) : null;
  rows.segments = [...rows.segments, ...entry.segments.map((/** @type {number} */ row) => row + rows.value.length)];
  rows.step = joined(rows.step, table.step);
  rows.wallTime = joined(rows.wallTime, table.wall_time);
  rows.value = joined(rows.value, table.value);
  if (rows.x) rows.x = joined(rows.x, table.x);
  rows.numPoints = entry.num_points;
  rows.numInside = entry.num_inside;
  rows.numShown += entry.num_shown;
  rows.generation = entry.generation;
  rows.known = entry.known;
}

/** @param {Float64Array | null} first @param {Float64Array} last */
function joined(first, last) {
  const all = new Float64Array((first?.length ?? 0) + last.length);
  all.set(first ?? []);
  all.set(last, first?.length);
  return all;
}
