/**
 * Helpers for making SVG, and for converting it to PNG.
 */

/** Browsers cannot make wider or higher canvases. */
const MAX_SIDE_PX = 16_000;
/** Browsers cannot make canvases with more pixels. */
const MAX_PIXELS = 100e6;

/**
 * Builds SVG path data, with the methods of a canvas path. Coordinates are rounded to a tenth of a
 * pixel.
 */
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

/**
 * Escapes any text for XML. Characters that XML does not allow are removed.
 * @param {string} text
 */
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
    image.src = url;
    await image.decode();
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
