/**
 * A chart as a picture to keep: SVG, and PNG made of it. Loaded when one is asked for.
 */

import { FONT, shareOf } from "./axes.js";
import { strokesOf } from "./marks.js";
import { traceBand, tracePath, windowOf } from "./series.js";
import { PathData, escapeXML, svgToPNG, tenth } from "./svg.js";

/**
 * @typedef {import("./chart-types.js").Picture} Picture
 *
 * @typedef {object} Frame  what is around the lines of a chart; lengths in CSS pixels
 * @property {string} label  the title
 * @property {number} width
 * @property {number} height
 * @property {import("./chart-types.js").Layout} layout
 * @property {[x: string, y: string]} titles  of the axes
 * @property {string} note  "" for none
 * @property {{ text: string, grid: string, surface: string }} colors
 */

const TITLE_HEIGHT = 26;
const NAME_HEIGHT = 17;
const NAME_WIDTH = 210;
const LINE_HEIGHT = 13;
/** Room for the title of an axis. */
const AXIS_TITLE = 18;
const AXES = { step: "step", relative: "relative time", wall_time: "wall time", value: "value" };

/**
 * @param {Picture} picture
 * @returns {string}
 */
export function chartSVG({ x, y, items, marks, ...frame }) {
  const { layout } = frame;
  const toX = (/** @type {number} */ place) => shareOf(x.range, place) * layout.width;
  const toY = (/** @type {number} */ place) => (1 - shareOf(y.range, place)) * layout.height;
  /** @param {import("./chart-types.js").Item} item @param {Float64Array} column */
  const trace = ({ xs, parts }, column) => {
    const path = new PathData();
    for (const part of parts) tracePath(path, xs, column, toX, toY, ...windowOf(xs, part, ...x.range));
    return path.data;
  };

  const lines = [];
  for (const { band, color, xs, columns } of items) {
    if (!band) continue;
    for (let i = 1; i < columns.length; i += 2) {
      const edge = new PathData();
      traceBand(edge, xs, columns[i], columns[i + 1], toX, toY);
      lines.push(`<path d="${edge.data}" fill="${escapeXML(color)}" fill-opacity="0.18"/>`);
    }
  }
  for (const item of items) {
    if (item.raw) lines.push(`<path d="${trace(item, item.raw)}" stroke="${escapeXML(item.color)}" stroke-width="1.4" stroke-opacity="0.28"/>`);
  }
  for (const item of items) {
    const dashes = (item.line ?? item.band)?.dash;
    const dash = dashes ? ` stroke-dasharray="${dashes.join(" ")}"` : "";
    lines.push(`<path d="${trace(item, item.ys)}" stroke="${escapeXML(item.color)}" stroke-width="${item.band ? 2 : 1.4}"${dash}/>`);
  }
  const above = [];
  for (const { color, fill, stroke } of marks) {
    if (fill) above.push(`<path d="${fill}" fill="${escapeXML(color)}"/>`);
    for (const [style, thickness] of stroke ? strokesOf(color, frame.colors.surface) : []) {
      above.push(`<path d="${stroke}" fill="none" stroke="${escapeXML(style)}" stroke-width="${thickness}"/>`);
    }
  }
  return frameSVG({ ...frame, titles: [titleOf(x), titleOf(y)] }, lines, items, above);
}

/**
 * A chart with axes, titles and the names of what it shows.
 * @param {Frame} frame
 * @param {readonly string[]} inside  elements of SVG, cut off at the plot's edges; pixels from its upper left
 * @param {readonly { name: string, color: string }[]} items
 * @param {readonly string[]} [above]  elements that may reach beyond
 * @returns {string}
 */
export function frameSVG({ label, width, height, layout, titles, note, colors }, inside, items, above = []) {
  const columns = Math.max(1, Math.floor((width - 24) / NAME_WIDTH));
  const names = TITLE_HEIGHT + height + AXIS_TITLE;
  const full = names + Math.ceil(items.length / columns) * NAME_HEIGHT + 14;
  const right = width + AXIS_TITLE;
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${right}" height="${full}" viewBox="0 0 ${right} ${full}" font-family="${escapeXML(FONT)}" font-size="11">`,
    `<title>${escapeXML(label)}</title><rect width="${right}" height="${full}" fill="${colors.surface}"/>`,
    `<text x="12" y="19" font-size="14" fill="${colors.text}">${escapeXML(label)}</text>`,
    `<g transform="translate(${layout.left + AXIS_TITLE},${TITLE_HEIGHT + layout.top})">`,
    `<clipPath id="plot"><rect width="${layout.width}" height="${layout.height}"/></clipPath>`,
  ];
  for (const { share, label: text } of layout.xTicks) {
    const at = tenth(share * layout.width);
    svg.push(`<path d="M${at},0v${layout.height}" stroke="${colors.grid}"/>`);
    text.split("\n").forEach((row, i) => {
      svg.push(`<text x="${at}" y="${layout.height + 15 + LINE_HEIGHT * i}" text-anchor="middle" fill="${colors.text}">${escapeXML(row)}</text>`);
    });
  }
  for (const { share, label: text } of layout.yTicks) {
    const at = tenth((1 - share) * layout.height);
    svg.push(`<path d="M0,${at}h${layout.width}" stroke="${colors.grid}"/>`);
    // Beside an axis the date stands above the clock.
    const rows = text.split("\n").reverse();
    rows.forEach((row, i) => {
      const top = at + 4 + (i - rows.length + 1) * LINE_HEIGHT;
      svg.push(`<text x="-6" y="${top}" text-anchor="end" fill="${colors.text}">${escapeXML(row)}</text>`);
    });
  }
  const [xTitle, yTitle] = titles.map(escapeXML);
  const below = height - layout.top + 8;
  svg.push(`<text x="${layout.width / 2}" y="${below}" text-anchor="middle" fill="${colors.text}">${xTitle}</text>`);
  svg.push(`<text transform="translate(${-layout.left},${layout.height / 2})rotate(-90)" text-anchor="middle" fill="${colors.text}">${yTitle}</text>`);
  svg.push('<g clip-path="url(#plot)" fill="none" stroke-linejoin="round">', ...inside, "</g>", ...above);
  if (note) svg.push(`<text x="${layout.width}" y="-7" text-anchor="end" fill="${colors.text}">${escapeXML(note)}</text>`);
  svg.push("</g>");
  items.forEach(({ name, color }, i) => {
    const left = 12 + (i % columns) * NAME_WIDTH;
    const top = names + 14 + Math.floor(i / columns) * NAME_HEIGHT;
    const short = name.length > 32 ? `…${name.slice(-31)}` : name;
    svg.push(`<circle cx="${left + 4}" cy="${top - 4}" r="4" fill="${escapeXML(color)}"/>`);
    svg.push(`<text x="${left + 14}" y="${top}" fill="${colors.text}"><title>${escapeXML(name)}</title>${escapeXML(short)}</text>`);
  });
  svg.push("</svg>");
  return svg.join("\n");
}

/**
 * @param {Picture} picture
 * @param {number} scale
 * @returns {Promise<Blob>}
 */
export function chartPNG(picture, scale) {
  return svgToPNG(chartSVG(picture), scale);
}

/** @param {import("./chart-types.js").Axis} axis */
function titleOf({ kind, log }) {
  return log ? `${AXES[kind]} (logarithmic)` : AXES[kind];
}
