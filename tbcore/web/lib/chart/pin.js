/**
 * The vertical line at a pinned x, and its handle below the plot. The handle can be dragged, moved
 * with the arrow keys, edited as text, and removed. Loaded when an x is first pinned.
 */

import { snap } from "./hover.js";
import { nextX } from "./keyboard.js";
import { pixelScales, toAxis, valueAt } from "./ranges.js";
import { formatX } from "./words.js";

/** A shorter drag counts as a click, CSS pixels. */
const MIN_DRAG_PX = 3;
/** Nearer to the plot's right edge, the handle is left of the line, CSS pixels. */
const END_PX = 36;

/**
 * @typedef {object} PinnedChart
 * @property {import("./chart-frame.js").ChartFrame} frame
 * @property {() => import("./types.js").Scene | null} scene  the chart as it was last drawn
 * @property {() => number | null} x  the pinned x, in units of the x axis
 * @property {import("./types.js").Callbacks["nextX"]} nextX
 * @property {(x: number | null, settled: boolean) => void} move  moves the pin, also in other charts
 */

/** The pin of one chart. */
export class ChartPin {
  #chart;
  #box = document.createElement("div");
  #grip = document.createElement("span");
  #handle = document.createElement("span");
  #input = document.createElement("input");
  #close = document.createElement("button");
  #left = 0;
  /** Whether x can be typed. A step can be typed; a time cannot, because it is not shown as a plain number. */
  #isEditable = false;
  /** Whether a call of `nextX` is pending. */
  #isFetchingNext = false;
  /**
   * The current drag, in CSS pixels: `from` is where it began, and `offset` the distance from there
   * to the pin's line. `isGrip`: whether it began at the handle, where a click edits the step.
   * @type {{ from: number, offset: number, isGrip: boolean, moved: boolean } | null}
   */
  #drag = null;

  /** @param {PinnedChart} chart */
  constructor(chart) {
    this.#chart = chart;
    const [box, grip, handle, input, close] = [this.#box, this.#grip, this.#handle, this.#input, this.#close];
    box.className = "tb-chart-pin";
    grip.className = "tb-chart-grip";
    handle.setAttribute("role", "slider");
    handle.tabIndex = 0;
    input.hidden = true;
    input.inputMode = "decimal";
    input.setAttribute("aria-label", "Step");
    close.type = "button";
    close.textContent = "×";
    close.title = "Unpin (Delete)";
    close.setAttribute("aria-label", "Unpin");
    grip.append(handle, input, close);
    box.append(grip);
    box.hidden = true;
    chart.frame.plot.append(box);
    box.addEventListener("pointerdown", (event) => this.#onDown(event));
    box.addEventListener("pointermove", (event) => this.#onMove(event));
    box.addEventListener("pointerup", (event) => this.#onEnd(event));
    box.addEventListener("pointercancel", (event) => this.#onEnd(event));
    box.addEventListener("dblclick", (event) => event.stopPropagation());
    handle.addEventListener("keydown", (event) => this.#onKey(event));
    input.addEventListener("keydown", (event) => this.#onInputKey(event));
    input.addEventListener("blur", () => this.#endEdit());
    close.addEventListener("click", () => this.#remove());
  }

  /** Shows the pin at its x, or hides it. */
  update() {
    const { scene: drawn, x: pinned, frame } = this.#chart;
    const scene = drawn();
    const x = pinned();
    const left = scene && x !== null ? pixelScales(scene).toX(toAxis(scene.x, x)) : NaN;
    const width = frame.plot.clientWidth;
    this.#box.hidden = !(left >= -1 && left <= width + 1);
    if (!scene || x === null || this.#box.hidden) return;
    const kind = /** @type {import("./types.js").XAxis} */ (scene.x.kind);
    const what = kind === "step" ? "step" : "time";
    const text = formatX(kind, x);
    this.#left = left;
    this.#isEditable = kind === "step";
    this.#box.style.left = `${left}px`;
    this.#box.classList.toggle("tb-at-end", left > width - END_PX);
    this.#handle.textContent = text;
    this.#handle.title = `Drag or use ← → to move${this.#isEditable ? ". Click or type to enter a step" : ""}`;
    this.#handle.setAttribute("aria-label", `Pinned ${what}`);
    this.#handle.setAttribute("aria-valuenow", String(x));
    this.#handle.setAttribute("aria-valuetext", text);
  }

  #remove() {
    this.#chart.move(null, true);
    this.#chart.frame.element.focus({ preventScroll: true });
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    event.stopPropagation(); // the chart would start a zoom selection
    if (event.button !== 0 || event.target === this.#close || event.target === this.#input) return;
    const isGrip = this.#grip.contains(/** @type {Node} */ (event.target));
    this.#drag = { from: event.clientX, offset: this.#left - event.clientX, isGrip, moved: false };
    this.#box.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #onMove(event) {
    const drag = this.#drag;
    if (!drag) return;
    event.stopPropagation();
    drag.moved ||= Math.abs(event.clientX - drag.from) >= MIN_DRAG_PX;
    if (drag.moved) this.#dragTo(event.clientX + drag.offset, false);
  }

  /** @param {PointerEvent} event */
  #onEnd(event) {
    event.stopPropagation();
    const drag = this.#drag;
    if (drag?.moved) this.#dragTo(event.clientX + drag.offset, true);
    else if (drag?.isGrip && event.type === "pointerup") this.#edit();
    this.#drag = null;
  }

  /** Moves the pin to the point nearest to a position. @param {number} left @param {boolean} settled */
  #dragTo(left, settled) {
    const { scene: drawn, x: pinned, move } = this.#chart;
    const scene = drawn();
    const x = scene && snap(scene, left);
    if (scene && x !== null) move(valueAt(scene.x, x), settled);
    else if (settled) move(pinned(), true);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const { key } = event;
    event.stopPropagation(); // the chart must not handle it
    if (key === "ArrowLeft" || key === "ArrowDown") this.#walk(-1);
    else if (key === "ArrowRight" || key === "ArrowUp") this.#walk(1);
    else if (key === "Delete" || key === "Backspace" || key === "Escape") this.#remove();
    else if (key === "Enter" || key === "F2") this.#edit();
    else if (/^[-\d]$/.test(key) && !event.ctrlKey && !event.metaKey && !event.altKey) this.#edit(key);
    else return;
    event.preventDefault();
  }

  /** Moves the pin to the next point of any line. @param {-1 | 1} direction */
  async #walk(direction) {
    const { frame, scene: drawn, x: pinned, move } = this.#chart;
    const scene = drawn();
    const from = pinned();
    if (from === null || !scene || this.#isFetchingNext) return;
    const nextDrawn = nextX(scene, toAxis(scene.x, from), direction);
    let next = nextDrawn === null ? null : valueAt(scene.x, nextDrawn);
    const fetched = this.#chart.nextX?.(from, direction);
    if (fetched) {
      this.#isFetchingNext = true;
      // If the request fails, use the next point that is drawn.
      next = await fetched.catch(() => next);
      this.#isFetchingNext = false;
    }
    if (next !== null && pinned() === from && !frame.isClosed) move(next, true);
  }

  /** Shows the text box for a step. @param {string} [text]  its initial text; by default the pinned step */
  #edit(text) {
    if (!this.#isEditable) return;
    const input = this.#input;
    input.value = text ?? String(this.#chart.x());
    input.hidden = false;
    this.#handle.hidden = true;
    input.focus({ preventScroll: true });
    if (text === undefined) input.select();
  }

  /** Shows the handle again. */
  #endEdit() {
    this.#input.hidden = true;
    this.#handle.hidden = false;
  }

  /** @param {KeyboardEvent} event */
  #onInputKey(event) {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    const x = Number(this.#input.value.replace(/[\s,_]/g, "") || NaN);
    if (event.key === "Enter" && !Number.isFinite(x)) return this.#input.select();
    this.#endEdit();
    this.#handle.focus({ preventScroll: true });
    if (event.key === "Enter" && x !== this.#chart.x()) this.#chart.move(x, true);
  }
}
