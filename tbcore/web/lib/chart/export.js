/**
 * Exports charts as SVG and PNG. Loaded on the first export.
 */

import { FONT } from "./axes.js";
import { strokesOf } from "./marks.js";
import { pixelScales } from "./ranges.js";
import { traceBand, tracePath, windowOf } from "./series.js";
import { PathData, escapeXML, svgToPNG, tenth } from "./svg.js";

/**
 * @typedef {import("./types.js").Picture} Picture
 *
 * @typedef {object} Frame  everything but the lines of a chart; lengths in CSS pixels
 * @property {string} label  the title
 * @property {number} width
 * @property {number} height
 * @property {import("./types.js").Layout} layout
 * @property {[x: string, y: string]} titles  titles of the axes
 * @property {string} note  "" for none
 * @property {{ text: string, grid: string, surface: string }} colors
 */

// All lengths are in pixels of the SVG.
const TITLE_HEIGHT = 26;
/** Height of an entry of the legend. */
const LEGEND_ENTRY_HEIGHT = 17;
/** Width of an entry of the legend. The legend has as many columns as fit. */
const LEGEND_ENTRY_WIDTH = 210;
/** Height of one line of text in the label of a tick. */
const LINE_HEIGHT = 13;
/** Height of the x axis' title, and width of the y axis' title, which is rotated. */
const AXIS_TITLE_SIZE = 18;
/** Maps the `kind` of an axis to its title. */
const AXIS_TITLES = { step: "step", relative: "relative time", wall_time: "wall time", value: "value" };

/**
 * The chart as an SVG document.
 * @param {Picture} picture
 * @returns {string}
 */
export function chartSVG({ x, y, items, marks, ...frame }) {
  const { layout } = frame;
  const { toX, toY } = pixelScales({ x, y, width: layout.width, height: layout.height });
  /** @param {import("./types.js").Item} item @param {Float64Array} column */
  const trace = ({ xs, segments }, column) => {
    const path = new PathData();
    for (const segment of segments) tracePath(path, xs, column, toX, toY, ...windowOf(xs, segment, ...x.range));
    return path.data;
  };

  // From back to front: bands, unsmoothed values, and lines.
  const inside = [];
  for (const { band, color, xs, columns } of items) {
    if (!band) continue;
    for (let i = 1; i < columns.length; i += 2) {
      const edge = new PathData();
      traceBand(edge, xs, columns[i], columns[i + 1], toX, toY);
      inside.push(`<path d="${edge.data}" fill="${escapeXML(color)}" fill-opacity="0.18"/>`);
    }
  }
  for (const item of items) {
    if (item.raw) inside.push(`<path d="${trace(item, item.raw)}" stroke="${escapeXML(item.color)}" stroke-width="1.4" stroke-opacity="0.28"/>`);
  }
  for (const item of items) {
    const dashes = (item.line ?? item.band)?.dash;
    const dash = dashes ? ` stroke-dasharray="${dashes.join(" ")}"` : "";
    inside.push(`<path d="${trace(item, item.ys)}" stroke="${escapeXML(item.color)}" stroke-width="${item.band ? 2 : 1.4}"${dash}/>`);
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
 * An SVG document with axes, titles and a legend around the given content.
 * @param {Frame} frame
 * @param {readonly string[]} inside  SVG elements, clipped to the plot; their origin is the top
 *   left corner of the plot
 * @param {readonly { name: string, color: string }[]} entries  of the legend
 * @param {readonly string[]} [above]  SVG elements drawn on top, not clipped; same origin
 * @returns {string}
 */
export function frameSVG({ label, width, height, layout, titles, note, colors }, inside, entries, above = []) {
  const numColumns = Math.max(1, Math.floor((width - 24) / LEGEND_ENTRY_WIDTH));
  const legendTop = TITLE_HEIGHT + height + AXIS_TITLE_SIZE;
  const fullHeight = legendTop + Math.ceil(entries.length / numColumns) * LEGEND_ENTRY_HEIGHT + 14;
  const fullWidth = width + AXIS_TITLE_SIZE;
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${fullWidth}" height="${fullHeight}" viewBox="0 0 ${fullWidth} ${fullHeight}" font-family="${escapeXML(FONT)}" font-size="11">`,
    `<title>${escapeXML(label)}</title><rect width="${fullWidth}" height="${fullHeight}" fill="${colors.surface}"/>`,
    `<text x="12" y="19" font-size="14" fill="${colors.text}">${escapeXML(label)}</text>`,
    `<g transform="translate(${layout.left + AXIS_TITLE_SIZE},${TITLE_HEIGHT + layout.top})">`,
    `<clipPath id="plot"><rect width="${layout.width}" height="${layout.height}"/></clipPath>`,
  ];
  for (const { share, label: text } of layout.xTicks) {
    const at = tenth(share * layout.width);
    svg.push(`<path d="M${at},0v${layout.height}" stroke="${colors.grid}"/>`);
    text.split("\n").forEach((textLine, i) => {
      svg.push(`<text x="${at}" y="${layout.height + 15 + LINE_HEIGHT * i}" text-anchor="middle" fill="${colors.text}">${escapeXML(textLine)}</text>`);
    });
  }
  for (const { share, label: text } of layout.yTicks) {
    const at = tenth((1 - share) * layout.height);
    svg.push(`<path d="M0,${at}h${layout.width}" stroke="${colors.grid}"/>`);
    // On the y axis the date is above the time of day, so that the time is level with its tick.
    const textLines = text.split("\n").reverse();
    textLines.forEach((textLine, i) => {
      const top = at + 4 + (i - textLines.length + 1) * LINE_HEIGHT;
      svg.push(`<text x="-6" y="${top}" text-anchor="end" fill="${colors.text}">${escapeXML(textLine)}</text>`);
    });
  }
  const [xTitle, yTitle] = titles.map(escapeXML);
  const xTitleTop = height - layout.top + 8;
  svg.push(`<text x="${layout.width / 2}" y="${xTitleTop}" text-anchor="middle" fill="${colors.text}">${xTitle}</text>`);
  svg.push(`<text transform="translate(${-layout.left},${layout.height / 2})rotate(-90)" text-anchor="middle" fill="${colors.text}">${yTitle}</text>`);
  svg.push('<g clip-path="url(#plot)" fill="none" stroke-linejoin="round">', ...inside, "</g>", ...above);
  if (note) svg.push(`<text x="${layout.width}" y="-7" text-anchor="end" fill="${colors.text}">${escapeXML(note)}</text>`);
  svg.push("</g>");
  entries.forEach(({ name, color }, i) => {
    const left = 12 + (i % numColumns) * LEGEND_ENTRY_WIDTH;
    const top = legendTop + 14 + Math.floor(i / numColumns) * LEGEND_ENTRY_HEIGHT;
    const shortName = name.length > 32 ? `…${name.slice(-31)}` : name;
    svg.push(`<circle cx="${left + 4}" cy="${top - 4}" r="4" fill="${escapeXML(color)}"/>`);
    svg.push(`<text x="${left + 14}" y="${top}" fill="${colors.text}"><title>${escapeXML(name)}</title>${escapeXML(shortName)}</text>`);
  });
  svg.push("</svg>");
  return svg.join("\n");
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
