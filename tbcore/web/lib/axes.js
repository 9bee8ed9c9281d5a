/**
 * The axes of a chart: ticks, labels, and where everything lies. A logarithmic axis is linear in logarithms: all that is
 * drawn or pointed at is first brought to the axis, by `toAxis` or `axisColumn`.
 */

import { formatDurationTicks, formatTicks, formatTimeTicks } from "./format.js";
import { durationTicks, logDurationTicks, logTicks, numberTicks, timeTicks } from "./ticks.js";

/**
 * @typedef {import("./chart-types.js").Range} Range
 * @typedef {import("./chart-types.js").Axis} Axis
 * @typedef {import("./chart-types.js").Tick} Tick
 * @typedef {import("./chart-types.js").Layout} Layout
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
export const FONT_SIZE = 11;
/** Room for one label, CSS pixels. */
const SPACE = { step: 52, relative: 58, wall_time: 78, value: 26 };
const LINE_HEIGHT = 13;

/** @param {Axis} axis @param {number} value */
export function toAxis(axis, value) {
  return axis.log ? Math.log10(value) : value;
}

/** @param {Axis} axis @param {number} place */
export function fromAxis(axis, place) {
  return axis.log ? 10 ** place : place;
}

/**
 * A column of values on the axis; not finite where a value has no place there.
 * @param {Float64Array} column
 * @param {boolean} log
 */
export function axisColumn(column, log) {
  return log ? column.map(Math.log10) : column;
}

/** Where a place on an axis lies: 0 at its beginning, 1 at its end. @param {Range} range @param {number} place */
export function shareOf([min, max], place) {
  return (place / 2 - min / 2) / (max / 2 - min / 2);
}

/** @param {Axis} axis @param {number} length  CSS pixels @returns {Tick[]} */
export function axisTicks(axis, length) {
  const { kind, log, range } = axis;
  const most = Math.max(2, Math.floor(length / SPACE[kind]));
  const [min, max] = range.map((place) => fromAxis(axis, place));
  const least = kind === "step" ? 1 : 0;
  /** @type {import("./ticks.js").Ticks} */
  let ticks;
  /** @type {string[]} */
  let labels;
  if (kind === "relative") {
    ticks = log ? logDurationTicks(min, max, most) : durationTicks(min, max, most);
    labels = ticks.at.flatMap((tick) => formatDurationTicks([tick], ticks.spacing || tick));
  } else if (kind === "wall_time") {
    ticks = timeTicks(min, max, most);
    labels = formatTimeTicks(ticks.at, ticks.spacing);
  } else {
    ticks = log ? logTicks(min, max, most, least) : numberTicks(min, max, most, least);
    labels = formatTicks(ticks.at, ticks.spacing);
  }
  return ticks.at.map((tick, i) => ({ share: shareOf(range, toAxis(axis, tick)), label: labels[i] }));
}

/**
 * @param {number} width  of the chart, CSS pixels
 * @param {number} height
 * @param {Axis} x
 * @param {Axis} y
 * @param {(text: string) => number} measure  width of a label
 * @param {boolean} [hasNote]  leaves room for a line of text at the top
 * @param {Layout | null | false} [old]  whose y axis stays
 * @returns {Layout}
 */
export function layOut(width, height, x, y, measure, hasNote, old) {
  if (old) return { ...old, xTicks: axisTicks(x, old.width) };
  const top = hasNote ? 22 : 10;
  const inner = height - top - 9 - LINE_HEIGHT * (x.kind === "wall_time" ? 2 : 1);
  const yTicks = axisTicks(y, inner);
  const left = yTicks.reduce((most, { label }) => Math.max(most, Math.ceil(measure(label)) + 12), 40);
  return { left, top, width: width - left - 12, height: inner, xTicks: axisTicks(x, width - left - 12), yTicks };
}

/**
 * @param {CanvasRenderingContext2D} context  in CSS pixels
 * @param {Layout} layout
 * @param {{ text: string, grid: string }} colors
 * @param {number} ratio  device pixels in a CSS pixel
 */
export function drawAxes(context, { left, top, width, height, xTicks, yTicks }, colors, ratio) {
  /** Sharp: one whole pixel. @param {number} at */
  const sharp = (at) => Math.floor(at * ratio) / ratio;
  const hair = 1 / ratio;
  context.fillStyle = colors.grid;
  for (const { share } of xTicks) context.fillRect(sharp(left + share * width), top, hair, height);
  for (const { share } of yTicks) context.fillRect(left, sharp(top + (1 - share) * height), width, hair);
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
