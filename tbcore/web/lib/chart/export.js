/** Exports charts as SVG and PNG. Loaded on the first export. */

import { BAND_OPACITY, LINE_WIDTH, RAW_OPACITY, dashOf, linesOf, traceAreas, traceLine } from "./draw.js";
import { strokesOf } from "./marks.js";
import { PathData, escapeXML, frameSVG, svgToPNG } from "./svg.js";

/** @typedef {import("./types.js").Picture} Picture */

/** Maps the `kind` of an axis to its title. */
const AXIS_TITLES = { step: "step", relative: "relative time", wall_time: "wall time", value: "value" };

/** The chart as an SVG document. @param {Picture} picture @returns {string} */
export function chartSVG({ x, y, items, marks, ...frame }) {
  const { layout } = frame;
  const scene = { x, y, width: layout.width, height: layout.height };
  const inside = [];
  for (const item of items.filter(({ band }) => band)) {
    for (const { data } of traceAreas(() => new PathData(), scene, item)) {
      inside.push(`<path d="${data}" fill="${escapeXML(item.color)}" fill-opacity="${BAND_OPACITY}"/>`);
    }
  }
  for (const { item, column, isRaw } of linesOf(items)) {
    const dashes = isRaw ? undefined : dashOf(item);
    const more = (isRaw ? ` stroke-opacity="${RAW_OPACITY}"` : "") + (dashes ? ` stroke-dasharray="${dashes.join(" ")}"` : "");
    const { data } = traceLine(new PathData(), scene, item, column);
    inside.push(`<path d="${data}" stroke="${escapeXML(item.color)}" stroke-width="${item.band ? LINE_WIDTH + 0.6 : LINE_WIDTH}"${more}/>`);
  }
  const above = [];
  for (const { color, fill, stroke } of marks) {
    if (fill) above.push(`<path d="${fill}" fill="${escapeXML(color)}"/>`);
    for (const [strokeColor, thickness] of stroke ? strokesOf(color, frame.colors.surface) : []) {
      above.push(`<path d="${stroke}" fill="none" stroke="${escapeXML(strokeColor)}" stroke-width="${thickness}"/>`);
    }
  }
  return frameSVG({ ...frame, titles: [titleOf(x), titleOf(y)] }, inside, items, above);
}

/**
 * The chart as a PNG image.
 * @param {Picture} picture
 * @param {number} scale  image pixels per CSS pixel
 * @returns {Promise<Blob>}
 */
export function chartPNG(picture, scale) {
  return svgToPNG(chartSVG(picture), scale);
}

/** The title of an axis. @param {import("./types.js").Axis} axis */
function titleOf({ kind, log }) {
  return log ? `${AXIS_TITLES[kind]} (log scale)` : AXIS_TITLES[kind];
}
