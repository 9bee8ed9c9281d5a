/**
 * Where histograms lie in a chart, one behind the other, and how they are drawn. Pure.
 */

import { formatDurationTicks, formatStep, formatTicks, formatTimeTicks } from "tbcore/lib/format.js";
import { durationTicks, numberTicks, timeTicks } from "tbcore/lib/ticks.js";

/**
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").XAxis} XAxis
 */

/** Of ridges that overlap the highest takes this share of the plot. */
const OVERLAP = 0.42;
const TICK_HEIGHT = 20;
/** How much of its colour the oldest histogram has. */
const OLDEST = 0.22;

/**
 * How high the highest ridge may be, CSS pixels.
 * @param {number} height  of the plot
 * @param {boolean} isStacked  whether there are several places
 */
export function amplitudeOf(height, isStacked) {
  return height * (isStacked ? OVERLAP : 0.94);
}

/**
 * The baselines of histograms, CSS pixels from the top: the last of time at the bottom, in front of all others.
 * @param {ArrayLike<number>} places  on the axis that goes down
 * @param {number} height  of the plot
 */
export function baselinesOf(places, height) {
  const [min, max] = extentOf(places);
  const amplitude = amplitudeOf(height, max > min);
  return Array.from(places, (place) => (max > min ? amplitude + ((place - min) / (max - min)) * (height - amplitude) : height));
}

/** @param {ArrayLike<number>} values @returns {Range} */
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
 * Ticks of the axis that goes down.
 * @param {XAxis} kind
 * @param {ArrayLike<number>} places
 * @param {number} height  of the plot, CSS pixels
 * @returns {import("tbcore/lib/chart-types.js").Tick[]} shares of the plot's height, from below
 */
export function placeTicks(kind, places, height) {
  const [min, max] = extentOf(places);
  if (!(max >= min)) return [];
  const amplitude = amplitudeOf(height, max > min);
  const most = Math.max(2, Math.floor((height - amplitude) / TICK_HEIGHT));
  const { at, spacing } = { step: numberTicks, relative: durationTicks, wall_time: timeTicks }[kind](min, max, most, kind === "step" ? 1 : 0);
  const labels =
    kind === "relative"
      ? at.flatMap((tick) => formatDurationTicks([tick], spacing || tick))
      : kind === "wall_time"
        ? formatTimeTicks(at, spacing || 1)
        : max > min
          ? formatTicks(at, spacing)
          : at.map(formatStep);
  return at.map((tick, i) => ({
    share: max > min ? ((1 - (tick - min) / (max - min)) * (height - amplitude)) / height : 0,
    label: labels[i],
  }));
}

/**
 * The outline of a ridge as corners of stairs, from its first to its last column that is not empty.
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
 * The ridge that a pointer means: the front one that covers it, else the one whose baseline is nearest.
 * @param {readonly ArrayLike<number>[]} heights  of the columns of each ridge, the last in front
 * @param {readonly number[]} baselines
 * @param {number} column
 * @param {number} top  of the pointer
 */
export function ridgeAt(heights, baselines, column, top) {
  let nearest = -1;
  let distance = Infinity;
  for (let row = heights.length - 1; row >= 0; row--) {
    if (top <= baselines[row] && top >= baselines[row] - heights[row][column] && heights[row][column] > 0) return row;
    const apart = Math.abs(top - baselines[row]);
    if (apart < distance) [nearest, distance] = [row, apart];
  }
  return nearest;
}

/**
 * The curve over a common baseline that is nearest to a pointer.
 * @param {readonly ArrayLike<number>[]} heights
 * @param {number} column
 * @param {number} height  of the pointer over the baseline
 */
export function curveAt(heights, column, height) {
  let nearest = -1;
  let distance = Infinity;
  for (let row = heights.length - 1; row >= 0; row--) {
    const apart = Math.abs(heights[row][column] - height);
    if (apart < distance) [nearest, distance] = [row, apart];
  }
  return nearest;
}

/**
 * The colour of a histogram: the newest has its run's, older ones come closer and closer to the ground.
 * @param {string} color  `#rrggbb`
 * @param {string} ground  `#rrggbb` or `#rgb`
 * @param {number} age  0 for the newest, 1 for the oldest
 */
export function shade(color, ground, age) {
  const share = 1 - age * (1 - OLDEST);
  const parts = [1, 3, 5].map((at) => {
    const [own, below] = [color, ground].map((text) => parseInt(longHex(text).slice(at, at + 2), 16) || 0);
    return Math.round(own * share + below * (1 - share));
  });
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} text  `#rrggbb` or `#rgb` */
function longHex(text) {
  return text.length === 4 ? `#${[...text.slice(1)].map((digit) => digit + digit).join("")}` : text;
}
