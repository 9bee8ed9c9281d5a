/**
 * The plot of a card as a chart of `ChartCard`.
 */

import { html } from "htm/preact";
import { render } from "preact";
import { linesAt } from "./curve.js";
import { Plot, plotSVG } from "./plot.js";

/**
 * @typedef {import("./curve-card.js").Reading} Reading
 *
 * @typedef {object} Drawn
 * @property {readonly Omit<import("./curve-card.js").Line, "index">[]} results
 * @property {string | null} hovered  a run to highlight
 * @property {boolean} expanded
 */

export class CurveChart {
  #element;
  #label;
  #onZoom;
  #onRead;
  /** @type {Drawn} */ #drawn = { results: [], hovered: null, expanded: false };
  /** @type {Reading | null} */ #reading = null;
  /** @type {import("./curve.js").Range | null} visible range of recall; null: everything */ #view = null;

  /**
   * @param {HTMLElement} element
   * @param {string} label
   * @param {(isZoomed: boolean) => void} onZoom
   * @param {(reading: Reading | null) => void} onRead  called when the user selects a threshold
   */
  constructor(element, label, onZoom, onRead) {
    this.#element = element;
    this.#label = label;
    this.#onZoom = onZoom;
    this.#onRead = onRead;
  }

  /** Draws curves. @param {Drawn} drawn */
  set(drawn) {
    this.#drawn = drawn;
    const { results, ...props } = drawn;
    const lines = linesAt(results, this.#reading);
    render(html`<${Plot} ...${props} lines=${lines} reading=${this.#reading} label=${this.#label} onRead=${this.#read} view=${this.#view} onView=${this.#show} />`, this.#element);
  }

  /** Draws at once, so that the next key starts from this reading. */
  #read = (/** @type {Reading | null} */ reading) => {
    this.#reading = reading;
    this.set(this.#drawn);
    this.#onRead(reading);
  };

  #show = (/** @type {import("./curve.js").Range | null} */ view) => {
    this.#view = view;
    this.#onZoom(view !== null);
    this.set(this.#drawn);
  };

  /** Shows everything. */
  resetZoom() {
    this.#show(null);
  }

  /** The plot as an SVG document, as large as on the screen. @param {string} [note] */
  toSVG(note) {
    return plotSVG(this.#element, this.#label, linesAt(this.#drawn.results, null), this.#view, note);
  }

  /** Removes the plot. */
  destroy() {
    if (this.#reading) this.#onRead(null);
    render(null, this.#element);
  }
}
