/** Exports line charts as SVG: as on the screen, and what figures (`figure.js`) have in common with that. Loaded on the first export. */

import { withArchived } from "../group-figure.js";
import { placeIn } from "./axes.js";
import { BAND_OPACITY, MAX_AREAS, traceAreas, withArea } from "./bands.js";
import { RAW_OPACITY, linesOf, sceneMarks, strokesOf, styleOfLines, traceLine } from "./draw.js";
import { itemKey } from "./keyboard.js";
import { noteOf } from "./left-out.js";
import { formatX } from "./model.js";
import { PathData, escapeXML, frameSVG, widthOf } from "./svg.js";

/**
 * @typedef {import("./types.js").Axis} Axis
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {Omit<import("./svg.js").Frame, "titles"> & Pick<Scene, "x" | "y" | "items"> & { marks: ReturnType<typeof sceneMarks>, clip?: boolean, axisItems?: readonly Item[], named?: readonly Item[] }} Picture
 *   everything that an exported picture shows
 */

/** Maps the `kind` of an axis to its title. */
export const AXIS_TITLES = { step: "step", relative: "relative time", wall_time: "wall time", number: "x", value: "value" };

/**
 * A line chart as an SVG document, large enough to be read outside the page.
 * @param {string} label  the title
 * @param {import("./model.js").ChartModel} model @param {import("./chart-frame.js").ChartFrame} frame
 * @param {string} [more]  a note to put before the chart's own
 */
export function lineChartSVG(label, model, { element, colors }, more) {
  const width = Math.max(640, element.clientWidth);
  const height = Math.max(360, element.clientHeight);
  const note = notesOf(model, more).join(", ");
  const noteHeight = note ? 12 : 0;
  const placed = model.layOut(placeIn(width, height - noteHeight, widthOf));
  const layout = { ...placed, top: placed.top + noteHeight };
  const scene = model.scene(layout, colors);
  const { x, y, items, axisItems, clip } = scene;
  const marks = sceneMarks(scene, items);
  return chartSVG({ label, width, height, layout, x, y, items, axisItems, named: namedItems(items, model), marks, note, colors, clip });
}

/** The picture as an SVG document. @param {Picture} picture */
export function chartSVG({ x, y, items, axisItems = items, named = items, marks, clip = false, ...frame }) {
  const { layout, colors, label } = frame;
  const scene = { x, y, items, axisItems, width: layout.width, height: layout.height, clip };
  return frameSVG({ ...frame, titles: [titleOf(x), label] }, pathsOf(scene), named, pathsOfMarks(marks, colors.surface));
}

/**
 * The items that a legend names: those of the lines of a group are one, with the name of the group.
 * @param {readonly Item[]} items @param {import("./model.js").ChartModel} model
 */
export function namedItems(items, { bands }) {
  const groups = new Map(bands.map(({ key, name }) => [key, name]));
  /** Maps the key of each line or group to its first item. @type {Map<string, Item>} */
  const named = new Map();
  for (const item of items) {
    const name = groups.get(item.line?.group);
    const key = name === undefined ? itemKey(item) : String(item.line?.group);
    if (!named.has(key)) named.set(key, { ...item, name: name ?? item.name });
  }
  return [...named.values()];
}

/** The notes of a picture: those given, what bands and marks are, and what the chart leaves out. @param {import("./model.js").ChartModel} model @param {string} [more] */
export function notesOf(model, more) {
  const { log } = model.y;
  return [more ?? "", log ? `y axis: ${scaleOf(log)}` : "", ...bandNotes(model.axisItems), ...markNotes(model), noteOf(model), ...rangeNotes(model)].filter(Boolean);
}

/** What the marks of values that are not finite mean, of those in sight. @param {import("./model.js").ChartModel} model */
function markNotes({ axisItems, x }) {
  const [from, to] = x.range;
  const marked = axisItems.flatMap(({ line, band, xs, nonFinite }) => nonFinite.filter((row) => xs[row] >= from && xs[row] <= to).map((row) => ({ band, row, value: line ? line.value[row] : NaN })));
  const isNaN = marked.some(({ band, value }) => !band && Number.isNaN(value));
  const [average] = marked.flatMap(({ band }) => (band ? [band.average ?? "mean"] : []));
  const more = marked.flatMap(({ band, row }) => (band?.nonfinite ? [band.nonfinite[row] - (band.nonfinite[row - 1] ?? 0)] : []));
  const [least, most] = [Math.min(...more), Math.max(...more)];
  const runs = most === 1 ? "one more run" : `${least < most ? `${least} to ` : ""}${most} more runs`;
  const crosses = [isNaN && "NaN", average && `${runs} NaN or infinite, not in the ${average}`].filter(Boolean).join("; of a group, ");
  return [crosses && `cross: ${crosses}`, marked.some(({ value }) => Math.abs(value) === Infinity) && "triangle: infinite"].filter((text) => text !== false);
}

/** The part of the x axis that is shown, and that of y if its ends cut lines off; `noteOf` has the ends. @param {import("./model.js").ChartModel} model */
function rangeNotes({ axes: { xAxis, limits, tail }, x, y, view, xExtent, axisItems }) {
  // Without means over fewer runs, of which `noteOf` says this.
  const isCut = (/** @type {Item} */ { xs, columns: [ys] }) => ys.some((value, row) => xs[row] >= x.range[0] && xs[row] <= x.range[1] && Number.isFinite(value) && (value < y.range[0] || value > y.range[1]));
  const whole = view && xExtent && (view[0] > xExtent[0] || view[1] < xExtent[1]) ? xExtent : null;
  const [shown, all] = [whole && view, whole].map((range) => range?.map((value) => formatX(xAxis, value)).join(" to "));
  return [shown && `x axis: ${shown} of ${all}`, (limits || tail) && axisItems.some(isCut) && "values beyond the y axis not shown"].filter((text) => typeof text === "string");
}

/**
 * What the lines and areas of groups are, such as "mean of 5 runs, band: minimum to maximum".
 * @param {readonly Item[]} items
 */
function bandNotes(items) {
  /** Maps a text about line and area to the numbers of runs, and of those put away. @type {Map<string, number[][]>} */
  const numbers = new Map();
  for (const { band } of items) {
    if (!band) continue;
    const { average = "mean", label = "", numRuns = Math.max(...band.count), archived = 0 } = band;
    const key = JSON.stringify([average, label, band.bar ? "bar" : "band"]);
    numbers.set(key, [...(numbers.get(key) ?? []), [numRuns, archived]]);
  }
  const isCrowded = withArea(items).length === 0;
  return [...numbers].map(([key, counts]) => {
    const [average, label, shape] = JSON.parse(key);
    const range = (/** @type {0 | 1} */ at) => [...new Set([Math.min, Math.max].map((of) => of(...counts.map((count) => count[at]))))].join(" to ");
    const text = shape === "band" && isCrowded ? `no bands of more than ${MAX_AREAS} groups` : label;
    const area = text && (text.startsWith("no ") ? `, ${text}` : `, ${shape}: ${text}`);
    return `${average} of ${withArchived(`${range(0)} runs`, range(1))}${area}`;
  });
}

/**
 * The areas and lines of a chart as SVG elements.
 * @param {Pick<Scene, "x" | "y" | "items" | "axisItems" | "width" | "height" | "clip">} scene
 * @param {number} [scale]  of the widths and dashes of lines
 */
export function pathsOf(scene, scale = 1) {
  const paths = [];
  const { width, opacity } = styleOfLines(scene);
  for (const item of withArea(scene.items)) {
    for (const { data } of traceAreas(() => new PathData(), scene, item)) {
      paths.push(`<path d="${data}" fill="${escapeXML(item.color)}" fill-opacity="${BAND_OPACITY}"/>`);
    }
  }
  for (const { item, column, isRaw, dash } of linesOf(scene.items)) {
    const dashes = isRaw ? undefined : dash;
    const shown = isRaw ? RAW_OPACITY : opacity;
    const more = (shown < 1 ? ` stroke-opacity="${shown}"` : "") + (dashes ? ` stroke-dasharray="${dashes.map((length) => length * scale).join(" ")}"` : "");
    const { data } = traceLine(new PathData(), scene, item, column);
    const thickness = Number(((item.band ? width + 0.6 : width) * scale).toFixed(2));
    paths.push(`<path d="${data}" stroke="${escapeXML(item.color)}" stroke-width="${thickness}"${more}/>`);
  }
  return paths;
}

/** Marks as SVG elements. @param {ReturnType<typeof sceneMarks>} marks @param {string} surface  background colour @param {number} [scale]  of the strokes' width */
export function pathsOfMarks(marks, surface, scale = 1) {
  const paths = [];
  for (const { color, fill, stroke } of marks) {
    if (fill) paths.push(`<path d="${fill}" fill="${escapeXML(color)}"/>`);
    for (const [strokeColor, thickness] of stroke ? strokesOf(color, surface) : []) {
      paths.push(`<path d="${stroke}" fill="none" stroke="${escapeXML(strokeColor)}" stroke-width="${Number((thickness * scale).toFixed(2))}"/>`);
    }
  }
  return paths;
}

/** The title of the x axis. @param {Axis} axis */
export function titleOf({ kind, title = "", log }) {
  const text = title || AXIS_TITLES[kind];
  return log ? `${text} (${scaleOf(log)})` : text;
}

/** @param {Axis["log"]} log */
function scaleOf(log) {
  return log === true ? "log scale" : "symmetric log scale";
}
