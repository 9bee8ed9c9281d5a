/**
 * Pure functions for the geometry of stacked histograms (ridges): positions, outlines, hit tests
 * and colours.
 */

import { axisTicks, xColumn } from "tbcore/cards.js";

/**
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").XAxis} XAxis
 */

/** Height of the highest ridge, as a share of the plot's height, if several ridges are stacked. */
const STACKED_HEIGHT_SHARE = 0.42;
/** Height reserved for one label of the vertical axis. */
const TICK_HEIGHT_PX = 20;
/** Share of the run's colour in the colour of its oldest histogram. */
const OLDEST_COLOR_SHARE = 0.22;

/**
 * Height of the highest ridge, CSS pixels.
 * @param {number} height  of the plot
 * @param {boolean} isStacked  whether ridges have different baselines
 */
export function amplitudeOf(height, isStacked) {
  return height * (isStacked ? STACKED_HEIGHT_SHARE : 0.94);
}

/**
 * The baselines of histograms, CSS pixels from the top. The one with the largest position is at the
 * bottom, in front.
 * @param {ArrayLike<number>} positions  on the vertical axis, which points down
 * @param {number} height  of the plot
 */
export function baselinesOf(positions, height) {
  const [min, max] = extentOf(positions);
  const amplitude = amplitudeOf(height, max > min);
  return Array.from(positions, (position) => (max > min ? amplitude + ((position - min) / (max - min)) * (height - amplitude) : height));
}

/** The smallest and the largest value. @param {ArrayLike<number>} values @returns {Range} */
export function extentOf(values) {
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < values.length; i++) {
    min = Math.min(min, values[i]);
    max = Math.max(max, values[i]);
  }
  return [min, max];
}

/**
 * Ticks of the vertical axis.
 * @param {XAxis} kind
 * @param {ArrayLike<number>} positions
 * @param {number} height  of the plot, CSS pixels
 * @returns {import("tbcore/cards.js").Tick[]} as shares of the plot's height, from the
 *   bottom
 */
export function positionTicks(kind, positions, height) {
  const [min, max] = extentOf(positions);
  if (!(max >= min)) return [];
  const amplitude = amplitudeOf(height, max > min);
  const ticks = axisTicks({ kind, log: false, range: [min, max] }, (height - amplitude) / TICK_HEIGHT_PX);
  return ticks.map((tick) => ({ ...tick, share: max > min ? ((1 - tick.share) * (height - amplitude)) / height : 0 }));
}

/**
 * Traces the outline of a ridge as a staircase, from its first to its last non-empty column.
 * @param {Pick<Path2D, "moveTo" | "lineTo">} path
 * @param {ArrayLike<number>} heights  of columns, CSS pixels
 * @param {number} width  of a column
 * @param {number} baseline
 * @param {number} [from]  columns from .. to - 1
 * @param {number} [to]
 */
export function traceRidge(path, heights, width, baseline, from = 0, to = heights.length) {
  while (from < to && !(heights[from] > 0)) from++;
  while (to > from && !(heights[to - 1] > 0)) to--;
  if (from === to) return;
  let height = 0;
  path.moveTo(from * width, baseline);
  for (let k = from; k < to; k++) {
    if (heights[k] === height) continue;
    path.lineTo(k * width, baseline - height);
    height = heights[k];
    path.lineTo(k * width, baseline - height);
  }
  path.lineTo(to * width, baseline - height);
  path.lineTo(to * width, baseline);
}

/**
 * Index of the ridge at the pointer: the frontmost ridge that covers the pointer, otherwise the
 * ridge with the nearest baseline.
 * @param {readonly ArrayLike<number>[]} heights  of the columns of each ridge, the last in front
 * @param {readonly number[]} baselines
 * @param {number} column
 * @param {number} top  of the pointer, in the unit of the baselines
 */
export function ridgeAt(heights, baselines, column, top) {
  let nearest = -1;
  let distance = Infinity;
  for (let row = heights.length - 1; row >= 0; row--) {
    if (top <= baselines[row] && top >= baselines[row] - heights[row][column] && heights[row][column] > 0) return row;
    const gap = Math.abs(top - baselines[row]);
    if (gap < distance) [nearest, distance] = [row, gap];
  }
  return nearest;
}

/**
 * Index of the curve nearest to the pointer, if all have the same baseline.
 * @param {readonly ArrayLike<number>[]} heights
 * @param {number} column
 * @param {number} height  of the pointer above the baseline
 */
export function curveAt(heights, column, height) {
  let nearest = -1;
  let distance = Infinity;
  for (let row = heights.length - 1; row >= 0; row--) {
    const gap = Math.abs(heights[row][column] - height);
    if (gap < distance) [nearest, distance] = [row, gap];
  }
  return nearest;
}

/**
 * The colour of a histogram. The newest has the colour of its run; older ones fade towards the
 * background.
 * @param {string} color  `#rrggbb`
 * @param {string} background  `#rrggbb` or `#rgb`
 * @param {number} age  0 for the newest, 1 for the oldest
 */
export function fadedColor(color, background, age) {
  const share = 1 - age * (1 - OLDEST_COLOR_SHARE);
  const parts = [1, 3, 5].map((at) => {
    const [own, below] = [color, background].map((text) => parseInt(expandHex(text).slice(at, at + 2), 16) || 0);
    return Math.round(own * share + below * (1 - share));
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** A colour as `#rrggbb`. @param {string} text  `#rrggbb` or `#rgb` */
function expandHex(text) {
  return text.length === 4 ? `#${[...text.slice(1)].map((digit) => digit + digit).join("")}` : text;
}

/**
 * The positions of histograms on the vertical axis.
 * @param {readonly import("./types.js").Histogram[]} histograms
 * @param {XAxis} kind
 * @param {number} start  seconds since the epoch
 */
export function positionsOf(histograms, kind, start) {
  const step = Float64Array.from(histograms, (one) => one.step);
  const wallTime = Float64Array.from(histograms, (one) => one.wallTime);
  return xColumn({ step, wallTime, value: step }, kind, start);
}
