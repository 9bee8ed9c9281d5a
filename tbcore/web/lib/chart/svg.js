/** Helpers for making SVG, and for converting it to PNG. */

import { FONT, MINOR_TICK_LENGTH, placeLabels } from "./axes.js";

/**
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
/** Browsers cannot make wider or higher canvases. */
const MAX_SIDE_PX = 16_000;
/** Browsers cannot make canvases with more pixels. */
const MAX_PIXELS = 100e6;

/** Builds SVG path data, with the methods of a canvas path. Coordinates are rounded to a tenth of a pixel. */
export class PathData {
  /** The path data so far. */
  data = "";
  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.data += `M${tenth(x)},${tenth(y)}`;
  }
  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.data += `L${tenth(x)},${tenth(y)}`;
  }
  /** @param {number} controlX @param {number} controlY @param {number} x @param {number} y */
  quadraticCurveTo(controlX, controlY, x, y) {
    this.data += `Q${tenth(controlX)},${tenth(controlY)} ${tenth(x)},${tenth(y)}`;
  }
}

/** Rounds to a tenth. @param {number} value */
export function tenth(value) {
  return Math.round(value * 10) / 10;
}

/** About the width of a text, CSS pixels. @param {string} text */
export function widthOf(text) {
  return 6.5 * text.length;
}

/** Escapes any text for XML. Characters that XML does not allow are removed. @param {string} text */
export function escapeXML(text) {
  return text
    .replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "")
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * Converts SVG to PNG.
 * @param {string} svg  with width and height
 * @param {number} scale  image pixels per CSS pixel; reduced if the image would be too large for
 *   browsers
 * @returns {Promise<Blob>}
 */
export async function svgToPNG(svg, scale) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    // Not decode(), which waits for a frame: a browser draws none of a page in the background.
    await new Promise((onload, onerror) => Object.assign(image, { onload, onerror, src: url }));
    const { width, height } = image;
    const allowedScale = Math.min(scale, MAX_SIDE_PX / width, MAX_SIDE_PX / height, Math.sqrt(MAX_PIXELS / (width * height)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * allowedScale));
    canvas.height = Math.max(1, Math.round(height * allowedScale));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser cannot make a PNG of this size"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
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
  /** @param {string} attributes @param {string} content */
  const text = (attributes, content) => `<text ${attributes} fill="${colors.text}">${escapeXML(content)}</text>`;
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${fullWidth}" height="${fullHeight}" viewBox="0 0 ${fullWidth} ${fullHeight}" font-family="${escapeXML(FONT)}" font-size="11">`,
    `<title>${escapeXML(label)}</title><rect width="${fullWidth}" height="${fullHeight}" fill="${colors.surface}"/>`,
    text('x="12" y="19" font-size="14"', label),
    `<g transform="translate(${layout.left + AXIS_TITLE_SIZE},${TITLE_HEIGHT + layout.top})">`,
    `<clipPath id="plot"><rect width="${layout.width}" height="${layout.height}"/></clipPath>`,
  ];
  for (const { share, label: tick } of layout.xTicks) {
    const at = tenth(share * layout.width);
    svg.push(`<path d="M${at},${layout.height}v${-(tick ? layout.height : MINOR_TICK_LENGTH)}" stroke="${tick ? colors.grid : colors.text}"/>`);
  }
  for (const { lines, middle } of placeLabels(layout.xTicks, layout.width, width - layout.left, widthOf)) {
    lines.forEach((line, i) => svg.push(text(`x="${tenth(middle)}" y="${layout.height + 15 + LINE_HEIGHT * i}" text-anchor="middle"`, line)));
  }
  for (const { share, label: tick } of layout.yTicks) {
    const at = tenth((1 - share) * layout.height);
    svg.push(`<path d="M0,${at}h${tick ? layout.width : MINOR_TICK_LENGTH}" stroke="${tick ? colors.grid : colors.text}"/>`);
    if (!tick) continue;
    // On the y axis the date is above the time of day, so that the time is level with its tick.
    const lines = tick.split("\n").reverse();
    lines.forEach((line, i) => svg.push(text(`x="-6" y="${at + 4 + (i - lines.length + 1) * LINE_HEIGHT}" text-anchor="end"`, line)));
  }
  svg.push(text(`x="${layout.width / 2}" y="${height - layout.top + 8}" text-anchor="middle"`, titles[0]));
  svg.push(text(`transform="translate(${-layout.left},${layout.height / 2})rotate(-90)" text-anchor="middle"`, titles[1]));
  svg.push('<g clip-path="url(#plot)" fill="none" stroke-linejoin="round">', ...inside, "</g>", ...above);
  if (note) svg.push(text(`x="${layout.width}" y="-7" text-anchor="end"`, note));
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
