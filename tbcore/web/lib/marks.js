/** Marks for what a line cannot show, as SVG paths in pixels of the plot. Pure. */

import { shareOf, toAxis } from "./axes.js";
import { countFinite, windowOf } from "./series.js";

/** Between marks of one kind, pixels: more of them would read as a bar. */
const GAP = 12;

/**
 * Points of segments that have only one, and all where they are far apart; a cross for NaN, and where a band loses a run
 * to one; triangles for infinities; arrows where outliers are cut off.
 * @param {import("./chart-types.js").Item} item
 * @param {{ x: import("./chart-types.js").Axis, y: import("./chart-types.js").Axis, width: number, height: number }} plot
 * @param {boolean} showsPoints
 * @param {boolean} showsCuts
 * @returns {{ fill: string, stroke: string }}
 */
export function marksOf({ line, xs, ys, raw, segments, nonFinite }, { x, y, width, height }, showsPoints, showsCuts) {
  const marks = { fill: "", stroke: "" };
  const toX = (/** @type {number} */ place) => shareOf(x.range, place) * width;
  const toY = (/** @type {number} */ place) => (1 - shareOf(y.range, place)) * height;
  for (const segment of segments) {
    const [from, to] = windowOf(xs, segment, ...x.range);
    const isSingle = countFinite(ys, 2, segment.from, segment.to) < 2;
    if (!isSingle && !(showsPoints && (to - from) * 10 <= width)) continue;
    for (let i = from; i < to; i++) {
      const left = toX(xs[i]);
      const top = toY(ys[i]);
      if (left >= 0 && left <= width && top >= 0 && top <= height) marks.fill += dotPath(left, top, isSingle ? 3 : 2);
    }
  }

  /** @type {Record<string, number>} */
  const last = {};
  /** @param {number} left @param {string} kind */
  const hasRoom = (left, kind) => {
    if (!(left >= 0 && left <= width) || Math.abs(left - last[kind]) < GAP) return false;
    last[kind] = left;
    return true;
  };
  for (const { index, markAt } of nonFinite) {
    const left = toX(xs[index]);
    const value = line ? line.value[index] : NaN;
    if (!hasRoom(left, String(value))) continue;
    if (value === Infinity) marks.fill += `M${left},0l-4,8h8z`;
    else if (value === -Infinity) marks.fill += `M${left},${height}l-4,-8h8z`;
    else {
      const top = toY(toAxis(y, markAt));
      const inside = Number.isFinite(top) ? Math.min(height - 4, Math.max(4, top)) : height - 4;
      marks.stroke += `M${left - 3.2},${inside - 3.2}l6.4,6.4m0,-6.4l-6.4,6.4`;
    }
  }
  if (!line) return marks;
  const column = raw ?? ys;
  for (let i = 0; showsCuts && i < xs.length; i++) {
    const isAbove = column[i] > y.range[1];
    if ((!isAbove && !(column[i] < y.range[0])) || !Number.isFinite(column[i])) continue;
    const left = toX(xs[i]);
    if (hasRoom(left, isAbove ? "above" : "below")) {
      marks.stroke += isAbove ? `M${left - 4},6l4,-4l4,4` : `M${left - 4},${height - 6}l4,4l4,-4`;
    }
  }
  return marks;
}

/**
 * What to draw the strokes of marks with: first a halo, or they would be lost on a line of their colour.
 * @param {string} color
 * @param {string} surface
 * @returns {[color: string, width: number][]}
 */
export function strokesOf(color, surface) {
  return [
    [surface, 3.8],
    [color, 1.8],
  ];
}

/**
 * What a sample of a line is filled with, as CSS.
 * @param {string} color
 * @param {readonly number[]} [dash]  pixels on, pixels off
 */
export function sampleOf(color, dash) {
  if (!dash) return color;
  const [on, off] = dash;
  return `repeating-linear-gradient(90deg, ${color} 0 ${on}px, transparent ${on}px ${on + off}px)`;
}

/** @param {number} left @param {number} top @param {number} radius */
export function dotPath(left, top, radius) {
  return `M${left - radius},${top}a${radius},${radius},0,1,0,${2 * radius},0a${radius},${radius},0,1,0,${-2 * radius},0`;
}
