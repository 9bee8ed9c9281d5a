/**
 * The floating table that says what is under the pointer: run, value, step and time of the nearest points.
 */

import { formatDuration, formatStep, formatTime, formatValue } from "./format.js";
import { splitName } from "./names.js";

/** Distance from the pointer, CSS pixels. */
const GAP = 14;

export class ChartTooltip {
  /** @type {HTMLElement} */ #owner;
  /** @type {HTMLElement | null} */ #box = null;
  /** @type {HTMLElement | null} */ #spoken = null;

  /** @param {HTMLElement} owner  the chart; the box is put beside its content, in the browser's top layer */
  constructor(owner) {
    this.#owner = owner;
  }

  /**
   * @param {readonly import("./line-chart.js").Hit[]} hits  the nearest first
   * @param {{ left: number, top: number }} anchor  in the viewport
   * @param {boolean} speak  whether to read the nearest point aloud
   */
  show(hits, anchor, speak) {
    const box = (this.#box ??= this.#makeBox());
    const nearest = hits[0];
    const rows = hits.slice().sort((a, b) => order(a) - order(b));
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const title of ["", "Run", "Value", "Step", "Relative"]) head.append(cell("th", title));
    const body = table.createTBody();
    for (const hit of rows) {
      const { line, index } = hit;
      const row = body.insertRow();
      if (hit === nearest) row.className = "tb-nearest";
      const swatch = document.createElement("i");
      swatch.style.background = line.color;
      const mark = row.insertCell();
      mark.append(swatch);
      const [parents, leaf] = splitName(line.name);
      const name = cell("td", "");
      name.className = "tb-chart-run";
      name.append(span("tb-name-head", parents), span("tb-name-tail", leaf));
      row.append(
        name,
        cell("td", formatValue(line.value[index])),
        cell("td", formatStep(line.step[index])),
        cell("td", formatDuration(line.wallTime[index] - line.wallTime[0])),
      );
    }
    const time = document.createElement("p");
    time.textContent = formatTime(nearest.line.wallTime[nearest.index]);
    box.replaceChildren(table, time);
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

  /** @param {import("./line-chart.js").Hit} hit */
  #speak({ line, index }) {
    if (!this.#spoken) {
      this.#spoken = span("tb-hidden", "");
      this.#spoken.setAttribute("role", "status");
      this.#owner.append(this.#spoken);
    }
    this.#spoken.textContent = `${line.name}, step ${formatStep(line.step[index])}: ${formatValue(line.value[index])}`;
  }
}

/** Rows stand in the order of the lines on the screen. @param {import("./line-chart.js").Hit} hit */
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
