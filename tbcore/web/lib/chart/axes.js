/**
 * The axes of a chart: ticks, labels and layout.
 *
 * Charts are drawn in axis coordinates: the value itself on a linear axis, its log10 on a
 * logarithmic one. `toAxis` and `axisColumn` convert values to axis coordinates, `fromAxis`
 * converts back.
 */

import { durationTicks, formatDurationTicks, formatTicks, formatTimeTicks, logDurationTicks, logTicks, numberTicks, timeTicks } from "../../format.js";

/**
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").Axis} Axis
 * @typedef {import("./types.js").Tick} Tick
 * @typedef {import("./types.js").Layout} Layout
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const FONT_SIZE = 11;
/** Minimum distance between ticks, in CSS pixels, by kind of axis. */
const MIN_TICK_DISTANCE_PX = { step: 52, relative: 58, wall_time: 78, value: 26 };
/** Height of a line of label text, in CSS pixels. */
const LINE_HEIGHT = 13;

/** Converts a value to an axis coordinate. @param {Axis} axis @param {number} value */
export function toAxis(axis, value) {
  return axis.log ? Math.log10(value) : value;
}

/** Converts an axis coordinate back to a value. @param {Axis} axis @param {number} coordinate */
export function fromAxis(axis, coordinate) {
  return axis.log ? 10 ** coordinate : coordinate;
}

/**
 * A column of values as axis coordinates. Values <= 0 become non-finite on a logarithmic axis.
 * @param {Float64Array} column
 * @param {boolean} log
 */
export function axisColumn(column, log) {
  return log ? column.map(Math.log10) : column;
}

/**
 * The position of a coordinate within a range: 0 at the start, 1 at the end.
 * @param {Range} range
 * @param {number} coordinate
 */
export function shareOf([min, max], coordinate) {
  // Halves, because the difference of two large doubles may overflow to infinity.
  return (coordinate / 2 - min / 2) / (max / 2 - min / 2);
}

/**
 * The ticks of an axis, with labels.
 * @param {Axis} axis
 * @param {number} length  CSS pixels
 * @returns {Tick[]}
 */
export function axisTicks(axis, length) {
  const { kind, log, range } = axis;
  const maxTicks = Math.max(2, Math.floor(length / MIN_TICK_DISTANCE_PX[kind]));
  const [min, max] = range.map((coordinate) => fromAxis(axis, coordinate));
  const minSpacing = kind === "step" ? 1 : 0;
  /** @type {import("../../format.js").Ticks} */
  let ticks;
  /** @type {string[]} */
  let labels;
  if (kind === "relative") {
    ticks = log ? logDurationTicks(min, max, maxTicks) : durationTicks(min, max, maxTicks);
    labels = ticks.at.flatMap((tick) => formatDurationTicks([tick], ticks.spacing || tick));
  } else if (kind === "wall_time") {
    ticks = timeTicks(min, max, maxTicks);
    labels = formatTimeTicks(ticks.at, ticks.spacing);
  } else {
    ticks = log ? logTicks(min, max, maxTicks, minSpacing) : numberTicks(min, max, maxTicks, minSpacing);
    labels = formatTicks(ticks.at, ticks.spacing);
  }
  return ticks.at.map((tick, i) => ({ share: shareOf(range, toAxis(axis, tick)), label: labels[i] }));
}

/**
 * Lays out the plot and its axes.
 * @param {number} width  of the chart, CSS pixels
 * @param {number} height  of the chart, CSS pixels
 * @param {Axis} x
 * @param {Axis} y
 * @param {(text: string) => number} measure  returns the width of a label in CSS pixels
 * @param {boolean} [hasNote]  reserves space for a line of text at the top
 * @param {Layout | null | false} [old]  a layout to reuse: only the ticks of the x axis are new
 * @returns {Layout}
 */
export function layOut(width, height, x, y, measure, hasNote, old) {
  if (old) return { ...old, xTicks: axisTicks(x, old.width) };
  const top = hasNote ? 22 : 10;
  // Labels of wall time have a second line, for the date.
  const inner = height - top - 9 - LINE_HEIGHT * (x.kind === "wall_time" ? 2 : 1);
  const yTicks = axisTicks(y, inner);
  const left = yTicks.reduce((widest, { label }) => Math.max(widest, Math.ceil(measure(label)) + 12), 40);
  return { left, top, width: width - left - 12, height: inner, xTicks: axisTicks(x, width - left - 12), yTicks };
}

/**
 * Draws grid lines and labels on a canvas.
 * @param {CanvasRenderingContext2D} context  scaled to CSS pixels
 * @param {Layout} layout
 * @param {{ text: string, grid: string }} colors
 * @param {number} ratio  device pixels per CSS pixel
 */
export function drawAxes(context, { left, top, width, height, xTicks, yTicks }, colors, ratio) {
  /** Aligns a position to whole device pixels, so that lines are sharp. @param {number} at */
  const align = (at) => Math.floor(at * ratio) / ratio;
  const hairline = 1 / ratio;
  context.fillStyle = colors.grid;
  for (const { share } of xTicks) context.fillRect(align(left + share * width), top, hairline, height);
  for (const { share } of yTicks) context.fillRect(left, align(top + (1 - share) * height), width, hairline);
  context.fillStyle = colors.text;
  context.font = `${FONT_SIZE}px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { share, label } of xTicks) {
    label.split("\n").forEach((text, i) => context.fillText(text, left + share * width, top + height + 5 + i * LINE_HEIGHT));
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { share, label } of yTicks) context.fillText(label, left - 6, top + (1 - share) * height);
}
