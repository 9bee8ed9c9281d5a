/**
 * A chart of many lines, each with its own x values. It has axes, hover, zoom, and marks for values
 * that a line cannot show, such as NaN. Plain DOM, without preact:
 *
 *     const chart = new LineChart(element, { label: "loss" });
 *     chart.setLines([{ name: "train", color: "#3366cc", step, wallTime, value }]);
 *
 * The chart fills its element and follows its size. `gestures.js` lists how users zoom and pan; the
 * arrow keys select points one by one. A view is the visible range [from, to] of the x axis, or
 * null for the full range.
 */

import { placeIn } from "./axes.js";
import { ChartFrame } from "./chart-frame.js";
import { drawScene, sceneMarks } from "./draw.js";
import { drawOverlay, hitAt, hitsAt, hitsUnder, snap } from "./hover.js";
import { itemOf, selectionAfter } from "./keyboard.js";
import { ChartModel } from "./model.js";
import { at, fromAxis, valueAt } from "./ranges.js";
import { describe, noteOf } from "./words.js";

/**
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").Scene} Scene
 */

/** A line chart in an element. */
export class LineChart {
  /** @type {import("./types.js").Callbacks} */ #options;
  #model = new ChartModel();
  #frame;
  /** @type {Scene | null} the chart as it was last drawn */ #drawn = null;
  /**
   * Whether a zoom or pan gesture is in progress. The y axis is then frozen, and lines are drawn by
   * `Raster`, which is faster.
   */
  #isMoving = false;
  /** @type {import("./hover-tooltip.js").ChartTooltip | null} created on first hover */
  #tooltip = null;
  /** Removes the chart from the shared cursor. */
  #leaveCursor = () => {};
  /** @type {import("./types.js").Selection | null} the point selected with the keys */
  #selected = null;
  /** @type {import("./types.js").PointerPosition | null} */ #pointer = null;
  /** @type {number | null} the pinned x, in units of the x axis */ #pinned = null;
  /** @type {import("./pin.js").ChartPin | null} created when an x is first pinned */ #pin = null;
  /** @type {{ x: number, run: string | null } | null} the pointer, if it is in another chart */
  #remote = null;
  /** @type {string | null} name of a run */ #highlighted = null;
  /** Whether the last call of `#notifyHover` had any points. */
  #wasHovering = false;

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {import("./types.js").LineChartOptions} options
   */
  constructor(element, { xAxis = "step", xScale = "linear", yScale = "linear", clip = false, ...options }) {
    this.#options = options;
    this.#model.axes = { xAxis, xScale, yScale, clip };
    this.#frame = new ChartFrame(element, "line chart", {
      isEmpty: () => this.#model.items.length === 0,
      layOut: (place, isResized) => this.#layOut(place, isResized),
      draw: (context, layout) => {
        this.#drawn = this.#model.scene(layout, this.#frame.colors, this.#isMoving);
        return drawScene(context, this.#drawn, devicePixelRatio);
      },
      update: () => {
        this.#updatePin();
        this.#updateHover();
      },
      hideTooltip: () => this.#tooltip?.hide(),
      range: () => this.#frame.layout && this.#model.x.range,
      full: () => this.#model.paddedFullRange,
      show: (range, settled) => this.#changeView(range, settled),
      point: (point) => this.#point(point, null),
      click: ({ left, top }) => {
        const scene = this.#scene;
        const x = scene && snap(scene, left);
        if (scene && x !== null && hitsAt(scene, x, top).length > 0) this.#movePin(valueAt(scene.x, x), true);
      },
      key: (event) => this.#onKey(event.key),
    });
    if (options.cursor) this.#leaveCursor = options.cursor.join(this);
  }

  /**
   * Replaces all lines. View and hover stay as they are, so this can be called whenever lines grow.
   * @param {readonly import("./types.js").Line[]} lines  in drawing order
   */
  setLines(lines) {
    this.#model.lines = lines;
    this.#model.updateItems();
    this.#update();
  }

  /** Replaces all bands. Bands are drawn behind all lines. @param {readonly import("./types.js").Band[]} bands */
  setBands(bands) {
    this.#model.bands = bands;
    this.#model.updateItems();
    this.#update();
  }

  /**
   * Changes the axes. A change of the x axis resets zoom and pin.
   * @param {Partial<import("./types.js").Axes>} axes  missing properties do not change
   */
  setAxes(axes) {
    if (axes.xAxis && axes.xAxis !== this.#model.axes.xAxis) {
      this.setView(null);
      this.#pinned = null;
    }
    if (this.#model.setAxes(axes)) this.#update();
  }

  /** Redraws with the theme's current colours. Call it when the theme has changed. */
  restyle() {
    this.#frame.restyle();
  }

  /** The visible range of the x axis, in its units; null for the full range. */
  get view() {
    return this.#model.view;
  }

  /**
   * Sets the visible range of the x axis. Does not call `onView`.
   * @param {Range | null} view  in units of the x axis; null for the full range
   * @param {boolean} [settled]  false during a gesture, to freeze the y axis
   */
  setView(view, settled = true) {
    const wasZoomed = this.isZoomed;
    this.#model.view = view;
    this.#isMoving = !settled;
    this.#frame.scheduleDraw();
    if (settled) this.#updateAria();
    if (wasZoomed !== this.isZoomed) this.#options.onZoom?.(this.isZoomed);
  }

  /**
   * Approximate width of the plot in device pixels; 0 before layout. It does not depend on the
   * labels, so that new data does not change it.
   */
  get pixels() {
    return Math.round(Math.max(0, this.#frame.element.clientWidth - 56) * devicePixelRatio);
  }

  /** The smallest and largest x of all data, in units of the x axis; null without points. */
  get xExtent() {
    return this.#model.xExtent;
  }

  /** Whether a view is set. */
  get isZoomed() {
    return this.#model.view !== null;
  }

  /** Shows the full range and calls `onView`, like a double click. */
  resetZoom() {
    this.#changeView(null, true);
  }

  /** Emphasizes the lines of a run and fades all others; null for none. @param {string | null} run */
  highlight(run) {
    if (run === this.#highlighted) return;
    this.#highlighted = run;
    this.#drawOverlay();
  }

  /**
   * The chart as an SVG document with title, axes, lines and legend.
   * @param {string} [note]  text above the plot, such as the smoothing
   * @returns {Promise<string>}
   */
  async toSVG(note) {
    return (await import("./export.js")).chartSVG(this.#picture(note));
  }

  /**
   * The chart as a PNG image with title, axes, lines and legend.
   * @param {number} [scale]  image pixels per CSS pixel
   * @param {string} [note]
   * @returns {Promise<Blob>} image/png
   */
  async toPNG(scale = 2, note) {
    return (await import("./export.js")).chartPNG(this.#picture(note), scale);
  }

  /** Removes the chart from its element. */
  destroy() {
    this.#notifyHover([]);
    this.#leaveCursor();
    this.#tooltip?.destroy();
    this.#frame.destroy();
  }

  // --- drawing ----------------------------------------------------------------------------------

  /** The chart as it was last drawn; null while there is nothing to draw. */
  get #scene() {
    return this.#frame.layout && this.#drawn;
  }

  /** Draws what has changed, and describes it for screen readers. */
  #update() {
    this.#frame.scheduleDraw();
    this.#updateAria();
  }

  #updateAria() {
    const { label, values } = describe(this.#options.label, this.#model);
    this.#frame.element.setAttribute("aria-label", label);
    this.#frame.element.setAttribute("aria-description", values);
  }

  /** @param {import("./types.js").Place} place @param {boolean} isResized */
  #layOut(place, isResized) {
    const { note, layout: old } = this.#frame;
    if (isResized) this.#isMoving = false;
    // During a gesture only the x axis changes.
    const onlyX = this.#isMoving && old !== null;
    this.#model.updateRanges(onlyX);
    if (onlyX) return { ...old, xTicks: this.#model.ticks("x", old.width) };
    note.textContent = note.title = noteOf(this.#model);
    return this.#model.layOut(place, note.textContent !== "");
  }

  /**
   * The content of an exported picture, which is large enough to be read outside the page.
   * @param {string} [more]  a note to put before the chart's own
   * @returns {import("./types.js").Picture}
   */
  #picture(more) {
    const { element, colors, note: own } = this.#frame;
    const width = Math.max(640, element.clientWidth);
    const height = Math.max(360, element.clientHeight);
    const note = [more, own.textContent].filter(Boolean).join(", ");
    const layout = this.#model.layOut(placeIn(width, height, (text) => 6.5 * text.length), note !== "");
    const { x, y, items } = this.#model;
    const marks = sceneMarks(this.#model.scene(layout, colors, this.#isMoving), items);
    return { label: this.#options.label, width, height, layout, x, y, items, marks, note, colors };
  }

  // --- hover, zoom, keys ------------------------------------------------------------------------

  /**
   * Changes the view after a gesture, a key or a click, and calls `onView`.
   * @param {Range | null} range  in axis coordinates
   * @param {boolean} settled
   */
  #changeView(range, settled) {
    const { x, view: old } = this.#model;
    const view = range && /** @type {Range} */ (range.map((coordinate) => fromAxis(x, coordinate)));
    if (!view && !old && !this.#isMoving) return; // already showing the full range
    this.setView(view, settled);
    this.#frame.scheduleDraw(true);
    this.#options.onView?.(view, settled);
  }

  /**
   * Handles the keys that `gestures.js` does not handle.
   * @param {string} key
   * @returns {boolean} whether the key was handled
   */
  #onKey(key) {
    const scene = this.#scene;
    if (!scene) return false;
    const selected = this.#selected;
    const next = selectionAfter(scene, selected, key, this.#hits()[0], this.isZoomed);
    if (next) this.#point(null, next);
    else if (key === "Escape") {
      if (!selected && !this.isZoomed) return false;
      if (!selected) this.resetZoom();
      this.#point(null, null);
    } else if (key === "Enter" && selected && this.#options.onPin) {
      const item = /** @type {import("./types.js").Item} */ (itemOf(scene, selected));
      const x = valueAt(scene.x, item.xs[selected.index]);
      this.#movePin(x === this.#pinned ? null : x, true);
    } else if ((key === "Delete" || key === "Backspace") && this.#pinned !== null) this.#movePin(null, true);
    else return false;
    return true;
  }

  /**
   * Moves the pointer, or selects a point.
   * @param {import("./types.js").PointerPosition | null} pointer
   * @param {import("./types.js").Selection | null} selected
   */
  #point(pointer, selected) {
    this.#pointer = pointer;
    this.#selected = selected;
    this.#updateHover();
  }

  /** The points under the pointer, nearest first, or the selected point. @returns {Hit[]} */
  #hits() {
    const scene = this.#scene;
    if (!scene) return [];
    if (!this.#selected) return this.#pointer ? hitsUnder(scene, this.#pointer) : [];
    const item = itemOf(scene, this.#selected);
    const { index } = this.#selected;
    return item && index < item.xs.length ? [hitAt(scene, item, index)] : [];
  }

  /** Updates tooltip and overlay for the points under the pointer, or for the selected point. */
  #updateHover() {
    const hits = this.#hits();
    if (hits.length > 0) this.#showTooltip(hits);
    else this.#tooltip?.hide();
    this.#drawOverlay(hits);
    this.#notifyHover(hits);
  }

  /** Draws what depends on the pointer. @param {Hit[]} [hits] */
  #drawOverlay(hits = this.#hits()) {
    const scene = this.#scene;
    const context = this.#frame.clearOverlay();
    if (context && scene) drawOverlay(context, scene, { hits, pointer: this.#pointer, remote: this.#remote, pinned: this.#pinned, highlighted: this.#highlighted });
  }

  /** Shows the tooltip, whose module is loaded first. @param {Hit[]} hits */
  async #showTooltip(hits) {
    if (!this.#tooltip) {
      const { ChartTooltip } = await import("./hover-tooltip.js");
      hits = this.#hits(); // the pointer may have moved during the import
      if (hits.length === 0 || this.#frame.isClosed) return;
      this.#tooltip ??= new ChartTooltip(this.#frame.element);
    }
    const plot = this.#frame.plot.getBoundingClientRect();
    const { left, top } = this.#pointer ?? hits[0];
    const { readOut, onPin } = this.#options;
    const isKeyboard = this.#selected !== null;
    const hint = onPin && this.#pinned === null && !this.#pointer?.isTouch ? `${isKeyboard ? "Enter" : "click"} to pin` : "";
    this.#tooltip.show(hits, { left: plot.left + left, top: plot.top + (top || 0) }, isKeyboard, this.#model.axes.xAxis, hint, readOut);
  }

  /** Notifies `onHover` and the shared cursor. @param {Hit[]} hits */
  #notifyHover(hits) {
    const isHovered = hits.length > 0;
    if (!isHovered && !this.#wasHovering) return;
    this.#wasHovering = isHovered;
    this.#options.onHover?.(hits);
    const { cursor } = this.#options;
    const scene = this.#scene;
    if (!cursor) return;
    if (!isHovered || !scene) return cursor.move(null, null, this);
    const x = this.#pointer ? snap(scene, this.#pointer.left) : at(scene.x.range, hits[0].left / scene.width);
    if (x !== null) cursor.move(valueAt(scene.x, x), hits[0].run, this);
  }

  /**
   * Marks the pointer's position in another chart. Called by the shared cursor.
   * @param {number | null} x  in units of the x axis; null removes the mark
   * @param {string | null} run  run of the line nearest to that pointer
   */
  showCursor(x, run) {
    this.#remote = x === null ? null : { x, run };
    this.#drawOverlay();
  }

  // --- the pin ----------------------------------------------------------------------------------

  /**
   * Pins an x in this chart only: marks it with a line and a handle. `cursor.pin` pins it in all
   * charts.
   * @param {number | null} x  in units of the x axis; null unpins
   * @param {boolean} [settled]  false while the pin is dragged
   * @param {boolean} [here]  whether the user pinned it in this chart, not in another one
   */
  showPin(x, settled = true, here = false) {
    this.#pinned = x;
    this.#updatePin();
    this.#drawOverlay();
    if (here) this.#tooltip?.hide(); // it may cover the values that appear for the pin
    this.#options.onPin?.(x, settled, here);
  }

  /**
   * Moves the pin after an action of the user, in all charts with the same cursor.
   * @param {number | null} x  in units of the x axis; null removes the pin
   * @param {boolean} settled
   */
  #movePin(x, settled) {
    const { cursor, onPin } = this.#options;
    if (!onPin) return;
    if (cursor) cursor.pin(x, settled, this);
    else this.showPin(x, settled, true);
  }

  /** Shows the pin, whose module is loaded first, or hides it. */
  async #updatePin() {
    if (this.#pinned !== null && !this.#pin) {
      const { ChartPin } = await import("./pin.js");
      const move = (/** @type {number | null} */ x, /** @type {boolean} */ settled) => this.#movePin(x, settled);
      this.#pin ??= new ChartPin({ frame: this.#frame, scene: () => this.#scene, x: () => this.#pinned, nextX: this.#options.nextX, move });
    }
    this.#pin?.update();
  }
}
