/** What is under the pointer: the points near it, and what is drawn over the chart for it. No DOM. */

import { at, pixelScales, toAxis } from "./axes.js";
import { LINE_WIDTH, MAX_DETAILED_LINES, NAN_TOP_PX, dotPath, drawMarks, linesOf, traceLine } from "./draw.js";
import { segmentsOf, windowOf } from "./series.js";

/**
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Scene} Scene
 *
 * @typedef {object} Overlay  what is drawn over a chart
 * @property {readonly Hit[]} hits  the points under the pointer, nearest first, or the selected point
 * @property {import("./types.js").PointerPosition | null} pointer
 * @property {{ x: number, run: string | null } | null} remote  the pointer, if it is in another chart
 * @property {number | null} pinned  the pinned x, in units of the x axis
 * @property {readonly (string | null)[] | null} highlighted  names of runs and groups
 */

/** The cursor selects a line's point only if it is at most this far away horizontally, CSS pixels. */
const MAX_POINT_DISTANCE_PX = 60;
/** The same for a cursor before the line's first point or after its last point. */
const MAX_DISTANCE_PAST_END_PX = 2;
/** Number of points that are marked at the cursor. */
const MAX_MARKED_POINTS = 8;

/**
 * The index of the point whose x is nearest. If points of several segments are equally near, the
 * point of the last segment.
 * @param {ArrayLike<number>} xs @param {number} x @param {readonly import("./types.js").Segment[]} [segments]
 * @returns {number} -1 if there is no point
 */
export function nearestIndex(xs, x, segments = segmentsOf(xs)) {
  let nearest = -1;
  let distance = Infinity;
  for (const segment of segments) {
    // An equally near point replaces only a point of an earlier segment.
    let isFirst = true;
    const [from, to] = windowOf(xs, segment, x, x);
    for (let i = from; i < to; i++) {
      const away = Math.abs(xs[i] - x);
      if (away < distance || (isFirst && away === distance && away < Infinity)) {
        nearest = i;
        distance = away;
        isFirst = false;
      }
    }
  }
  return nearest;
}

/** Whether an x is between the ends of an item. @param {Item} item @param {number} x */
function isInside({ ends }, x) {
  return ends !== null && x >= ends[0] && x <= ends[1];
}

/**
 * The x of the point nearest to a position. Lines that extend over the position are preferred:
 * other lines' ends count only if no line extends over it.
 * @param {Scene} scene
 * @param {number} left  CSS pixels inside the plot
 * @returns {number | null} in axis coordinates; null if no point is near
 */
export function snap(scene, left) {
  const { toX } = pixelScales(scene);
  const x = at(scene.x.range, left / scene.width);
  /** @type {number | null} */
  let best = null;
  let bestDistance = MAX_POINT_DISTANCE_PX;
  let isBestInside = false;
  for (const item of scene.items) {
    const nearest = item.xs[nearestIndex(item.xs, x, item.segments)];
    const inside = isInside(item, x);
    const distance = Math.abs(toX(nearest) - left);
    if (!(distance <= MAX_POINT_DISTANCE_PX) || (isBestInside && !inside)) continue;
    if (distance > bestDistance && isBestInside === inside) continue;
    [best, bestDistance, isBestInside] = [nearest, distance, inside];
  }
  return best;
}

/**
 * The points of all lines near an x, nearest to the pointer first. Lines that end before x or begin
 * after it have none.
 * @param {Scene} scene
 * @param {number} x  in axis coordinates
 * @param {number} pointerTop  CSS pixels inside the plot
 * @returns {Hit[]}
 */
export function hitsAt(scene, x, pointerTop) {
  const { toX, toY } = pixelScales(scene);
  const pointerLeft = toX(x);
  /** @type {{ hit: Hit, distance: number }[]} */
  const hits = [];
  for (const item of scene.items) {
    const index = nearestIndex(item.xs, x, item.segments);
    if (index === -1) continue;
    const left = toX(item.xs[index]);
    const limit = isInside(item, x) ? MAX_POINT_DISTANCE_PX : MAX_DISTANCE_PAST_END_PX;
    if (!(Math.abs(left - pointerLeft) <= limit) || left < -1 || left > scene.width + 1) continue;
    const top = toY(item.ys[index]);
    const isDrawn = Number.isFinite(top);
    // A point that cannot be drawn is as far away as its mark. Horizontal distance counts only a
    // quarter, because the points of different lines differ in height.
    const markTop = isDrawn ? top : item.nonFinite.includes(index) ? NAN_TOP_PX : NaN;
    const distance = Number.isFinite(markTop) ? Math.hypot((left - pointerLeft) / 4, markTop - pointerTop) : scene.height;
    hits.push({ hit: hitOf(item, index, left, isDrawn ? top : NaN), distance });
  }
  return hits.sort((a, b) => a.distance - b.distance).map(({ hit }) => hit);
}

/** The points under the pointer, nearest first. @param {Scene} scene @param {import("./types.js").PointerPosition} pointer */
export function hitsUnder(scene, { left, top }) {
  const x = snap(scene, left);
  return x === null ? [] : hitsAt(scene, x, top);
}

/**
 * A point of an item, even if it is not visible. One that cannot be drawn is at the bottom.
 * @param {Scene} scene @param {Item} item @param {number} index
 */
export function hitAt(scene, item, index) {
  const { toX, toY } = pixelScales(scene);
  const top = toY(item.ys[index]);
  return hitOf(item, index, toX(item.xs[index]), Number.isFinite(top) ? top : scene.height);
}

/** Where the lines end that are in sight, in CSS pixels inside the plot. @param {Scene} scene */
export function endsOf(scene) {
  const { toX, toY } = pixelScales(scene);
  return scene.items.flatMap(({ xs, ys }) => {
    let last = xs.length - 1;
    while (last >= 0 && !(Number.isFinite(ys[last]) && toX(xs[last]) <= scene.width)) last--;
    return last < 0 ? [] : [{ left: toX(xs[last]), top: toY(ys[last]) }];
  });
}

/** @param {Item} item @param {number} index @param {number} left @param {number} top @returns {Hit} */
function hitOf({ line, band, name, run, color }, index, left, top) {
  return { line: line ?? undefined, band: band ?? undefined, name, run, color, index, left, top };
}

/** Whether a point belongs to an item. @param {Hit} hit @param {Item} item */
export function isHitOf(hit, { line, band }) {
  return (hit.line ?? hit.band) === (line ?? band);
}

/**
 * Draws what changes with the pointer: the cursor, its points and highlighted lines.
 * @param {CanvasRenderingContext2D} context  of an empty canvas
 * @param {Scene} scene @param {Overlay} overlay
 */
export function drawOverlay(context, scene, overlay) {
  const { items, x: axis, colors } = scene;
  const { hits, pinned } = overlay;
  context.lineJoin = "round";
  const { highlighted } = overlay;
  const isHovered = hits.length > 0;
  const emphasized = items.filter((item) => (isHovered ? isHitOf(hits[0], item) : highlighted?.includes(item.run)));
  // Without lines of the highlighted runs all others fade, unless it may be in the mean of a band.
  const isElsewhere = highlighted !== null && !items.some(({ band }) => band);
  if (items.length > emphasized.length && (emphasized.length > 0 || isElsewhere)) emphasize(context, scene, emphasized, isHovered);
  if (pinned !== null && items.length <= MAX_DETAILED_LINES) {
    for (const { left, top, color } of hitsAt(scene, toAxis(axis, pinned), 0)) {
      context.fillStyle = color;
      if (!Number.isNaN(top)) drawDot(context, left, top, 3);
    }
  }
  const { left, points, isOn } = cursorOf(scene, overlay);
  if (!(left >= 0 && left <= scene.width)) return;
  context.fillStyle = colors.text;
  context.globalAlpha = 0.6;
  context.fillRect(Math.round(left), 0, 1, scene.height);
  context.globalAlpha = 1;
  // The point that the cursor is on is drawn last, on top.
  points.reverse().forEach((hit, i) => {
    if (Number.isNaN(hit.top)) return;
    const isNearest = isOn && i === points.length - 1;
    context.fillStyle = colors.surface;
    drawDot(context, hit.left, hit.top, isNearest ? 5.5 : 4);
    context.fillStyle = hit.color;
    drawDot(context, hit.left, hit.top, isNearest ? 4 : 2.5);
  });
}

/**
 * Draws lines thicker: those of the highlighted run, or the hovered one, above a veil; of few lines
 * the hovered one without a veil.
 * @param {CanvasRenderingContext2D} context @param {Scene} scene @param {readonly Item[]} items
 * @param {boolean} isHovered
 */
function emphasize(context, scene, items, isHovered) {
  const { surface } = scene.colors;
  if (!isHovered || scene.items.length > MAX_DETAILED_LINES) {
    context.fillStyle = surface;
    context.globalAlpha = 0.75;
    context.fillRect(0, 0, scene.width, scene.height);
    context.globalAlpha = 1;
  }
  scene.bandCode?.drawBands(context, scene, items);
  for (const { item, column, isRaw, dash = [] } of linesOf(items)) {
    if (isRaw) continue;
    const path = traceLine(new Path2D(), scene, item, column);
    context.strokeStyle = surface;
    context.lineWidth = LINE_WIDTH + 4;
    if (isHovered) context.stroke(path);
    context.setLineDash([...dash]);
    context.strokeStyle = item.color;
    context.lineWidth = LINE_WIDTH + 1.1;
    context.stroke(path);
    context.setLineDash([]);
  }
  drawMarks(context, scene, items);
}

/**
 * The cursor's position and points, nearest first: at the pointer in this chart, or else at the x of
 * the pointer in another chart.
 * @param {Scene} scene @param {Overlay} overlay
 * @returns {{ left: number, points: Hit[], isOn: boolean }} `left` is NaN if there is no cursor;
 *   `isOn`: whether the cursor is on the first point, which it is not if the run of the pointer in
 *   another chart has no point here
 */
function cursorOf(scene, { hits, pointer, remote }) {
  const { toX } = pixelScales(scene);
  if (hits.length > 0) {
    const snapped = pointer && snap(scene, pointer.left);
    return { left: snapped === null ? hits[0].left : toX(snapped), points: hits.slice(0, MAX_MARKED_POINTS), isOn: true };
  }
  if (!remote) return { left: NaN, points: [], isOn: false };
  const x = toAxis(scene.x, remote.x);
  const points = hitsAt(scene, x, 0).filter(({ run }) => run === remote.run || scene.items.length <= MAX_DETAILED_LINES);
  points.sort((a, b) => Number(b.run === remote.run) - Number(a.run === remote.run));
  return { left: toX(x), points, isOn: points[0]?.run === remote.run };
}

/**
 * Draws a disc in the current fill colour.
 * @param {CanvasRenderingContext2D} context
 * @param {number} left  of its centre
 * @param {number} top  of its centre
 * @param {number} radius
 */
function drawDot(context, left, top, radius) {
  context.fill(new Path2D(dotPath(left, top, radius)));
}

/**
 * The number of runs in the mean, as text: `5`, or `3 of 5` if the group has more runs.
 * @param {import("./types.js").Band} band @param {number} index
 */
export function countText({ count, numRuns = 0 }, index) {
  return count[index] < numRuns ? `${count[index]} of ${numRuns}` : String(count[index]);
}
