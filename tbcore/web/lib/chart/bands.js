/** What charts need for bands: their items, and the drawing of their areas. Loaded with the first band. No DOM. */

import { pixelScales, union } from "./axes.js";
import { FAR_LENGTHS, extent, isRising, risingStretches, tracePath } from "./series.js";

/**
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").PathLike} PathLike
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {import("./types.js").Segment} Segment
 * @typedef {import("./series.js").Numbers} Numbers
 */

export const BAND_OPACITY = 0.18;
/** Of more groups, only those that are pointed at or highlighted have an area: together they would hide everything. */
export const MAX_AREAS = 8;
/** A mean over fewer runs, which may be those that diverge, does not make the range of all runs longer than this many times. */
const MAX_GROWTH = 2;
/** Half the width of a band that has only one point, CSS pixels. */
const SINGLE_POINT_HALF_WIDTH_PX = 4;
/** Half the width of the line at the mean of a bar, CSS pixels. */
const MEAN_HALF_WIDTH_PX = 8;

/**
 * What the item of a band has in place of that of a line.
 * @param {Band} band
 * @param {Float64Array} xs  in axis coordinates
 */
export function partsOfBand(band, xs) {
  const fewer = hasFewerRuns(band);
  /** The columns without what is over fewer runs, which has no area, and of which the mean sets the range only if it is near the others. @param {Float64Array[]} columns */
  const overAll = (columns) => {
    if (!fewer.includes(true)) return columns;
    const others = columns.map((column) => column.map((value, i) => (fewer[i] ? NaN : value)));
    const [mean, known] = [extent(columns[0]), union(others.map(extent))];
    return mean && known && isNear(mean, known) ? [columns[0], ...others.slice(1)] : others;
  };
  return { overAll, segments: bandSegments(xs, fewer), nonFinite: newNonFinitePoints(band) };
}

/** Whether a range makes another at most MAX_GROWTH times as long; one of equal values counts as from 0 on. @param {import("./types.js").Range} range @param {import("./types.js").Range} known */
function isNear(range, known) {
  const length = Math.max(range[1], known[1]) - Math.min(range[0], known[0]);
  return length <= MAX_GROWTH * (known[1] - known[0] || Math.abs(known[0]));
}

/** The columns that set the range of a view: of a mean that is over fewer runs in all of it, the mean after all. @param {Item} item @param {number} from @param {number} to */
export function rangeColumns({ xs, ys, columns }, from, to) {
  const isInView = columns[0].some((value, i) => Number.isFinite(value) && xs[i] >= from && xs[i] <= to);
  return isInView || columns[0] === ys ? columns : [ys];
}

/** The indices of a band's points at which the number of runs with a non-finite value increases. @param {Band} band */
export function newNonFinitePoints({ nonfinite }) {
  /** @type {number[]} */
  const points = [];
  for (let i = 0; nonfinite && i < nonfinite.length; i++) if (nonfinite[i] > (nonfinite[i - 1] ?? 0)) points.push(i);
  return points;
}

/**
 * At which points the mean of a band is over fewer runs than at an earlier one: it may jump there
 * although no run does. While the view is only a part, `overview` and `overviewCount` have what is
 * before it.
 * @param {Band} band
 * @returns {boolean[]}
 */
function hasFewerRuns({ x, count, overview = x, overviewCount = count }) {
  let most = 0;
  let before = 0;
  return Array.from(count, (runs, i) => {
    while (overview[before] <= x[i]) most = Math.max(most, overviewCount[before++]);
    most = Math.max(most, runs);
    return runs < most;
  });
}

/**
 * The segments of a band: those with all its runs, and those with fewer. Both have the point where
 * one ends and the other begins, so that the lines meet.
 * @param {Numbers} xs @param {readonly boolean[]} fewer  from `hasFewerRuns`
 * @returns {Segment[]}
 */
function bandSegments(xs, fewer) {
  /** @type {Segment[]} */
  const segments = [];
  for (let from = 0, to = 1; to <= xs.length; to++) {
    if (to < xs.length && fewer[to] === fewer[from]) continue;
    const start = fewer[from] ? Math.max(0, from - 1) : from;
    const end = fewer[from] ? Math.min(xs.length, to + 1) : to;
    segments.push({ from: start, to: end, rising: isRising(xs, start, end), fewer: fewer[from] });
    from = to;
  }
  return segments;
}

// --- drawing -------------------------------------------------------------------------------------

/**
 * The items whose areas are drawn.
 * @param {readonly Item[]} items @param {readonly Item[]} [emphasized]  of these, those that have no area otherwise
 */
export function withArea(items, emphasized) {
  const areas = items.filter(({ band }) => band && !band.bar);
  return areas.length > MAX_AREAS ? areas.filter((item) => emphasized?.includes(item)) : emphasized ? [] : areas;
}

/** Fills the areas of bands. @param {CanvasRenderingContext2D} context @param {Scene} scene @param {readonly Item[]} [emphasized]  see `withArea` */
export function drawBands(context, scene, emphasized) {
  context.globalAlpha = BAND_OPACITY;
  for (const item of withArea(scene.items, emphasized)) {
    context.fillStyle = item.color;
    for (const path of traceAreas(() => new Path2D(), scene, item)) context.fill(path);
  }
  context.globalAlpha = 1;
}

/**
 * Adds the areas of a band to paths, the widest first. With `clip`, the parts that reach far out of
 * range are left out: they would cover everything from one edge of the plot to the other.
 * @template {PathLike} P
 * @param {() => P} makePath @param {Pick<Scene, "x" | "y" | "width" | "height" | "clip">} scene
 * @param {Item} item
 */
export function traceAreas(makePath, scene, { xs, columns, segments }) {
  const { toX, toY } = pixelScales(scene);
  const [bottom, top] = scene.y.range;
  const far = scene.clip ? FAR_LENGTHS * (top - bottom) : Infinity;
  const paths = [];
  for (let i = 1; i < columns.length; i += 2) {
    const path = makePath();
    const highs = columns[i + 1];
    const lows = lowerEdges(scene, columns[i], highs);
    for (const { from, to, fewer } of segments) {
      for (let start = from, end = from; end <= to && !fewer; end++) {
        if (end < to && !(lows[end] < bottom - far || highs[end] > top + far)) continue;
        const [x, low, high] = [xs, lows, highs].map((column) => column.subarray(start, end));
        if (start < end) traceBand(path, x, low, high, toX, toY);
        start = end + 1;
      }
    }
    paths.push(path);
  }
  return paths;
}

/** The lower edges of a band: the end of a log axis in place of those that are 0 or below, which it does not have. @param {Pick<Scene, "y">} scene @param {Float64Array} lows @param {Float64Array} highs */
function lowerEdges({ y }, lows, highs) {
  return y.log === true ? lows.map((low, i) => (Number.isFinite(highs[i]) && !Number.isFinite(low) ? y.range[0] : low)) : lows;
}

/**
 * The mark of a band that is a bar: from low to high, with a longer line across it at the mean.
 * @param {Item} item @param {Pick<Scene, "x" | "y" | "width" | "height">} scene
 * @returns {{ fill: string, stroke: string }} as of \`marksOf\`
 */
export function barOf({ xs, columns }, scene) {
  const { toX, toY } = pixelScales(scene);
  const left = toX(xs[0]);
  const [mean, , high] = columns.map(([value]) => toY(value));
  const low = toY(lowerEdges(scene, columns[1], columns[2])[0]);
  let stroke = "";
  if (!(left >= 0 && left <= scene.width)) return { fill: "", stroke };
  if (mean >= 0 && mean <= scene.height) stroke += `M${left - MEAN_HALF_WIDTH_PX},${mean}h${2 * MEAN_HALF_WIDTH_PX}`;
  const ends = [low, high].filter(Number.isFinite).map((top) => Math.min(scene.height, Math.max(0, top)));
  if (ends.length === 2) stroke += `M${left},${ends[0]}V${ends[1]}`;
  for (const top of ends) stroke += `M${left - SINGLE_POINT_HALF_WIDTH_PX},${top}h${2 * SINGLE_POINT_HALF_WIDTH_PX}`;
  return { fill: "", stroke };
}

/**
 * Adds the outline of a band to a path: along the upper edge, and back along the lower one.
 * @param {PathLike} path @param {Float64Array} xs @param {Float64Array} low @param {Float64Array} high
 * @param {(x: number) => number} toX @param {(value: number) => number} toY
 */
export function traceBand(path, xs, low, high, toX, toY) {
  if (xs.length === 1) {
    const toSide = (/** @type {number} */ i) => toX(xs[0]) + (i === 0 ? -SINGLE_POINT_HALF_WIDTH_PX : SINGLE_POINT_HALF_WIDTH_PX);
    return traceBand(path, Float64Array.of(0, 1), Float64Array.of(low[0], low[0]), Float64Array.of(high[0], high[0]), toSide, toY);
  }
  const stretches = risingStretches(xs, 0, xs.length);
  if (stretches.length > 1) {
    // After a restart x decreases: each stretch between restarts has its own outline.
    for (const range of stretches) traceBand(path, xs.subarray(...range), low.subarray(...range), high.subarray(...range), toX, toY);
    return;
  }
  tracePath(path, xs, high, toX, toY);
  // The lower edge continues the outline, so its first point is joined to the upper edge.
  const lineTo = path.lineTo.bind(path);
  tracePath({ moveTo: lineTo, lineTo }, xs.slice().reverse(), low.slice().reverse(), toX, toY);
}
