/** The drawing of a graph as a picture: SVG and PNG. Loaded when the user asks for one. */

import { pictureTools } from "tbcore/cards.js";
import { FONT, addCurve, arrowOf, paint } from "./paint.js";

/**
 * A pen that writes SVG.
 * @param {import("tbcore/cards.js").PictureTools} tools
 * @returns {import("./paint.js").Pen & { elements: string[] }}
 */
export function svgPen({ PathData, escapeXML, tenth }) {
  /** @type {string[]} */
  const elements = [];
  return {
    elements,
    rect(x, y, width, height, radius, { fill, stroke, line = 1, alpha = 1 }) {
      const paint = `fill="${fill ? escapeXML(fill) : "none"}"${alpha < 1 ? ` fill-opacity="${alpha}"` : ""}${stroke ? ` stroke="${escapeXML(stroke)}" stroke-width="${line}"` : ""}`;
      elements.push(`<rect x="${tenth(x)}" y="${tenth(y)}" width="${tenth(width)}" height="${tenth(height)}" rx="${tenth(radius)}" ${paint}/>`);
    },
    path(points, { color, width, dash, alpha, arrow }) {
      const data = new PathData();
      addCurve(points, data);
      elements.push(`<path d="${data.data}" fill="none" stroke="${escapeXML(color)}" stroke-width="${tenth(width)}" stroke-opacity="${alpha}"${dash ? ' stroke-dasharray="4 3"' : ""}/>`);
      if (arrow) elements.push(`<polygon points="${arrowOf(points, width).map(tenth).join(" ")}" fill="${escapeXML(color)}" fill-opacity="${alpha}"/>`);
    },
    text(text, x, y, { size, color, align, bold, halo }) {
      const outline = halo ? ` stroke="${escapeXML(halo)}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : "";
      elements.push(
        `<text x="${tenth(x)}" y="${tenth(y)}" font-size="${size}" fill="${escapeXML(color)}" text-anchor="${align}" dominant-baseline="central"${bold ? ' font-weight="600"' : ""}${outline}>${escapeXML(text)}</text>`,
      );
    },
  };
}

/**
 * The whole scene as an SVG document.
 * @param {import("./scene.js").Scene} scene
 * @param {import("./paint.js").Appearance} appearance
 * @param {string} title
 */
export async function sceneSVG(scene, appearance, title) {
  const tools = await pictureTools();
  const { escapeXML } = tools;
  const margin = 24;
  const [width, height] = [Math.ceil(scene.width + 2 * margin), Math.ceil(scene.height + 2 * margin)];
  const pen = svgPen(tools);
  paint(pen, scene, appearance, { scale: 1, left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${-margin} ${-margin} ${width} ${height}" font-family="${escapeXML(FONT)}">`,
    `<title>${escapeXML(title)}</title><rect x="${-margin}" y="${-margin}" width="${width}" height="${height}" fill="${escapeXML(appearance.colors.background)}"/>`,
    ...pen.elements,
    "</svg>",
  ].join("\n");
}

/**
 * The whole scene as an image. Rejects if the browser cannot make an image of that size.
 * @param {Parameters<typeof sceneSVG>} args
 * @returns {Promise<Blob>} image/png
 */
export async function scenePNG(...args) {
  const { svgToPNG } = await pictureTools();
  return svgToPNG(await sceneSVG(...args), 2);
}
