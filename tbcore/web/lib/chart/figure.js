/**
 * Line charts as figures for papers: SVG documents in points, with letters of 8 points at the size
 * at which the figure is printed. Loaded on the first export.
 */

import { placeLabels } from "./axes.js";
import { withArea } from "./bands.js";
import { sceneMarks } from "./draw.js";
import { AXIS_TITLES, lineChartSVG, namedItems, notesOf, pathsOf, pathsOfMarks, titleOf } from "./export.js";
import { namesAtEnds } from "./line-names.js";
import { escapeXML, tenth } from "./svg.js";

/**
 * @typedef {import("./types.js").Axis} Axis
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Tick} Tick
 */

// All lengths are in points.
const POINTS_PER_INCH = 72;
const FONT_SIZE = 8;
const FONT = "Helvetica, Arial, sans-serif";
/** Height of a line of text. */
const LINE_HEIGHT = 10;
/** Lengths in the figure, as a share of those on the screen, whose letters have 11 pixels. */
const SCALE = FONT_SIZE / 11;
/** The same for the width of lines. */
const LINE_SCALE = 0.6;
const MARGIN = 4;
const TICK_LENGTH = 3;
const COLORS = { text: "#000000", grid: "#e6e6e6", surface: "#ffffff" };
/** Width of the sample of a line in the legend, with the space beside it. */
const SAMPLE_WIDTH = 18;
/** Names beside the plot take at most this share of the figure's width. */
const MAX_NAMES_SHARE = 0.3;
/** A legend inside the plot takes at most this share of its width. */
const MAX_LEGEND_SHARE = 0.6;

/** A line chart as SVG: as on the screen for 0 inches, otherwise as a figure. @param {number} inches @param {string} label @param {import("./model.js").ChartModel} model @param {import("./chart-frame.js").ChartFrame} frame @param {string} [more] @param {import("./types.js").FigureWishes} [wishes] */
export function lineChartPicture(inches, label, model, frame, more, wishes) {
  return inches > 0 ? lineChartFigure(inches, label, model, more, wishes) : lineChartSVG(label, model, frame, more);
}

/**
 * A figure of a line chart. The y axis has the label as its title; lines are named beside the plot
 * if all names fit there, otherwise in a legend below it, or where it is wished; below are notes, which
 * say what lines and areas of groups are.
 * @param {number} inches  width of the figure
 * @param {string} label  what the chart shows
 * @param {import("./model.js").ChartModel} model
 * @param {string} [more]  a note to put before the chart's own
 * @param {import("./types.js").FigureWishes} [wishes]
 */
export function lineChartFigure(inches, label, model, more, { legend = "outside", rename } = {}) {
  const width = inches * POINTS_PER_INCH;
  const height = Math.round(90 + 0.22 * width);
  const yTicks = model.ticks("y", height / SCALE);
  const left = MARGIN + LINE_HEIGHT + TICK_LENGTH + 3 + Math.max(0, ...yTicks.map(({ label: text }) => textWidth(text)));
  const nameOf = (/** @type {Item} */ { name, color }) => rename?.("name", name, color) || name;
  const isOutside = legend === "outside";
  // In the order of the legend, whatever the heights of the lines' ends: fields for names have the order of these calls.
  if (isOutside) namedItems(model.axisItems, model).forEach(nameOf);
  const ends = isOutside ? namesAtEnds(model.scene({ width, height }, COLORS), LINE_HEIGHT).map(({ item, top }) => ({ name: nameOf(item), color: item.color, top })) : [];
  const fitting = ends.filter(({ name }) => textWidth(name) <= MAX_NAMES_SHARE * width);
  // A legend of some lines would look as if these were of another kind.
  const names = fitting.length === model.axisItems.length ? fitting : [];
  const right = Math.max(2 * MARGIN, ...names.map(({ name }) => textWidth(name) + 2 * MARGIN));
  const plot = { width: tenth(width - left - right), height };
  const xTicks = model.ticks("x", plot.width / SCALE);
  // Without a dot at each point of short lines, which would look like a code for something.
  const scene = model.scene(plot, COLORS, true);
  const bottom = LINE_HEIGHT * (model.axes.xAxis === "wall_time" ? 2 : 1) + TICK_LENGTH + LINE_HEIGHT + 2;
  const listed = names.length > 0 || legend === "none" ? [] : namedItems(scene.axisItems, model).map((item) => ({ ...item, name: nameOf(item) }));
  const below = [...(isOutside ? legendOf(listed, width, Math.floor(height / LINE_HEIGHT)) : []), ...notesBelow(notesOf(model, more), width)];
  const xTitle = scene.x.title || AXIS_TITLES[scene.x.kind];
  const top = FONT_SIZE;
  const fullHeight = top + height + bottom + below.reduce((sum, part) => sum + part.height, 0) + MARGIN;
  let at = top + height + bottom;
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${inches}in" height="${Number((fullHeight / POINTS_PER_INCH).toFixed(3))}in" viewBox="0 0 ${tenth(width)} ${tenth(fullHeight)}" font-family="${FONT}" font-size="${FONT_SIZE}">`,
    `<title>${escapeXML(label)}</title><rect width="100%" height="100%" fill="${COLORS.surface}"/>`,
    `<g transform="translate(${tenth(left)},${top})">`,
    `<clipPath id="plot"><rect width="${plot.width}" height="${height}"/></clipPath>`,
    ...axisSVG(scene, xTicks, yTicks, plot.width + right),
    textSVG(`x="${tenth(plot.width / 2)}" y="${height + bottom - 3}" text-anchor="middle"`, titleOf({ ...scene.x, title: rename?.("x", xTitle) || xTitle })),
    textSVG(`transform="translate(${tenth(MARGIN + FONT_SIZE - left)},${height / 2})rotate(-90)" text-anchor="middle"`, shortened(rename?.("y", label) || label, height)),
    '<g clip-path="url(#plot)" fill="none" stroke-linejoin="round">',
    ...pathsOf(scene, LINE_SCALE),
    "</g>",
    ...pathsOfMarks(sceneMarks(scene, scene.items), COLORS.surface, LINE_SCALE),
    ...names.map(({ name, color, top: middle }) => textSVG(`x="${tenth(plot.width + MARGIN)}" y="${tenth(middle + 2.8)}"`, name, color)),
    ...(isOutside ? [] : legendInside(listed, legend, plot)),
    "</g>",
  ];
  for (const part of below) {
    svg.push(`<g transform="translate(0,${tenth(at)})">`, ...part.elements, "</g>");
    at += part.height;
  }
  return [...svg, "</svg>"].join("\n");
}

/** Grid lines, tick marks and labels. @param {import("./types.js").Scene} scene @param {readonly Tick[]} xTicks @param {readonly Tick[]} yTicks @param {number} end  of the figure, from the left of the plot */
function axisSVG({ x, y, width, height }, xTicks, yTicks, end) {
  const svg = [];
  const path = (/** @type {string} */ data, color = COLORS.text) => `<path d="${data}" stroke="${color}" stroke-width="0.5" fill="none"/>`;
  const marks = [];
  for (const { share, label } of [...minorTicks(x, xTicks), ...xTicks]) {
    const at = tenth(share * width);
    marks.push(`M${at},${height}v${label ? TICK_LENGTH : TICK_LENGTH / 2}`);
    if (label) svg.push(path(`M${at},0v${height}`, COLORS.grid));
  }
  for (const { lines, middle } of placeLabels(xTicks, width, end, textWidth)) {
    lines.forEach((line, i) => svg.push(textSVG(`x="${tenth(middle)}" y="${height + TICK_LENGTH + (i + 1) * LINE_HEIGHT - 2}" text-anchor="middle"`, line)));
  }
  for (const { share, label } of [...minorTicks(y, yTicks), ...yTicks]) {
    const at = tenth((1 - share) * height);
    marks.push(`M0,${at}h${-(label ? TICK_LENGTH : TICK_LENGTH / 2)}`);
    if (label) svg.push(path(`M0,${at}h${width}`, COLORS.grid), textSVG(`x="${-TICK_LENGTH - 2}" y="${tenth(at + 2.8)}" text-anchor="end"`, label));
  }
  return [...svg, path(`M0,0v${height}h${width}${marks.join("")}`)];
}

/**
 * The minor ticks of a linear axis of numbers, which the screen does not show: four between two
 * labels, or three where labels are multiples of 2.
 * @param {Axis} axis
 * @param {readonly Tick[]} ticks
 * @returns {Tick[]}
 */
function minorTicks({ kind, log }, ticks) {
  const [first, second] = ticks;
  if (log || kind === "relative" || kind === "wall_time" || !second) return [];
  const spacing = second.value - first.value;
  const numParts = Math.round(spacing / 10 ** Math.floor(Math.log10(spacing) + 1e-9)) === 2 ? 4 : 5;
  if (kind === "step" && spacing < numParts) return [];
  const distance = (second.share - first.share) / numParts;
  const shares = Array.from({ length: numParts * (ticks.length + 1) + 1 }, (_, i) => first.share + (i - numParts) * distance);
  return shares.filter((share, i) => i % numParts !== 0 && share >= 0 && share <= 1).map((share) => ({ value: NaN, share, label: "" }));
}

/** A part of the figure below the axes. @typedef {{ height: number, elements: string[] }} Part */

/**
 * The legend of these lines, in as many columns as fit. If they are too many, it has the first ones
 * and the number of all others.
 * @param {readonly Item[]} items @param {number} width @param {number} maxRows @returns {Part[]}
 */
function legendOf(items, width, maxRows) {
  if (items.length === 0) return [];
  const inside = width - 2 * MARGIN;
  const widest = Math.max(...items.map(({ name }) => textWidth(name))) + SAMPLE_WIDTH + 8;
  const numColumns = Math.max(1, Math.floor(inside / widest));
  const numCells = Math.min(items.length, numColumns * maxRows);
  const areas = new Set(withArea(items));
  const elements = items.slice(0, numCells).flatMap((item, index) => {
    const left = tenth(MARGIN + ((index % numColumns) * inside) / numColumns);
    const top = Math.floor(index / numColumns) * LINE_HEIGHT;
    const numRest = items.length - index;
    if (index === numCells - 1 && numRest > 1) return [textSVG(`x="${left}" y="${top + 7.8}"`, `and ${numRest} more`)];
    const color = escapeXML(item.color);
    const dash = (item.line ?? item.band)?.dash;
    const area = item.band?.bar || areas.has(item) ? `<path d="M${left},${top + 2.5}h${SAMPLE_WIDTH - 4}v5h${4 - SAMPLE_WIDTH}z" fill="${color}" fill-opacity="0.25"/>` : "";
    const dashes = dash ? ` stroke-dasharray="${dash.map((length) => length * LINE_SCALE).join(" ")}"` : "";
    return [
      `${area}<path d="M${left},${top + 5}h${SAMPLE_WIDTH - 4}" stroke="${color}" stroke-width="1.2"${dashes}/>`,
      textSVG(`x="${left + SAMPLE_WIDTH}" y="${top + 7.8}"`, shortened(item.name, inside - SAMPLE_WIDTH)),
    ];
  });
  return [{ height: Math.ceil(numCells / numColumns) * LINE_HEIGHT + 2, elements }];
}

/**
 * The legend in a corner of the plot, on a ground through which lines are seen a little.
 * @param {readonly Item[]} items @param {string} corner  "top left" @param {{ width: number, height: number }} plot
 */
function legendInside(items, corner, plot) {
  const widest = Math.max(...items.map(({ name }) => textWidth(name))) + SAMPLE_WIDTH + 8;
  const width = Math.min(widest + 2 * MARGIN, MAX_LEGEND_SHARE * plot.width);
  const [part] = legendOf(items, width, Math.floor(plot.height / LINE_HEIGHT) - 1);
  if (!part) return [];
  const left = tenth(corner.endsWith("left") ? MARGIN : plot.width - width - MARGIN);
  const top = tenth(corner.startsWith("top") ? MARGIN : plot.height - part.height - MARGIN);
  const ground = `<rect width="${tenth(width)}" height="${part.height}" fill="${COLORS.surface}" fill-opacity="0.8"/>`;
  return [`<g transform="translate(${left},${top})">`, ground, ...part.elements, "</g>"];
}

/** Notes as lines of text. @param {readonly string[]} notes @param {number} width @returns {Part[]} */
function notesBelow(notes, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of notes.join("; ").split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`.trim();
    if (lines.length > 0 && textWidth(longer) <= width - 2 * MARGIN) lines[lines.length - 1] = longer;
    else if (word) lines.push(word);
  }
  return lines.map((line) => ({ height: LINE_HEIGHT, elements: [textSVG(`x="${MARGIN}" y="7.8"`, line)] }));
}

/** @param {string} attributes @param {string} content @param {string} [color] */
function textSVG(attributes, content, color = COLORS.text) {
  return `<text ${attributes} fill="${escapeXML(color)}">${escapeXML(content)}</text>`;
}

/** A text with at most this width: its end, which mostly tells names apart. @param {string} text @param {number} width */
function shortened(text, width) {
  let end = text;
  while (end.length > 1 && textWidth(`…${end}`) > width) end = end.slice(1);
  return end === text || textWidth(text) <= width ? text : `…${end}`;
}

/** About the width of a text in a wide font, such as DejaVu Sans in place of Helvetica: rather too much. @param {string} text */
function textWidth(text) {
  let units = 0;
  for (const letter of text.split("\n").reduce((a, b) => (a.length > b.length ? a : b))) {
    units += /[il.,:;'|! ()[\]fjtI/-]/.test(letter) ? 0.4 : /[mwMW%@…]/.test(letter) ? 1 : /[A-Z]/.test(letter) ? 0.79 : /[\u2e80-\uffff]/.test(letter) ? 1 : 0.64;
  }
  return units * FONT_SIZE;
}
