/**
 * Draws a scatter plot of two columns, with a dot for each row.
 */

import { LABEL_FONT, TITLE_FONT } from "./plot-canvas.js";

/**
 * @typedef {import("./types.js").Scale} Scale
 * @typedef {import("./parallel-paint.js").PlotColors} PlotColors
 *
 * @typedef {object} Frame  the plot inside its axes, CSS pixels
 * @property {number} left
 * @property {number} top
 * @property {number} width  without the margins
 * @property {number} height
 */

const MARGIN_PX = { left: 64, right: 18, top: 12, bottom: 26 };
/** Radius of a dot. */
const RADIUS_PX = 4;
/** Largest distance between the pointer and the centre of a dot that it hits. */
const HIT_DISTANCE_PX = 10;
/**
 * On ordinal axes, dots are spread over this share of the distance between values, so that dots of
 * equal values do not overlap.
 */
const JITTER_SHARE = 0.5;
/** Padding at each end of an axis, as a share of the frame. */
const PADDING = 0.03;
/** The share of the frame between the paddings, which the scale covers. */
const INNER = 0.94;

/**
 * The frame in an element of this size.
 * @param {number} width
 * @param {number} height
 * @returns {Frame}
 */
export function frameOf(width, height) {
  const { left, right, top, bottom } = MARGIN_PX;
  return { left, top, width: Math.max(1, width - left - right), height: Math.max(1, height - top - bottom) };
}

/**
 * The position of each row on an axis of the frame, as a share; NaN if it has none.
 * @param {Scale} scale
 * @param {readonly import("./types.js").Cell[]} cells
 * @param {number} seed  different for each axis
 */
export function positionsOf(scale, cells, seed) {
  const space = scale.kind === "ordinal" ? JITTER_SHARE / Math.max(1, scale.categories.length) : 0;
  return Float64Array.from(cells, (cell, row) => PADDING + INNER * scale.position(cell) + space * INNER * (jitterOf(row, seed) - 0.5));
}

/** A share of the scale from a share of the frame, which has padding. @param {number} share */
export function withoutPadding(share) {
  return (share - PADDING) / INNER;
}

/**
 * A pseudo-random number for a row.
 * @param {number} row
 * @param {number} seed
 * @returns {number} 0 to 1
 */
function jitterOf(row, seed) {
  return (Math.imul(row + 1, 2654435761 + 2 * seed) >>> 0) / 2 ** 32;
}

/**
 * A point in CSS pixels.
 * @param {Frame} frame
 * @param {number} x  share
 * @param {number} y  share
 * @returns {[number, number]}
 */
function pointOf({ left, top, width, height }, x, y) {
  return [left + x * width, top + (1 - y) * height];
}

/**
 * Draws everything that does not depend on the pointer.
 * @param {CanvasRenderingContext2D} context
 * @param {object} drawing
 * @param {Frame} drawing.frame
 * @param {readonly [Scale, Scale]} drawing.scales
 * @param {readonly [Float64Array, Float64Array]} drawing.positions
 * @param {readonly number[]} drawing.rows  rows that pass the filters, the best last
 * @param {readonly number[]} drawing.filteredOut  rows that do not pass
 * @param {(row: number) => string} drawing.colorOf
 * @param {PlotColors} drawing.colors
 * @param {string} drawing.grid  colour of the grid
 */
export function paintScatter(context, { frame, scales: [xScale, yScale], positions: [xs, ys], rows, filteredOut, colorOf, colors, grid }) {
  const { left, top, width, height } = frame;
  context.font = LABEL_FONT;
  context.fillStyle = grid;
  const xTicks = xScale.ticks(Math.max(2, Math.floor(width / 70)));
  const yTicks = yScale.ticks(Math.max(2, Math.floor(height / 28)));
  const xAt = (/** @type {number} */ share) => left + (PADDING + INNER * share) * width;
  const yAt = (/** @type {number} */ share) => top + (1 - PADDING - INNER * share) * height;
  for (const { share } of xTicks) context.fillRect(xAt(share), top, 1, height);
  for (const { share } of yTicks) context.fillRect(left, yAt(share), width, 1);
  context.fillStyle = colors.text;
  context.textBaseline = "top";
  context.textAlign = "center";
  for (const { share, label } of xTicks) context.fillText(cut(label), xAt(share), top + height + 6);
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { share, label } of yTicks) context.fillText(cut(label), left - 6, yAt(share));
  for (const row of filteredOut) dot(context, frame, xs[row], ys[row], colors.faint);
  for (const row of rows) dot(context, frame, xs[row], ys[row], colorOf(row), colors.surface);
}

/**
 * Draws the names of the axes in a downloaded image; on the page they are menus.
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {string} x
 * @param {string} y
 * @param {string} color
 */
export function paintTitles(context, { left, top, width, height }, x, y, color) {
  context.font = TITLE_FONT;
  context.fillStyle = color;
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillText(y, left, top - 8);
  context.textAlign = "right";
  context.fillText(x, left + width, top + height + 38);
}

/** A label cut to 11 characters. @param {string} label */
function cut(label) {
  return label.length > 11 ? `${label.slice(0, 10)}…` : label;
}

/**
 * Draws a dot.
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number} x  share
 * @param {number} y  share
 * @param {string} color
 * @param {string} [rim]  colour of the outline
 * @param {number} [radius]
 */
export function dot(context, frame, x, y, color, rim, radius = RADIUS_PX) {
  const [left, top] = pointOf(frame, x, y);
  if (Number.isNaN(left + top)) return;
  context.beginPath();
  context.arc(left, top, radius, 0, 2 * Math.PI);
  context.fillStyle = color;
  context.fill();
  if (!rim) return;
  context.strokeStyle = rim;
  context.lineWidth = 1;
  context.stroke();
}

/**
 * The row whose dot is under the pointer.
 * @param {Frame} frame
 * @param {readonly [Float64Array, Float64Array]} positions
 * @param {readonly number[]} rows
 * @param {number} x
 * @param {number} y
 * @returns {number | null}
 */
export function hitDot(frame, [xs, ys], rows, x, y) {
  let best = null;
  let nearest = HIT_DISTANCE_PX ** 2;
  for (const row of rows) {
    const [left, top] = pointOf(frame, xs[row], ys[row]);
    const distance = (left - x) ** 2 + (top - y) ** 2;
    if (distance <= nearest) {
      nearest = distance;
      best = row;
    }
  }
  return best;
}
