/**
 * The lines between boxes: their text, width and points. Pure functions.
 */

/** @typedef {import("./scene.js").Box} Box */

/**
 * @typedef {object} Tensors  what edges carry
 * @property {number} count  of tensors
 * @property {boolean} control  whether the edges only set an order
 * @property {string} shape  "" if unknown, or if the tensors have several
 */

/** Distance between a box and a line that is routed around it. */
const DETOUR_PX = 14;

/** The text on a line. @param {Tensors} tensors */
export function labelOf({ count, control, shape }) {
  if (control) return "";
  if (shape !== "") return `${shape.replaceAll("x", "×")}${count > 1 ? ` (${count})` : ""}`;
  return count > 1 ? `${count} tensors` : "";
}

/**
 * The weight of edges in the layout. It grows with the logarithm of the number of tensors; control
 * edges have the lowest weight.
 * @param {Tensors} tensors
 */
export function weightOf({ count, control }) {
  return control ? 1 : 2 + Math.round(Math.log2(count));
}

/** The width of a line. It grows with the size and the number of tensors. @param {Tensors} tensors */
export function widthOf({ count, control, shape }) {
  if (control) return 1;
  const size = shape.split("x").reduce((product, part) => product * (Number(part) || 1), 1);
  return Math.min(9, 1 + 0.25 * Math.log10(size) + Math.log2(count));
}

/**
 * Points moved by an offset.
 * @param {readonly number[]} points
 * @param {number} x
 * @param {number} y
 */
export function shifted(points, x, y) {
  return points.map((value, i) => value + (i % 2 === 0 ? x : y));
}

/**
 * Moves an end of a line to a port. If the line would cross the box on its way to the port, which
 * occurs in cycles, the line is routed around the box.
 * @param {number[]} path
 * @param {"start" | "end"} which
 * @param {number | null} x  of the port; null if there is none
 * @param {Box} box
 */
export function connectToPort(path, which, x, box) {
  if (x === null) return;
  const isEnd = which === "end";
  const y = isEnd ? box.y + box.height : box.y;
  const side = isEnd ? 1 : -1;
  // If the neighbouring point of the line is on the box's side of the border, the line would cross
  // the box.
  const [, neighbourY] = path.slice(isEnd ? -4 : 2);
  path.splice(isEnd ? -2 : 0, 2);
  const places = [[x, y]];
  if ((neighbourY - y) * side < 0) {
    const beside = x < box.x + box.width / 2 ? box.x - DETOUR_PX : box.x + box.width + DETOUR_PX;
    const corner = y + side * DETOUR_PX;
    places.push([x, corner], [beside, corner], [beside, neighbourY]);
  }
  if (isEnd) path.push(...places.reverse().flat());
  else path.unshift(...places.flat());
}

/** The points of a line between the facing sides of two boxes. @param {Box} from @param {Box} to */
export function sideToSide(from, to) {
  const isRight = to.x + to.width / 2 > from.x + from.width / 2;
  const start = [isRight ? from.x + from.width : from.x, from.y + from.height / 2];
  const end = [isRight ? to.x : to.x + to.width, to.y + to.height / 2];
  const half = (start[0] + end[0]) / 2;
  return [...start, half, start[1], half, end[1], ...end];
}
