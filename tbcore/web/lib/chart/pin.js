/**
 * The vertical line at a pinned x, and its handle below the plot. The handle can be dragged, moved
 * with the arrow keys, edited as text, and removed.
 */

import { adoptSheet, loadSheet } from "../ui/lazy.js";
import { pixelScales, toAxis, valueAt } from "./axes.js";
import { snap } from "./hover.js";
import { nextX } from "./keyboard.js";
import { formatX } from "./model.js";

/** The styles, which are there before the first pin is drawn. */
const SHEET = await loadSheet(new URL("./pin.css", import.meta.url)).catch(console.warn);

/** A shorter drag counts as a click, CSS pixels. */
const MIN_DRAG_PX = 3;
/** Nearer to the plot's right edge, the handle is left of the line, CSS pixels. */
const END_PX = 36;

/** The pin of one chart. */
export class ChartPin {
  #frame;
  #nextX;
  #move;
  /** @type {import("./types.js").Scene | null} the chart as it was last drawn */ #scene = null;
  /** @type {number | null} the pinned x, in units of the x axis */ #x = null;
  #box = Object.assign(document.createElement("div"), { className: "tb-chart-pin", hidden: true });
  #grip = Object.assign(document.createElement("span"), { className: "tb-chart-grip" });
  #handle = Object.assign(document.createElement("span"), { role: "slider", tabIndex: 0 });
  #input = Object.assign(document.createElement("input"), { hidden: true, inputMode: "decimal", ariaLabel: "Step" });
  #close = Object.assign(document.createElement("button"), { type: "button", textContent: "×", title: "Unpin (Delete)", ariaLabel: "Unpin" });
  #left = 0;
  /** Whether x can be typed. A number can be typed; a time cannot, because it is not shown as a plain number. */
  #isEditable = false;
  /** Whether a call of `nextX` is pending. */
  #isFetchingNext = false;
  /**
   * The current drag, in CSS pixels: `from` is where it began, and `offset` the distance from there
   * to the pin's line. `isGrip`: whether it began at the handle, where a click edits the step.
   * @type {{ from: number, offset: number, isGrip: boolean, moved: boolean } | null}
   */
  #drag = null;

  /**
   * @param {import("./chart-frame.js").ChartFrame} frame
   * @param {import("./types.js").Callbacks["nextX"]} nextX
   * @param {(x: number | null, settled: boolean) => void} move  moves the pin, also in other charts
   */
  constructor(frame, nextX, move) {
    this.#frame = frame;
    this.#nextX = nextX;
    this.#move = move;
    const box = this.#box;
    this.#grip.append(this.#handle, this.#input, this.#close);
    box.append(this.#grip);
    frame.plot.append(box);
    if (box.isConnected) adoptSheet(box.getRootNode(), SHEET);
    box.addEventListener("pointerdown", (event) => this.#onDown(event));
    box.addEventListener("pointermove", (event) => this.#onMove(event));
    box.addEventListener("pointerup", (event) => this.#onEnd(event));
    box.addEventListener("pointercancel", (event) => this.#onEnd(event));
    box.addEventListener("dblclick", (event) => event.stopPropagation());
    this.#handle.addEventListener("keydown", (event) => this.#onKey(event));
    this.#input.addEventListener("keydown", (event) => this.#onInputKey(event));
    this.#input.addEventListener("blur", () => this.#endEdit());
    this.#close.addEventListener("click", () => this.#remove());
  }

  /** Shows the pin at an x, or hides it. @param {import("./types.js").Scene | null} scene @param {number | null} x */
  update(scene, x) {
    this.#scene = scene;
    this.#x = x;
    const left = scene && x !== null ? pixelScales(scene).toX(toAxis(scene.x, x)) : NaN;
    const width = this.#frame.plot.clientWidth;
    this.#box.hidden = !(left >= -1 && left <= width + 1);
    if (!scene || x === null || this.#box.hidden) return;
    const text = formatX(scene.x.kind, x);
    this.#left = left;
    this.#isEditable = scene.x.kind === "step" || scene.x.kind === "number";
    const what = scene.x.kind === "number" ? scene.x.title || "x" : this.#isEditable ? "step" : "time";
    this.#box.style.left = `${left}px`;
    this.#box.classList.toggle("tb-at-end", left > width - END_PX);
    Object.assign(this.#handle, {
      textContent: text,
      title: `Drag or use ← → to move${this.#isEditable ? ". Click or type to enter a number" : ""}`,
      ariaLabel: `Pinned ${what}`,
      ariaValueNow: String(x),
      ariaValueText: text,
    });
  }

  #remove() {
    this.#move(null, true);
    this.#frame.element.focus({ preventScroll: true });
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    // The chart would start a zoom selection.
    event.stopPropagation();
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
    const x = this.#scene && snap(this.#scene, left);
    if (this.#scene && x !== null) this.#move(valueAt(this.#scene.x, x), settled);
    else if (settled) this.#move(this.#x, true);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const { key } = event;
    // The chart must not handle it.
    event.stopPropagation();
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
    const scene = this.#scene;
    const from = this.#x;
    if (from === null || !scene || this.#isFetchingNext) return;
    const nextDrawn = nextX(scene, toAxis(scene.x, from), direction);
    let next = nextDrawn === null ? null : valueAt(scene.x, nextDrawn);
    const fetched = this.#nextX?.(from, direction);
    if (fetched) {
      this.#isFetchingNext = true;
      // If the request fails, use the next point that is drawn.
      next = await fetched.catch(() => next);
      this.#isFetchingNext = false;
    }
    if (next !== null && this.#x === from && !this.#frame.isClosed) this.#move(next, true);
  }

  /** Shows the text box for a step. @param {string} [text]  its initial text; by default the pinned step */
  #edit(text) {
    if (!this.#isEditable) return;
    const input = this.#input;
    input.value = text ?? String(this.#x);
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
    if (event.key === "Enter" && x !== this.#x) this.#move(x, true);
  }
}
