/** The tooltip of a chart: a table of the points nearest to the pointer, with run, value, step and time. */

import { formatDuration, formatStep, formatTime, formatValue } from "../../format.js";
import { Tooltip, cell, readOutNodes, span } from "../ui/tooltip.js";
import { lineSample } from "../ui/colors.js";
import { countText } from "./marks.js";

/** @typedef {import("./types.js").Hit} Hit */

/** Maximum number of points listed, of lines and bands together. */
const MAX_ROWS = 8;

/** The tooltip of one chart. */
export class ChartTooltip {
  #owner;
  #tooltip;

  /**
   * @param {HTMLElement} owner  the chart's element. The tooltip is placed outside the card around
   *   it, or at least outside the chart
   */
  constructor(owner) {
    this.#owner = owner;
    this.#tooltip = new Tooltip(owner);
  }

  /**
   * Shows the tooltip, or updates it.
   * @param {readonly Hit[]} hits  nearest first
   * @param {{ left: number, top: number }} anchor  position in the viewport, CSS pixels
   * @param {boolean} speak  whether to announce the nearest point to screen readers
   * @param {import("./types.js").XAxis} xAxis
   * @param {string} hint  an action that is available here; may be empty
   * @param {import("./types.js").Callbacks["readOut"]} [readOut]  makes other content than
   *   the table
   */
  show(hits, anchor, speak, xAxis, hint, readOut) {
    const avoid = [this.#owner.closest(".tb-card") ?? this.#owner, this.#owner].map((element) => element.getBoundingClientRect());
    const custom = readOut?.(hits);
    if (custom) this.#tooltip.show(readOutNodes(custom), anchor, speak ? custom.spoken : null, avoid);
    else this.#tooltip.show(nodesOf(hits, xAxis, hint), anchor, speak ? spokenOf(hits[0], xAxis) : null, avoid);
  }

  hide() {
    this.#tooltip.hide();
  }

  destroy() {
    this.#tooltip.destroy();
  }
}

/**
 * The tooltip's content: a table of bands, a table of lines, and a line of text below.
 * @param {readonly Hit[]} hits  nearest first
 * @param {import("./types.js").XAxis} xAxis @param {string} hint @returns {Node[]}
 */
function nodesOf(hits, xAxis, hint) {
  const nearest = hits[0];
  const rows = hits.slice(0, MAX_ROWS);
  // The nearest band always has a row, even if many of its runs are nearer.
  const band = hits.find((hit) => hit.band);
  if (band && !rows.includes(band)) rows[MAX_ROWS - 1] = band;
  rows.sort((a, b) => topOf(a) - topOf(b));
  const lines = rows.filter(({ line }) => line);
  const bands = rows.filter(({ band }) => band);
  const isSmoothed = lines.some(({ line }) => line?.smoothed);
  const titles = ["Run", ...(isSmoothed ? ["Smoothed"] : []), "Value", "Step", "Relative"];
  const more = hits.length > rows.length ? `nearest ${rows.length} of ${hits.length}` : "";
  const time = nearest.line ? formatTime(nearest.line.wallTime[nearest.index]) : "";
  const below = [more, time, hint].filter(Boolean).join(" · ");
  return [
    ...(band ? [table(bands, nearest, ["Group", "Mean", "Low", "High", "Runs"], bandTexts), paragraph(bandNote(band, xAxis, bands.length > 1))] : []),
    ...(lines.length > 0 ? [table(lines, nearest, titles, (hit) => lineTexts(hit, isSmoothed))] : []),
    ...(below ? [paragraph(below)] : []),
  ];
}

/** A paragraph with a text. @param {string} text */
function paragraph(text) {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

/** The text that screen readers announce for a point. @param {Hit} hit @param {import("./types.js").XAxis} xAxis */
function spokenOf(hit, xAxis) {
  const { name, line, band, index } = hit;
  const [at, value] = line ? [`step ${formatStep(line.step[index])}`, line.value] : [bandNote(hit, xAxis), band?.mean ?? []];
  return `${name}, ${at}: ${formatValue(value[index])}`;
}

/**
 * A note on a point of a band: its x, the meaning of low and high, and the number of runs in the
 * mean.
 * @param {Hit} hit @param {import("./types.js").XAxis} xAxis
 * @param {boolean} [isOneOfMany]  whether to name the group
 */
function bandNote({ name, band, index }, xAxis, isOneOfMany = false) {
  if (!band) return "";
  const x = band.x[index];
  const at = xAxis === "step" ? `step ${formatStep(x)}` : xAxis === "relative" ? formatDuration(x) : formatTime(x);
  const { count, numRuns = count[index], nonfinite } = band;
  const numNonFinite = nonfinite?.[index] ?? 0;
  // Runs that begin after this x or end before it.
  const numWithoutPoint = numRuns - count[index] - numNonFinite;
  const why = `${numNonFinite > 0 ? `, ${numNonFinite} not finite` : ""}${numWithoutPoint > 0 ? `, ${numWithoutPoint} without points here` : ""}`;
  const mean = isOneOfMany ? `${name}: mean` : "mean";
  const runs = why ? `${mean} of ${countText(band, index)} runs${why}` : "mean";
  return [at, ...(band.label ? [band.label] : []), runs].join(" · ");
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
 */
function lineTexts({ line, index }, isSmoothed) {
  if (!line) return [];
  const { value, smoothed, step, wallTime, startTime = wallTime[0] } = line;
  return [
    ...(isSmoothed ? [formatValue((smoothed ?? value)[index])] : []),
    formatValue(value[index]),
    formatStep(step[index]),
    formatDuration(wallTime[index] - startTime),
  ];
}

/** The cells of a band's point. @param {Hit} hit */
function bandTexts({ band, index }) {
  return band ? [...[band.mean, band.low, band.high].map((column) => formatValue(column[index])), countText(band, index)] : [];
}

/**
 * The sort key of rows, which are in the order of their points on screen, from the top. Points that
 * cannot be drawn are last.
 * @param {Hit} hit
 */
function topOf(hit) {
  return Number.isNaN(hit.top) ? Infinity : hit.top;
}
