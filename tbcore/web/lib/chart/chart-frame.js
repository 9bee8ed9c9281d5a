/**
 * What charts of all kinds have in common: canvases at the resolution of the screen, axes, the
 * theme's colours, gestures, and drawing in step with the page's frames.
 */

import { FONT, drawAxes, padded, placeIn } from "./axes.js";
import { addGestures } from "./gestures.js";

/** @typedef {import("./types.js").Range} Range */

/** Smaller elements are not laid out yet. */
const MIN_SIZE_PX = 60;

/**
 * The frame of a chart in an element. The chart itself makes the ticks and draws what is inside the
 * axes:
 *
 *     const frame = new ChartFrame(element, "scatter plot", {
 *       isEmpty: () => points.length === 0,
 *       layOut: (place) => place((height) => axisTicks(y, height / 26), (width) => axisTicks(x, width / 52)),
 *       draw: (context, { width, height }) => drawPoints(context, width, height),
 *       ...
 *     });
 *     frame.scheduleDraw(); // whenever the points have changed
 */
export class ChartFrame {
  #chart;
  #canvas = make("canvas", "tb-chart-canvas");
  #overlay = make("canvas", "tb-chart-overlay");
  /** Aborted when the chart is destroyed. */
  #closed = new AbortController();
  /** @type {ResizeObserver} */ #resizes;
  /** The theme's colours, which are read before the next drawing if `text` is empty. */
  colors = { text: "", grid: "", surface: "", ink: "" };
  /** The area between the axes. */
  plot = make("div", "tb-chart-plot");
  /** A line of text above the plot, which takes no space. */
  note = make("p", "tb-chart-note");
  /** @type {import("./types.js").Layout | null} null while nothing is drawn */
  layout = null;

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {string} description  what kind of chart it is, for screen readers
   * @param {import("./types.js").Framed} chart
   */
  constructor(element, description, chart) {
    this.element = element;
    this.#chart = chart;
    element.classList.add("tb-chart");
    Object.assign(element, { tabIndex: 0, role: "group", ariaRoleDescription: description });
    this.plot.append(this.#overlay);
    element.append(this.#canvas, this.plot, this.note);
    const { signal } = this.#closed;
    addGestures(element, this.plot, chart, signal);
    window.addEventListener("scroll", () => chart.hideTooltip(), { signal, passive: true, capture: true });
    this.#resizes = new ResizeObserver(() => this.scheduleDraw(true));
    this.#resizes.observe(element);
  }

  /** The full range of the x axis: that of the data, with a margin. @param {Range | null} range  null without data */
  static withMargin(range) {
    return padded(range, 0.02);
  }

  /** Whether the chart has been destroyed. */
  get isClosed() {
    return this.#closed.signal.aborted;
  }

  /** Draws in one of the next frames. @param {boolean} [isFirst]  whether to draw before all other charts */
  scheduleDraw(isFirst) {
    scheduleDraw(this.#draw, isFirst);
  }

  /** Redraws with the theme's current colours. */
  restyle() {
    this.colors.text = "";
    this.scheduleDraw();
  }

  /** The context of the canvas above the plot, cleared, in CSS pixels of the plot; null while nothing is drawn. */
  clearOverlay() {
    const context = this.#overlay.getContext("2d");
    if (!this.layout || !context) return null;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, this.layout.width, this.layout.height);
    return context;
  }

  /** Removes the chart from its element. */
  destroy() {
    this.#closed.abort();
    this.#resizes.disconnect();
    cancelDraw(this.#draw);
    for (const part of [this.#canvas, this.plot, this.note]) part.remove();
  }

  /** Draws everything. Returns how many milliseconds the browser will need afterwards to paint it. */
  #draw = () => {
    const { clientWidth: width, clientHeight: height } = this.element;
    const context = this.#canvas.getContext("2d");
    if (width < MIN_SIZE_PX || height < MIN_SIZE_PX || !context) return 0;
    if (this.colors.text === "") this.#readColors();
    const ratio = devicePixelRatio;
    const isResized = resize(this.#canvas, width * ratio, height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.plot.hidden = this.#chart.isEmpty();
    if (this.plot.hidden) {
      this.layout = null;
      this.note.textContent = "";
      this.#chart.hideTooltip();
      return 0;
    }
    context.font = `11px ${FONT}`;
    const layout = this.#chart.layOut(placeIn(width, height, (text) => context.measureText(text).width), isResized);
    this.layout = layout;
    drawAxes(context, layout, this.colors, ratio);
    for (const side of /** @type {const} */ (["left", "top", "width", "height"])) this.plot.style[side] = `${layout[side]}px`;
    // The labels of the y axis are not covered.
    this.note.style.left = this.plot.style.left;
    resize(this.#overlay, layout.width * ratio, layout.height * ratio);
    context.save();
    context.translate(layout.left, layout.top);
    const paintMs = this.#chart.draw(context, layout);
    context.restore();
    this.#chart.update();
    return paintMs;
  };

  #readColors() {
    const style = getComputedStyle(this.element);
    const color = (/** @type {string} */ name, /** @type {string} */ fallback) => style.getPropertyValue(name).trim() || fallback;
    this.colors = {
      text: color("--tb-ink-3", "gray"),
      grid: color("--tb-grid", "#dddddd"),
      surface: color("--tb-surface", "#ffffff"),
      ink: color("--tb-ink", "#000000"),
    };
  }
}

/**
 * Resizes a canvas, which also clears it; does nothing if the size is the same.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width  device pixels
 * @param {number} height
 * @returns {boolean} whether the size has changed
 */
function resize(canvas, width, height) {
  const size = [Math.round(width), Math.round(height)];
  if (canvas.width === size[0] && canvas.height === size[1]) return false;
  [canvas.width, canvas.height] = size;
  return true;
}

/** A new element with a class. @template {keyof HTMLElementTagNameMap} K @param {K} kind @param {string} className */
function make(kind, className) {
  const element = document.createElement(kind);
  element.className = className;
  return element;
}

// --- drawing in step with frames -----------------------------------------------------------------

// Draw calls wait in a queue. What does not fit into a frame is drawn in the next one, so that
// twenty charts that zoom together do not delay the one under the pointer.

/** Time that draw calls may take in one frame; at 60 Hz a frame has 16.7 ms. */
const FRAME_BUDGET_MS = 12;

/**
 * @typedef {() => number | void} Draw  may return how many milliseconds the browser will need
 *   afterwards to paint what was drawn; they count towards the budget
 */

/** @type {Set<Draw>} */
let queue = new Set();
/** Handle of the requested animation frame; 0 if none is requested. */
let frame = 0;

/**
 * Schedules a draw call for one of the next frames. A function that is already in the queue is not
 * added again.
 * @param {Draw} draw  the same function object each time
 * @param {boolean} [isFirst]  whether to draw before all others
 */
export function scheduleDraw(draw, isFirst = false) {
  if (isFirst) queue = new Set([draw, ...queue]);
  else queue.add(draw);
  frame ||= requestAnimationFrame(drawFrame);
}

/** Cancels a scheduled draw call. @param {Draw} draw */
export function cancelDraw(draw) {
  queue.delete(draw);
}

/** Runs draw calls until the budget is used up. */
function drawFrame() {
  let deadline = performance.now() + FRAME_BUDGET_MS;
  try {
    for (const draw of queue) {
      queue.delete(draw);
      deadline -= draw() ?? 0;
      if (performance.now() > deadline) break;
    }
  } finally {
    // Request the next frame even if a draw call throws, so that the rest of the queue is drawn.
    frame = queue.size > 0 ? requestAnimationFrame(drawFrame) : 0;
  }
}
