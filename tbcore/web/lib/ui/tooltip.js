/** Tooltips of charts and other drawings, made without preact. */

import { adoptSheet, loadSheet } from "./lazy.js";

/** The styles, which are there before the first tooltip is shown. */
const SHEET = await loadSheet(new URL("./tooltip.css", import.meta.url)).catch(console.warn);
/** Distance between the tooltip and the pointer. */
const POINTER_DISTANCE_PX = 14;
/** Distance of the tooltip from the areas to avoid and from the edges of the window. */
const MARGIN_PX = 4;

/** Where a tooltip is, of a size and within a maximum; null for the usual place. @typedef {(usual: [left: number, top: number], anchor: { left: number, top: number }, size: [width: number, height: number], max: [left: number, top: number]) => [left: number, top: number] | null} Place */

/** A tooltip, whose element is created when it is first shown. */
export class Tooltip {
  #owner;
  /** @type {HTMLElement | null} */ #box = null;
  /** @type {HTMLElement | null} the live region for screen readers */ #spoken = null;

  /** @param {HTMLElement} owner  gets the tooltip's elements, which are shown in the top layer */
  constructor(owner) {
    this.#owner = owner;
  }

  /**
   * Shows the tooltip, or updates it; not if its owner has left the document, as a chart may while this module is loaded.
   * @param {readonly Node[]} content
   * @param {{ left: number, top: number }} anchor  position in the viewport, CSS pixels
   * @param {string | null} [spoken]  text to announce to screen readers
   * @param {readonly DOMRect[]} [avoid]  areas that the tooltip should not cover, in order of
   *   preference: the first one that has space around it is used
   * @param {Place} [place]  where it is if no area has; by default below and right of the anchor
   */
  show(content, anchor, spoken = null, avoid = [], place) {
    if (!this.#owner.isConnected) return;
    const box = (this.#box ??= this.#makeBox());
    box.replaceChildren(...content);
    if (!box.matches(":popover-open")) box.showPopover();
    position(box, anchor, avoid, place);
    if (spoken === null) return;
    if (!this.#spoken) {
      this.#spoken = span("tb-hidden", "");
      this.#spoken.setAttribute("role", "status");
      this.#owner.append(this.#spoken);
    }
    this.#spoken.textContent = spoken;
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
    // Screen readers get the announcement instead.
    box.setAttribute("aria-hidden", "true");
    this.#owner.append(box);
    adoptSheet(this.#owner.getRootNode(), SHEET);
    return box;
  }
}

/**
 * The content of a tooltip about one thing: its name and colour, a table with two columns, and a
 * note below it.
 * @param {import("../chart/types.js").ReadOut} readOut
 * @returns {Node[]}
 */
export function readOutNodes({ name, color, rows, note }) {
  const heading = span("tb-chart-heading", "");
  const swatch = document.createElement("i");
  swatch.style.background = color;
  heading.append(swatch, span("", name));
  const table = document.createElement("table");
  table.className = "tb-chart-pairs";
  const body = table.createTBody();
  for (const [what, value] of rows) body.insertRow().append(cell("th", what), cell("td", value));
  const below = document.createElement("p");
  below.textContent = note;
  return [heading, table, ...(note === "" ? [] : [below])];
}

/** A table cell with a text. @param {"td" | "th"} kind @param {string} text */
export function cell(kind, text) {
  const element = document.createElement(kind);
  element.textContent = text;
  return element;
}

/** A span with a class and a text. @param {string} className @param {string} text */
export function span(className, text) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = text;
  return element;
}

/**
 * Positions a tooltip outside an area to avoid: below it, or else above, right or left of it. If no
 * area has enough space around it, the tooltip is next to the anchor.
 * @param {HTMLElement} box
 * @param {{ left: number, top: number }} anchor
 * @param {readonly DOMRect[]} avoid
 * @param {Place} [place]
 */
function position(box, anchor, avoid, place) {
  const { width, height } = box.getBoundingClientRect();
  const maxLeft = document.documentElement.clientWidth - MARGIN_PX - width;
  const maxTop = window.innerHeight - MARGIN_PX - height;
  /** A position after or before a range; it may be negative. @param {number} start @param {number} end @param {number} size @param {number} max */
  const beside = (start, end, size, max) => (end <= max ? end : start - size);
  let left = beside(anchor.left - POINTER_DISTANCE_PX, anchor.left + POINTER_DISTANCE_PX, width, maxLeft);
  let top = beside(anchor.top - POINTER_DISTANCE_PX, anchor.top + POINTER_DISTANCE_PX, height, maxTop);
  [left, top] = place?.([left, top], anchor, [width, height], [maxLeft, maxTop]) ?? [left, top];
  for (const area of avoid) {
    const vertical = beside(area.top - MARGIN_PX, area.bottom + MARGIN_PX, height, maxTop);
    const horizontal = beside(area.left - MARGIN_PX, area.right + MARGIN_PX, width, maxLeft);
    if (vertical >= MARGIN_PX) {
      [left, top] = [anchor.left - width / 2, vertical];
      break;
    }
    if (horizontal >= MARGIN_PX) {
      [left, top] = [horizontal, Math.min(anchor.top - height / 2, maxTop)];
      break;
    }
  }
  box.style.left = `${Math.max(MARGIN_PX, Math.min(left, maxLeft))}px`;
  box.style.top = `${Math.max(MARGIN_PX, top)}px`;
}
