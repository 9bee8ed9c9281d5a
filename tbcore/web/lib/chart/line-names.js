/** Names of lines beside their ends, where they fit. Loaded for figures and for wide charts. */

import { FONT, pixelScales } from "./axes.js";

/** @typedef {import("./types.js").Item} Item */

/** Figures with more lines name none of them beside the plot, and neither do charts on the screen with more than the second number. */
const [MAX_NAMED_LINES, MAX_ON_SCREEN] = [8, 12];
/** The part of the plot at its right edge whose points say where a line is, as a share of its width: the last point alone may be noise. */
const END_SHARE = 0.03;
/** Lines that end farther from the right edge are not named beside the plot, as a share of its width. */
const MAX_DISTANCE_FROM_EDGE = 0.1;
/** How far a name may be from the end of its line, in lines of text. */
const MAX_SHIFT = 0.8;

// On the screen, CSS pixels.
const MIN_CHART_WIDTH_PX = 560;
/** Distance of names from the plot and from the edge of the chart. */
const MARGIN_PX = 6;
const TEXT_HEIGHT_PX = 13;
/** Names take at most this share of the chart's width. */
const MAX_SHARE = 0.25;

/** The space for names beside the plot, CSS pixels; false for none. @param {import("./model.js").ChartModel} model @param {number} width  of the chart, CSS pixels */
export function spaceForNames({ axisItems }, width) {
  if (width < MIN_CHART_WIDTH_PX || axisItems.length > MAX_ON_SCREEN) return false;
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  context.font = `11px ${FONT}`;
  const widths = axisItems.map(({ name }) => Math.ceil(context.measureText(fitted(context, name, MAX_SHARE * width)).width));
  return widths.length > 0 ? Math.max(...widths) + 2 * MARGIN_PX : false;
}

/** Draws the names for which there is space. @param {CanvasRenderingContext2D} context  in CSS pixels of the plot @param {import("./types.js").Scene} scene */
export function drawNames(context, scene) {
  const width = context.canvas.clientWidth;
  if (width < MIN_CHART_WIDTH_PX) return;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = scene.colors.surface;
  const texts = new Map(scene.axisItems.map((item) => [item, fitted(context, item.name, MAX_SHARE * width)]));
  const textOf = (/** @type {Item} */ item) => texts.get(item) ?? "";
  for (const { item, left, top } of namesOnScreen(scene, TEXT_HEIGHT_PX, (item) => context.measureText(textOf(item)).width)) {
    context.strokeText(textOf(item), left, top);
    context.fillStyle = item.color;
    context.fillText(textOf(item), left, top);
  }
}

/** A name without its beginning, if all of it is too wide: names mostly differ at their ends. @param {CanvasRenderingContext2D} context @param {string} name @param {number} width  CSS pixels */
function fitted(context, name, width) {
  if (context.measureText(name).width <= width) return name;
  let from = 1;
  while (from < name.length && context.measureText(`…${name.slice(from)}`).width > width) from++;
  return `…${name.slice(from)}`;
}

/**
 * The names of all lines in sight, none over another: right of the plot in the order of the lines that end near its edge; of a
 * line that ends before, at its end, or if another name is there, right of the plot as in a legend.
 * @param {import("./types.js").Scene} scene
 * @param {number} textHeight  CSS pixels
 * @param {(item: Item) => number} widthOf  of a name, CSS pixels
 * @returns {{ item: Item, left: number, top: number }[]}  where each name begins, and its middle
 */
export function namesOnScreen(scene, textHeight, widthOf) {
  const { axisItems, width, height } = scene;
  if (axisItems.length > MAX_ON_SCREEN) return [];
  /** @type {{ item: Item, left: number, top: number }[]} */
  const inside = [];
  const beside = axisItems.flatMap((item) => {
    const top = topAtEdge(scene, item);
    if (top >= 0 && top <= height) return [{ item, top }];
    const end = lastInSight(scene, item);
    if (!end) return [];
    const left = end.left + MARGIN_PX;
    const right = left + widthOf(item);
    const isTaken = inside.some((other) => Math.abs(other.top - end.top) < textHeight && other.left < right && left < other.left + widthOf(other.item));
    if (isTaken || right > width) return [{ item, top: end.top }];
    inside.push({ item, left, top: end.top });
    return [];
  });
  beside.sort((a, b) => a.top - b.top);
  const tops = spread(beside.map(({ top }) => top), textHeight, height);
  return [...inside, ...beside.map(({ item }, index) => ({ item, left: width + MARGIN_PX, top: tops[index] }))];
}

/** The last point of a line inside the plot, CSS pixels; null if none is. @param {import("./types.js").Scene} scene @param {Item} item */
function lastInSight(scene, { xs, ys }) {
  const { toX, toY } = pixelScales(scene);
  for (let i = xs.length - 1; i >= 0; i--) {
    const [left, top] = [toX(xs[i]), toY(ys[i])];
    if (left >= 0 && left <= scene.width && top >= 0 && top <= scene.height) return { left, top };
  }
  return null;
}

/**
 * The names that fit at the right edge of the plot without a collision, each near the end of its
 * line.
 * @param {import("./types.js").Scene} scene
 * @param {number} textHeight  distance of two names, in units of the plot
 * @returns {{ item: Item, top: number }[]} from the top; `top`: the middle of the text
 */
export function namesAtEnds(scene, textHeight) {
  const { axisItems, height } = scene;
  if (axisItems.length > MAX_NAMED_LINES) return [];
  let ends = axisItems.map((item) => ({ item, top: topAtEdge(scene, item) })).filter(({ top }) => top >= 0 && top <= height);
  ends.sort((a, b) => a.top - b.top);
  // The name that would be farthest from its line is left out, until all are near.
  for (;;) {
    const tops = spread(ends.map(({ top }) => top), textHeight, height);
    const shifts = ends.map(({ top }, index) => Math.abs(tops[index] - top));
    const worst = Math.max(0, ...shifts);
    if (worst <= MAX_SHIFT * textHeight) return ends.map(({ item }, index) => ({ item, top: tops[index] }));
    ends = ends.filter((_, index) => index !== shifts.indexOf(worst));
  }
}

/** The median height of a line where it ends or leaves the plot; NaN if that is not near the right edge. @param {import("./types.js").Scene} scene @param {Item} item */
function topAtEdge(scene, { xs, ys }) {
  const { toX, toY } = pixelScales(scene);
  const [, edge] = scene.x.range;
  let last = -1;
  let next = -1;
  for (let i = 0; i < xs.length; i++) {
    if (!Number.isFinite(ys[i])) continue;
    if (xs[i] <= edge && !(xs[i] < xs[last])) [last, next] = [i, -1];
    else if (xs[i] > edge && next < 0) next = i;
  }
  if (last < 0) return NaN;
  const end = next < 0 ? toX(xs[last]) : scene.width;
  if (end < scene.width * (1 - MAX_DISTANCE_FROM_EDGE)) return NaN;
  const tops = [...ys].map(toY).filter((top, i) => Number.isFinite(top) && xs[i] <= edge && toX(xs[i]) > end - END_SHARE * scene.width);
  const share = (edge - xs[last]) / (xs[next] - xs[last]);
  if (next >= 0) tops.push(toY(ys[last] + share * (ys[next] - ys[last])));
  return tops.sort((a, b) => a - b)[tops.length >> 1];
}

/**
 * Positions at least `distance` apart and inside the plot, as near as possible to the given ones:
 * those that collide share out the shift.
 * @param {readonly number[]} tops  ascending
 * @param {number} distance
 * @param {number} height
 */
function spread(tops, distance, height) {
  /** Names that touch each other. @type {{ sum: number, count: number }[]} */
  const groups = [];
  const topOf = (/** @type {{ sum: number, count: number }} */ { sum, count }) => {
    const size = (count - 1) * distance;
    return Math.max(0, Math.min(height - size, sum / count - size / 2));
  };
  for (const top of tops) {
    let group = { sum: top, count: 1 };
    for (let above = groups.at(-1); above && topOf(above) + above.count * distance > topOf(group); above = groups.at(-1)) {
      groups.pop();
      group = { sum: above.sum + group.sum, count: above.count + group.count };
    }
    groups.push(group);
  }
  return groups.flatMap((group) => Array.from({ length: group.count }, (_, i) => topOf(group) + i * distance));
}
