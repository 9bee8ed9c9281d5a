/**
 * Paints a scene: on a canvas, or as SVG. Both go through a pen, so that they show the same.
 */

import { PathData, escapeXML, tenth } from "tbcore/lib/svg.js";
import { SIZES } from "./scene.js";

/**
 * @typedef {import("./scene.js").Box} Box
 * @typedef {import("./scene.js").Line} Line
 * @typedef {import("./scene.js").Scene} Scene
 *
 * @typedef {object} Colors  of the theme
 * @property {string} ground
 * @property {string} surface
 * @property {string} raised  of what is open inside of what is open
 * @property {string} ink
 * @property {string} dim
 * @property {string} line
 * @property {string} accent
 * @property {string} edge
 *
 * @typedef {object} Look  how the scene is shown
 * @property {Colors} colors
 * @property {(box: Box) => import("./colors.js").Paint | null} paintOf  null: no colour
 * @property {string | null} selected  full name
 * @property {string | null} hovered
 * @property {ReadonlySet<string>} found  names to be marked
 * @property {ReadonlySet<string> | null} traced  names of what stays strong when all else gets faint; null: everything is as it is
 *
 * @typedef {object} TextStyle
 * @property {number} size
 * @property {string} color
 * @property {"start" | "middle"} align
 * @property {boolean} [bold]
 * @property {string} [halo]
 *
 * @typedef {object} Pen
 * @property {(x: number, y: number, width: number, height: number, radius: number, style: { fill?: string | null, stroke?: string | null, line?: number, alpha?: number }) => void} rect
 * @property {(points: readonly number[], style: { color: string, width: number, dash: boolean, alpha: number, arrow: boolean }) => void} path
 * @property {(text: string, x: number, y: number, style: TextStyle) => void} text
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';

/** Text that is smaller than this on the screen is left out, CSS pixels. */
const LEAST_TEXT = 3.5;
/** Text that is smaller than this is made larger where there is room. */
const SMALL_TEXT = 8;

/**
 * @param {Pen} pen
 * @param {Scene} scene
 * @param {Look} look
 * @param {{ scale: number, left: number, top: number, right: number, bottom: number }} part  what is in sight
 */
export function paint(pen, scene, look, part) {
  const { traced } = look;
  const focus = look.selected ?? look.hovered;
  /** @type {Line[]} */
  const strong = [];
  /** @type {Box[]} */
  const open = [];
  for (const item of scene.items) {
    if (item.type === "line") {
      const isOfFocus = focus !== null && (item.from === focus || item.to === focus);
      const isTraced = traced !== null && traced.has(item.from) && traced.has(item.to);
      if (traced === null ? isOfFocus : isTraced && (isOfFocus || !item.hidden)) strong.push(item);
      else if (!item.hidden && isLineIn(item.points, part)) paintLine(pen, item, look, part.scale, false);
    } else if (item.type === "rule") {
      pen.path([item.x, item.y, item.x, item.y + item.height], { color: look.colors.line, width: 1.5, dash: true, alpha: 1, arrow: false });
      if (SIZES.small * part.scale >= LEAST_TEXT) {
        pen.text("Auxiliary", item.x + 6, item.y - 10, { size: SIZES.small, color: look.colors.dim, align: "start" });
      }
    } else if (item.x <= part.right && item.y <= part.bottom && item.x + item.width >= part.left && item.y + item.height >= part.top) {
      paintBox(pen, item, look, part.scale);
      if (item.open) open.push(item);
    }
  }
  // No line may cross the name of a scope.
  for (const box of open) paintHeader(pen, box, look, part.scale);
  // Those of what is chosen lie on top: they lead to what stands apart, too.
  for (const line of strong) if (isLineIn(line.points, part)) paintLine(pen, line, look, part.scale, true);
}

/** @param {readonly number[]} points @param {{ left: number, top: number, right: number, bottom: number }} part */
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
 * @param {Pen} pen
 * @param {Line} line
 * @param {Look} look
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
    pen.text(line.label, x, y, { size: SIZES.small, color: isStrong ? colors.accent : colors.dim, align: "middle", halo: colors.ground });
  }
}

/** Half way along the points. @param {readonly number[]} points */
function middleOf(points) {
  const half = Math.floor(points.length / 4) * 2;
  if ((points.length / 2) % 2 === 1) return [points[half], points[half + 1]];
  return [(points[half - 2] + points[half]) / 2, (points[half - 1] + points[half + 1]) / 2];
}

/**
 * @param {Pen} pen
 * @param {Box} box
 * @param {Look} look
 * @param {number} scale
 */
function paintBox(pen, box, look, scale) {
  const { paintOf, selected, hovered, found } = look;
  const { x, y, width, height } = box;
  const colors = colorsOf(box, look);
  const { color, strength } = (colors === look.colors && paintOf(box)) || { color: null, strength: 0.06 };
  const isSelected = box.name === selected;
  const stroke = isSelected ? colors.accent : found.has(box.name) ? colors.ink : (color ?? colors.dim);
  const line = isSelected || found.has(box.name) ? 2.5 : box.name === hovered ? 1.8 : 1;
  const radius = box.kind === "op" ? height / 2 : 6;
  if (box.open) {
    pen.rect(x, y, width, height, 8, { fill: box.depth % 2 === 0 ? colors.surface : colors.raised, stroke, line });
    if (color !== null) pen.rect(x, y, width, height, 8, { fill: color, alpha: 0.07 });
    return;
  }
  // What is behind shows that there is more of it.
  if (box.kind === "series") for (const by of [6, 3]) pen.rect(x + by, y - by, width, height, radius, { fill: colors.surface, stroke, line: 1 });
  pen.rect(x, y, width, height, radius, { fill: colors.surface });
  pen.rect(x, y, width, height, radius, { fill: color ?? colors.dim, alpha: strength });
  pen.rect(x, y, width, height, radius, { stroke, line });
  if (box.numHidden > 0) {
    pen.path([x + width, y + height / 2, x + width + 9, y + height / 2], { color: colors.dim, width: 1, dash: false, alpha: 1, arrow: false });
    pen.rect(x + width + 8, y + height / 2 - 2.5, 5, 5, 2.5, { fill: colors.dim });
  }
  const isGroup = box.kind !== "op";
  if (SIZES.label * scale < SMALL_TEXT) {
    // From far away the name alone, as large as the box lets it be.
    const size = Math.min(SMALL_TEXT / scale, (SIZES.label * (width - 10)) / box.textWidth, height * 0.66);
    if (size * scale >= LEAST_TEXT) pen.text(box.label, x + width / 2, y + height / 2, { size, color: colors.ink, align: "middle", bold: isGroup });
    return;
  }
  const centre = x + width / 2 + (isGroup ? 8 : 0);
  const middle = y + height / 2;
  const style = { color: colors.ink, align: /** @type {const} */ ("middle"), bold: isGroup };
  pen.text(box.label, centre, box.sub === "" ? middle : middle - 7, { size: SIZES.label, ...style });
  // Dim letters on a colour can hardly be read.
  const subColor = color === null ? colors.dim : colors.ink;
  if (box.sub !== "") pen.text(box.sub, centre, middle + 8, { size: SIZES.small, color: subColor, align: "middle" });
  if (isGroup) paintMark(pen, x + 15, middle, "+", colors);
}

/** The theme's colours; faint ones for what is not traced while something is. @param {Box} box @param {Look} look @returns {Colors} */
function colorsOf(box, { colors, traced }) {
  if (traced === null || traced.has(box.name)) return colors;
  return { ...colors, ink: colors.dim, dim: colors.line };
}

/**
 * The name of an open scope, and what closes it.
 * @param {Pen} pen
 * @param {Box} box
 * @param {Look} look
 * @param {number} scale
 */
function paintHeader(pen, box, look, scale) {
  if (SIZES.label * scale < LEAST_TEXT) return;
  const { x, y, width, height, label, textWidth, message } = box;
  const colors = colorsOf(box, look);
  // There is room for a name that can be read from far away.
  const size = Math.max(SIZES.label, Math.min(SMALL_TEXT / scale, SIZES.header - 6, (SIZES.label * (width - 40)) / textWidth));
  pen.text(label, x + 28, y + SIZES.header / 2 + 1, { size, color: colors.ink, align: "start", bold: true, halo: colors.surface });
  paintMark(pen, x + 15, y + SIZES.header / 2, "−", colors);
  if (message) pen.text(message, x + width / 2, y + height / 2 + 8, { size: SIZES.label, color: colors.dim, align: "middle" });
}

/** What opens and closes a scope. @param {Pen} pen @param {number} x @param {number} y @param {string} sign @param {Colors} colors */
function paintMark(pen, x, y, sign, colors) {
  pen.rect(x - 6.5, y - 6.5, 13, 13, 3, { fill: colors.surface, stroke: colors.dim, line: 1 });
  const style = { color: colors.ink, width: 1.3, dash: false, alpha: 1, arrow: false };
  pen.path([x - 3.5, y, x + 3.5, y], style);
  if (sign === "+") pen.path([x, y - 3.5, x, y + 3.5], style);
}

/** Whether a place in a box is on what opens and closes it. @param {Box} box @param {number} x @param {number} y */
export function isOnMark(box, x, y) {
  if (box.kind === "op") return false;
  const middle = box.y + (box.open ? SIZES.header : box.height) / 2;
  return Math.abs(x - box.x - 15) <= 10 && Math.abs(y - middle) <= 10;
}

/** Half the width of an arrow, and its length. */
const ARROW = { half: 3.2, length: 7 };

/**
 * The curve along points, and the arrow at its end: through the middle between each two, bent at the points.
 * @param {readonly number[]} points
 * @param {{ moveTo: (x: number, y: number) => void, lineTo: (x: number, y: number) => void, quadraticCurveTo: (a: number, b: number, x: number, y: number) => void }} path
 */
export function trace(points, path) {
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

/** The three corners of the arrow at the end of a line. @param {readonly number[]} points @param {number} width */
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

/** @param {CanvasRenderingContext2D} context @returns {Pen} */
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
      trace(points, context);
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

/** A pen that writes SVG. @returns {Pen & { elements: string[] }} */
export function svgPen() {
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
      trace(points, data);
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
 * The whole scene as a picture.
 * @param {Scene} scene
 * @param {Look} look
 * @param {string} title
 */
export function sceneSVG(scene, look, title) {
  const margin = 24;
  const [width, height] = [Math.ceil(scene.width + 2 * margin), Math.ceil(scene.height + 2 * margin)];
  const pen = svgPen();
  paint(pen, scene, look, { scale: 1, left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${-margin} ${-margin} ${width} ${height}" font-family="${escapeXML(FONT)}">`,
    `<title>${escapeXML(title)}</title><rect x="${-margin}" y="${-margin}" width="${width}" height="${height}" fill="${escapeXML(look.colors.ground)}"/>`,
    ...pen.elements,
    "</svg>",
  ].join("\n");
}
