/**
 * Pictures as SVG, and PNG made of them.
 */

/** Browsers make no canvas that is wider or higher, or has more pixels. */
const MAX_SIDE = 16_000;
const MAX_PIXELS = 100e6;

/** Path data, to a tenth of a pixel; filled as a canvas path is. */
export class PathData {
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

/** @param {number} value */
export function tenth(value) {
  return Math.round(value * 10) / 10;
}

/** Text of a log as text of XML; what XML cannot hold is left out. @param {string} text */
export function escapeXML(text) {
  return text
    .replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "")
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * @param {string} svg  with width and height
 * @param {number} scale  smaller where the picture would be larger than browsers allow
 * @returns {Promise<Blob>}
 */
export async function svgToPNG(svg, scale) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const { width, height } = image;
    const most = Math.min(scale, MAX_SIDE / width, MAX_SIDE / height, Math.sqrt(MAX_PIXELS / (width * height)));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(width * most));
    canvas.height = Math.max(1, Math.round(height * most));
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) => {
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the browser makes no PNG of this size"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}
