/**
 * Draws the lines, bands and marks of a chart. All functions draw in CSS pixels of the plot, and
 * depend on their arguments only.
 */

import { dotPath, marksOf, strokesOf } from "./marks.js";
import { pixelScales } from "./ranges.js";
import { Raster } from "./raster.js";
import { risingStretches, traceBand, tracePath, windowOf } from "./series.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {CanvasRenderingContext2D} Context
 */

export const LINE_WIDTH = 1.4;
/** Charts with more lines draw thinner lines, and never a dot at each point. */
export const MAX_DETAILED_LINES = 12;
/** Opacity of unsmoothed values behind their smoothed line. */
export const RAW_OPACITY = 0.28;
export const BAND_OPACITY = 0.18;
/** Charts with more points use `Raster`, which is several times as fast as the browser's strokes. */
const RASTER_THRESHOLD_POINTS = 15_000;
/** Opacity of lines with the option `faint`. */
const FAINT_LINE_OPACITY = 0.6;

/**
 * Draws everything that does not depend on the pointer.
 * @param {Context} context @param {Scene} scene
 * @param {number} ratio  device pixels per CSS pixel
 * @returns {number} how many milliseconds the browser will need afterwards to paint it
 */
export function drawScene(context, scene, ratio) {
  const { items, axisItems, width, height } = scene;
  context.save();
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  drawBands(context, scene);
  const isThin = axisItems.length > MAX_DETAILED_LINES;
  const numPoints = axisItems.reduce((sum, { xs }) => sum + xs.length, 0);
  const isRaster = numPoints > RASTER_THRESHOLD_POINTS || scene.isMoving;
  if (isRaster) drawRaster(context, scene, items, ratio);
  else {
    if (axisItems.length < items.length) drawRaster(context, scene, items.filter(({ line }) => line?.faint), ratio);
    drawStrokes(context, scene, isThin ? 1 : LINE_WIDTH);
  }
  context.restore();
  drawMarks(context, scene, items);
  // Without a GPU, painting takes 0.1 microseconds per point of thin lines, 1 of others.
  return isRaster ? 0 : numPoints / (isThin ? 10_000 : 1000);
}

/**
 * The lines to draw, from back to front: first unsmoothed values, and then the lines.
 * @param {readonly Item[]} items
 * @returns {Generator<{ item: Item, column: Float64Array, isRaw: boolean }>}
 */
export function* linesOf(items) {
  for (const item of items) if (item.raw) yield { item, column: item.raw, isRaw: true };
  for (const item of items) yield { item, column: item.ys, isRaw: false };
}

/**
 * Adds a line's visible part to a path.
 * @template {import("./types.js").PathLike} P
 * @param {P} path @param {Pick<Scene, "x" | "y" | "width" | "height">} scene @param {Item} item
 * @param {Float64Array} column  its y
 */
export function traceLine(path, scene, { xs, segments }, column) {
  const { toX, toY } = pixelScales(scene);
  for (const segment of segments) tracePath(path, xs, column, toX, toY, ...windowOf(xs, segment, ...scene.x.range));
  return path;
}

/**
 * Adds the areas of a band to paths, the widest first.
 * @template {import("./types.js").PathLike} P
 * @param {() => P} makePath @param {Pick<Scene, "x" | "y" | "width" | "height">} scene
 * @param {Item} item
 */
export function traceAreas(makePath, scene, { xs, columns }) {
  const { toX, toY } = pixelScales(scene);
  const paths = [];
  for (let i = 1; i < columns.length; i += 2) {
    const path = makePath();
    traceBand(path, xs, columns[i], columns[i + 1], toX, toY);
    paths.push(path);
  }
  return paths;
}

/** Fills the areas of bands. @param {Context} context @param {Scene} scene */
function drawBands(context, scene) {
  context.globalAlpha = BAND_OPACITY;
  for (const item of scene.items) {
    if (!item.band) continue;
    context.fillStyle = item.color;
    for (const path of traceAreas(() => new Path2D(), scene, item)) context.fill(path);
  }
  context.globalAlpha = 1;
}

/** Draws lines with the browser's strokes. @param {Context} context @param {Scene} scene @param {number} width */
function drawStrokes(context, scene, width) {
  context.lineJoin = "round";
  for (const { item, column, isRaw } of linesOf(scene.axisItems)) {
    context.globalAlpha = isRaw ? RAW_OPACITY : 1;
    context.strokeStyle = item.color;
    context.lineWidth = item.band ? width + 0.6 : width;
    context.setLineDash([...(dashOf(item) ?? [])]);
    context.stroke(traceLine(new Path2D(), scene, item, column));
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** The dash of a line or of a band's mean. @param {Item} item */
export function dashOf({ line, band }) {
  return (line ?? band)?.dash;
}

/**
 * Draws thin lines with `Raster`, in the same order.
 * @param {Context} context @param {Scene} scene @param {readonly Item[]} items
 * @param {number} ratio
 */
function drawRaster(context, { x, y, width, height }, items, ratio) {
  const raster = clearRaster(Math.round(width * ratio), Math.round(height * ratio));
  for (const { item, column, isRaw } of linesOf(items)) {
    const color = colorNumber(item.color);
    const opacity = item.line?.faint ? FAINT_LINE_OPACITY : isRaw ? RAW_OPACITY : 1;
    const dash = dashOf(item)?.map((length) => length * ratio);
    for (const segment of item.segments) {
      const window = windowOf(item.xs, segment, ...x.range);
      for (const [from, to] of segment.rising ? [window] : risingStretches(item.xs, ...window)) {
        raster.line(item.xs, column, from, to, x.range, y.range, color, opacity, ratio, dash);
      }
    }
  }
  context.drawImage(scratchCanvas(raster), 0, 0, raster.width, raster.height, 0, 0, width, height);
}

/** Draws the marks of items. @param {Context} context @param {Scene} scene @param {readonly Item[]} items */
export function drawMarks(context, scene, items) {
  for (const { color, fill, stroke } of sceneMarks(scene, items)) {
    context.fillStyle = color;
    if (fill) context.fill(new Path2D(fill));
    if (!stroke) continue;
    const path = new Path2D(stroke);
    for (const [style, width] of strokesOf(color, scene.colors.surface)) {
      context.strokeStyle = style;
      context.lineWidth = width;
      context.stroke(path);
    }
  }
}

/** The marks of items, as path data. @param {Scene} scene @param {readonly Item[]} items */
export function sceneMarks(scene, items) {
  const showsPoints = scene.axisItems.length <= MAX_DETAILED_LINES && !scene.isMoving;
  return items.map((item) => ({ color: item.color, ...marksOf(item, scene, showsPoints && !item.line?.faint, scene.clip) }));
}

/**
 * Draws a disc in the current fill colour.
 * @param {Context} context
 * @param {number} left  of its centre
 * @param {number} top  of its centre
 * @param {number} radius
 */
export function drawDot(context, left, top, radius) {
  context.fill(new Path2D(dotPath(left, top, radius)));
}

/** @type {Raster | null} shared by all charts */
let sharedRaster = null;
/** @type {Context | null} context of the scratch canvas, which all charts share */
let scratchContext = null;
/** @type {Map<string, number>} results of `colorNumber` */
const colorNumbers = new Map();

/** An empty raster, valid until the next call. @param {number} width @param {number} height */
function clearRaster(width, height) {
  if (sharedRaster?.width !== width || sharedRaster.height !== height) sharedRaster = new Raster(width, height);
  else sharedRaster.clear();
  return sharedRaster;
}

/** A canvas with the pixels of a raster, valid until the next call. @param {Raster} raster */
function scratchCanvas({ width, height, pixels }) {
  scratchContext ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const context = /** @type {Context} */ (scratchContext);
  if (context.canvas.width < width) context.canvas.width = width;
  if (context.canvas.height < height) context.canvas.height = height;
  context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
  return context.canvas;
}

/** A CSS colour as 0xBBGGRR. @param {string} color */
function colorNumber(color) {
  let number = colorNumbers.get(color);
  if (number === undefined) {
    const context = /** @type {Context} */ (document.createElement("canvas").getContext("2d"));
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
    colorNumbers.set(color, (number = (b << 16) | (g << 8) | r));
  }
  return number;
}
