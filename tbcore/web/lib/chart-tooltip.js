/**
 * The floating table that says what is under the pointer: run, value, step and time of the nearest points.
 */

import { formatDuration, formatStep, formatTime, formatValue } from "./format.js";
import { splitName } from "./names.js";

/** @typedef {import("./line-chart.js").Hit} Hit */

/** Distance from the pointer, CSS pixels. */
const GAP = 14;
const MOST_ROWS = 8;

export class ChartTooltip {
  /** @type {HTMLElement} */ #owner;
  /** @type {HTMLElement | null} */ #box = null;
  /** @type {HTMLElement | null} */ #spoken = null;

  /** @param {HTMLElement} owner  the chart; the box is put beside its content, in the browser's top layer */
  constructor(owner) {
    this.#owner = owner;
  }

  /**
   * @param {readonly Hit[]} hits  the nearest first
   * @param {{ left: number, top: number }} anchor  in the viewport
   * @param {boolean} speak  whether to read the nearest point aloud
   */
  show(hits, anchor, speak) {
    const box = (this.#box ??= this.#makeBox());
    const nearest = hits[0];
    const rows = hits.slice(0, MOST_ROWS).sort((a, b) => order(a) - order(b));
    const lines = rows.filter(({ line }) => line);
    const bands = rows.filter(({ band }) => band);
    const isSmoothed = lines.some(({ line }) => line?.smoothed);
    const titles = ["Run", ...(isSmoothed ? ["Smoothed"] : []), "Value", "Step", "Relative"];
    const time = document.createElement("p");
    const more = hits.length > MOST_ROWS ? ` · ${hits.length - MOST_ROWS} more` : "";
    time.textContent = (nearest.line ? formatTime(nearest.line.wallTime[nearest.index]) : (nearest.band?.label ?? "")) + more;
    box.replaceChildren(
      ...(bands.length > 0 ? [table(bands, nearest, ["Group", "Mean", "Low", "High", "Runs"], bandTexts)] : []),
      ...(lines.length > 0 ? [table(lines, nearest, titles, (hit) => lineTexts(hit, isSmoothed))] : []),
      time,
    );
    if (!box.matches(":popover-open")) box.showPopover();
    place(box, anchor);
    if (speak) this.#speak(nearest);
  }

  hide() {
    if (this.#box?.matches(":popover-open")) this.#box.hidePopover();
  }

  destroy() {
    this.#box?.remove();
    this.#spoken?.remove();
    this.#box = this.#spoken = null;
  }

  #makeBox() {
    const box = document.createElement("div");
    box.className = "tb-chart-tooltip";
    box.popover = "manual";
    box.setAttribute("aria-hidden", "true"); // the status line says it to those who cannot see
    this.#owner.append(box);
    return box;
  }

  /** @param {Hit} hit */
  #speak({ name, line, band, index }) {
    if (!this.#spoken) {
      this.#spoken = span("tb-hidden", "");
      this.#spoken.setAttribute("role", "status");
      this.#owner.append(this.#spoken);
    }
    const [at, value] = line ? [`step ${formatStep(line.step[index])}`, line.value] : ["mean", band?.mean ?? []];
    this.#spoken.textContent = `${name}, ${at}: ${formatValue(value[index])}`;
  }
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
    swatch.style.background = hit.color;
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
  return band ? [band.mean, band.low, band.high, band.count].map((column) => formatValue(column[index])) : [];
}

/** Rows stand in the order of the lines on the screen. @param {Hit} hit */
function order(hit) {
  return Number.isNaN(hit.top) ? Infinity : hit.top;
}

/**
 * Beside the anchor, wherever there is room.
 * @param {HTMLElement} box
 * @param {{ left: number, top: number }} anchor
 */
function place(box, anchor) {
  const { width, height } = box.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const right = anchor.left + GAP;
  const left = right + width <= room - 4 ? right : anchor.left - GAP - width;
  const below = anchor.top + GAP;
  const top = below + height <= window.innerHeight - 4 ? below : anchor.top - GAP - height;
  box.style.left = `${Math.max(4, Math.min(left, room - width - 4))}px`;
  box.style.top = `${Math.max(4, top)}px`;
}

/**
 * @param {"td" | "th"} kind
 * @param {string} text
 */
function cell(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

/**
 * @param {string} className
 * @param {string} text
 */
function span(className, text) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}
