/**
 * Pure functions on cameras. A camera maps a point of the drawing to `point * scale + offset` on
 * the screen.
 */

/**
 * @typedef {object} Camera
 * @property {number} scale
 * @property {number} x  position of the drawing's origin, CSS pixels
 * @property {number} y
 *
 * @typedef {{ x: number, y: number, width: number, height: number }} Area
 */

/** Limits of the scale. */
export const SCALES = { min: 0.02, max: 4 };
/** Smallest margin around an area that is fitted to the screen. */
const MARGIN_PX = 24;
/** Additional margin at the bottom, for the legend. */
const LEGEND_HEIGHT_PX = 20;

/**
 * A camera that shows a whole area, centred.
 * @param {Area} area  of the drawing
 * @param {{ width: number, height: number }} screen
 * @param {number} [maxScale]  limits how much a small drawing is enlarged
 * @returns {Camera}
 */
export function fit(area, screen, maxScale = 1.25) {
  const space = { width: Math.max(40, screen.width - 2 * MARGIN_PX), height: Math.max(40, screen.height - 2 * MARGIN_PX - LEGEND_HEIGHT_PX) };
  const scale = Math.max(SCALES.min, Math.min(maxScale, space.width / Math.max(1, area.width), space.height / Math.max(1, area.height)));
  return centred(area, scale, { width: screen.width, height: screen.height - LEGEND_HEIGHT_PX });
}

/**
 * A camera that centres an area.
 * @param {Area} area
 * @param {number} scale
 * @param {{ width: number, height: number }} screen
 * @returns {Camera}
 */
export function centred(area, scale, screen) {
  return {
    scale,
    x: screen.width / 2 - (area.x + area.width / 2) * scale,
    y: screen.height / 2 - (area.y + area.height / 2) * scale,
  };
}

/**
 * Zooms around a point of the screen.
 * @param {Camera} camera
 * @param {number} factor
 * @param {number} atX  CSS pixels on the screen
 * @param {number} atY
 * @returns {Camera}
 */
export function zoom(camera, factor, atX, atY) {
  const scale = Math.min(SCALES.max, Math.max(SCALES.min, camera.scale * factor));
  const by = scale / camera.scale;
  return { scale, x: atX - (atX - camera.x) * by, y: atY - (atY - camera.y) * by };
}

/**
 * Interpolates between two cameras.
 * @param {Camera} from
 * @param {Camera} to
 * @param {number} share  0 to 1
 * @returns {Camera}
 */
export function between(from, to, share) {
  const scale = from.scale * (to.scale / from.scale) ** share;
  // Points move on straight lines while the scale changes.
  const part = to.scale === from.scale ? share : (scale - from.scale) / (to.scale - from.scale);
  return { scale, x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

/**
 * The smallest move that brings an area into view; zooms out if the area is larger than the screen.
 * @param {Camera} camera
 * @param {Area} area
 * @param {{ width: number, height: number }} screen
 * @returns {Camera}
 */
export function reveal(camera, area, screen) {
  const { scale } = camera;
  const fits = area.width * scale <= screen.width - MARGIN_PX && area.height * scale <= screen.height - MARGIN_PX;
  if (!fits) return fit(area, screen, scale);
  const left = area.x * scale + camera.x;
  const top = area.y * scale + camera.y;
  /** @param {number} start @param {number} length @param {number} space */
  const shift = (start, length, space) => Math.max(0, MARGIN_PX / 2 - start) || Math.min(0, space - MARGIN_PX / 2 - start - length);
  return { scale, x: camera.x + shift(left, area.width * scale, screen.width), y: camera.y + shift(top, area.height * scale, screen.height) };
}
