/**
 * Options for displaying images, and the CSS and file names that follow from them. Pure functions.
 */

/**
 * @typedef {"fit" | "1" | "2" | "4" | "8"} Size  "fit" fits the available space; a number is a zoom
 *   factor
 */

/** @type {[value: Size, title: string, why: string][]} */
export const SIZES = [
  ["fit", "Fit", "Fit the available space"],
  ["1", "1×", "Actual size"],
  ["2", "2×", "Twice the actual size"],
  ["4", "4×", "Four times the actual size"],
  ["8", "8×", "Eight times the actual size"],
];

/**
 * Largest brightness and contrast, in percent; the smallest is 0, and 100 leaves images as logged.
 */
export const MAX_PERCENT = 400;

/**
 * @typedef {object} DisplayOptions
 * @property {Size} size
 * @property {boolean} smooth  whether enlarged images are interpolated
 * @property {number} brightness  percent
 * @property {number} contrast  percent
 */

/**
 * The options in the page address; missing and invalid ones get their defaults.
 * @param {Readonly<Record<string, string>>} texts  settings from the address
 * @returns {DisplayOptions}
 */
export function parseDisplayOptions({ size, smooth, bright, contrast }) {
  return {
    size: SIZES.find(([value]) => value === size)?.[0] ?? "fit",
    smooth: smooth === "true",
    brightness: parsePercent(bright),
    contrast: parsePercent(contrast),
  };
}

/**
 * A percentage within the bounds; 100 if the text is not a number.
 * @param {string | undefined} text
 */
function parsePercent(text) {
  const percent = Number(text ?? 100);
  return Number.isFinite(percent) ? Math.min(MAX_PERCENT, Math.max(0, Math.round(percent))) : 100;
}

/** How images are compared with those of another run. @type {[value: string, title: string][]} */
export const COMPARISONS = [
  ["", "as logged"],
  ["overlay", "over those of a run …"],
  ["difference", "minus those of a run …"],
];

/**
 * How images are compared, and with those of which run; by default that is the first one shown.
 * @param {Pick<import("tbcore/host.js").Host, "settings" | "runs">} host
 * @returns {{ comparison: string, base: string }} `comparison` is "" if they are not compared
 */
export function comparisonOf({ settings, runs }) {
  const { compared, run } = settings.value;
  return { comparison: COMPARISONS.find(([value]) => value === compared)?.[0] ?? "", base: run ?? runs.value[0]?.name ?? "" };
}

/**
 * The CSS filter for brightness and contrast.
 * @param {DisplayOptions} display
 * @returns {string} "" if both are 100 %
 */
export function filterOf({ brightness, contrast }) {
  const parts = [brightness !== 100 && `brightness(${brightness}%)`, contrast !== 100 && `contrast(${contrast}%)`];
  return parts.filter(Boolean).join(" ");
}

/**
 * The CSS width of an image on the page.
 * @param {Size} size
 * @param {{ width: number, height: number }} image  its size in pixels
 * @returns {string} "" if the image's size is unknown
 */
export function widthOf(size, { width, height }) {
  if (!(width > 0 && height > 0)) return "";
  // Fit: the height that the cell's style sets, but no wider than the cell.
  if (size === "fit") return `min(100cqw, calc(var(--image-height) * ${width / height}))`;
  return `${width * Number(size)}px`;
}

/**
 * The file name extension for a content type, such as ".png"; ".bin" if it is unknown.
 * @param {string} contentType
 */
export function fileExtension(contentType) {
  const kind = /^image\/(png|jpeg|gif|webp|bmp)$/.exec(contentType)?.[1] ?? "bin";
  return kind === "jpeg" ? ".jpg" : `.${kind}`;
}
