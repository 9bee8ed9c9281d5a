/**
 * Draws a scatter plot of two columns: a dot a row.
 */

import { FONT, FONT_SIZE } from "tbcore/lib/axes.js";

/**
 * @typedef {import("./types.js").Scale} Scale
 * @typedef {import("./parallel-paint.js").Paints} Paints
 *
 * @typedef {object} Frame  CSS pixels
 * @property {number} left
 * @property {number} top
 * @property {number} width  of the plot inside
 * @property {number} height
 */

const MARGIN = { left: 64, right: 18, top: 12, bottom: 26 };
const RADIUS = 4;
const REACH = 10;
/** Dots of one value on both axes would lie one over the other: they are spread by this part of the room of a value. */
const SPREAD = 0.5;

/** @param {number} width @param {number} height @returns {Frame} */
export function frameOf(width, height) {
  const { left, right, top, bottom } = MARGIN;
  return { left, top, width: Math.max(1, width - left - right), height: Math.max(1, height - top - bottom) };
}

/**
 * Where each row lies in the frame, as shares; NaN where it has no place.
 * @param {Scale} scale
 * @param {readonly import("./types.js").Cell[]} cells
 * @param {number} seed  another one for each axis
 */
export function placesOf(scale, cells, seed) {
  const room = scale.kind === "ordinal" ? SPREAD / Math.max(1, scale.categories.length) : 0;
  return Float64Array.from(cells, (cell, row) => 0.03 + 0.94 * scale.place(cell) + room * 0.94 * (noise(row, seed) - 0.5));
}

/** The reverse, for a part of an axis. @param {number} share */
export function unpadded(share) {
  return (share - 0.03) / 0.94;
}

/** The same for a row each time. @param {number} row @param {number} seed @returns {number} 0 to 1 */
function noise(row, seed) {
  return (Math.imul(row + 1, 2654435761 + 2 * seed) >>> 0) / 2 ** 32;
}

/** @param {Frame} frame @param {number} x @param {number} y @returns {[number, number]} */
function pointOf({ left, top, width, height }, x, y) {
  return [left + x * width, top + (1 - y) * height];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {object} drawing
 * @param {Frame} drawing.frame
 * @param {readonly [Scale, Scale]} drawing.scales
 * @param {readonly [Float64Array, Float64Array]} drawing.places
 * @param {readonly number[]} drawing.rows  the best last
 * @param {readonly number[]} drawing.others  filtered out
 * @param {(row: number) => string} drawing.colorOf
 * @param {Paints} drawing.paints
 * @param {string} drawing.grid
 */
export function paintScatter(context, { frame, scales: [xScale, yScale], places: [xs, ys], rows, others, colorOf, paints, grid }) {
  const { left, top, width, height } = frame;
  context.font = `${FONT_SIZE}px ${FONT}`;
  context.fillStyle = grid;
  const xTicks = xScale.ticks(Math.max(2, Math.floor(width / 70)));
  const yTicks = yScale.ticks(Math.max(2, Math.floor(height / 28)));
  const xAt = (/** @type {number} */ share) => left + (0.03 + 0.94 * share) * width;
  const yAt = (/** @type {number} */ share) => top + (0.97 - 0.94 * share) * height;
  for (const { share } of xTicks) context.fillRect(xAt(share), top, 1, height);
  for (const { share } of yTicks) context.fillRect(left, yAt(share), width, 1);
  context.fillStyle = paints.text;
  context.textBaseline = "top";
  context.textAlign = "center";
  for (const { share, label } of xTicks) context.fillText(cut(label), xAt(share), top + height + 6);
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { share, label } of yTicks) context.fillText(cut(label), left - 6, yAt(share));
  for (const row of others) dot(context, frame, xs[row], ys[row], paints.faint);
  for (const row of rows) dot(context, frame, xs[row], ys[row], colorOf(row), paints.surface);
}

/**
 * The names of the axes, for a picture: on the page they are menus.
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {string} x
 * @param {string} y
 * @param {string} color
 */
export function paintTitles(context, { left, top, width, height }, x, y, color) {
  context.font = `600 ${FONT_SIZE + 1}px ${FONT}`;
  context.fillStyle = color;
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillText(y, left, top - 8);
  context.textAlign = "right";
  context.fillText(x, left + width, top + height + 38);
}

/** @param {string} label */
function cut(label) {
  return label.length > 11 ? `${label.slice(0, 10)}…` : label;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Frame} frame
 * @param {number} x
 * @param {number} y
 * @param {string} color
 * @param {string} [rim]
 * @param {number} [radius]
 */
export function dot(context, frame, x, y, color, rim, radius = RADIUS) {
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
 * @param {readonly [Float64Array, Float64Array]} places
 * @param {readonly number[]} rows
 * @param {number} x
 * @param {number} y
 * @returns {number | null}
 */
export function hitDot(frame, [xs, ys], rows, x, y) {
  let best = null;
  let nearest = REACH ** 2;
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
