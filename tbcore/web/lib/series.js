/** Computations on the columns of one line: range, nearest point, x values, pixel path. Pure. */

/**
 * @typedef {import("./chart-types.js").Columns} Columns
 * @typedef {import("./chart-types.js").XAxis} XAxis
 * @typedef {import("./chart-types.js").Segment} Segment
 * @typedef {import("./chart-types.js").PathLike} PathLike
 */

/** How far a band of a single point reaches to both sides, CSS pixels. */
const HALF_BAND = 4;

/**
 * The x column of a line. For `relative` it is a new array.
 * @param {Columns} columns
 * @param {XAxis} xAxis
 * @param {number} [start]  where relative time begins, seconds since the epoch
 * @returns {Float64Array}
 */
export function xColumn(columns, xAxis, start = columns.wallTime[0]) {
  if (xAxis === "step") return columns.step;
  if (xAxis === "wall_time") return columns.wallTime;
  return columns.wallTime.map((wallTime) => wallTime - start);
}

/**
 * Whether a column never falls, so that it can be searched by halving.
 * @param {ArrayLike<number>} column
 * @param {number} [from]
 * @param {number} [to]
 */
export function isRising(column, from = 0, to = column.length) {
  for (let i = from + 1; i < to; i++) if (!(column[i] >= column[i - 1])) return false;
  return true;
}

/**
 * The segments of a line.
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} [starts]  first points of segments
 * @returns {Segment[]}
 */
export function segmentsOf(xs, starts = [0]) {
  const edges = [...new Set([0, ...Array.from(starts), xs.length])].sort((a, b) => a - b);
  return edges.slice(1).map((to, i) => ({ from: edges[i], to, rising: isRising(xs, edges[i], to) }));
}

/**
 * Points of a segment in sight, with a neighbour on both sides.
 * @param {ArrayLike<number>} xs
 * @param {Segment} part
 * @param {number} min
 * @param {number} max
 * @returns {[from: number, to: number]}
 */
export function windowOf(xs, { from, to, rising }, min, max) {
  if (!rising) return [from, to];
  const first = lowerBound(xs, min, from, to);
  let last = lowerBound(xs, max, first, to);
  while (last < to && xs[last] === max) last++;
  return [Math.max(from, first - 1), Math.min(to, last + 1)];
}

/**
 * First index whose x is not below.
 * @param {ArrayLike<number>} xs  rising
 * @param {number} x
 * @param {number} low
 * @param {number} high
 */
function lowerBound(xs, x, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Index of the point whose x is nearest; of several segments the later one.
 * @param {ArrayLike<number>} xs
 * @param {number} x
 * @param {readonly Segment[]} [segments]
 * @returns {number} -1 when there is no point
 */
export function nearestIndex(xs, x, segments = segmentsOf(xs)) {
  let nearest = -1;
  let distance = Infinity;
  for (const { from, to, rising } of segments) {
    let isFirst = true; // of this segment: equally near is near enough
    const at = rising ? lowerBound(xs, x, from, to) : NaN;
    const end = rising ? Math.min(to, at + 1) : to;
    for (let i = rising ? Math.max(from, at - 1) : from; i < end; i++) {
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

/**
 * The greatest x that is not beyond `to`: the last row, unless a job was restarted or a part is shown.
 * @param {ArrayLike<number>} xs
 * @param {number} [to]
 * @returns {number} its index, of equal ones the last; -1 when there is none
 */
export function lastIndex(xs, to = Infinity) {
  let last = -1;
  for (let i = 0; i < xs.length; i++) if (xs[i] <= to && !(xs[i] < xs[last])) last = i;
  return last;
}

/**
 * The row that holds at an x: the nearest one, beyond the ends of a series at most as far as its points are apart there.
 * @param {ArrayLike<number>} xs
 * @param {number} x
 * @returns {number} its index; -1 when there is none
 */
export function rowAt(xs, x) {
  const index = nearestIndex(xs, x);
  const reach = Math.max(...[index - 1, index + 1].map((other) => Math.abs(xs[other] - xs[index]) || 0));
  return Math.abs(xs[index] - x) <= reach ? index : -1;
}

/**
 * Smallest and largest finite number of a column.
 * @param {ArrayLike<number>} column
 * @returns {[min: number, max: number] | null} null when there is none
 */
export function extent(column) {
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < column.length; i++) {
    const value = column[i];
    if (value < min && value !== -Infinity) min = value;
    if (value > max && value !== Infinity) max = value;
  }
  return min <= max && Number.isFinite(min) && Number.isFinite(max) ? [min, max] : null;
}

/**
 * Range of the values that are drawn between two x, with the neighbours outside, so that no line is cut off.
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} values
 * @param {number} from
 * @param {number} to
 * @returns {[min: number, max: number] | null}
 */
export function visibleExtent(xs, values, from, to) {
  let min = Infinity;
  let max = -Infinity;
  let last = NaN;
  let lastX = NaN;
  let wasInside = false;
  for (let i = 0; i < xs.length; i++) {
    const value = values[i];
    if (value - value !== 0) continue;
    const x = xs[i];
    const inside = x >= from && x <= to;
    const passes = x > to && lastX < from;
    if (inside || wasInside || passes) {
      if (value < min) min = value;
      if (value > max) max = value;
    }
    if ((inside && !wasInside) || passes) {
      if (last < min) min = last;
      if (last > max) max = last;
    }
    wasInside = inside;
    lastX = x;
    last = value;
  }
  return min <= max ? [min, max] : null;
}

/**
 * A range with some air around it.
 * @param {[min: number, max: number] | null} range
 * @param {number} share  of the range's length, added on both sides
 * @param {number} [fallback]  half the length shown around a single value of 0
 * @returns {[min: number, max: number]}
 */
export function padded(range, share, fallback = 1) {
  if (!range) return [0, 1];
  const [min, max] = range;
  if (min === max) {
    const half = min === 0 ? fallback : Math.max(Math.abs(min) * 0.1, Number.MIN_VALUE);
    return [min - half, max + half];
  }
  // Divided first: the length of [-1.7e308, 1.7e308] is not finite.
  const air = max * share - min * share;
  return [Math.max(min - air, -Number.MAX_VALUE), Math.min(max + air, Number.MAX_VALUE)];
}

/**
 * A range without outliers: from the 5 % to the 95 % quantile and half as much again on both sides, but no further than
 * the values go. Of long segments evenly spaced values are taken.
 * @param {ArrayLike<number>} values
 * @param {number} from
 * @param {number} to
 * @returns {[min: number, max: number] | null}
 */
export function clipRange(values, from, to) {
  const every = Math.max(1, Math.floor((to - from) / 500));
  const sample = [];
  for (let i = from; i < to; i += every) if (Number.isFinite(values[i])) sample.push(values[i]);
  if (sample.length === 0) return null;
  const sorted = Float64Array.from(sample).sort();
  const low = sorted[Math.floor((sorted.length - 1) * 0.05)];
  const high = sorted[Math.ceil((sorted.length - 1) * 0.95)];
  const air = high / 2 - low / 2;
  return [Math.max(sorted[0], low - air), Math.min(sorted[sorted.length - 1], high + air)];
}

/**
 * Draws a line as a path of at most four points per pixel column: the first, lowest, highest and last of a column look
 * the same as all. Points that have no place are skipped and do not break the line.
 * @param {PathLike} path
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} values
 * @param {(x: number) => number} toX  value to pixel
 * @param {(value: number) => number} toY  value to pixel; not finite where the value has no place
 * @param {number} [from]
 * @param {number} [to]
 * @returns {number} how many points the path has
 */
export function tracePath(path, xs, values, toX, toY, from = 0, to = xs.length) {
  let numPoints = 0;
  let column = NaN;
  // Of the column that is open: its first point is in the path already.
  let first = 0;
  let lowest = 0;
  let highest = 0;
  let lowestCameLast = false;
  let last = 0;
  let isOpen = false;
  for (let i = from; i < to; i++) {
    const y = toY(values[i]);
    const x = toX(xs[i]);
    if (!Number.isFinite(y) || !Number.isFinite(x)) continue;
    const pixel = Math.round(x);
    if (pixel === column) {
      if (y < highest) {
        highest = y;
        lowestCameLast = false;
      } else if (y > lowest) {
        lowest = y;
        lowestCameLast = true;
      }
      last = y;
      isOpen = true;
      continue;
    }
    if (isOpen) close();
    if (numPoints === 0) path.moveTo(x, y);
    else path.lineTo(x, y);
    numPoints++;
    column = pixel;
    first = lowest = highest = last = y;
    isOpen = false;
  }
  if (isOpen) close();
  return numPoints;

  function close() {
    const [one, other] = lowestCameLast ? [highest, lowest] : [lowest, highest];
    if (one !== first && one !== last) add(one);
    if (other !== first && other !== last) add(other);
    add(last);
  }

  /** @param {number} y */
  function add(y) {
    path.lineTo(column, y);
    numPoints++;
  }
}

/**
 * Draws the outline of a band: along the upper edge, and back along the lower.
 * @param {PathLike} path
 * @param {Float64Array} xs
 * @param {Float64Array} low
 * @param {Float64Array} high
 * @param {(x: number) => number} toX
 * @param {(value: number) => number} toY
 */
export function traceBand(path, xs, low, high, toX, toY) {
  if (xs.length === 1) {
    const toSide = (/** @type {number} */ i) => toX(xs[0]) + (i === 0 ? -HALF_BAND : HALF_BAND);
    return traceBand(path, Float64Array.of(0, 1), Float64Array.of(low[0], low[0]), Float64Array.of(high[0], high[0]), toSide, toY);
  }
  const runs = risingStretches(xs, 0, xs.length);
  if (runs.length > 1) {
    // After a restart the band begins anew: each stretch has an outline of its own.
    for (const range of runs) traceBand(path, xs.subarray(...range), low.subarray(...range), high.subarray(...range), toX, toY);
    return;
  }
  tracePath(path, xs, high, toX, toY);
  const lineTo = path.lineTo.bind(path);
  tracePath({ moveTo: lineTo, lineTo }, xs.slice().reverse(), low.slice().reverse(), toX, toY);
}

/**
 * Points from .. to - 1 as stretches whose x does not fall.
 * @param {ArrayLike<number>} xs
 * @param {number} from
 * @param {number} to
 */
export function risingStretches(xs, from, to) {
  /** @type {[from: number, to: number][]} */
  const runs = [];
  for (let start = from, i = from + 1; i <= to; i++) {
    if (i < to && xs[i] >= xs[i - 1]) continue;
    runs.push([start, i]);
    start = i;
  }
  return runs;
}

/**
 * Points that a line cannot show, each with a value at which to mark it: that of the last one before that has a place,
 * or else of the first one behind.
 * @param {ArrayLike<number>} values
 * @returns {{ index: number, markAt: number }[]} `markAt` is NaN when the whole line is like that
 */
export function nonFinitePoints(values) {
  /** @type {{ index: number, markAt: number }[]} */
  const points = [];
  let markAt = NaN;
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) points.push({ index: i, markAt });
    else {
      if (Number.isNaN(markAt)) for (const point of points) point.markAt = values[i];
      markAt = values[i];
    }
  }
  return points;
}

/**
 * Points of a band at which more runs than before have a value that is not finite, as `nonFinitePoints` has those of a
 * line.
 * @param {import("./chart-types.js").Band} band
 */
export function newNonFinitePoints({ mean, nonfinite }) {
  /** @type {{ index: number, markAt: number }[]} */
  const points = [];
  let markAt = mean.find(Number.isFinite) ?? NaN;
  for (let i = 0; nonfinite && i < nonfinite.length; i++) {
    if (Number.isFinite(mean[i])) markAt = mean[i];
    if (nonfinite[i] > (nonfinite[i - 1] ?? 0)) points.push({ index: i, markAt });
  }
  return points;
}

/**
 * How many of the values can be drawn, counted up to a limit.
 * @param {ArrayLike<number>} values
 * @param {number} limit
 * @param {number} [from]
 * @param {number} [to]
 */
export function countFinite(values, limit, from = 0, to = values.length) {
  let count = 0;
  for (let i = from; i < to && count < limit; i++) if (Number.isFinite(values[i])) count++;
  return count;
}
