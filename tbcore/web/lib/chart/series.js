/** Computations on the columns of one line: x values, ranges, nearest point, path. Pure functions, no DOM. */

/**
 * @typedef {ArrayLike<number>} Numbers
 * @typedef {(values: Float64Array, weight: number) => Float64Array} Average  the moving averages of
 *   finite values; a new array
 * @typedef {import("./types.js").PathLike} PathLike
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").Segment} Segment
 */

/**
 * The x column of a line: `x`, if it has one. For `relative` it is a new array, otherwise one of the
 * line's own. Only a line with `wallTime` has x values on an axis of times.
 * @param {import("./types.js").Columns & { wallTime?: any }} columns @param {import("./types.js").XAxis} xAxis
 * @param {number} [start]  zero of relative time, seconds since the epoch
 * @returns {Float64Array}
 */
export function xColumn(columns, xAxis, start = columns.wallTime?.[0]) {
  if (columns.x) return columns.x;
  if (xAxis === "step") return columns.step;
  if (xAxis === "wall_time") return columns.wallTime;
  return columns.wallTime.map((/** @type {number} */ wallTime) => wallTime - start);
}

/**
 * Whether the values of rows from .. to - 1 never decrease, so that binary search works. False if
 * there are several rows and any of them is NaN.
 * @param {Numbers} column @param {number} [from] @param {number} [to]
 */
export function isRising(column, from = 0, to = column.length) {
  for (let i = from + 1; i < to; i++) if (!(column[i] >= column[i - 1])) return false;
  return true;
}

/** The segments of a line. @param {Numbers} xs @param {Numbers} [starts]  index of the first point of each segment */
export function segmentsOf(xs, starts = [0]) {
  const edges = [...new Set([0, ...Array.from(starts), xs.length])].sort((a, b) => a - b);
  return edges.slice(1).map((to, i) => ({ from: edges[i], to, rising: isRising(xs, edges[i], to) }));
}

/**
 * The points of a segment between two x values, and one more on each side. If x decreases anywhere
 * in the segment, all points of the segment.
 * @param {Numbers} xs @param {Segment} segment @param {number} min @param {number} max
 * @returns {[from: number, to: number]} points from .. to - 1
 */
export function windowOf(xs, { from, to, rising }, min, max) {
  if (!rising) return [from, to];
  const first = lowerBound(xs, min, from, to);
  let last = lowerBound(xs, max, first, to);
  while (last < to && xs[last] === max) last++;
  return [Math.max(from, first - 1), Math.min(to, last + 1)];
}

/**
 * The first index from `low` to `high` - 1 whose value is not less than x; `high` if there is none.
 * @param {Numbers} xs  ascending
 * @param {number} x @param {number} low @param {number} high
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
 * The index of the greatest x that is at most `to`. It is not always the last row: after a restart,
 * x decreases. On an axis of numbers, x may go back and forth: there, the last such row.
 * @param {Numbers} xs @param {number} [to] @param {import("./types.js").XAxis} [xAxis]
 * @returns {number} the last index if several are equal; -1 if there is none
 */
export function lastIndex(xs, to = Infinity, xAxis) {
  let last = -1;
  for (let i = 0; i < xs.length; i++) if (xs[i] <= to && (xAxis === "number" || !(xs[i] < xs[last]))) last = i;
  return last;
}

/** The smallest and the largest finite number of a column; null if there is none. @param {Numbers} column @returns {Range | null} */
export function extent(column) {
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < column.length; i++) {
    const value = column[i];
    if (value < min && value !== -Infinity) min = value;
    if (value > max && value !== Infinity) max = value;
  }
  return min <= max ? [min, max] : null;
}

/**
 * The range of the finite values between two x values, including one neighbour on each side,
 * because the lines to the neighbours are visible, too. Both ends of a line across the whole
 * interval count.
 * @param {Numbers} xs @param {Numbers} values @param {number} from @param {number} to
 * @returns {Range | null} null if there are none
 */
export function visibleExtent(xs, values, from, to) {
  let min = Infinity;
  let max = -Infinity;
  let last = NaN;
  let lastX = NaN;
  let wasInside = false;
  for (let i = 0; i < xs.length; i++) {
    const value = values[i];
    // Not finite.
    if (value - value !== 0) continue;
    const x = xs[i];
    const inside = x >= from && x <= to;
    // The last is of a line across the whole range.
    if (inside || wasInside || (x > to && lastX < from)) {
      if (value < min) min = value;
      if (value > max) max = value;
      if (last < min) min = last;
      if (last > max) max = last;
    }
    wasInside = inside;
    lastX = x;
    last = value;
  }
  return min <= max ? [min, max] : null;
}

/** How far out of the usual range a line is left out, in lengths of that range. */
export const FAR_LENGTHS = 10;

/**
 * Finds the lines that squeeze all others: they reach far out of the usual range of the chart's
 * lines. Up to a third of the lines, at each end, are ignored for this range. If there is one, so
 * are lines half as far out: they are more like it than like the others. If these are half of the lines or more, none is far.
 * @param {readonly (Range | null)[]} extents  smallest and largest value of each line
 * @returns {{ usual: Range, isFar: boolean[] }} `usual`: the usual range
 */
export function farLines(extents) {
  const known = extents.filter((extent) => extent !== null);
  const numIgnored = Math.floor(known.length / 3);
  const low = known.map(([min]) => min).sort((a, b) => a - b)[numIgnored];
  const high = known.map(([, max]) => max).sort((a, b) => b - a)[numIgnored];
  const far = FAR_LENGTHS * (high - low || Math.abs(high) || 1);
  const beyond = extents.map((extent) => (extent ? Math.max(low - extent[0], extent[1] - high) : 0));
  const least = Math.max(...beyond) > far ? far / 2 : far;
  const areFew = 2 * beyond.filter((distance) => distance > least).length < known.length;
  return { usual: [low, high], isFar: beyond.map((distance) => areFew && distance > least) };
}

/**
 * The end of the linear part of a symmetric-logarithmic axis: the power of ten up to which about a
 * share of the values are, but at least a millionth of the largest one. Each column counts alike, by
 * about 100 evenly spaced values if the share is 0.1, and all if it is 0; zeros do not count.
 * @param {readonly Float64Array[]} columns
 * @param {number} share  0 for the smallest of all values
 */
export function linearPart(columns, share) {
  const sizes = columns.flatMap((column) => {
    const every = Math.ceil((column.length * share) / 10);
    const some = column.filter((value, i) => !(i % every) && value && Number.isFinite(value)).map(Math.abs).sort();
    return share ? [...some] : [...some.subarray(0, 1), ...some.subarray(-1)];
  });
  sizes.sort((a, b) => a - b);
  const size = Math.max(sizes[sizes.length * share | 0], sizes[sizes.length - 1] / 1e6);
  // 1e-5 as float32 is slightly less.
  return size > 0 ? Number(`1e${Math.floor(Math.log10(size) + 1e-6)}`) : 1;
}

/**
 * Adds a line to a path, with at most four points per column of pixels: the first, lowest, highest
 * and last point of a column, which look the same as all of its points. Points that cannot be drawn
 * are skipped and do not break the line.
 *
 * The first point of a column is added at once, the others when the next column begins.
 * @param {PathLike} path @param {Numbers} xs @param {Numbers} values
 * @param {(x: number) => number} toX  x to pixel
 * @param {(value: number) => number} toY  value to pixel; non-finite if it cannot be drawn
 * @param {number} [from]  first point
 * @param {number} [to]  after the last point
 * @returns {number} number of points added
 */
export function tracePath(path, xs, values, toX, toY, from = 0, to = xs.length) {
  let numPoints = 0;
  let column = NaN;
  // The y of the current column's points, in pixels from the top: `lowest` is the largest of them.
  // The first point is already in the path.
  let first = 0;
  let lowest = 0;
  let highest = 0;
  let lowestCameLast = false;
  let last = 0;
  // Whether the column has points that are not in the path yet.
  let isPending = false;
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
      isPending = true;
      continue;
    }
    if (isPending) addColumn();
    if (numPoints === 0) path.moveTo(x, y);
    else path.lineTo(x, y);
    numPoints++;
    column = pixel;
    first = lowest = highest = last = y;
    isPending = false;
  }
  if (isPending) addColumn();
  return numPoints;

  /** Adds the extremes of the column in their order, and its last point. */
  function addColumn() {
    for (const y of lowestCameLast ? [highest, lowest] : [lowest, highest]) if (y !== first && y !== last) add(y);
    add(last);
  }

  /** @param {number} y */
  function add(y) {
    path.lineTo(column, y);
    numPoints++;
  }
}

/** Splits points from .. to - 1 into stretches in which x never decreases. @param {Numbers} xs @param {number} from @param {number} to */
export function risingStretches(xs, from, to) {
  /** @type {[from: number, to: number][]} */
  const stretches = [];
  for (let start = from, i = from + 1; i <= to; i++) {
    if (i < to && xs[i] >= xs[i - 1]) continue;
    stretches.push([start, i]);
    start = i;
  }
  return stretches;
}

/** The indices of a line's non-finite points. @param {Numbers} values */
export function nonFinitePoints(values) {
  /** @type {number[]} */
  const points = [];
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) points.push(i);
  return points;
}

/**
 * The number of finite values in rows from .. to - 1, counted only up to a limit.
 * @param {Numbers} values @param {number} limit @param {number} [from] @param {number} [to]
 */
export function countFinite(values, limit, from = 0, to = values.length) {
  let count = 0;
  for (let i = from; i < to && count < limit; i++) if (Number.isFinite(values[i])) count++;
  return count;
}

// --- smoothing -----------------------------------------------------------------------------------

/** The largest weight that users can choose, which averages over 100,000 points. With a weight of 1 the curve would stay at its first value. */
export const MAX_SMOOTHING = 0.99999;

/**
 * Smooths a column, as docs/python.md defines it. The server gives the same numbers.
 * Non-finite values are skipped and returned unchanged, and so is a constant series.
 * @param {Numbers} values
 * @param {number} weight  from 0 (no smoothing) to below 1
 * @param {readonly number[]} [segments]  index of the first value of each segment. A segment is
 *   smoothed without those before it, because a restarted job starts over
 * @param {Average} [average]
 * @returns {Float64Array} same length as `values`
 */
export function smoothed(values, weight, segments = [0], average = exponential) {
  const result = Float64Array.from(values);
  const starts = segments[0] === 0 ? segments : [0, ...segments];
  starts.forEach((from, part) => {
    const finite = result.subarray(from, starts[part + 1]).filter(Number.isFinite);
    if (weight === 0 || finite.every((value) => value === finite[0])) return;
    const averages = average(finite, weight);
    for (let i = from, next = 0; next < averages.length; i++) if (Number.isFinite(result[i])) result[i] = averages[next++];
  });
  return result;
}

/**
 * TensorBoard's debiased average, which follows the values with a lag:
 *
 *     average[i] = weight * average[i - 1] + (1 - weight) * value[i]        average[-1] = 0
 *     smoothed[i] = average[i] / (1 - weight ** (i + 1))
 * @type {Average}
 */
function exponential(values, weight) {
  let average = 0;
  let power = 1;
  return values.map((value) => {
    average = weight * average + (1 - weight) * value;
    power *= weight;
    return average / (1 - power);
  });
}
