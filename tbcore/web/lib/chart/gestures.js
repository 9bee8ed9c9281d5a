/**
 * Gestures that zoom and pan the x axis of a chart:
 *
 *     drag                                zooms into the selected range
 *     shift + drag, middle button drag    pans
 *     ctrl or ⌘ + wheel                   zooms at the pointer
 *     two fingers                         zoom and pan
 *     double click, 0                     show the full range
 *     + and -                             zoom at the centre
 *     shift + ← or →                      pans
 *
 * The wheel without a modifier scrolls the page, as usual.
 */

import { at, limited, moved, zoomed } from "./axes.js";

/** @typedef {import("./types.js").Range} Range */

/** A shorter drag counts as a click. */
const MIN_DRAG_PX = 5;
/** A click is reported only after this time, because it may be the first of a double click. */
const DOUBLE_CLICK_MS = 250;
/** A zoom by wheel is settled when the wheel has not moved for this long. */
const WHEEL_END_MS = 160;
/** Positions this far outside the plot count as inside, so that its edges are easy to select. */
const EDGE_TOLERANCE_PX = 6;
/** Turning the wheel by this much scales the visible range by a factor of e. */
const WHEEL_PX_PER_E_FOLD = 240;

/**
 * Adds the gestures to a chart.
 * @param {HTMLElement} element  the chart, which receives the events
 * @param {HTMLElement} plot  the area between the axes
 * @param {import("./types.js").GestureTarget} target
 * @param {AbortSignal} signal  removes the gestures when aborted
 */
export function addGestures(element, plot, target, signal) {
  new Gestures(element, plot, target, signal);
}

/** The state of the gestures of one chart. */
class Gestures {
  #element;
  #plot;
  #target;
  #signal;
  #selection = Object.assign(document.createElement("div"), { className: "tb-chart-selection", hidden: true });
  /** @type {{ left: number, range: Range, pans: boolean } | null} */ #drag = null;
  /** @type {{ range: Range, low: number, high: number } | null} axis coordinates under the two fingers */
  #pinch = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #wheelTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #clickTimer;

  /**
   * @param {HTMLElement} element @param {HTMLElement} plot
   * @param {import("./types.js").GestureTarget} target @param {AbortSignal} signal
   */
  constructor(element, plot, target, signal) {
    this.#element = element;
    this.#plot = plot;
    this.#target = target;
    this.#signal = signal;
    plot.append(this.#selection);
    const options = { signal };
    const leave = () => target.point(null);
    element.addEventListener("pointermove", (event) => this.#onMove(event), options);
    element.addEventListener("pointerdown", (event) => this.#onDown(event), options);
    element.addEventListener("pointerup", (event) => this.#onUp(event), options);
    element.addEventListener("pointercancel", () => this.#onCancel(), options);
    // Lifting a finger also fires pointerleave. It is ignored, so that the tooltip stays until the
    // user touches something else.
    element.addEventListener("pointerleave", (event) => event.pointerType === "touch" || leave(), options);
    document.addEventListener("pointerdown", (event) => event.composedPath().includes(element) || leave(), options);
    element.addEventListener("blur", leave, options);
    element.addEventListener("dblclick", () => this.#onDoubleClick(), options);
    element.addEventListener("keydown", (event) => this.#onKey(event), options);
    element.addEventListener("wheel", (event) => this.#onWheel(event), { ...options, passive: false });
    for (const kind of /** @type {const} */ (["touchstart", "touchmove", "touchend", "touchcancel"])) {
      element.addEventListener(kind, (event) => this.#onTouch(event), { ...options, passive: false });
    }
  }

  /**
   * The position of an event in the plot, CSS pixels, and whether it is inside the plot.
   * @param {{ clientX: number, clientY: number }} event
   */
  #positionOf({ clientX, clientY }) {
    const box = this.#plot.getBoundingClientRect();
    const left = clientX - box.left;
    const top = clientY - box.top;
    /** @param {number} offset @param {number} size */
    const isWithin = (offset, size) => offset >= -EDGE_TOLERANCE_PX && offset <= size + EDGE_TOLERANCE_PX;
    return { left, top, width: box.width, inside: isWithin(left, box.width) && isWithin(top, box.height) };
  }

  /** Shows a range, limited to the full one. @param {Range | null} range @param {boolean} settled */
  #show(range, settled) {
    this.#target.show(range && limited(range, this.#target.full()), settled);
  }

  /** @param {PointerEvent} event */
  #onMove(event) {
    if (this.#pinch) return;
    const drag = this.#drag;
    const { left, top, width, inside } = this.#positionOf(event);
    if (!drag) return this.#target.point(inside ? { left, top, isTouch: event.pointerType === "touch" } : null);
    if (drag.pans) return this.#show(moved(drag.range, (drag.left - left) / width), false);
    const [from, to] = edgesOf(drag.left, left, width);
    this.#selection.hidden = to - from < MIN_DRAG_PX;
    this.#selection.style.left = `${from}px`;
    this.#selection.style.width = `${to - from}px`;
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    const range = this.#target.range();
    const { left, inside } = this.#positionOf(event);
    const pans = event.button === 1 || event.shiftKey;
    if (event.button > 1 || event.pointerType === "touch" || !inside || !range) return this.#onMove(event);
    // The middle button would start to scroll the page.
    if (pans) event.preventDefault();
    this.#target.point(null);
    this.#drag = { left, range, pans };
    this.#element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #onUp(event) {
    const { left, top, width } = this.#positionOf(event);
    const ended = this.#drag;
    this.#endDrag();
    if (!ended) return;
    if (ended.pans) return this.#show(moved(ended.range, (ended.left - left) / width), true);
    if (Math.abs(left - ended.left) < MIN_DRAG_PX) {
      this.#onMove(event);
      clearTimeout(this.#clickTimer);
      this.#clickTimer = setTimeout(() => this.#signal.aborted || this.#target.click?.({ left, top }), DOUBLE_CLICK_MS);
      return;
    }
    const [from, to] = edgesOf(ended.left, left, width);
    this.#show([at(ended.range, from / width), at(ended.range, to / width)], true);
  }

  #endDrag() {
    this.#drag = null;
    this.#selection.hidden = true;
  }

  #onCancel() {
    if (this.#drag?.pans) this.#show(this.#target.range(), true);
    this.#endDrag();
  }

  #onDoubleClick() {
    clearTimeout(this.#clickTimer);
    this.#show(null, true);
  }

  /** @param {WheelEvent} event */
  #onWheel(event) {
    const range = this.#target.range();
    const { left, width, inside } = this.#positionOf(event);
    if (!(event.ctrlKey || event.metaKey) || !inside || !range) return;
    // The browser would zoom the page.
    event.preventDefault();
    // Mode 1 counts lines of text.
    const pixels = event.deltaY * (event.deltaMode === 1 ? 20 : 1);
    const exponent = Math.max(-1, Math.min(1, pixels / WHEEL_PX_PER_E_FOLD));
    const next = zoomed(range, Math.exp(exponent), left / width);
    this.#show(next, false);
    clearTimeout(this.#wheelTimer);
    this.#wheelTimer = setTimeout(() => this.#show(next, true), WHEEL_END_MS);
  }

  /** @param {TouchEvent} event */
  #onTouch(event) {
    const range = this.#target.range();
    const pinch = this.#pinch;
    if (event.touches.length !== 2 || !range) {
      if (pinch) this.#show(pinch.range, true);
      this.#pinch = null;
      return;
    }
    // The browser would zoom the page.
    if (event.cancelable) event.preventDefault();
    const { left, width } = this.#plot.getBoundingClientRect();
    const [leftFinger, rightFinger] = [...event.touches].map(({ clientX }) => (clientX - left) / width).sort((a, b) => a - b);
    if (!pinch) {
      this.#target.point(null);
      this.#pinch = { range, low: at(range, leftFinger), high: at(range, rightFinger) };
      return;
    }
    // The range is chosen so that the same data stays under the fingers. The minimum distances keep
    // fingers that are one above the other from zooming: they only pan.
    const distance = Math.max(rightFinger - leftFinger, 0.02);
    const span = Math.max(pinch.high - pinch.low, 0.02 * (range[1] - range[0])) / distance;
    const from = (pinch.low + pinch.high) / 2 - ((leftFinger + rightFinger) / 2) * span;
    pinch.range = [from, from + span];
    this.#show(pinch.range, false);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    const range = this.#target.range();
    if (event.ctrlKey || event.metaKey || event.altKey || !range) return;
    if (event.key === "+" || event.key === "=") this.#show(zoomed(range, 0.5, 0.5), true);
    else if (event.key === "-") this.#show(zoomed(range, 2, 0.5), true);
    else if (event.key === "0") this.#show(null, true);
    else if (event.shiftKey && event.key === "ArrowLeft") this.#show(moved(range, -0.25), true);
    else if (event.shiftKey && event.key === "ArrowRight") this.#show(moved(range, 0.25), true);
    else if (!this.#target.key(event)) return;
    event.preventDefault();
  }
}

/** The edges of a selection, which ends inside the plot. @param {number} start @param {number} end @param {number} width  of the plot */
function edgesOf(start, end, width) {
  return [start, Math.min(width, Math.max(0, end))].sort((a, b) => a - b);
}
