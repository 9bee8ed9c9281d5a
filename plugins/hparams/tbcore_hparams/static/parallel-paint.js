/**
 * Draws parallel coordinates: an axis for each column and a line for each row. Lines are straight,
 * so that hit tests can use the same arithmetic.
 */

import { formatName } from "tbcore/format.js";
import { LABEL_FONT, TITLE_FONT } from "./plot-canvas.js";

/**
 * @typedef {import("./types.js").Scale} Scale
 *
 * @typedef {object} Geometry  CSS pixels
 * @property {number} width
 * @property {number} height
 * @property {readonly number[]} xs  of the axes
 * @property {number} top  of the axes
 * @property {number} bottom
 * @property {number} below  y at which cells without a position on their axis are drawn
 *
 * @typedef {object} PlotColors
 * @property {string} text
 * @property {string} line  for axes
 * @property {string} faint  for rows that are filtered out
 * @property {string} plain  for rows without a colour
 * @property {string} ink  for the hovered row and for names
 * @property {string} surface  the background
 */

/** Space for labels beside the first and the last axis, in wide plots. */
const SIDE_MARGIN_PX = 64;
const TOP_MARGIN_PX = 10;
const BOTTOM_MARGIN_PX = 12;
/** Distance between the lower end of an axis and the cells that have no position on it. */
const UNPLACED_GAP_PX = 20;
/** Minimum distance between the labels of an axis. */
const LABEL_HEIGHT_PX = 26;
/** Maximum distance between the pointer and a line that it hits. */
const HIT_DISTANCE_PX = 8;
/** Maximum number of lines that are drawn thick and opaque; more are thin and translucent. */
const MAX_OPAQUE_LINES = 300;

/**
 * Positions of the axes.
 * @param {number} width
 * @param {number} height
 * @param {number} numAxes
 * @param {boolean} hasUnplaced  whether any cell has no position on its axis
 * @returns {Geometry}
 */
export function geometryOf(width, height, numAxes, hasUnplaced) {
  const side = Math.min(SIDE_MARGIN_PX, width / Math.max(2, numAxes + 1));
  const inner = width - 2 * side;
  const xs = Array.from({ length: numAxes }, (_, i) => (numAxes === 1 ? width / 2 : side + (i / (numAxes - 1)) * inner));
  const bottom = height - BOTTOM_MARGIN_PX - (hasUnplaced ? UNPLACED_GAP_PX : 0);
  return { width, height, xs, top: TOP_MARGIN_PX, bottom, below: height - BOTTOM_MARGIN_PX };
}

/**
 * The vertical position of a share of an axis.
 * @param {Geometry} geometry
 * @param {number} share  NaN: below the axis
 */
export function yOf({ top, bottom, below }, share) {
  return Number.isNaN(share) ? below : bottom - share * (bottom - top);
}

/** The share of an axis at a vertical position. @param {Geometry} geometry @param {number} y */
export function shareAt({ top, bottom }, y) {
  return Math.min(1, Math.max(0, (bottom - y) / (bottom - top)));
}

/** The number of labels that fit beside an axis. @param {Geometry} geometry */
function maxTicks({ top, bottom }) {
  return Math.max(2, Math.floor((bottom - top) / LABEL_HEIGHT_PX));
}

/**
 * Draws the lines of rows.
 * @param {CanvasRenderingContext2D} context  in CSS pixels
 * @param {Geometry} geometry
 * @param {readonly Float64Array[]} positions  for each axis, the share of each row
 * @param {readonly number[]} rows  in drawing order
 * @param {(row: number) => string} colorOf
 * @param {number} width  of a line
 * @param {number} alpha
 */
export function paintLines(context, geometry, positions, rows, colorOf, width, alpha) {
  const { xs } = geometry;
  context.lineWidth = width;
  context.globalAlpha = alpha;
  context.lineJoin = "round";
  let color = "";
  for (const row of rows) {
    const next = colorOf(row);
    if (next !== color) context.strokeStyle = color = next;
    context.beginPath();
    if (xs.length === 1) context.arc(xs[0], yOf(geometry, positions[0][row]), 2.5, 0, 2 * Math.PI);
    else for (let i = 0; i < xs.length; i++) context.lineTo(xs[i], yOf(geometry, positions[i][row]));
    context.stroke();
  }
  context.globalAlpha = 1;
}

/**
 * Draws everything that does not depend on the pointer.
 * @param {CanvasRenderingContext2D} context
 * @param {object} drawing
 * @param {Geometry} drawing.geometry
 * @param {readonly Scale[]} drawing.scales
 * @param {readonly Float64Array[]} drawing.positions
 * @param {readonly number[]} drawing.rows  rows that pass the filters, the best last
 * @param {readonly number[]} drawing.filteredOut  rows that do not pass
 * @param {(row: number) => string} drawing.colorOf
 * @param {PlotColors} drawing.colors
 */
export function paintAll(context, { geometry, scales, positions, rows, filteredOut, colorOf, colors }) {
  paintLines(context, geometry, positions, filteredOut, () => colors.faint, 1, 1);
  const isMany = rows.length > MAX_OPAQUE_LINES;
  paintLines(context, geometry, positions, rows, colorOf, isMany ? 1 : 1.5, isMany ? 0.6 : 0.85);
  paintAxes(context, { geometry, scales, colors });
}

/**
 * Draws the axes with their labels, which are above all lines.
 * @param {CanvasRenderingContext2D} context
 * @param {{ geometry: Geometry, scales: readonly Scale[], colors: PlotColors }} drawing
 */
export function paintAxes(context, { geometry, scales, colors }) {
  scales.forEach((scale, i) => paintAxis(context, geometry, scale, geometry.xs[i], i === scales.length - 1, colors));
}

/**
 * Draws the names of the axes in a downloaded image; on the page they are menus.
 * @param {CanvasRenderingContext2D} context
 * @param {Geometry} geometry
 * @param {readonly string[]} names
 * @param {number} y
 * @param {string} color
 */
export function paintNames(context, { xs, width }, names, y, color) {
  const space = xs.length > 1 ? xs[1] - xs[0] - 6 : width;
  context.font = TITLE_FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = color;
  names.forEach((name, i) => context.fillText(shortened(context, formatName(name), space), xs[i], y));
}

/**
 * Draws an axis with its labels.
 * @param {CanvasRenderingContext2D} context
 * @param {Geometry} geometry
 * @param {Scale} scale
 * @param {number} x
 * @param {boolean} isLast  whether the axis is the last one, with labels on its right side
 * @param {PlotColors} colors
 */
function paintAxis(context, geometry, scale, x, isLast, colors) {
  context.fillStyle = colors.line;
  context.fillRect(x - 0.5, geometry.top, 1, geometry.bottom - geometry.top);
  context.font = LABEL_FONT;
  context.textAlign = isLast ? "left" : "right";
  context.textBaseline = "middle";
  const space = geometry.xs.length > 1 ? Math.min(geometry.xs[1] - geometry.xs[0] - 14, 140) : 140;
  // Labels of the first and last axis are beside the plot, where the margin limits them, too.
  const maxWidth = isLast || x === geometry.xs[0] ? Math.min(space, geometry.width - geometry.xs[geometry.xs.length - 1] - 10) : space;
  /** @param {string} label @param {number} y */
  const write = (label, y) => {
    const text = shortened(context, label, maxWidth);
    const at = isLast ? x + 7 : x - 7;
    // A box in the background colour keeps labels legible over lines.
    const width = context.measureText(text).width + 4;
    context.fillStyle = colors.surface;
    context.globalAlpha = 0.9;
    context.fillRect(isLast ? at - 2 : at + 2 - width, y - 7, width, 14);
    context.globalAlpha = 1;
    context.fillStyle = colors.text;
    context.fillText(text, at, y);
  };
  for (const { share, label } of scale.ticks(maxTicks(geometry))) {
    const y = yOf(geometry, share);
    context.fillStyle = colors.line;
    context.fillRect(x - 3, y - 0.5, 6, 1);
    write(label, y);
  }
  if (scale.unplacedLabel !== "") write(scale.unplacedLabel, geometry.below);
}

/**
 * A text cut to fit a width.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} space
 */
function shortened(context, text, space) {
  if (context.measureText(text).width <= space) return text;
  let length = Math.min(text.length, 40);
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > space) length--;
  return `${text.slice(0, length)}…`;
}

/**
 * The row whose line is under the pointer.
 * @param {Geometry} geometry
 * @param {readonly Float64Array[]} positions
 * @param {readonly number[]} rows
 * @param {number} x
 * @param {number} y
 * @returns {number | null}
 */
export function hitRow(geometry, positions, rows, x, y) {
  // 1. Find the axes `left` and `end` on both sides of x; a single axis is both.
  // 2. Interpolate each row's line at x, and measure its distance to the pointer.
  const { xs } = geometry;
  if (xs.length === 0) return null;
  if (x < xs[0] - HIT_DISTANCE_PX || x > xs[xs.length - 1] + HIT_DISTANCE_PX) return null;
  const right = Math.max(1, xs.findIndex((at) => at >= x));
  const left = xs.length === 1 ? 0 : right - 1;
  const end = xs.length === 1 ? 0 : Math.min(right, xs.length - 1);
  const share = xs[end] > xs[left] ? Math.min(1, Math.max(0, (x - xs[left]) / (xs[end] - xs[left]))) : 0;
  let best = null;
  let nearest = HIT_DISTANCE_PX;
  for (const row of rows) {
    const from = yOf(geometry, positions[left][row]);
    const to = yOf(geometry, positions[end][row]);
    // The distance to a steep line is smaller than the vertical distance.
    const slope = xs[end] > xs[left] ? (to - from) / (xs[end] - xs[left]) : 0;
    const distance = Math.abs(from + share * (to - from) - y) / Math.sqrt(1 + slope * slope);
    if (distance <= nearest) {
      nearest = distance;
      best = row;
    }
  }
  return best;
}
