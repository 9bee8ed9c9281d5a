/**
 * Line charts:
 *
 *     const chart = new LineChart(element, { label: "loss" });
 *     chart.setLines([{ name: "train", color: "#3366cc", step, wallTime, value }]);
 */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { Lazy } from "../ui/lazy.js";
import { fromAxis } from "./axes.js";
import { ChartFrame } from "./chart-frame.js";
import { drawScene } from "./draw.js";
import { ChartModel, describe, isOtherAxis } from "./model.js";
import { MAX_SMOOTHING } from "./series.js";

/**
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Columns} Columns
 * @typedef {import("./types.js").Cursor} Cursor
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").ReadOut} ReadOut
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {import("./types.js").XAxis} XAxis
 * @typedef {import("./legend-rows.js").LegendRow} LegendRow
 * @typedef {import("./legend-rows.js").LegendSort} LegendSort
 */

/** @type {typeof import("./left-out.js") | null} null until a chart may leave something out */
let leftOut = null;

/**
 * A chart of many lines, each with its own x values. It has axes, hover, zoom, and marks for values
 * that a line cannot show, such as NaN. Plain DOM, without preact. The chart fills its element and
 * follows its size. `gestures.js` lists how users zoom and pan; the arrow keys select points one by
 * one. A view is the visible range [from, to] of the x axis, or null for the full range.
 */
export class LineChart {
  /** @type {import("./types.js").Callbacks} */ #options;
  #model = new ChartModel();
  #frame;
  /** @type {Scene | null} the chart as it was last drawn */ #drawn = null;
  /** @type {typeof import("./line-names.js") | null} null until lines are named */ #names = null;
  #isNamed = false;
  /** @type {readonly import("./types.js").Band[]} those of the last call, which are drawn once their code is loaded */ #bands = [];
  /** Whether a zoom or pan gesture is in progress. The y axis is then frozen, and lines are drawn by `Raster`, which is faster. */
  #isMoving = false;
  /** Names of the lines that are far out of range, as last reported; "" before the first report. */
  #far = "";
  /** Removes the chart from the shared cursor. */
  #leaveCursor = () => {};
  /** @type {import("./pointing.js").Pointing | null} null until it is loaded */ #pointing = null;
  /** @type {Promise<import("./pointing.js").Pointing | undefined> | null} null until it is needed; undefined if it cannot be loaded */ #loading = null;

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {import("./types.js").LineChartOptions} options
   */
  constructor(element, options) {
    this.#options = options;
    this.#model.axes = { ...this.#model.axes, ...options };
    this.#frame = new ChartFrame(element, "line chart", {
      isEmpty: () => this.#model.items.length === 0,
      layOut: (place, isResized) => this.#layOut(place, isResized),
      draw: (context, layout) => {
        this.#drawn = this.#model.scene(layout, this.#frame.colors, this.#isMoving);
        if (this.#isNamed) this.#names?.drawNames(context, this.#drawn);
        return drawScene(context, this.#drawn, devicePixelRatio);
      },
      update: () => this.#pointing?.update(),
      hideTooltip: () => this.#pointing?.hideTooltip(),
      range: () => this.#frame.layout && this.#model.visibleRange,
      full: () => this.#model.paddedFullRange,
      show: (range, settled) => this.#changeView(range, settled),
      point: (point) => this.#point((pointing) => pointing.point(point), point !== null),
      click: (point) => this.#point((pointing) => pointing.click(point)),
      key: (event) => this.#onKey(event.key),
    });
    element.addEventListener("focus", () => this.#point((pointing) => pointing.describe(() => this.#updateAria())));
    if (options.cursor) this.#leaveCursor = options.cursor.join(this);
  }

  /**
   * Replaces all lines. View and hover stay as they are, so this can be called whenever lines grow.
   * @param {readonly import("./types.js").Line[]} lines  the first is drawn above all others
   */
  setLines(lines) {
    this.#model.lines = lines;
    this.#model.updateItems();
    this.#update();
  }

  /** Replaces all bands. Bands are drawn behind all lines; the first ones, once their code is loaded. @param {readonly import("./types.js").Band[]} bands */
  setBands(bands) {
    const model = this.#model;
    this.#bands = bands;
    if (bands.length > 0 && !model.bandCode) return void this.#loadBands().catch(console.warn);
    model.bands = bands;
    this.#model.updateItems();
    this.#update();
  }

  async #loadBands() {
    this.#model.bandCode = await import("./bands.js");
    this.setBands(this.#bands);
  }

  /**
   * Changes the axes. A change of the x axis resets zoom and pin.
   * @param {Partial<import("./types.js").Axes>} axes  missing properties do not change
   */
  setAxes(axes) {
    if (isOtherAxis({ ...this.#model.axes, ...axes }, this.#model.axes)) {
      this.setView(null);
      this.#point((pointing) => pointing.showPin(null, false), false);
    }
    if (this.#model.setAxes(axes)) this.#update();
  }

  /** Names up to twelve lines and bands at their ends; not in a narrow chart. @param {boolean} isNamed */
  async nameLines(isNamed) {
    if (isNamed === this.#isNamed) return;
    this.#isNamed = isNamed;
    if (isNamed) this.#names ??= await import("./line-names.js").catch(() => null);
    this.#frame.scheduleDraw();
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

  /**
   * The chart as an SVG document with title, axes, lines and legend.
   * @param {string} [note]  text above the plot, such as the smoothing
   * @returns {Promise<string>}
   */
  async toSVG(note) {
    return this.toFigure(0, note);
  }

  /**
   * The chart as a PNG image with title, axes, lines and legend.
   * @param {number} [scale]  image pixels per CSS pixel
   * @param {string} [note]
   * @returns {Promise<Blob>} image/png
   */
  async toPNG(scale = 2, note) {
    return (await import("./svg.js")).svgToPNG(await this.toSVG(note), scale);
  }

  /**
   * The chart as a figure for a paper: an SVG document of this width, with letters of 8 points.
   * @param {number} inches  0 for the size on the screen, and its letters
   * @param {string} [note] @param {import("./types.js").FigureWishes} [wishes]
   * @returns {Promise<string>}
   */
  async toFigure(inches, note, wishes) {
    return (await import("./figure.js")).lineChartPicture(inches, this.#options.label, this.#model, this.#frame, note, wishes);
  }

  /** Removes the chart from its element. */
  destroy() {
    this.#pointing?.destroy();
    this.#leaveCursor();
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
    this.#frame.element.setAttribute("aria-description", this.#pointing?.sentence(values) ?? values);
  }

  /** @param {import("./types.js").Place} place @param {boolean} isResized */
  #layOut(place, isResized) {
    const { note, layout: old } = this.#frame;
    if (isResized) this.#isMoving = false;
    // During a gesture only the x axis changes.
    const onlyX = this.#isMoving && old !== null;
    this.#model.leftOut = leftOut;
    this.#model.updateRanges(onlyX);
    if (onlyX) return { ...old, xTicks: this.#model.ticks("x", old.width) };
    const { x, y, axes, bandCode } = this.#model;
    if (!leftOut && (bandCode || x.log || y.log || y.isEmpty || axes.clip || axes.tail || axes.limits || this.#model.axisItems.some(({ nonFinite }) => nonFinite.length))) {
      import("./left-out.js").then((module) => ((leftOut = module), this.#frame.scheduleDraw()), console.warn);
    }
    leftOut?.showNote(note, this.#model);
    const names = this.#model.farItems.map(({ name }) => name);
    if (this.#far !== (this.#far = JSON.stringify(names))) this.#options.onFar?.(names);
    return this.#model.layOut(place, this.#isNamed && this.#names?.spaceForNames(this.#model, this.#frame.element.clientWidth));
  }

  /**
   * Changes the view after a gesture, a key or a click, and calls `onView`.
   * @param {Range | null} range  in axis coordinates
   * @param {boolean} settled
   */
  #changeView(range, settled) {
    const { x, view: old } = this.#model;
    const view = range && /** @type {Range} */ (range.map((coordinate) => fromAxis(x, coordinate)));
    // Already showing the full range.
    if (!view && !old && !this.#isMoving) return;
    this.setView(view, settled);
    this.#frame.scheduleDraw(true);
    this.#options.onView?.(view, settled);
  }

  // --- pointer, keys and pin --------------------------------------------------------------------

  /**
   * Calls the part of the chart that follows the pointer, the keys and the pin.
   * @param {(pointing: import("./pointing.js").Pointing) => void} call  called later while it is loading
   * @param {boolean} isNeeded  whether to load it, if it is not loaded yet; otherwise there is nothing to do
   */
  #point(call, isNeeded = true) {
    if (this.#pointing) return call(this.#pointing);
    if (isNeeded) this.#loading ??= this.#loadPointing().catch(/** @type {() => undefined} */ (console.warn));
    this.#loading?.then((pointing) => pointing && !this.#frame.isClosed && call(pointing));
  }

  async #loadPointing() {
    const { Pointing } = await import("./pointing.js");
    return (this.#pointing = new Pointing(this, this.#frame, this.#options, () => this.#scene));
  }

  /** Handles the keys that `gestures.js` does not handle. @param {string} key @returns {boolean} whether the key was handled */
  #onKey(key) {
    if (this.#pointing) return this.#pointing.press(key);
    this.#point((pointing) => pointing.press(key));
    return /^(Arrow|Home|End)/.test(key) || (key === "Escape" && this.isZoomed);
  }

  /**
   * Emphasizes the lines of a run and fades all others. Of `runs`, if given, the name may also be that
   * of a group, whose mean and runs are emphasized; another name is like null.
   * @param {string | null} name  null for none
   * @param {readonly Pick<import("tbcore/host.js").Run, "name" | "group">[]} [runs]
   */
  highlight(name, runs) {
    this.#point((pointing) => pointing.highlight(name, runs), name !== null);
  }

  /**
   * Marks the pointer's position in another chart. Called by the shared cursor.
   * @param {number | null} x  in units of the x axis; null removes the mark
   * @param {string | null} run  run of the line nearest to that pointer
   */
  showCursor(x, run) {
    this.#point((pointing) => pointing.showCursor(x, run), x !== null);
  }

  /**
   * Pins an x in this chart only: marks it with a line and a handle. `cursor.pin` pins it in all
   * charts.
   * @param {number | null} x  in units of the x axis; null unpins
   * @param {boolean} [settled]  false while the pin is dragged
   * @param {boolean} [here]  whether the user pinned it in this chart, not in another one
   */
  showPin(x, settled = true, here = false) {
    this.#point((pointing) => pointing.showPin(x, here), x !== null);
    this.#options.onPin?.(x, settled, here);
  }
}

/**
 * A table of the lines and bands, at the pointer or at their ends. It is loaded when it is first
 * shown.
 * @param {Parameters<typeof import("./legend.js").Legend>[0]} props
 */
export function Legend(props) {
  return html`<${Lazy} load=${() => import("./legend.js")} of="Legend" ...${props} />`;
}

/** @typedef {"exponential" | "window" | "gaussian"} SmoothingKind */

/** @type {readonly SmoothingKind[]} */
export const SMOOTHING_KINDS = ["exponential", "window", "gaussian"];

/**
 * The moving average of a kind, for `smoothed`; it is loaded when it is first used.
 * @param {SmoothingKind} kind
 * @returns {Promise<import("./series.js").Average | undefined>} undefined for exponential
 */
export async function averageOf(kind) {
  return kind === "exponential" ? undefined : (await import("./centred-means.js"))[kind];
}

/**
 * A control for the weight of smoothing, as a slider and as a number, and for its kind.
 * @param {object} props
 * @param {number} props.value  from 0 to MAX_SMOOTHING
 * @param {string} [props.why]  tooltip
 * @param {(value: number) => void} props.onChange
 * @param {SmoothingKind} [props.kind]
 * @param {(kind: any) => void} [props.onKind]  without it, the kind cannot be chosen
 */
export function Smoothing({ value, why, onChange, kind, onKind }) {
  // Only a new value is shown: what is being typed stays when the page is drawn again.
  const show = useCallback((/** @type {any} */ box) => box && (box.value = value), [value]);
  const onInput = (/** @type {any} */ { currentTarget: box }) => onChange((box.value = Math.min(MAX_SMOOTHING, Math.max(0, box.value))));
  return html`<div class="tb-smoothing" title=${why}>
    <span>Smoothing</span>
    <input type="range" min="0" max="0.999" step="0.001" value=${value} aria-label="Smoothing" onInput=${onInput} />
    <input class="tb-input" type="number" min="0" max=${MAX_SMOOTHING} step="0.01" ref=${show} aria-label="Smoothing" onChange=${onInput} />
    ${value > 0 &&
    onKind &&
    html`<select class="tb-input" aria-label="Kind of smoothing" value=${kind} onChange=${(/** @type {any} */ { currentTarget }) => onKind(currentTarget.value)}>
      ${SMOOTHING_KINDS.map((name) => html`<option>${name}</option>`)}
    </select>`}
  </div>`;
}

// --- cursors -------------------------------------------------------------------------------------

/**
 * A new cursor: what charts with the same x axis share. This is the pointer's x, the hovered run,
 * and the pinned x. It is for `new LineChart(element, { cursor })`.
 * @returns {import("./types.js").Cursor}
 */
export function makeCursor() {
  /** @type {Set<import("./types.js").CursorMember>} */
  const members = new Set();
  /** @type {number | null} */
  let pinned = null;
  return {
    join(member) {
      members.add(member);
      if (pinned !== null) member.showPin(pinned, true, false);
      return () => void members.delete(member);
    },
    move(x, run, from) {
      for (const member of members) if (member !== from) member.showCursor(x, run);
    },
    pin(x, settled, from) {
      pinned = x;
      for (const member of members) member.showPin(x, settled, member === from);
    },
    highlight(name, runs) {
      for (const member of members) member.highlight(name, runs);
    },
  };
}
