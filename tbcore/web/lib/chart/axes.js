/**
 * The axes of a chart: their layout, their drawing, and their ranges. Charts are drawn in axis
 * coordinates: the value itself on a linear axis, its log10 on a logarithmic one. On a
 * symmetric-logarithmic one it is asinh(value / 2c) / ln(10): nearly linear between -c and c, and
 * beyond nearly log10(value / c), with the sign of the value. The mapping from axis coordinates to
 * pixels is linear. No DOM.
 */

/**
 * @typedef {import("./types.js").Axis} Axis
 * @typedef {import("./types.js").Layout} Layout
 * @typedef {import("./types.js").Range} Range
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** Height of a line of label text, in CSS pixels. */
const LINE_HEIGHT = 13;
/** In CSS pixels. */
export const MINOR_TICK_LENGTH = 4;

/**
 * Makes a function that places the plot and its ticks in a chart.
 * @param {number} width  of the chart, CSS pixels
 * @param {number} height  of the chart, CSS pixels
 * @param {(text: string) => number} measure  returns the width of a label in CSS pixels
 * @returns {import("./types.js").Place}
 */
export function placeIn(width, height, measure) {
  return (yTicks, xTicks, { hasDates = false, right = 12 } = {}) => {
    const top = 10;
    const inner = height - top - 9 - LINE_HEIGHT * (hasDates ? 2 : 1);
    const ticks = yTicks(inner);
    const widths = ticks.flatMap(({ label }) => label.split("\n")).map((text) => Math.ceil(measure(text)) + 12);
    const left = Math.max(40, ...widths);
    const plotWidth = width - left - right;
    return { left, top, width: plotWidth, height: inner, xTicks: xTicks(plotWidth), yTicks: ticks };
  };
}

/**
 * The labels of an x axis, in lines, each with its middle: at its tick, or left of that where it would
 * leave the chart. Those that would touch the label before them are left out.
 * @param {readonly import("./types.js").Tick[]} ticks @param {number} width  of the plot
 * @param {number} end  of the chart, from the left of the plot
 * @param {(text: string) => number} measure  returns the width of a text
 */
export function placeLabels(ticks, width, end, measure) {
  let last = -Infinity;
  return ticks.flatMap(({ share, label }) => {
    const lines = label.split("\n");
    const half = Math.max(...lines.map(measure)) / 2;
    const middle = Math.min(share * width, end - half);
    if (!label || middle - half < last) return [];
    last = middle + half;
    return [{ lines, middle }];
  });
}

/**
 * Draws grid lines and labels on a canvas; for minor ticks, marks at the edge.
 * @param {CanvasRenderingContext2D} context  scaled to CSS pixels
 * @param {Layout} layout @param {{ text: string, grid: string }} colors
 * @param {number} ratio  device pixels per CSS pixel
 */
export function drawAxes(context, { left, top, width, height, xTicks, yTicks }, colors, ratio) {
  /** Aligns a position to whole device pixels, so that lines are sharp. @param {number} at */
  const align = (at) => Math.floor(at * ratio) / ratio;
  const hairline = 1 / ratio;
  for (const { share, label } of xTicks) {
    const length = label ? height : MINOR_TICK_LENGTH;
    context.fillStyle = label ? colors.grid : colors.text;
    context.fillRect(align(left + share * width), top + height - length, hairline, length);
  }
  for (const { share, label } of yTicks) {
    context.fillStyle = label ? colors.grid : colors.text;
    context.fillRect(left, align(top + (1 - share) * height), label ? width : MINOR_TICK_LENGTH, hairline);
  }
  context.fillStyle = colors.text;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { lines, middle } of placeLabels(xTicks, width, context.canvas.width / ratio - left, (text) => context.measureText(text).width)) {
    lines.forEach((text, i) => context.fillText(text, left + middle, top + height + 5 + i * LINE_HEIGHT));
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { share, label } of yTicks) {
    // The date is above the time of day, so that the time is level with its tick.
    const lines = label.split("\n").reverse();
    lines.forEach((text, i) => context.fillText(text, left - 6, top + (1 - share) * height + (i - lines.length + 1) * LINE_HEIGHT));
  }
}

// --- ranges --------------------------------------------------------------------------------------

/** Converts a value to an axis coordinate. @param {Pick<Axis, "log">} axis @param {number} value */
export function toAxis({ log }, value) {
  return log === true ? Math.log10(value) : log ? Math.asinh(value / log / 2) / Math.LN10 : value;
}

/** Converts an axis coordinate back to a value. @param {Pick<Axis, "log">} axis @param {number} coordinate */
export function fromAxis({ log }, coordinate) {
  return log === true ? 10 ** coordinate : log ? 2 * log * Math.sinh(coordinate * Math.LN10) : coordinate;
}

/**
 * Converts an axis coordinate back to a value, without the logarithm's rounding errors.
 * @param {Pick<Axis, "log">} axis @param {number} coordinate
 */
export function valueAt(axis, coordinate) {
  return Number(fromAxis(axis, coordinate).toPrecision(axis.log ? 13 : 15));
}

/**
 * A column of values as axis coordinates. Values <= 0 become non-finite on a logarithmic axis.
 * @param {Float64Array} column @param {Axis["log"]} log
 */
export function axisColumn(column, log) {
  return log ? column.map((value) => toAxis({ log }, value)) : column;
}

/** The position of a coordinate within a range: 0 at the start, 1 at the end. @param {Range} range @param {number} coordinate */
export function shareOf([min, max], coordinate) {
  // Halves, because the difference of two large doubles may overflow to infinity.
  return (coordinate / 2 - min / 2) / (max / 2 - min / 2);
}

/** Functions from axis coordinates to CSS pixels inside the plot. @param {{ x: Axis, y: Axis, width: number, height: number }} plot */
export function pixelScales({ x, y, width, height }) {
  return {
    toX: (/** @type {number} */ coordinate) => shareOf(x.range, coordinate) * width,
    toY: (/** @type {number} */ coordinate) => (1 - shareOf(y.range, coordinate)) * height,
  };
}

/** The number at a fraction of a range: 0 is its start, 1 its end. @param {Range} range @param {number} share */
export function at([min, max], share) {
  return min + share * (max - min);
}

/** A range moved by a fraction of its length. @param {Range} range @param {number} share @returns {Range} */
export function moved([min, max], share) {
  return [min + share * (max - min), max + share * (max - min)];
}

/**
 * A range that is `factor` times as long, around a fixed point.
 * @param {Range} range @param {number} factor
 * @param {number} share  position of the fixed point: 0 is the range's start, 1 its end
 * @returns {Range}
 */
export function zoomed(range, factor, share) {
  const fixed = at(range, share);
  const span = (range[1] - range[0]) * factor;
  return [fixed - share * span, fixed + (1 - share) * span];
}

/**
 * A range, moved so that it is inside the full range, and widened if it is too short for the
 * precision of doubles.
 * @param {Range} range
 * @param {Range | null} full  null if not known
 * @returns {Range | null} null if the range is invalid, or at least as long as the full range
 */
export function limited([min, max], full) {
  const minLength = Math.max(Math.abs(min), Math.abs(max)) * 1e-12;
  if (max - min < minLength) [min, max] = [min - minLength, max + minLength];
  if (!(max > min)) return null;
  if (!full) return [min, max];
  if (max - min >= (full[1] - full[0]) * (1 - 1e-9)) return null;
  const shift = Math.max(0, full[0] - min) || Math.min(0, full[1] - max);
  return [min + shift, max + shift];
}

/**
 * A range with a margin on both sides; [0, 1] for null. If both ends of the range are equal, the
 * margin is 10 % of their absolute value, or 1 around 0.
 * @param {Range | null} range
 * @param {number} share  margin, as a fraction of the range's length
 * @returns {Range}
 */
export function padded(range, share) {
  if (!range) return [0, 1];
  const [min, max] = range;
  if (min === max) {
    const half = min === 0 ? 1 : Math.max(Math.abs(min) * 0.1, Number.MIN_VALUE);
    return [min - half, max + half];
  }
  // Multiply before subtracting: the length of [-1.7e308, 1.7e308] is not finite.
  const margin = max * share - min * share;
  return [Math.max(min - margin, -Number.MAX_VALUE), Math.min(max + margin, Number.MAX_VALUE)];
}

/**
 * The smallest range that contains all ranges; null if there are none.
 * @param {readonly (Range | null)[]} ranges @returns {Range | null}
 */
export function union(ranges) {
  return ranges.reduce((all, range) => (all && range ? [Math.min(all[0], range[0]), Math.max(all[1], range[1])] : (all ?? range)), null);
}
