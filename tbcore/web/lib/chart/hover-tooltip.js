/** The content of a chart's tooltip: a table of the points nearest to the pointer, with run, value, step and time. */

import { formatDuration, formatStep, formatTime, formatValue } from "../format.js";
import { formatMean } from "../group-figure.js";
import { lineSample } from "../ui/colors.js";
import { cell, span } from "../ui/tooltip.js";
import { countText } from "./hover.js";

/**
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Scene["x"]} XAxis
 */

/** Maximum number of points, of lines and bands together, that are all listed; of more, the nearest. */
const MAX_ROWS = 8;
const NUM_NEAREST = 5;
/** The size of a table's row and column when all points are listed, and what is beside the tables; estimates, CSS pixels. */
const [ROW_PX, COLUMN_PX, REST_PX] = [17.5, 360, 120];
/** Columns of all points have more rows only if the window is too narrow for more columns: a flat tooltip fits beside the chart. */
const FLAT_ROWS = 12;

/**
 * The tooltip's content: a table of bands, a table of lines, and a line of text below.
 * @param {readonly Hit[]} hits  nearest first
 * @param {XAxis} axis
 * @param {string} hint  an action that is available here; may be empty
 * @param {boolean} [isAll]  lists as many points as fit into the window, in several columns
 * @returns {Node[]}
 */
export function tooltipNodes(hits, axis, hint, isAll = false) {
  const nearest = hits[0];
  const isMany = hits.length > MAX_ROWS;
  const numColumns = Math.max(1, Math.min(Math.floor(innerWidth / COLUMN_PX), Math.ceil(hits.length / FLAT_ROWS)));
  const numFitting = Math.max(MAX_ROWS, Math.floor((innerHeight - REST_PX) / ROW_PX));
  const perColumn = isAll ? Math.min(numFitting, Math.ceil(hits.length / numColumns)) : Infinity;
  const maxRows = isAll ? perColumn * numColumns : isMany ? NUM_NEAREST : MAX_ROWS;
  const rows = hits.slice(0, maxRows);
  // The nearest band always has a row, even if many of its runs are nearer.
  const band = hits.find((hit) => hit.band);
  if (band && !rows.includes(band)) rows[maxRows - 1] = band;
  // From the top; points that cannot be drawn are last.
  rows.sort((a, b) => Number(Number.isNaN(a.top)) - Number(Number.isNaN(b.top)) || a.top - b.top);
  const lines = rows.filter(({ line }) => line);
  const bands = rows.filter(({ band }) => band);
  const isSmoothed = lines.some(({ line }) => line?.smoothed);
  const hasTimes = axis.kind !== "step" && lines.some(({ line }) => line?.wallTime);
  const isPart = bands.some(({ band, index }) => band && countText(band, index) !== String(band.numRuns ?? band.count[index]));
  const titles = ["Run", ...(isSmoothed ? ["Smoothed"] : []), "Value", ...(axis.kind === "number" ? [shortTitle(axis)] : []), "Step", ...(hasTimes ? ["Relative"] : [])];
  const which = hits.length > rows.length ? `nearest ${rows.length} of ${hits.length}` : `all ${hits.length}`;
  const more = isMany ? `${which} · a: ${isAll ? "fewer" : "all"}` : "";
  const time = nearest.line?.wallTime ? formatTime(nearest.line.wallTime[nearest.index]) : "";
  // Beside steps, a column of relative times would only make the table wider.
  const relative = time && !hasTimes ? `relative ${relativeText(nearest)}` : "";
  const below = [more, time, relative, hint].filter(Boolean).join(" · ");
  return [
    ...(band ? [table(bands, nearest, ["Group", bandTitle(band), ...(isPart ? ["Runs"] : [])], (hit) => bandTexts(hit, isPart)), paragraph(bandNote(band, axis, bands.length > 1))] : []),
    ...(lines.length > 0 ? [columns(lines, perColumn, (some) => table(some, nearest, titles, (hit) => lineTexts(hit, isSmoothed, hasTimes)))] : []),
    ...(below ? [paragraph(below)] : []),
  ];
}

/**
 * Tables side by side, if one would be too long.
 * @param {readonly Hit[]} hits @param {number} perColumn @param {(some: readonly Hit[]) => HTMLElement} tableOf
 */
function columns(hits, perColumn, tableOf) {
  if (hits.length <= perColumn) return tableOf(hits);
  const box = document.createElement("div");
  box.style.cssText = "display: flex; align-items: start; gap: 20px";
  for (let at = 0; at < hits.length; at += perColumn) box.append(tableOf(hits.slice(at, at + perColumn)));
  return box;
}

/** A paragraph with a text. @param {string} text */
function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

/** The last part of the tag that an axis of numbers shows. @param {{ title?: string }} axis */
export function shortTitle({ title }) {
  return splitName(title || "x")[1];
}

/** Distances of the tooltip from the pointer and from what it should not cover. */
const [POINTER_PX, MARGIN_PX] = [14, 4];

/**
 * The place right or left of the pointer where a tooltip covers the fewest of these points.
 * @param {readonly { left: number, top: number }[]} points
 * @returns {import("../ui/tooltip.js").Place}
 */
export function placeBeside(points) {
  return ([, usual], anchor, [width, height], [maxLeft, maxTop]) => {
    const isIn = (/** @type {number} */ start, /** @type {number} */ size, /** @type {number} */ at) => at > start - MARGIN_PX && at < start + size + MARGIN_PX;
    const within = (/** @type {number} */ place, /** @type {number} */ max) => place >= MARGIN_PX && place <= max;
    const tops = [usual, anchor.top - height / 2, anchor.top - POINTER_PX - height, MARGIN_PX, maxTop].filter((top) => within(top, maxTop));
    const lefts = [anchor.left + POINTER_PX, anchor.left - POINTER_PX - width].filter((left) => within(left, maxLeft));
    /** @type {[left: number, top: number] | null} */
    let best = null;
    let least = Infinity;
    for (const left of lefts) {
      for (const top of tops) {
        const covered = points.filter((point) => isIn(left, width, point.left) && isIn(top, height, point.top)).length;
        if (covered < least) [best, least] = [[left, top], covered];
      }
    }
    return best;
  };
}

/** The text that screen readers announce for a point. @param {Hit} hit @param {XAxis} axis */
export function spokenOf(hit, axis) {
  const { name, line, band, index } = hit;
  const x = line?.x ? `${shortTitle(axis)} ${formatStep(line.x[index])}, ` : "";
  const [at, value] = line ? [`${x}step ${formatStep(line.step[index])}`, line.value] : [bandNote(hit, axis), band?.mean ?? []];
  return `${name}, ${at}: ${formatValue(value[index])}`;
}

/** The heading of a group's values. @param {Hit} hit */
function bandTitle({ band }) {
  return `${capitalized(band?.average ?? "mean")} ${isAround(band?.label) ? "±" : "[low, high]"}`;
}

/** Whether a band is as far below the mean as above it, by its meaning in words. @param {string} [label] */
function isAround(label) {
  return label?.startsWith("±") ?? false;
}

/** A text with a capital at its start. @param {string} text */
export function capitalized(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/**
 * A note on a point of a band: its x, the meaning of low and high, and the number of runs in the
 * average.
 * @param {Hit} hit @param {XAxis} axis
 * @param {boolean} [isOneOfMany]  whether to name the group
 */
function bandNote({ name, band, index }, axis, isOneOfMany = false) {
  if (!band) return "";
  const x = band.x[index];
  const texts = { step: () => `step ${formatStep(x)}`, number: () => `${shortTitle(axis)} ${formatStep(x)}`, relative: () => formatDuration(x), wall_time: () => formatTime(x) };
  const { count, numRuns = count[index], nonfinite } = band;
  const numNonFinite = nonfinite?.[index] ?? 0;
  // Runs that begin after this x or end before it.
  const numWithoutPoint = numRuns - count[index] - numNonFinite;
  const why = `${numNonFinite > 0 ? `, ${numNonFinite} not finite` : ""}${numWithoutPoint > 0 ? `, ${numWithoutPoint} without points here` : ""}`;
  const { average = "mean" } = band;
  const runs = why ? `${isOneOfMany ? `${name}: ${average}` : average} of ${countText(band, index)} runs${why}` : average;
  // The runs of a bar have an x each.
  return [`${band.bar ? "around " : ""}${texts[axis.kind]()}`, ...(band.label ? [band.label] : []), runs].join(" · ");
}

/**
 * A table with a row for each point.
 * @param {readonly Hit[]} hits
 * @param {Hit} nearest  its row is emphasized
 * @param {readonly string[]} titles  column headings
 * @param {(hit: Hit) => string[]} texts  returns the cells after the name
 */
function table(hits, nearest, titles, texts) {
  const table = document.createElement("table");
  table.createTHead().insertRow().append(cell("th", ""), ...titles.map((title) => cell("th", title)));
  const body = table.createTBody();
  for (const hit of hits) {
    const row = body.insertRow();
    if (hit === nearest) row.className = "tb-nearest";
    const swatch = document.createElement("i");
    const { dash } = hit.line ?? hit.band ?? {};
    swatch.style.background = lineSample(hit.color, dash);
    if (dash) swatch.className = "tb-dashed";
    row.insertCell().append(swatch);
    const [parents, leaf] = splitName(hit.name);
    const name = cell("td", "");
    name.className = "tb-chart-run";
    name.append(span("tb-name-head", parents), span("tb-name-tail", leaf));
    row.append(name, ...texts(hit).map((text) => cell("td", text)));
  }
  return table;
}

/**
 * Splits a name into its parents, which are truncated first when space is short, and its last
 * segment, in which names mostly differ.
 * @param {string} name
 * @returns {[parents: string, leaf: string]} `parents` ends with `/`, or is ""
 */
export function splitName(name) {
  const slash = name.lastIndexOf("/", name.length - 2);
  return [name.slice(0, slash + 1), name.slice(slash + 1)];
}

/**
 * The cells of a line's point.
 * @param {Hit} hit
 * @param {boolean} isSmoothed  whether the table has a column for smoothed values
 * @param {boolean} hasTimes  whether it has one for relative times
 */
function lineTexts(hit, isSmoothed, hasTimes) {
  const { line, index } = hit;
  if (!line) return [];
  const { value, smoothed, step, x } = line;
  return [
    ...(isSmoothed ? [formatValue((smoothed ?? value)[index])] : []),
    formatValue(value[index]),
    ...(x ? [formatStep(x[index])] : []),
    formatStep(step[index]),
    ...(hasTimes ? [relativeText(hit)] : []),
  ];
}

/** The time from the start of a run to a point of its line. @param {Hit} hit */
function relativeText({ line, index }) {
  const { wallTime, startTime = wallTime?.[0] ?? NaN } = line ?? {};
  return wallTime ? formatDuration(wallTime[index] - startTime) : "–";
}

/** The cells of a band's point. @param {Hit} hit @param {boolean} isPart  whether some means are not of all runs */
function bandTexts({ band, index }, isPart) {
  if (!band) return [];
  const [mean, low, high] = [band.mean, band.low, band.high].map((column) => column[index]);
  // Without a spread, as of two runs, there are no edges.
  const figure = Number.isNaN(low) ? formatValue(mean) : isAround(band.label) ? formatMean(mean, (high - low) / 2) : `${formatValue(mean)} [${formatValue(low)}, ${formatValue(high)}]`;
  return [figure, ...(isPart ? [countText(band, index)] : [])];
}
