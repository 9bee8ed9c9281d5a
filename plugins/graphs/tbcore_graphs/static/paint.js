/**
 * Paints a scene with a pen: on a canvas, or as SVG (see `picture.js`).
 */

import { SIZES } from "./scope-layout.js";

/**
 * @typedef {import("./scene.js").Box} Box
 * @typedef {import("./scene.js").Line} Line
 * @typedef {import("./scene.js").Scene} Scene
 *
 * @typedef {object} Colors  the theme's colours
 * @property {string} background
 * @property {string} surface
 * @property {string} nested  background of open scopes inside open scopes, at every other level
 * @property {string} ink
 * @property {string} dim
 * @property {string} line
 * @property {string} accent
 * @property {string} edge
 *
 * @typedef {object} Appearance  how the scene is shown
 * @property {Colors} colors
 * @property {(box: Box) => import("./colors.js").Paint | null} paintOf  null for no colour
 * @property {string | null} selected  full name
 * @property {string | null} hovered
 * @property {ReadonlySet<string>} found  names of search results, which are outlined
 * @property {ReadonlySet<string> | null} traced  names of traced boxes; all others are faint. Null
 *   if tracing is off
 *
 * @typedef {object} TextStyle
 * @property {number} size
 * @property {string} color
 * @property {"start" | "middle"} align
 * @property {boolean} [bold]
 * @property {string} [halo]  colour of an outline that separates the text from lines
 *
 * @typedef {object} Pen
 * @property {(x: number, y: number, width: number, height: number, radius: number, style: { fill?: string | null, stroke?: string | null, line?: number, alpha?: number }) => void} rect
 * @property {(points: readonly number[], style: { color: string, width: number, dash: boolean, alpha: number, arrow: boolean }) => void} path
 * @property {(text: string, x: number, y: number, style: TextStyle) => void} text
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';

/** Text smaller than this on the screen is left out. */
const MIN_TEXT_PX = 3.5;
/** Text smaller than this on the screen is enlarged if there is space. */
const READABLE_TEXT_PX = 8;

/**
 * Paints the visible part of a scene.
 * @param {Pen} pen
 * @param {Scene} scene
 * @param {Appearance} appearance
 * @param {{ scale: number, left: number, top: number, right: number, bottom: number }} part  in
 *   pixels of the drawing
 */
export function paint(pen, scene, appearance, part) {
  const { traced } = appearance;
  const focus = appearance.selected ?? appearance.hovered;
  /** @type {Line[]} */
  const strong = [];
  /** @type {Box[]} */
  const open = [];
  for (const item of scene.items) {
    if (item.type === "line") {
      // Strong: edges of the focused box; while tracing, edges between traced boxes.
      const isOfFocus = focus !== null && (item.from === focus || item.to === focus);
      const isTraced = traced !== null && traced.has(item.from) && traced.has(item.to);
      if (traced === null ? isOfFocus : isTraced && (isOfFocus || !item.hidden)) strong.push(item);
      else if (!item.hidden && isLineIn(item.points, part)) paintLine(pen, item, appearance, part.scale, false);
    } else if (item.type === "rule") {
      pen.path([item.x, item.y, item.x, item.y + item.height], { color: appearance.colors.line, width: 1.5, dash: true, alpha: 1, arrow: false });
      if (SIZES.small * part.scale >= MIN_TEXT_PX) {
        pen.text("Auxiliary", item.x + 6, item.y - 10, { size: SIZES.small, color: appearance.colors.dim, align: "start" });
      }
    } else if (item.x <= part.right && item.y <= part.bottom && item.x + item.width >= part.left && item.y + item.height >= part.top) {
      paintBox(pen, item, appearance, part.scale);
      if (item.open) open.push(item);
    }
  }
  // Names of open scopes are painted over lines.
  for (const box of open) paintHeader(pen, box, appearance, part.scale);
  // Highlighted lines are on top, including those to auxiliary nodes.
  for (const line of strong) if (isLineIn(line.points, part)) paintLine(pen, line, appearance, part.scale, true);
}

/**
 * Whether the bounding box of a line overlaps the visible part.
 * @param {readonly number[]} points
 * @param {{ left: number, top: number, right: number, bottom: number }} part
 */
function isLineIn(points, { left, top, right, bottom }) {
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    minX = Math.min(minX, points[i]);
    maxX = Math.max(maxX, points[i]);
    minY = Math.min(minY, points[i + 1]);
    maxY = Math.max(maxY, points[i + 1]);
  }
  return minX <= right && maxX >= left && minY <= bottom && maxY >= top;
}

/**
 * Paints an edge and its label.
 * @param {Pen} pen
 * @param {Line} line
 * @param {Appearance} appearance
 * @param {number} scale
 * @param {boolean} isStrong
 */
function paintLine(pen, line, { colors, traced }, scale, isStrong) {
  const color = isStrong ? colors.accent : colors.edge;
  const width = Math.max(line.width * (isStrong ? 1.3 : 1), 0.7 / scale);
  const isFaint = traced !== null && !isStrong;
  pen.path(line.points, { color, width, dash: line.control, alpha: isStrong ? 1 : isFaint ? 0.2 : 0.75, arrow: line.arrow && scale > 0.3 });
  if (isFaint) return;
  if (line.label !== "" && SIZES.small * scale >= 7 && !line.hidden) {
    const [x, y] = middleOf(line.points);
    pen.text(line.label, x, y, { size: SIZES.small, color: isStrong ? colors.accent : colors.dim, align: "middle", halo: colors.background });
  }
}

/** The point in the middle of a list of points. @param {readonly number[]} points */
function middleOf(points) {
  const half = Math.floor(points.length / 4) * 2;
  if ((points.length / 2) % 2 === 1) return [points[half], points[half + 1]];
  return [(points[half - 2] + points[half]) / 2, (points[half - 1] + points[half + 1]) / 2];
}

/**
 * Paints a box; for an open scope only its background.
 * @param {Pen} pen
 * @param {Box} box
 * @param {Appearance} appearance
 * @param {number} scale
 */
function paintBox(pen, box, appearance, scale) {
  const { paintOf, selected, hovered, found } = appearance;
  const { x, y, width, height } = box;
  const colors = colorsFor(box, appearance);
  const { color, strength } = (colors === appearance.colors && paintOf(box)) || { color: null, strength: 0.06 };
  const isSelected = box.name === selected;
  const stroke = isSelected ? colors.accent : found.has(box.name) ? colors.ink : (color ?? colors.dim);
  const line = isSelected || found.has(box.name) ? 2.5 : box.name === hovered ? 1.8 : 1;
  const radius = box.kind === "op" ? height / 2 : 6;
  if (box.open) {
    pen.rect(x, y, width, height, 8, { fill: box.depth % 2 === 0 ? colors.surface : colors.nested, stroke, line });
    if (color !== null) pen.rect(x, y, width, height, 8, { fill: color, alpha: 0.07 });
    return;
  }
  // A series looks like a stack of boxes.
  if (box.kind === "series") for (const by of [6, 3]) pen.rect(x + by, y - by, width, height, radius, { fill: colors.surface, stroke, line: 1 });
  pen.rect(x, y, width, height, radius, { fill: colors.surface });
  pen.rect(x, y, width, height, radius, { fill: color ?? colors.dim, alpha: strength });
  pen.rect(x, y, width, height, radius, { stroke, line });
  if (box.numHidden > 0) {
    pen.path([x + width, y + height / 2, x + width + 9, y + height / 2], { color: colors.dim, width: 1, dash: false, alpha: 1, arrow: false });
    pen.rect(x + width + 8, y + height / 2 - 2.5, 5, 5, 2.5, { fill: colors.dim });
  }
  const isGroup = box.kind !== "op";
  if (SIZES.label * scale < READABLE_TEXT_PX) {
    // Zoomed out: only the name, as large as fits into the box.
    const size = Math.min(READABLE_TEXT_PX / scale, (SIZES.label * (width - 10)) / box.textWidth, height * 0.66);
    if (size * scale >= MIN_TEXT_PX) pen.text(box.label, x + width / 2, y + height / 2, { size, color: colors.ink, align: "middle", bold: isGroup });
    return;
  }
  const centre = x + width / 2 + (isGroup ? 8 : 0);
  const middle = y + height / 2;
  const style = { color: colors.ink, align: /** @type {const} */ ("middle"), bold: isGroup };
  pen.text(box.label, centre, box.sub === "" ? middle : middle - 7, { size: SIZES.label, ...style });
  // Dim text on a colour is hard to read.
  const subColor = color === null ? colors.dim : colors.ink;
  if (box.sub !== "") pen.text(box.sub, centre, middle + 8, { size: SIZES.small, color: subColor, align: "middle" });
  if (isGroup) paintToggle(pen, x + 15, middle, "+", colors);
}

/**
 * The colours for a box; faint if other boxes are traced.
 * @param {Box} box
 * @param {Appearance} appearance
 * @returns {Colors}
 */
function colorsFor(box, { colors, traced }) {
  if (traced === null || traced.has(box.name)) return colors;
  return { ...colors, ink: colors.dim, dim: colors.line };
}

/**
 * Paints the name of an open scope, its toggle and its message.
 * @param {Pen} pen
 * @param {Box} box
 * @param {Appearance} appearance
 * @param {number} scale
 */
function paintHeader(pen, box, appearance, scale) {
  if (SIZES.label * scale < MIN_TEXT_PX) return;
  const { x, y, width, height, label, textWidth, message } = box;
  const colors = colorsFor(box, appearance);
  // The header has space for a larger name when zoomed out.
  const size = Math.max(SIZES.label, Math.min(READABLE_TEXT_PX / scale, SIZES.header - 6, (SIZES.label * (width - 40)) / textWidth));
  pen.text(label, x + 28, y + SIZES.header / 2 + 1, { size, color: colors.ink, align: "start", bold: true, halo: colors.surface });
  paintToggle(pen, x + 15, y + SIZES.header / 2, "−", colors);
  if (message) pen.text(message, x + width / 2, y + height / 2 + 8, { size: SIZES.label, color: colors.dim, align: "middle" });
}

/**
 * Paints the button that opens or closes a scope.
 * @param {Pen} pen
 * @param {number} x
 * @param {number} y
 * @param {string} sign
 * @param {Colors} colors
 */
function paintToggle(pen, x, y, sign, colors) {
  pen.rect(x - 6.5, y - 6.5, 13, 13, 3, { fill: colors.surface, stroke: colors.dim, line: 1 });
  const style = { color: colors.ink, width: 1.3, dash: false, alpha: 1, arrow: false };
  pen.path([x - 3.5, y, x + 3.5, y], style);
  if (sign === "+") pen.path([x, y - 3.5, x, y + 3.5], style);
}

/**
 * Whether a point in a box is on its toggle.
 * @param {Box} box
 * @param {number} x
 * @param {number} y
 */
export function isOnToggle(box, x, y) {
  if (box.kind === "op") return false;
  const middle = box.y + (box.open ? SIZES.header : box.height) / 2;
  return Math.abs(x - box.x - 15) <= 10 && Math.abs(y - middle) <= 10;
}

/** Half the width of an arrowhead, and its length. */
const ARROW = { half: 3.2, length: 7 };

/**
 * Adds a smooth curve to a path. The curve starts at the first point and ends at the last one. All
 * points in between are control points: the curve passes through the midpoints between them.
 * @param {readonly number[]} points
 * @param {{ moveTo: (x: number, y: number) => void, lineTo: (x: number, y: number) => void, quadraticCurveTo: (a: number, b: number, x: number, y: number) => void }} path
 */
export function addCurve(points, path) {
  path.moveTo(points[0], points[1]);
  const last = points.length - 2;
  for (let i = 2; i < last; i += 2) {
    const isEnd = i === last - 2;
    const x = isEnd ? points[last] : (points[i] + points[i + 2]) / 2;
    const y = isEnd ? points[last + 1] : (points[i + 1] + points[i + 3]) / 2;
    path.quadraticCurveTo(points[i], points[i + 1], x, y);
  }
  if (last === 2) path.lineTo(points[2], points[3]);
}

/**
 * The three corners of the arrowhead at the end of a line.
 * @param {readonly number[]} points
 * @param {number} width
 */
export function arrowOf(points, width) {
  const last = points.length - 2;
  const [x, y] = [points[last], points[last + 1]];
  const angle = Math.atan2(y - points[last - 1], x - points[last - 2]);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const half = ARROW.half + width / 2;
  const length = ARROW.length + width / 2;
  const [baseX, baseY] = [x - cos * length, y - sin * length];
  return [x, y, baseX - sin * half, baseY + cos * half, baseX + sin * half, baseY - cos * half];
}

/** A pen that draws on a canvas. @param {CanvasRenderingContext2D} context @returns {Pen} */
export function canvasPen(context) {
  return {
    rect(x, y, width, height, radius, { fill, stroke, line = 1, alpha = 1 }) {
      context.beginPath();
      context.roundRect(x, y, width, height, radius);
      context.globalAlpha = alpha;
      if (fill) {
        context.fillStyle = fill;
        context.fill();
      }
      context.globalAlpha = 1;
      if (stroke) {
        context.strokeStyle = stroke;
        context.lineWidth = line;
        context.stroke();
      }
    },
    path(points, { color, width, dash, alpha, arrow }) {
      context.globalAlpha = alpha;
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = width;
      if (dash) context.setLineDash([4, 3]);
      context.beginPath();
      addCurve(points, context);
      context.stroke();
      if (dash) context.setLineDash([]);
      if (arrow) {
        const [x0, y0, x1, y1, x2, y2] = arrowOf(points, width);
        context.beginPath();
        context.moveTo(x0, y0);
        context.lineTo(x1, y1);
        context.lineTo(x2, y2);
        context.fill();
      }
      context.globalAlpha = 1;
    },
    text(text, x, y, { size, color, align, bold, halo }) {
      context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
      context.textAlign = align === "middle" ? "center" : "left";
      context.textBaseline = "middle";
      if (halo) {
        context.strokeStyle = halo;
        context.lineWidth = 3;
        context.lineJoin = "round";
        context.strokeText(text, x, y);
      }
      context.fillStyle = color;
      context.fillText(text, x, y);
    },
  };
}
