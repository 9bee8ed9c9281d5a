/**
 * Which part of the drawing is in sight: a place of the drawing is `place * scale + offset` on the screen. Pure.
 */

/**
 * @typedef {object} Camera
 * @property {number} scale
 * @property {number} x  of the drawing's origin, CSS pixels
 * @property {number} y
 *
 * @typedef {{ x: number, y: number, width: number, height: number }} Area
 */

export const SCALES = { least: 0.02, most: 4 };
const MARGIN = 24;
/** Below that, for the legend. */
const FOOT = 20;

/**
 * Shows an area as a whole, in the middle.
 * @param {Area} area  of the drawing
 * @param {{ width: number, height: number }} screen
 * @param {number} [most]  scale: small drawings are not blown up
 * @returns {Camera}
 */
export function fit(area, screen, most = 1.25) {
  const room = { width: Math.max(40, screen.width - 2 * MARGIN), height: Math.max(40, screen.height - 2 * MARGIN - FOOT) };
  const scale = Math.max(SCALES.least, Math.min(most, room.width / Math.max(1, area.width), room.height / Math.max(1, area.height)));
  return centred(area, scale, { width: screen.width, height: screen.height - FOOT });
}

/** @param {Area} area @param {number} scale @param {{ width: number, height: number }} screen @returns {Camera} */
export function centred(area, scale, screen) {
  return {
    scale,
    x: screen.width / 2 - (area.x + area.width / 2) * scale,
    y: screen.height / 2 - (area.y + area.height / 2) * scale,
  };
}

/**
 * Zooms; the place under a point of the screen stays there.
 * @param {Camera} camera
 * @param {number} factor
 * @param {number} atX
 * @param {number} atY
 * @returns {Camera}
 */
export function zoom(camera, factor, atX, atY) {
  const scale = Math.min(SCALES.most, Math.max(SCALES.least, camera.scale * factor));
  const by = scale / camera.scale;
  return { scale, x: atX - (atX - camera.x) * by, y: atY - (atY - camera.y) * by };
}

/**
 * Between two cameras.
 * @param {Camera} from
 * @param {Camera} to
 * @param {number} share  0 to 1
 * @returns {Camera}
 */
export function between(from, to, share) {
  const scale = from.scale * (to.scale / from.scale) ** share;
  // So that places move on straight lines while the scale changes.
  const part = to.scale === from.scale ? share : (scale - from.scale) / (to.scale - from.scale);
  return { scale, x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}

/**
 * The smallest move that brings an area into sight; zooms out where it is larger than the screen.
 * @param {Camera} camera
 * @param {Area} area
 * @param {{ width: number, height: number }} screen
 * @returns {Camera}
 */
export function reveal(camera, area, screen) {
  const { scale } = camera;
  const fits = area.width * scale <= screen.width - MARGIN && area.height * scale <= screen.height - MARGIN;
  if (!fits) return fit(area, screen, scale);
  const left = area.x * scale + camera.x;
  const top = area.y * scale + camera.y;
  /** @param {number} start @param {number} length @param {number} room */
  const shift = (start, length, room) => Math.max(0, MARGIN / 2 - start) || Math.min(0, room - MARGIN / 2 - start - length);
  return { scale, x: camera.x + shift(left, area.width * scale, screen.width), y: camera.y + shift(top, area.height * scale, screen.height) };
}
