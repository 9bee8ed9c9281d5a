/**
 * Computations on the columns of one line: range, nearest point, x values, pixel path. Pure, so that they are tested
 * without a browser; `line-chart.js` draws with them.
 */

/**
 * One series as columns of equal length, in the order in which it was written.
 * @typedef {object} Columns
 * @property {Float64Array} step
 * @property {Float64Array} wallTime  seconds since the epoch
 * @property {Float64Array} value  NaN and infinities included
 */

/** @typedef {"step" | "relative" | "wall_time"} XAxis */

/**
 * The x column of a line. For `relative` it is a new array: seconds since the first point of that line.
 * @param {Columns} columns
 * @param {XAxis} xAxis
 * @returns {Float64Array}
 */
export function xColumn(columns, xAxis) {
  if (xAxis === "step") return columns.step;
  if (xAxis === "wall_time") return columns.wallTime;
  const start = columns.wallTime[0];
  return columns.wallTime.map((wallTime) => wallTime - start);
}

/**
 * Whether a column never falls, so that it can be searched by halving.
 * @param {ArrayLike<number>} column
 */
export function isRising(column) {
  for (let i = 1; i < column.length; i++) if (!(column[i] >= column[i - 1])) return false;
  return true;
}

/**
 * Index of the point whose x is nearest. Only points with a finite x count.
 * @param {ArrayLike<number>} xs
 * @param {number} x
 * @param {boolean} rising  from isRising
 * @returns {number} -1 when there is no point
 */
export function nearestIndex(xs, x, rising) {
  if (!rising) {
    let nearest = -1;
    for (let i = 0; i < xs.length; i++) {
      if (Number.isFinite(xs[i]) && (nearest === -1 || Math.abs(xs[i] - x) < Math.abs(xs[nearest] - x))) nearest = i;
    }
    return nearest;
  }
  if (xs.length === 0) return -1;
  let low = 0;
  let high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - xs[low - 1] <= xs[low] - x ? low - 1 : low;
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
 * Range of the values that are drawn while the x axis shows [from, to]. A line that only passes through counts with
 * the neighbours on both sides, so that it is not cut off.
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} values
 * @param {number} from
 * @param {number} to
 * @param {boolean} positiveOnly  for a logarithmic axis
 * @returns {[min: number, max: number] | null}
 */
export function visibleExtent(xs, values, from, to, positiveOnly) {
  let min = Infinity;
  let max = -Infinity;
  let before = NaN;
  let wasInside = false;
  for (let i = 0; i < xs.length; i++) {
    const value = values[i];
    if (!Number.isFinite(value) || (positiveOnly && value <= 0)) continue;
    const inside = xs[i] >= from && xs[i] <= to;
    if (inside || wasInside || (xs[i] > to && before < from)) {
      if (value < min) min = value;
      if (value > max) max = value;
    }
    if (inside && !wasInside && i > 0) {
      const previous = values[i - 1];
      if (Number.isFinite(previous) && !(positiveOnly && previous <= 0)) {
        if (previous < min) min = previous;
        if (previous > max) max = previous;
      }
    }
    wasInside = inside;
    before = xs[i];
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
 * The same for a logarithmic axis.
 * @param {[min: number, max: number] | null} range  above 0
 * @param {number} share
 * @returns {[min: number, max: number]}
 */
export function paddedLog(range, share) {
  if (!range) return [0.1, 10];
  const low = Math.log10(range[0]);
  const high = Math.log10(range[1]);
  const air = high > low ? (high - low) * share : 0.3;
  return [10 ** (low - air), 10 ** (high + air)];
}

/**
 * Draws a line as a path of at most four points per pixel column: where more points fall into one column, the first, the
 * lowest, the highest and the last of them look the same as all. Points that have no place (NaN, infinities, and 0 or
 * less on a logarithmic axis) are skipped and do not break the line. The order of the points is kept, whatever their x.
 * @param {{ moveTo(x: number, y: number): void, lineTo(x: number, y: number): void }} path
 * @param {ArrayLike<number>} xs
 * @param {ArrayLike<number>} values
 * @param {(x: number) => number} toX  value to pixel
 * @param {(value: number) => number} toY  value to pixel; not finite where the value has no place
 * @returns {number} how many points the path has
 */
export function tracePath(path, xs, values, toX, toY) {
  let numPoints = 0;
  let column = NaN;
  // Of the column that is open: its first point is in the path already.
  let first = 0;
  let lowest = 0;
  let highest = 0;
  let lowestCameLast = false;
  let last = 0;
  let isOpen = false;
  for (let i = 0; i < xs.length; i++) {
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
 * Where the points are that a line cannot show, each with a value at which to mark it: that of the nearest point
 * before it, or else behind it, that can be drawn.
 * @param {ArrayLike<number>} values
 * @returns {{ index: number, beside: number }[]} `beside` is NaN when the whole line is like that
 */
export function nonFinitePoints(values) {
  /** @type {{ index: number, beside: number }[]} */
  const points = [];
  let beside = NaN;
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) points.push({ index: i, beside });
    else {
      if (Number.isNaN(beside)) for (const point of points) point.beside = values[i];
      beside = values[i];
    }
  }
  return points;
}

/**
 * How many of the values can be drawn, counted up to a limit.
 * @param {ArrayLike<number>} values
 * @param {number} limit
 */
export function countFinite(values, limit) {
  let count = 0;
  for (let i = 0; i < values.length && count < limit; i++) if (Number.isFinite(values[i])) count++;
  return count;
}
