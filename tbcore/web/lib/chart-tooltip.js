/**
 * The floating table that says what is under the pointer: run, value, step and time of the nearest points.
 */

import { formatDuration, formatStep, formatTime, formatValue } from "./format.js";
import { sampleOf } from "./marks.js";
import { splitName } from "./names.js";
import { cell, readOutNodes, span, Tooltip } from "./tooltip.js";

/** @typedef {import("./line-chart.js").Hit} Hit */

const MOST_ROWS = 8;

export class ChartTooltip {
  #owner;
  #tooltip;

  /** @param {HTMLElement} owner  the chart; the window lies outside the card it is in, or at least outside of it */
  constructor(owner) {
    this.#owner = owner;
    this.#tooltip = new Tooltip(owner);
  }

  /**
   * @param {readonly Hit[]} hits  the nearest first
   * @param {{ left: number, top: number }} anchor  in the viewport
   * @param {boolean} speak  whether to read the nearest point aloud
   * @param {import("./chart-types.js").XAxis} xAxis
   * @param {string} hint  what else can be done there; may be empty
   * @param {import("./chart-types.js").Callbacks["readOut"]} [readOut]  says it otherwise
   */
  show(hits, anchor, speak, xAxis, hint, readOut) {
    const kept = [this.#owner.closest(".tb-card") ?? this.#owner, this.#owner].map((element) => element.getBoundingClientRect());
    const said = readOut?.(hits);
    if (said) this.#tooltip.show(readOutNodes(said), anchor, speak ? said.spoken : null, kept);
    else this.#tooltip.show(nodesOf(hits, xAxis, hint), anchor, speak ? spokenOf(hits[0], xAxis) : null, kept);
  }

  hide() {
    this.#tooltip.hide();
  }

  destroy() {
    this.#tooltip.destroy();
  }
}

/**
 * @param {readonly Hit[]} hits  the nearest first
 * @param {import("./chart-types.js").XAxis} xAxis
 * @param {string} hint
 * @returns {Node[]}
 */
function nodesOf(hits, xAxis, hint) {
  const nearest = hits[0];
  const rows = hits.slice(0, MOST_ROWS);
  const band = hits.find((hit) => hit.band); // the nearest; its members may be many, and nearer
  if (band && !rows.includes(band)) rows[MOST_ROWS - 1] = band;
  rows.sort((a, b) => order(a) - order(b));
  const lines = rows.filter(({ line }) => line);
  const bands = rows.filter(({ band }) => band);
  const isSmoothed = lines.some(({ line }) => line?.smoothed);
  const titles = ["Run", ...(isSmoothed ? ["Smoothed"] : []), "Value", "Step", "Relative"];
  const more = hits.length > rows.length ? `the nearest ${rows.length} of ${hits.length}` : "";
  const time = nearest.line ? formatTime(nearest.line.wallTime[nearest.index]) : "";
  const below = [more, time, hint].filter(Boolean).join(" · ");
  return [
    ...(band ? [table(bands, nearest, ["Group", "Mean", "Low", "High", "Runs"], bandTexts), paragraph(placeOf(band, xAxis, bands.length > 1))] : []),
    ...(lines.length > 0 ? [table(lines, nearest, titles, (hit) => lineTexts(hit, isSmoothed))] : []),
    ...(below ? [paragraph(below)] : []),
  ];
}

/** @param {string} text */
function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text;
  return made;
}

/** @param {Hit} hit @param {import("./chart-types.js").XAxis} xAxis */
function spokenOf(hit, xAxis) {
  const { name, line, band, index } = hit;
  const [at, value] = line ? [`step ${formatStep(line.step[index])}`, line.value] : [placeOf(hit, xAxis), band?.mean ?? []];
  return `${name}, ${at}: ${formatValue(value[index])}`;
}

/**
 * Where a point of a band is, what low and high are, and which runs the mean is of.
 * @param {Hit} hit
 * @param {import("./chart-types.js").XAxis} xAxis
 * @param {boolean} [isOneOfMany]  says which group it is about
 */
function placeOf({ name, band, index }, xAxis, isOneOfMany = false) {
  if (!band) return "";
  const x = band.x[index];
  const place = xAxis === "step" ? `step ${formatStep(x)}` : xAxis === "relative" ? formatDuration(x) : formatTime(x);
  const { count, numRuns = count[index], nonfinite } = band;
  const numOdd = nonfinite?.[index] ?? 0;
  const numAway = numRuns - count[index] - numOdd; // before their first point, or behind their last
  const why = `${numOdd > 0 ? `, ${numOdd} not finite` : ""}${numAway > 0 ? `, ${numAway} without points here` : ""}`;
  const mean = isOneOfMany ? `${name}: mean` : "mean";
  const runs = why ? `${mean} of ${countText(band, index)} runs${why}` : "mean";
  return [place, ...(band.label ? [band.label] : []), runs].join(" · ");
}

/** How many runs of a band's group have a part in it. @param {import("./chart-types.js").Band} band @param {number} index */
export function countText({ count, numRuns = 0 }, index) {
  return count[index] < numRuns ? `${count[index]} of ${numRuns}` : String(count[index]);
}

/**
 * @param {readonly Hit[]} hits
 * @param {Hit} nearest
 * @param {readonly string[]} titles
 * @param {(hit: Hit) => string[]} texts  of the cells after the name
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
    swatch.style.background = sampleOf(hit.color, dash);
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
 * @param {Hit} hit  of a line
 * @param {boolean} isSmoothed
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

/** @param {Hit} hit  of a band */
function bandTexts({ band, index }) {
  return band ? [...[band.mean, band.low, band.high].map((column) => formatValue(column[index])), countText(band, index)] : [];
}

/** Rows stand in the order of the lines on the screen. @param {Hit} hit */
function order(hit) {
  return Number.isNaN(hit.top) ? Infinity : hit.top;
}
