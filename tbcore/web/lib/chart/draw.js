/** Draws the lines, bands and marks of a chart. All functions draw in CSS pixels of the plot, and depend on their arguments only. */

import { pixelScales } from "./axes.js";
import { Raster } from "./raster.js";
import { countFinite, risingStretches, tracePath, windowOf } from "./series.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {CanvasRenderingContext2D} Context
 */

export const LINE_WIDTH = 1.4;
/** Charts with more lines draw them thinner and translucent, and never a dot at each point. */
export const MAX_DETAILED_LINES = 10;
/** Opacity of the lines of such charts, which shows where many of them are, and of lines with the option `faint`. */
const FAINT_OPACITY = 0.6;
/** Opacity of unsmoothed values behind their smoothed line. */
export const RAW_OPACITY = 0.28;
/** Dots of a mean where it is over fewer runs than before. The dashes of tags are longer. */
const FEWER_RUNS_DASH = [2, 4];
/** Charts with more points use `Raster`, which is several times as fast as the browser's strokes. */
const RASTER_THRESHOLD_POINTS = 15_000;

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
  scene.bandCode?.drawBands(context, scene);
  const { isThin } = styleOfLines(scene);
  const numPoints = axisItems.reduce((sum, { xs }) => sum + xs.length, 0);
  const isRaster = numPoints > RASTER_THRESHOLD_POINTS || scene.isMoving;
  if (axisItems.length < items.length) drawRaster(context, scene, items.filter(({ line }) => line?.faint), ratio);
  if (isRaster) drawRaster(context, scene, axisItems, ratio);
  else drawStrokes(context, scene);
  context.restore();
  drawMarks(context, scene, items);
  // Without a GPU, painting takes 0.1 microseconds per point of thin lines, 1 of others.
  return isRaster ? 0 : numPoints / (isThin ? 10_000 : 1000);
}

/** The width and opacity of a chart's lines. @param {{ axisItems: readonly Item[] }} scene */
export function styleOfLines({ axisItems }) {
  const isThin = axisItems.length > MAX_DETAILED_LINES;
  return { isThin, width: isThin ? 1 : LINE_WIDTH, opacity: isThin ? FAINT_OPACITY : 1 };
}

/**
 * The lines to draw, from back to front: first unsmoothed values, and then means and lines, of each kind the first
 * above all others: it is the best where lists are sorted by a value. The part of a
 * mean that is over fewer runs than before is a line of its own.
 * @param {readonly Item[]} all
 * @returns {Generator<{ item: Item, column: Float64Array, isRaw: boolean, dash: readonly number[] | undefined }>}
 *   `item` with only the segments of the line
 */
export function* linesOf(all) {
  const items = all.toReversed().sort((a, b) => Number(!a.band) - Number(!b.band));
  const dashOf = (/** @type {Item} */ { line, band }) => (line ?? band)?.dash;
  for (const item of items) if (item.raw) yield { item, column: item.raw, isRaw: true, dash: dashOf(item) };
  for (const item of items) {
    for (const isFewer of [false, true]) {
      const segments = item.segments.filter(({ fewer = false }) => fewer === isFewer);
      if (segments.length > 0) yield { item: { ...item, segments }, column: item.ys, isRaw: false, dash: isFewer ? FEWER_RUNS_DASH : dashOf(item) };
    }
  }
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

/** Draws lines with the browser's strokes. @param {Context} context @param {Scene} scene */
function drawStrokes(context, scene) {
  const { width, opacity } = styleOfLines(scene);
  context.lineJoin = "round";
  for (const { item, column, isRaw, dash } of linesOf(scene.axisItems)) {
    context.globalAlpha = isRaw ? RAW_OPACITY : opacity;
    context.strokeStyle = item.color;
    context.lineWidth = item.band ? width + 0.6 : width;
    context.setLineDash([...(dash ?? [])]);
    context.stroke(traceLine(new Path2D(), scene, item, column));
  }
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/**
 * Draws thin lines with `Raster`, in the same order.
 * @param {Context} context @param {Scene} scene @param {readonly Item[]} items
 * @param {number} ratio
 */
function drawRaster(context, scene, items, ratio) {
  const { x, y, width, height } = scene;
  const raster = clearRaster(Math.round(width * ratio), Math.round(height * ratio));
  for (const { item, column, isRaw, dash: pattern } of linesOf(items)) {
    const color = colorNumber(item.color);
    const opacity = item.line?.faint ? FAINT_OPACITY : isRaw ? RAW_OPACITY : styleOfLines(scene).opacity;
    const dash = pattern?.map((length) => length * ratio);
    for (const segment of item.segments) {
      const window = windowOf(item.xs, segment, ...x.range);
      for (const [from, to] of segment.rising ? [window] : risingStretches(item.xs, ...window)) {
        raster.line(item.xs, column, from, to, x.range, y.range, color, opacity, ratio, dash);
      }
      if (segment.rising || x.kind !== "number") continue;
      // The line also goes back: these parts are drawn from their end.
      for (const [from, to] of risingStretches(item.xs.map((at) => -at), ...window)) {
        const [xs, ys] = [item.xs, column].map((values) => values.slice(from, to).reverse());
        if (xs.length > 1) raster.line(xs, ys, 0, xs.length, x.range, y.range, color, opacity, ratio, dash);
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

/** The marks of items, as path data, from back to front: those of the first item above all others. @param {Scene} scene @param {readonly Item[]} items */
export function sceneMarks(scene, items) {
  // All lines have dots or none: else those of a line would look like a code for something.
  const { x, width, axisItems } = scene;
  const showsPoints = axisItems.length <= MAX_DETAILED_LINES && !scene.isMoving && axisItems.every(({ xs, segments }) => segments.every((segment) => {
    const [from, to] = windowOf(xs, segment, ...x.range);
    return (to - from) * MIN_DOT_DISTANCE_PX <= width;
  }));
  /** @type {number[]} */
  const taken = [];
  // The crosses of all items have places, whichever are drawn.
  return scene.items.flatMap((item) => {
    const isDrawn = items.includes(item);
    if (!isDrawn && !item.nonFinite.length) return [];
    const marks = (item.band?.bar && scene.bandCode?.barOf(item, scene)) || marksOf(item, scene, showsPoints && !item.line?.faint, scene.clip, taken);
    return isDrawn ? [{ color: item.color, ...marks }] : [];
  }).reverse();
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

// --- marks ---------------------------------------------------------------------------------------

/** Minimum distance between marks of one shape: closer marks would look like a bar. */
const MIN_MARK_DISTANCE_PX = 12;
/** Centre of the crosses of NaN, CSS pixels below the top of the plot. */
export const NAN_TOP_PX = 5;
/** Distance of crosses that are below one another. */
const CROSS_PX = 7;
/** Of crosses of different lines at one x, so many are below one another; those of more lines are on the last of them. */
export const MAX_CROSS_ROWS = 5;
/** Points are marked with dots if they are at least this far apart on average. */
const MIN_DOT_DISTANCE_PX = 10;

/**
 * The marks of a line or band:
 *
 *     dot        a segment of one point, or every point where those of all lines are far apart and
 *                the line is not dotted for fewer runs
 *     cross      NaN, at the top of the plot, where it does not look like a value, below those of
 *                other lines at the same x; in a band, one or more further runs whose value is not finite
 *     triangle   an infinity, at the top or bottom of the plot
 *     arrow      an outlier above or below the plot
 *
 * @param {import("./types.js").Item} item
 * @param {Pick<import("./types.js").Scene, "x" | "y" | "width" | "height">} plot
 * @param {boolean} showsPoints  whether to mark points, which are far apart
 * @param {boolean} showsOutliers  whether to mark outliers
 * @param {number[]} taken  how many crosses other lines have at each place along x; is updated
 * @returns {{ fill: string, stroke: string }} path data to fill, and path data to stroke
 */
export function marksOf({ line, xs, ys, raw, segments, nonFinite }, plot, showsPoints, showsOutliers, taken = []) {
  const marks = { fill: "", stroke: "" };
  const { x, y, width, height } = plot;
  const { toX, toY } = pixelScales(plot);
  for (const segment of segments) {
    const [from, to] = windowOf(xs, segment, ...x.range);
    const isSingle = countFinite(ys, 2, segment.from, segment.to) < 2;
    if (!isSingle && (!showsPoints || segment.fewer)) continue;
    for (let i = from; i < to; i++) {
      const left = toX(xs[i]);
      const top = toY(ys[i]);
      if (left >= 0 && left <= width && top >= 0 && top <= height) marks.fill += dotPath(left, top, isSingle ? 3 : 2);
    }
  }

  /** Maps a shape to the position of its last mark. @type {Map<string, number>} */
  const lastLeft = new Map();
  /**
   * Returns whether a mark is to be drawn at a position: inside the plot, and not too close to the
   * last mark of the same shape. If so, the mark becomes the last mark of this shape.
   * @param {number} left @param {string} shape
   */
  const addMark = (left, shape) => left >= 0 && left <= width && !(Math.abs(left - (lastLeft.get(shape) ?? NaN)) < MIN_MARK_DISTANCE_PX) && lastLeft.set(shape, left);
  for (const index of nonFinite) {
    const left = toX(xs[index]);
    const value = line?.value[index] ?? NaN;
    if (!addMark(left, String(value))) continue;
    if (value === Infinity) marks.fill += `M${left},0l-4,8h8z`;
    else if (value === -Infinity) marks.fill += `M${left},${height}l-4,-8h8z`;
    else {
      // Two crosses of one line are at least two places apart.
      const at = Math.round((2 * left) / MIN_MARK_DISTANCE_PX);
      const row = Math.min(MAX_CROSS_ROWS - 1, Math.max(taken[at - 1] | 0, taken[at] | 0, taken[at + 1] | 0));
      taken[at] = row + 1;
      marks.stroke += `M${left - 3},${NAN_TOP_PX - 3 + CROSS_PX * row}l6,6m0,-6l-6,6`;
    }
  }
  const column = raw ?? ys;
  for (let i = 0; showsOutliers && i < xs.length; i++) {
    const isAbove = column[i] > y.range[1];
    if (!Number.isFinite(column[i]) || (!isAbove && column[i] >= y.range[0])) continue;
    const left = toX(xs[i]);
    if (addMark(left, isAbove ? "above" : "below")) {
      marks.stroke += isAbove ? `M${left - 4},6l4,-4l4,4` : `M${left - 4},${height - 6}l4,4l4,-4`;
    }
  }
  return marks;
}

/**
 * The strokes to draw marks with, in order. The first is a halo in the background colour, so that
 * the marks are visible on a line of their own colour.
 * @param {string} color
 * @param {string} surface  background colour
 * @returns {[color: string, width: number][]}
 */
export function strokesOf(color, surface) {
  return [
    [surface, 3.8],
    [color, 1.8],
  ];
}

/**
 * Path data of a disc.
 * @param {number} left  of its centre
 * @param {number} top  of its centre
 * @param {number} radius
 */
export function dotPath(left, top, radius) {
  return `M${left - radius},${top}a${radius},${radius},0,1,0,${2 * radius},0a${radius},${radius},0,1,0,${-2 * radius},0`;
}
