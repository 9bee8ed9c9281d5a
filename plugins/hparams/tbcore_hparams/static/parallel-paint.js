/**
 * Draws parallel coordinates: a line a row, over an axis a column. Lines are straight, so that what is under the pointer
 * is found by the same arithmetic.
 */

import { FONT, FONT_SIZE } from "tbcore/lib/axes.js";

/**
 * @typedef {import("./types.js").Scale} Scale
 *
 * @typedef {object} Geometry  CSS pixels
 * @property {number} width
 * @property {number} height
 * @property {readonly number[]} xs  of the axes
 * @property {number} top  of the axes
 * @property {number} bottom
 * @property {number} below  where lines go whose cell has no place on an axis
 *
 * @typedef {object} Paints
 * @property {string} text
 * @property {string} line  of the axes
 * @property {string} faint  of lines that are filtered out
 * @property {string} plain  of lines without a colour
 * @property {string} ink
 * @property {string} surface
 */

const SIDE = 64;
const TOP = 10;
const BOTTOM = 12;
/** Between the axes' ends and what has no place on them. */
const GAP = 20;
const LABEL_HEIGHT = 26;
/** Lines further away than this are not under the pointer. */
const REACH = 8;
/** More lines are drawn thin and see-through. */
const MANY = 300;

/**
 * @param {number} width
 * @param {number} height
 * @param {number} numAxes
 * @param {boolean} hasUnplaced  any axis
 * @returns {Geometry}
 */
export function geometryOf(width, height, numAxes, hasUnplaced) {
  const side = Math.min(SIDE, width / Math.max(2, numAxes + 1));
  const inner = width - 2 * side;
  const xs = Array.from({ length: numAxes }, (_, i) => (numAxes === 1 ? width / 2 : side + (i / (numAxes - 1)) * inner));
  const bottom = height - BOTTOM - (hasUnplaced ? GAP : 0);
  return { width, height, xs, top: TOP, bottom, below: height - BOTTOM };
}

/** @param {Geometry} geometry @param {number} share  NaN: below */
export function yOf({ top, bottom, below }, share) {
  return Number.isNaN(share) ? below : bottom - share * (bottom - top);
}

/** The reverse. @param {Geometry} geometry @param {number} y */
export function shareAt({ top, bottom }, y) {
  return Math.min(1, Math.max(0, (bottom - y) / (bottom - top)));
}

/** How many labels fit beside an axis. @param {Geometry} geometry */
function mostTicks({ top, bottom }) {
  return Math.max(2, Math.floor((bottom - top) / LABEL_HEIGHT));
}

/**
 * @param {CanvasRenderingContext2D} context  in CSS pixels
 * @param {Geometry} geometry
 * @param {readonly Float64Array[]} places  of each axis: the share of each row
 * @param {readonly number[]} rows  in the order in which they are drawn
 * @param {(row: number) => string} colorOf
 * @param {number} width  of a line
 * @param {number} alpha
 */
export function paintLines(context, geometry, places, rows, colorOf, width, alpha) {
  const { xs } = geometry;
  context.lineWidth = width;
  context.globalAlpha = alpha;
  context.lineJoin = "round";
  let color = "";
  for (const row of rows) {
    const next = colorOf(row);
    if (next !== color) context.strokeStyle = color = next;
    context.beginPath();
    if (xs.length === 1) context.arc(xs[0], yOf(geometry, places[0][row]), 2.5, 0, 2 * Math.PI);
    else for (let i = 0; i < xs.length; i++) context.lineTo(xs[i], yOf(geometry, places[i][row]));
    context.stroke();
  }
  context.globalAlpha = 1;
}

/**
 * Everything that stays while the pointer moves.
 * @param {CanvasRenderingContext2D} context
 * @param {object} drawing
 * @param {Geometry} drawing.geometry
 * @param {readonly Scale[]} drawing.scales
 * @param {readonly Float64Array[]} drawing.places
 * @param {readonly number[]} drawing.rows  that pass, the best last
 * @param {readonly number[]} drawing.others  that do not
 * @param {(row: number) => string} drawing.colorOf
 * @param {Paints} drawing.paints
 */
export function paintAll(context, { geometry, scales, places, rows, others, colorOf, paints }) {
  paintLines(context, geometry, places, others, () => paints.faint, 1, 1);
  const isMany = rows.length > MANY;
  paintLines(context, geometry, places, rows, colorOf, isMany ? 1 : 1.5, isMany ? 0.6 : 0.85);
  scales.forEach((scale, i) => paintAxis(context, geometry, scale, geometry.xs[i], i === scales.length - 1, paints));
}

/**
 * The names of the axes, for a picture: on the page they are menus.
 * @param {CanvasRenderingContext2D} context
 * @param {Geometry} geometry
 * @param {readonly string[]} names
 * @param {number} y
 * @param {string} color
 */
export function paintNames(context, { xs, width }, names, y, color) {
  const room = xs.length > 1 ? xs[1] - xs[0] - 6 : width;
  context.font = `600 ${FONT_SIZE + 1}px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = color;
  names.forEach((name, i) => context.fillText(shortened(context, name, room), xs[i], y));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Geometry} geometry
 * @param {Scale} scale
 * @param {number} x
 * @param {boolean} isLast  its labels stand on the left, so that they have room
 * @param {Paints} paints
 */
function paintAxis(context, geometry, scale, x, isLast, paints) {
  context.fillStyle = paints.line;
  context.fillRect(x - 0.5, geometry.top, 1, geometry.bottom - geometry.top);
  context.font = `${FONT_SIZE}px ${FONT}`;
  context.textAlign = isLast ? "left" : "right";
  context.textBaseline = "middle";
  const room = geometry.xs.length > 1 ? Math.min(geometry.xs[1] - geometry.xs[0] - 14, 140) : 140;
  const most = isLast || x === geometry.xs[0] ? Math.min(room, geometry.width - geometry.xs[geometry.xs.length - 1] - 10) : room;
  /** @param {string} label @param {number} y */
  const write = (label, y) => {
    const text = shortened(context, label, most);
    const at = isLast ? x + 7 : x - 7;
    // Lines run behind the labels: a rim in the colour of the ground keeps them legible.
    context.strokeStyle = paints.surface;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeText(text, at, y);
    context.fillStyle = paints.text;
    context.fillText(text, at, y);
  };
  for (const { share, label } of scale.ticks(mostTicks(geometry))) {
    const y = yOf(geometry, share);
    context.fillStyle = paints.line;
    context.fillRect(x - 3, y - 0.5, 6, 1);
    write(label, y);
  }
  if (scale.unplaced !== "") write(scale.unplaced, geometry.below);
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} room */
function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = Math.min(text.length, 40);
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return `${text.slice(0, length)}…`;
}

/**
 * The row whose line is under the pointer.
 * @param {Geometry} geometry
 * @param {readonly Float64Array[]} places
 * @param {readonly number[]} rows
 * @param {number} x
 * @param {number} y
 * @returns {number | null}
 */
export function hitRow(geometry, places, rows, x, y) {
  const { xs } = geometry;
  if (xs.length === 0) return null;
  if (x < xs[0] - REACH || x > xs[xs.length - 1] + REACH) return null;
  const right = Math.max(1, xs.findIndex((at) => at >= x));
  const left = xs.length === 1 ? 0 : right - 1;
  const end = xs.length === 1 ? 0 : Math.min(right, xs.length - 1);
  const share = xs[end] > xs[left] ? Math.min(1, Math.max(0, (x - xs[left]) / (xs[end] - xs[left]))) : 0;
  let best = null;
  let nearest = REACH;
  for (const row of rows) {
    const from = yOf(geometry, places[left][row]);
    const to = yOf(geometry, places[end][row]);
    // The distance from a steep line is less than the vertical one.
    const slope = xs[end] > xs[left] ? (to - from) / (xs[end] - xs[left]) : 0;
    const distance = Math.abs(from + share * (to - from) - y) / Math.sqrt(1 + slope * slope);
    if (distance <= nearest) {
      nearest = distance;
      best = row;
    }
  }
  return best;
}
