/**
 * How pictures are shown. Pure.
 */

/** @typedef {"fit" | "1" | "2" | "4" | "8"} Size  "fit": as there is room; else so many times its own pixels */

/** @type {[value: Size, title: string, why: string][]} */
export const SIZES = [
  ["fit", "Fit", "As large as there is room"],
  ["1", "1×", "Actual size"],
  ["2", "2×", "Twice the size"],
  ["4", "4×", "Four times the size"],
  ["8", "8×", "Eight times the size"],
];

/** Brightness and contrast reach from 0 to this, in percent; 100 is as logged. */
export const MOST_PERCENT = 400;

/**
 * @typedef {object} Look
 * @property {Size} size
 * @property {boolean} smooth  whether what is enlarged is blurred
 * @property {number} brightness  percent
 * @property {number} contrast  percent
 */

/**
 * @param {Readonly<Record<string, string>>} texts  of the address
 * @returns {Look}
 */
export function parseLook({ size, smooth, bright, contrast }) {
  return {
    size: SIZES.find(([value]) => value === size)?.[0] ?? "fit",
    smooth: smooth === "true",
    brightness: parsePercent(bright),
    contrast: parsePercent(contrast),
  };
}

/** @param {string | undefined} text */
function parsePercent(text) {
  const percent = Number(text ?? 100);
  return Number.isFinite(percent) ? Math.min(MOST_PERCENT, Math.max(0, Math.round(percent))) : 100;
}

/**
 * What CSS makes of brightness and contrast.
 * @param {Look} look
 * @returns {string} "" for pictures as they were logged
 */
export function filterOf({ brightness, contrast }) {
  const parts = [brightness !== 100 && `brightness(${brightness}%)`, contrast !== 100 && `contrast(${contrast}%)`];
  return parts.filter(Boolean).join(" ");
}

/**
 * The width of a picture on the page, as CSS.
 * @param {Size} size
 * @param {{ width: number, height: number }} picture  in its own pixels
 * @returns {string} "" where the picture does not say how large it is
 */
export function widthOf(size, { width, height }) {
  if (!(width > 0 && height > 0)) return "";
  // Fit: as high as the cell wants it, and never wider than the cell.
  if (size === "fit") return `min(100cqw, calc(var(--picture-height) * ${width / height}))`;
  return `${width * Number(size)}px`;
}

/**
 * The ending of a file's name.
 * @param {string} contentType
 */
export function endingOf(contentType) {
  const kind = /^image\/(png|jpeg|gif|webp|bmp)$/.exec(contentType)?.[1] ?? "bin";
  return kind === "jpeg" ? ".jpg" : `.${kind}`;
}
