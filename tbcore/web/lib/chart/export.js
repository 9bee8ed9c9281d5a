/** Exports line charts as SVG. Loaded on the first export. */

import { placeIn } from "./axes.js";
import { BAND_OPACITY, LINE_WIDTH, RAW_OPACITY, linesOf, sceneMarks, strokesOf, traceAreas, traceLine } from "./draw.js";
import { PathData, escapeXML, frameSVG } from "./svg.js";

/**
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {Omit<import("./svg.js").Frame, "titles"> & Pick<Scene, "x" | "y" | "items"> & { marks: ReturnType<typeof sceneMarks>, clip?: boolean }} Picture
 *   everything that an exported picture shows
 */

/** Maps the `kind` of an axis to its title. */
const AXIS_TITLES = { step: "step", relative: "relative time", wall_time: "wall time", number: "x", value: "value" };

/**
 * A line chart as an SVG document, large enough to be read outside the page.
 * @param {string} label  the title
 * @param {import("./model.js").ChartModel} model @param {import("./chart-frame.js").ChartFrame} frame
 * @param {string} [more]  a note to put before the chart's own
 */
export function lineChartSVG(label, model, { element, colors, note: own }, more) {
  const width = Math.max(640, element.clientWidth);
  const height = Math.max(360, element.clientHeight);
  const note = [more, own.textContent].filter(Boolean).join(", ");
  const layout = model.layOut(placeIn(width, height, (text) => 6.5 * text.length), note !== "");
  const { x, y, items } = model;
  const marks = sceneMarks(model.scene(layout, colors), items);
  return chartSVG({ label, width, height, layout, x, y, items, marks, note, colors, clip: model.axes.clip });
}

/** The picture as an SVG document. @param {Picture} picture */
export function chartSVG({ x, y, items, marks, clip = false, ...frame }) {
  const { layout } = frame;
  const scene = { x, y, width: layout.width, height: layout.height, clip };
  const inside = [];
  for (const item of items.filter(({ band }) => band)) {
    for (const { data } of traceAreas(() => new PathData(), scene, item)) {
      inside.push(`<path d="${data}" fill="${escapeXML(item.color)}" fill-opacity="${BAND_OPACITY}"/>`);
    }
  }
  for (const { item, column, isRaw, dash } of linesOf(items)) {
    const dashes = isRaw ? undefined : dash;
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

/** The title of an axis. @param {import("./types.js").Axis} axis */
function titleOf({ kind, title = "", log }) {
  const text = title || AXIS_TITLES[kind];
  return log ? `${text} (log scale)` : text;
}
