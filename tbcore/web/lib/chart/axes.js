/** The layout of a chart's plot and axes, and their drawing. */

/** @typedef {import("./types.js").Layout} Layout */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** Height of a line of label text, in CSS pixels. */
const LINE_HEIGHT = 13;

/**
 * Makes a function that places the plot and its ticks in a chart.
 * @param {number} width  of the chart, CSS pixels
 * @param {number} height  of the chart, CSS pixels
 * @param {(text: string) => number} measure  returns the width of a label in CSS pixels
 * @returns {import("./types.js").Place}
 */
export function placeIn(width, height, measure) {
  return (yTicks, xTicks, { hasNote = false, hasDates = false } = {}) => {
    const top = hasNote ? 22 : 10;
    const inner = height - top - 9 - LINE_HEIGHT * (hasDates ? 2 : 1);
    const ticks = yTicks(inner);
    const lines = ticks.flatMap(({ label }) => label.split("\n"));
    const left = lines.reduce((widest, text) => Math.max(widest, Math.ceil(measure(text)) + 12), 40);
    return { left, top, width: width - left - 12, height: inner, xTicks: xTicks(width - left - 12), yTicks: ticks };
  };
}

/**
 * Draws grid lines and labels on a canvas.
 * @param {CanvasRenderingContext2D} context  scaled to CSS pixels
 * @param {Layout} layout @param {{ text: string, grid: string }} colors
 * @param {number} ratio  device pixels per CSS pixel
 */
export function drawAxes(context, { left, top, width, height, xTicks, yTicks }, colors, ratio) {
  /** Aligns a position to whole device pixels, so that lines are sharp. @param {number} at */
  const align = (at) => Math.floor(at * ratio) / ratio;
  const hairline = 1 / ratio;
  context.fillStyle = colors.grid;
  for (const { share } of xTicks) context.fillRect(align(left + share * width), top, hairline, height);
  for (const { share } of yTicks) context.fillRect(left, align(top + (1 - share) * height), width, hairline);
  context.fillStyle = colors.text;
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const { share, label } of xTicks) {
    label.split("\n").forEach((text, i) => context.fillText(text, left + share * width, top + height + 5 + i * LINE_HEIGHT));
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { share, label } of yTicks) {
    // The date is above the time of day, so that the time is level with its tick.
    const lines = label.split("\n").reverse();
    lines.forEach((text, i) => context.fillText(text, left - 6, top + (1 - share) * height + (i - lines.length + 1) * LINE_HEIGHT));
  }
}
