/** Marks for what a line cannot show, as SVG path data in pixels of the plot. Pure functions, no DOM. */

import { pixelScales, toAxis } from "./ranges.js";
import { countFinite, windowOf } from "./series.js";

/** Minimum distance between marks of one shape: closer marks would look like a bar. */
const MIN_MARK_DISTANCE_PX = 12;
/** Points are marked with dots if they are at least this far apart on average. */
const MIN_DOT_DISTANCE_PX = 10;

/**
 * The marks of a line or band:
 *
 *     dot        a segment of one point, or every point where points are far apart
 *     cross      NaN; in a band, one more run whose value is not finite
 *     triangle   an infinity, at the top or bottom of the plot
 *     arrow      an outlier above or below the plot
 *
 * @param {import("./types.js").Item} item
 * @param {Pick<import("./types.js").Scene, "x" | "y" | "width" | "height">} plot
 * @param {boolean} showsPoints  whether to mark points that are far apart
 * @param {boolean} showsOutliers  whether to mark outliers
 * @returns {{ fill: string, stroke: string }} path data to fill, and path data to stroke
 */
export function marksOf({ line, xs, ys, raw, segments, nonFinite }, plot, showsPoints, showsOutliers) {
  const marks = { fill: "", stroke: "" };
  const { x, y, width, height } = plot;
  const { toX, toY } = pixelScales(plot);
  for (const segment of segments) {
    const [from, to] = windowOf(xs, segment, ...x.range);
    const isSingle = countFinite(ys, 2, segment.from, segment.to) < 2;
    if (!isSingle && !(showsPoints && (to - from) * MIN_DOT_DISTANCE_PX <= width)) continue;
    for (let i = from; i < to; i++) {
      const left = toX(xs[i]);
      const top = toY(ys[i]);
      if (left >= 0 && left <= width && top >= 0 && top <= height) marks.fill += dotPath(left, top, isSingle ? 3 : 2);
    }
  }

  /** Maps a shape to the position of its last mark. @type {Record<string, number>} */
  const lastLeft = {};
  /**
   * Returns whether a mark is to be drawn at a position: inside the plot, and not too close to the
   * last mark of the same shape. If so, the mark becomes the last mark of this shape.
   * @param {number} left @param {string} shape
   */
  const addMark = (left, shape) => {
    if (!(left >= 0 && left <= width) || Math.abs(left - lastLeft[shape]) < MIN_MARK_DISTANCE_PX) return false;
    lastLeft[shape] = left;
    return true;
  };
  for (const { index, markAt } of nonFinite) {
    const left = toX(xs[index]);
    const value = line ? line.value[index] : NaN;
    if (!addMark(left, String(value))) continue;
    if (value === Infinity) marks.fill += `M${left},0l-4,8h8z`;
    else if (value === -Infinity) marks.fill += `M${left},${height}l-4,-8h8z`;
    else {
      const top = toY(toAxis(y, markAt));
      const insideTop = Number.isFinite(top) ? Math.min(height - 4, Math.max(4, top)) : height - 4;
      marks.stroke += `M${left - 3.2},${insideTop - 3.2}l6.4,6.4m0,-6.4l-6.4,6.4`;
    }
  }
  if (!line) return marks;
  const column = raw ?? ys;
  for (let i = 0; showsOutliers && i < xs.length; i++) {
    const isAbove = column[i] > y.range[1];
    if ((!isAbove && !(column[i] < y.range[0])) || !Number.isFinite(column[i])) continue;
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

/**
 * The number of runs in the mean, as text: `5`, or `3 of 5` if the group has more runs.
 * @param {import("./types.js").Band} band @param {number} index
 */
export function countText({ count, numRuns = 0 }, index) {
  return count[index] < numRuns ? `${count[index]} of ${numRuns}` : String(count[index]);
}
