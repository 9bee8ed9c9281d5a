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
 *
 * All columns are converted once to axis coordinates (see `axes.js`), which are log10 of the values
 * on a logarithmic axis. The mapping from axis coordinates to pixels is linear.
 */

import { formatDuration, formatStep, formatTime, formatValue } from "../../format.js";
import { FONT, axisColumn, drawAxes, fromAxis, layOut, shareOf, toAxis } from "./axes.js";
import { cancelDraw, scheduleDraw } from "./frames.js";
import { addGestures, at, limited } from "./gestures.js";
import { dotPath, marksOf, strokesOf } from "./marks.js";
import { Raster } from "./raster.js";
import {
  clipRange,
  extent,
  lastIndex,
  nearestIndex,
  newNonFinitePoints,
  nonFinitePoints,
  padded,
  risingStretches,
  segmentsOf,
  traceBand,
  tracePath,
  visibleExtent,
  windowOf,
  xColumn,
} from "./series.js";

/**
 * @typedef {import("./types.js").Columns} Columns
 * @typedef {import("./types.js").XAxis} XAxis
 * @typedef {import("./types.js").Scale} YScale
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").LineChartOptions} LineChartOptions
 * @typedef {import("./types.js").Layout} Layout
 * @typedef {CanvasRenderingContext2D} Context
 */

const LINE_WIDTH = 1.4;
/** Charts with more lines draw thinner lines, and never a dot at each point. */
const MAX_DETAILED_LINES = 12;
/**
 * Charts with more points use `Raster`, which is several times as fast as the browser's strokes.
 */
const RASTER_THRESHOLD_POINTS = 15_000;
/** Opacity of unsmoothed values behind their smoothed line. */
const RAW_OPACITY = 0.28;
/** Opacity of lines with the option `faint`. */
const FAINT_LINE_OPACITY = 0.6;
const BAND_OPACITY = 0.18;
/**
 * The fields of a line or band from which its item is computed (see `#makeItem`), without `value`
 * and `mean`, which identify the item.
 */
const ITEM_INPUTS = [
  ...["step", "wallTime", "smoothed", "segments", "startTime", "faint", "overview"],
  ...["x", "low", "high", "inner", "nonfinite"],
];
/** Functions that format an x value. */
const X_FORMATS = { step: formatStep, relative: formatDuration, wall_time: formatTime };
/**
 * The cursor selects a line's point only if it is at most this far away horizontally, CSS pixels.
 */
const MAX_POINT_DISTANCE_PX = 60;
/** The same for a cursor before the line's first point or after its last point. */
const MAX_DISTANCE_PAST_END_PX = 2;

/** A line chart in an element. */
export class LineChart {
  /** @type {HTMLElement} */ #element;
  /** @type {import("./types.js").Callbacks & import("./types.js").Axes} */ #options;
  /** @type {readonly Line[]} */ #lines = [];
  /** @type {readonly Band[]} */ #bands = [];
  /** @type {Item[]} in drawing order */ #items = [];
  /** @type {Range | null} in units of the x axis */ #view = null;
  /**
   * Whether a zoom or pan gesture is in progress. The y axis is then frozen, and lines are drawn by
   * `Raster`, which is faster.
   */
  #isInGesture = false;
  /** @type {Range | null} range of all known x, in axis coordinates */ #fullRange = null;
  /** @type {Range} visible range of the x axis, in axis coordinates */ #xRange = [0, 1];
  /** @type {Range} visible range of the y axis, in axis coordinates */ #yRange = [0, 1];
  /** @type {Layout | null} */ #layout = null;
  /** @type {Raster | null} */ #raster = null;
  #canvas = make("canvas", "tb-chart-canvas");
  #plot = make("div", "tb-chart-plot");
  #overlay = make("canvas", "tb-chart-overlay");
  #note = make("p", "tb-chart-note");
  /** @type {import("./hover-tooltip.js").ChartTooltip | null} created on first hover */
  #tooltip = null;
  /** @type {ResizeObserver} */ #resizes;
  /** Aborted when the chart is destroyed. */
  #controller = new AbortController();
  /** Removes the chart from the shared cursor. */
  #leaveCursor = () => {};
  /**
   * @type {{ key: string, index: number } | null} the point selected with the keys
   */
  #selected = null;
  /** @type {import("./types.js").PointerPosition | null} */ #pointer = null;
  /** @type {number | null} the pinned x, in units of the x axis */ #pinned = null;
  /** @type {import("./pin.js").ChartPin | null} created when an x is first pinned */
  #pin = null;
  /** Whether a call of the option `nextX` is pending. */
  #isFetchingNext = false;
  /** @type {{ x: number, run: string | null } | null} the pointer, if it is in another chart */
  #remotePointer = null;
  /** @type {string | null} name of a run */ #highlighted = null;
  /** Whether the last call of `#notifyHover` had any points. */
  #wasHovering = false;
  #colors = { text: "", grid: "", surface: "" };

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {LineChartOptions} options
   */
  constructor(element, options) {
    this.#element = element;
    this.#options = { xAxis: "step", xScale: "linear", yScale: "linear", clip: false, ...options };
    element.classList.add("tb-chart");
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-roledescription", "line chart");
    this.#plot.append(this.#overlay);
    element.append(this.#canvas, this.#plot, this.#note);
    this.#addListeners();
    this.#resizes = new ResizeObserver(() => this.#scheduleDraw(true));
    this.#resizes.observe(element);
  }

  /**
   * Replaces all lines. View and hover stay as they are, so this can be called whenever lines grow.
   * @param {readonly Line[]} lines  in drawing order
   */
  setLines(lines) {
    this.#lines = lines;
    this.#updateItems();
  }

  /** Replaces all bands. Bands are drawn behind all lines. @param {readonly Band[]} bands */
  setBands(bands) {
    this.#bands = bands;
    this.#updateItems();
  }

  /**
   * Changes the axes. A change of the x axis resets zoom and pin.
   * @param {Partial<import("./types.js").Axes>} axes  missing properties do not change
   */
  setAxes(axes) {
    const options = this.#options;
    const { xAxis, xScale, yScale, clip } = options;
    Object.assign(options, axes);
    if (options.xAxis === xAxis && options.xScale === xScale && options.yScale === yScale && options.clip === clip) return;
    if (options.xAxis !== xAxis) {
      this.setView(null);
      this.#pinned = null;
    }
    if (options.xAxis !== xAxis || options.xScale !== xScale) this.#fullRange = null;
    this.#items = [];
    this.#updateItems();
  }

  /** Redraws with the theme's current colours. Call it when the theme has changed. */
  restyle() {
    this.#colors.text = "";
    this.#scheduleDraw();
  }

  /** The visible range of the x axis, in its units; null for the full range. */
  get view() {
    return this.#view;
  }

  /**
   * Sets the visible range of the x axis. Does not call `onView`.
   * @param {Range | null} view  in units of the x axis; null for the full range
   * @param {boolean} [settled]  false during a gesture, to freeze the y axis
   */
  setView(view, settled = true) {
    const wasZoomed = this.isZoomed;
    this.#view = view;
    this.#isInGesture = !settled;
    this.#scheduleDraw();
    if (settled) this.#updateAria();
    if (wasZoomed !== this.isZoomed) this.#options.onZoom?.(this.isZoomed);
  }

  /**
   * Approximate width of the plot in device pixels; 0 before layout. It does not depend on the
   * labels, so that new data does not change it.
   */
  get pixels() {
    return Math.round(Math.max(0, this.#element.clientWidth - 56) * devicePixelRatio);
  }

  /** The smallest and largest x of all data, in units of the x axis; null without points. */
  get xExtent() {
    const axis = this.#axis("x");
    return this.#fullRange && /** @type {Range} */ (this.#fullRange.map((x) => fromAxis(axis, x)));
  }

  /** Whether a view is set. */
  get isZoomed() {
    return this.#view !== null;
  }

  /** Shows the full range and calls `onView`, like a double click. */
  resetZoom() {
    this.#changeView(null, true);
  }

  /**
   * Emphasizes the lines of a run and fades all others; null for none.
   * @param {string | null} run
   */
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
    this.#notifyHover(null);
    this.#controller.abort();
    this.#leaveCursor();
    this.#resizes.disconnect();
    this.#tooltip?.destroy();
    cancelDraw(this.#draw);
    for (const part of [this.#canvas, this.#plot, this.#note]) part.remove();
  }

  // --- from columns to axis coordinates ---------------------------------------------------------

  /**
   * The current state of one of the axes.
   * @param {"x" | "y"} which
   * @returns {import("./types.js").Axis}
   */
  #axis(which) {
    const { xAxis, xScale, yScale } = this.#options;
    return which === "x"
      ? { kind: xAxis, log: xScale === "log" && xAxis !== "wall_time", range: this.#xRange }
      : { kind: "value", log: yScale === "log", range: this.#yRange };
  }

  /** Makes the items of all lines and bands, and schedules a draw. */
  #updateItems() {
    const old = new Map(this.#items.map((item) => [item.line?.value ?? item.band?.mean, item]));
    /**
     * The item of a line or band. The columns of its old item are reused if they did not change.
     * @param {any} source
     */
    const itemOf = (source) => {
      const line = source.value ? source : null;
      const band = line ? null : source;
      const item = old.get(source.value ?? source.mean);
      const oldSource = /** @type {any} */ (item?.line ?? item?.band);
      const { name, color, run = name } = source;
      return item && ITEM_INPUTS.every((key) => oldSource[key] === source[key]) ? { ...item, line, band, name, run, color } : this.#makeItem(line, band);
    };
    const faint = this.#lines.filter((line) => line.faint);
    const others = this.#lines.filter((line) => !line.faint);
    this.#items = [...faint, ...this.#bands, ...others].map(itemOf).filter(({ xs }) => xs.length > 0);
    // While zoomed in, the new rows may be only those of the view, so the known full range is kept.
    this.#fullRange = union([this.#view && this.#fullRange, ...this.#axisItems().map(({ xExtent }) => xExtent)]);
    this.#scheduleDraw();
    this.#updateAria();
  }

  /**
   * Converts a line or a band to axis coordinates.
   * @param {Line | null} line  null for a band
   * @param {Band | null} band  null for a line
   * @returns {Item}
   */
  #makeItem(line, band) {
    const { name, color } = /** @type {Line | Band} */ (line ?? band);
    const log = this.#axis("y").log;
    const toCoordinates = (/** @type {Float64Array} */ x) => axisColumn(x, this.#axis("x").log);
    const xs = toCoordinates(line ? xColumn(line, this.#options.xAxis, line.startTime) : /** @type {Band} */ (band).x);
    const whole = line?.overview ? xColumn(line.overview, this.#options.xAxis, line.startTime) : band?.overview;
    const segments = segmentsOf(xs, line?.segments);
    const columns = (line ? [line.smoothed ?? line.value, line.smoothed && line.value] : bandColumns(band))
      .filter((column) => column != null)
      .map((column) => axisColumn(column, log));
    return {
      ...{ line, band, name, run: line?.run ?? name, color, xs, columns, segments },
      ys: columns[0],
      raw: line && !line.faint ? (columns[1] ?? null) : null,
      ends: extent(xs),
      xExtent: whole ? union([extent(toCoordinates(whole)), extent(xs)]) : extent(xs),
      yExtent: union(columns.map(extent)),
      nonFinite: line ? nonFinitePoints(line.value) : band ? newNonFinitePoints(band) : [],
    };
  }

  /**
   * The items that determine the ranges of the axes: all but faint lines, or all if there are only
   * faint lines.
   */
  #axisItems() {
    const axisItems = this.#items.filter(({ line }) => !line?.faint);
    return axisItems.length > 0 ? axisItems : this.#items;
  }

  /** The x range to show, in axis coordinates. @returns {Range} */
  #visibleXRange() {
    const axis = this.#axis("x");
    const view = this.#view?.map((value) => toAxis(axis, value));
    return view?.every(Number.isFinite) ? /** @type {Range} */ (view) : this.#paddedFullRange();
  }

  /** The full x range with a margin, in axis coordinates. @returns {Range} */
  #paddedFullRange() {
    return padded(this.#fullRange, 0.02);
  }

  /** The y range to show, in axis coordinates. @returns {Range} */
  #visibleYRange() {
    const [from, to] = this.#xRange;
    const { log } = this.#axis("y");
    const range = union(
      this.#axisItems().map(({ xs, raw, ys, columns, segments, line, yExtent }) => {
        if (this.#options.clip && line) {
          return union(segments.map((segment) => clipRange(raw ?? ys, ...windowOf(xs, segment, from, to))));
        }
        return this.#view ? union(columns.map((column) => visibleExtent(xs, column, from, to))) : yExtent;
      }),
    );
    if (!range) return log ? [-1, 1] : [0, 1];
    return log && range[0] === range[1] ? [range[0] - 0.3, range[1] + 0.3] : padded(range, 0.06);
  }

  // --- drawing ----------------------------------------------------------------------------------

  /**
   * Draws in one of the next frames.
   * @param {boolean} [isFirst]  whether to draw before all other charts
   */
  #scheduleDraw(isFirst) {
    scheduleDraw(this.#draw, isFirst);
  }

  /**
   * Draws everything. Returns how many milliseconds the browser will need afterwards to paint it.
   */
  #draw = () => {
    const { clientWidth: width, clientHeight: height } = this.#element;
    const context = this.#canvas.getContext("2d");
    if (width < 60 || height < 60 || !context) return 0; // not laid out yet
    if (this.#colors.text === "") this.#readColors();
    const ratio = devicePixelRatio;
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      this.#canvas.width = Math.round(width * ratio);
      this.#canvas.height = Math.round(height * ratio);
      this.#isInGesture = false;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.#plot.hidden = this.#items.length === 0;
    if (this.#plot.hidden) {
      this.#layout = null;
      this.#note.textContent = "";
      this.#tooltip?.hide();
      return 0;
    }
    this.#xRange = this.#visibleXRange();
    // During a gesture only the x axis changes.
    const old = this.#isInGesture && this.#layout;
    if (!old) {
      this.#yRange = this.#visibleYRange();
      this.#note.textContent = this.#note.title = this.#noteText();
    }
    context.font = `11px ${FONT}`;
    const measure = (/** @type {string} */ text) => context.measureText(text).width;
    const hasNote = this.#note.textContent !== "";
    const layout = layOut(width, height, this.#axis("x"), this.#axis("y"), measure, hasNote, old);
    this.#layout = layout;
    drawAxes(context, layout, this.#colors, ratio);
    this.#placePlot(layout, ratio);

    context.save();
    context.beginPath();
    context.rect(layout.left, layout.top, layout.width, layout.height);
    context.clip();
    context.translate(layout.left, layout.top);
    this.#drawBands(context);
    let paintMs = 0;
    const axisItems = this.#axisItems();
    const isThin = axisItems.length > MAX_DETAILED_LINES;
    const numPoints = axisItems.reduce((sum, { xs }) => sum + xs.length, 0);
    if (numPoints > RASTER_THRESHOLD_POINTS || this.#isInGesture) this.#drawRaster(context, ratio, this.#items);
    else {
      if (axisItems.length < this.#items.length) this.#drawRaster(context, ratio, this.#items.filter(({ line }) => line?.faint));
      this.#drawStrokes(context, axisItems, isThin ? 1 : LINE_WIDTH);
      // Without a GPU, painting takes 0.1 microseconds per point of thin lines, 1 of others.
      paintMs = numPoints / (isThin ? 10_000 : 1000);
    }
    context.restore();
    context.save();
    context.translate(layout.left, layout.top);
    this.#drawMarks(context, layout, this.#items);
    context.restore();
    this.#updatePin();
    this.#updateHover();
    return paintMs;
  };

  /**
   * Positions the plot, and resizes the overlay and the raster.
   * @param {Layout} layout
   * @param {number} ratio
   */
  #placePlot({ left, top, width, height }, ratio) {
    Object.assign(this.#plot.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#overlay.width !== size[0] || this.#overlay.height !== size[1]) [this.#overlay.width, this.#overlay.height] = size;
    if (this.#raster?.width !== size[0] || this.#raster.height !== size[1]) this.#raster = null;
  }

  /** Functions from axis coordinates to CSS pixels inside the plot, and the plot's size. */
  #pixelScales() {
    const { width, height } = /** @type {Layout} */ (this.#layout);
    return {
      toX: (/** @type {number} */ x) => shareOf(this.#xRange, x) * width,
      toY: (/** @type {number} */ y) => (1 - shareOf(this.#yRange, y)) * height,
      width,
      height,
    };
  }

  /** The path of a line's visible part. @param {Item} item @param {Float64Array} column  its y */
  #path({ xs, segments }, column) {
    const { toX, toY } = this.#pixelScales();
    const path = new Path2D();
    for (const segment of segments) tracePath(path, xs, column, toX, toY, ...windowOf(xs, segment, ...this.#xRange));
    return path;
  }

  /** Fills the areas of bands. @param {Context} context */
  #drawBands(context) {
    const { toX, toY } = this.#pixelScales();
    for (const { band, color, xs, columns } of this.#items) {
      if (!band) continue;
      context.globalAlpha = BAND_OPACITY;
      context.fillStyle = color;
      for (let i = 1; i < columns.length; i += 2) {
        const path = new Path2D();
        traceBand(path, xs, columns[i], columns[i + 1], toX, toY);
        context.fill(path);
      }
      context.globalAlpha = 1;
    }
  }

  /**
   * Draws lines with the browser's strokes: first unsmoothed values, and then the lines.
   * @param {Context} context
   * @param {readonly Item[]} items
   * @param {number} width
   */
  #drawStrokes(context, items, width) {
    context.lineJoin = "round";
    for (const isRaw of [true, false]) {
      for (const item of items) {
        const column = isRaw ? item.raw : item.ys;
        if (!column) continue;
        context.globalAlpha = isRaw ? RAW_OPACITY : 1;
        context.strokeStyle = item.color;
        context.lineWidth = item.band ? width + 0.6 : width;
        context.setLineDash([...((item.line ?? item.band)?.dash ?? [])]);
        context.stroke(this.#path(item, column));
      }
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /**
   * Draws thin lines with `Raster`, in the same order.
   * @param {Context} context
   * @param {number} ratio
   * @param {readonly Item[]} items
   */
  #drawRaster(context, ratio, items) {
    const { width, height } = /** @type {Layout} */ (this.#layout);
    const raster = (this.#raster ??= new Raster(Math.round(width * ratio), Math.round(height * ratio)));
    raster.clear();
    for (const isRaw of [true, false]) {
      for (const item of items) {
        const column = isRaw ? item.raw : item.ys;
        if (!column) continue;
        const color = colorNumber(item.color);
        const opacity = item.line?.faint ? FAINT_LINE_OPACITY : isRaw ? RAW_OPACITY : 1;
        for (const segment of item.segments) {
          const window = windowOf(item.xs, segment, ...this.#xRange);
          const dash = (item.line ?? item.band)?.dash?.map((length) => length * ratio);
          for (const [from, to] of segment.rising ? [window] : risingStretches(item.xs, ...window)) {
            raster.line(item.xs, column, from, to, this.#xRange, this.#yRange, color, opacity, ratio, dash);
          }
        }
      }
    }
    const scratch = scratchCanvas(raster);
    context.drawImage(scratch, 0, 0, raster.width, raster.height, 0, 0, width, height);
  }

  /**
   * Draws the marks of items.
   * @param {Context} context
   * @param {{ width: number, height: number }} size
   * @param {readonly Item[]} items
   */
  #drawMarks(context, size, items) {
    for (const { color, fill, stroke } of this.#marks(size, items)) {
      context.fillStyle = color;
      if (fill) context.fill(new Path2D(fill));
      if (!stroke) continue;
      const path = new Path2D(stroke);
      for (const [style, width] of strokesOf(color, this.#colors.surface)) {
        context.strokeStyle = style;
        context.lineWidth = width;
        context.stroke(path);
      }
    }
  }

  /**
   * The marks of items, as paths.
   * @param {{ width: number, height: number }} size
   * @param {readonly Item[]} [items]
   */
  #marks({ width, height }, items = this.#items) {
    const plot = { x: this.#axis("x"), y: this.#axis("y"), width, height };
    const showsPoints = this.#axisItems().length <= MAX_DETAILED_LINES && !this.#isInGesture;
    return items.map((item) => ({
      color: item.color,
      ...marksOf(item, plot, showsPoints && !item.line?.faint, this.#options.clip),
    }));
  }

  /**
   * A note on values that are not shown, such as clipped outliers. It does not count them, because
   * the rows may be a sample of all points.
   */
  #noteText() {
    /** @type {string[]} */
    const notes = [];
    const [bottom, top] = this.#yRange;
    /**
     * The distinct results of a test for the visible points; undefined is ignored.
     * @param {(item: Item, i: number) => boolean | undefined} test
     */
    const resultsOf = (test) => {
      const results = new Set();
      for (const item of this.#axisItems()) {
        for (const segment of item.segments) {
          const [from, to] = windowOf(item.xs, segment, ...this.#xRange);
          for (let i = from; i < to && results.size < 2; i++) {
            const result = test(item, i);
            if (result !== undefined) results.add(result);
          }
        }
      }
      return results;
    };
    /**
     * Adds a note if any points are hidden.
     * @param {string} what
     * @param {(item: Item, i: number) => boolean | undefined} isHidden
     */
    const addHidden = (what, isHidden) => {
      const results = resultsOf(isHidden);
      if (!results.has(true)) return;
      notes.push(results.has(false) ? `${what}s ≤ 0 not shown` : `no positive ${what}s to show on a log axis`);
    };
    const isCut = (/** @type {number} */ y) => Number.isFinite(y) && (y < bottom || y > top);
    if (this.#options.clip && resultsOf(({ line, raw, ys }, i) => line !== null && isCut((raw ?? ys)[i])).has(true)) notes.push("outliers clipped");
    if (this.#axis("x").log) addHidden(this.#options.xAxis === "step" ? "step" : "time", ({ xs }, i) => !Number.isFinite(xs[i]));
    if (this.#axis("y").log) {
      addHidden("value", ({ line, band, raw, ys }, i) => {
        const value = line?.value ?? band?.mean;
        return value && Number.isFinite(value[i]) ? !Number.isFinite((raw ?? ys)[i]) : undefined;
      });
    }
    return notes.join(", ");
  }

  /**
   * The content of an exported picture, which is large enough to be read outside the page.
   * @param {string} [more]  a note to put before the chart's own
   * @returns {import("./types.js").Picture}
   */
  #picture(more) {
    const width = Math.max(640, this.#element.clientWidth);
    const height = Math.max(360, this.#element.clientHeight);
    const axes = { x: this.#axis("x"), y: this.#axis("y") };
    const note = [more, this.#note.textContent].filter(Boolean).join(", ");
    const layout = layOut(width, height, axes.x, axes.y, (text) => 6.5 * text.length, note !== "");
    const marks = this.#marks(layout);
    return { label: this.#options.label, width, height, layout, ...axes, items: this.#items, marks, note, colors: this.#colors };
  }

  /** Reads the theme's colours. */
  #readColors() {
    const style = getComputedStyle(this.#element);
    const color = (/** @type {string} */ name, /** @type {string} */ fallback) => style.getPropertyValue(name).trim() || fallback;
    this.#colors = { text: color("--tb-ink-3", "gray"), grid: color("--tb-grid", "#ddd"), surface: color("--tb-surface", "white") };
  }

  /** Describes the chart for screen readers: its axes, its lines and their last values. */
  #updateAria() {
    const { label, xAxis } = this.#options;
    const names = this.#items.slice(0, 3).map(({ name }) => name);
    const more = this.#items.length > names.length ? ` and ${this.#items.length - names.length} more` : "";
    const format = X_FORMATS[xAxis];
    const whole = this.xExtent ?? [0, 0];
    const view = this.#view && [Math.max(this.#view[0], whole[0]), Math.min(this.#view[1], whole[1])];
    const [all, visible] = [whole, view].map((range) => range?.map(format).join(" to "));
    const axis = { step: "step", relative: "relative time", wall_time: "wall time" }[xAxis];
    const text = `${label} by ${axis} from ${visible ? `${visible}, zoomed in from ${all}` : all}: ${names.join(", ")}${more}`;
    this.#element.setAttribute("aria-label", text);
    const end = this.#view ? toAxis(this.#axis("x"), this.#view[1]) : Infinity;
    const lastValues = this.#items.slice(0, 3).map(({ name, line, band, xs }) => {
      const last = lastIndex(xs, end);
      return `${name} ${last < 0 ? "no value" : formatValue((line?.value ?? band?.mean ?? [])[last])}`;
    });
    const what = this.#view ? "Last values in view" : "Last values";
    this.#element.setAttribute("aria-description", lastValues.length > 0 ? `${what}: ${lastValues.join(", ")}${more}` : "");
  }

  // --- hover, zoom, keys ------------------------------------------------------------------------

  /** Connects gestures, keys and the shared cursor. */
  #addListeners() {
    const { signal } = this.#controller;
    addGestures(
      this.#element,
      this.#plot,
      {
        range: () => this.#layout && this.#xRange,
        show: (range, settled) => this.#changeView(range, settled),
        point: (point) => {
          this.#pointer = point;
          this.#selected = null;
          this.#updateHover();
        },
        click: ({ left, top }) => {
          const x = this.#layout && this.#snap(left);
          const hit = x !== null && this.#hitsAt(x, top)[0];
          if (hit) this.#movePin(this.#valueOf(x), true);
        },
        key: (event) => this.#onKey(event),
      },
      signal,
    );
    window.addEventListener("scroll", () => this.#tooltip?.hide(), { signal, passive: true, capture: true });
    const { cursor } = this.#options;
    if (cursor) this.#leaveCursor = cursor.join(this);
  }

  /**
   * Changes the view after a gesture, a key or a click, and calls `onView`.
   * @param {Range | null} range  in axis coordinates
   * @param {boolean} settled
   */
  #changeView(range, settled) {
    const axis = this.#axis("x");
    const part = range && limited(range, this.#fullRange && this.#paddedFullRange());
    const view = part && /** @type {Range} */ (part.map((x) => fromAxis(axis, x)));
    if (!view && !this.#view && !this.#isInGesture) return; // already showing the full range
    this.setView(view, settled);
    this.#scheduleDraw(true);
    this.#options.onView?.(view, settled);
  }

  /**
   * Marks the pointer's position in another chart. Called by the shared cursor.
   * @param {number | null} x  in units of the x axis; null removes the mark
   * @param {string | null} run  run of the line nearest to that pointer
   */
  showCursor(x, run) {
    this.#remotePointer = x === null ? null : { x, run };
    this.#drawOverlay();
  }

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

  /**
   * Moves the pin to the point nearest to a position.
   * @param {number} left  CSS pixels inside the plot
   * @param {boolean} settled
   */
  #dragPin(left, settled) {
    const x = this.#layout && this.#snap(left);
    if (x !== null) this.#movePin(this.#valueOf(x), settled);
    else if (settled) this.#movePin(this.#pinned, true);
  }

  /** Moves the pin to the next point of any line. @param {-1 | 1} direction */
  async #walkPin(direction) {
    const from = this.#pinned;
    if (from === null || this.#isFetchingNext) return;
    let next = this.#nextDrawn(from, direction);
    const fetched = this.#options.nextX?.(from, direction);
    if (fetched) {
      this.#isFetchingNext = true;
      // If the request fails, use the next point that is drawn.
      next = await fetched.catch(() => next);
      this.#isFetchingNext = false;
    }
    if (next !== null && this.#pinned === from && !this.#controller.signal.aborted) this.#movePin(next, true);
  }

  /**
   * The x of the next point that is drawn, of any line.
   * @param {number} from  in units of the x axis
   * @param {-1 | 1} direction
   * @returns {number | null} in units of the x axis; null if there is none
   */
  #nextDrawn(from, direction) {
    const start = toAxis(this.#axis("x"), from);
    let next = NaN;
    for (const { xs } of this.#axisItems()) {
      for (const x of xs) {
        // The tolerance is larger than the logarithm's rounding errors, because of which the same x
        // could otherwise count as the next.
        const isBeyond = direction * (x - start) > Math.abs(start) * 1e-14;
        if (isBeyond && Number.isFinite(x) && !(direction * (x - next) >= 0)) next = x;
      }
    }
    return Number.isFinite(next) ? this.#valueOf(next) : null;
  }

  /**
   * Converts an axis coordinate to units of the x axis. The result is rounded, which removes the
   * logarithm's rounding errors.
   * @param {number} x  in axis coordinates
   */
  #valueOf(x) {
    return Number(fromAxis(this.#axis("x"), x).toPrecision(15));
  }

  /**
   * The x of the point nearest to a position. Lines that extend over the position are preferred:
   * other lines' ends count only if no line extends over it.
   * @param {number} left  CSS pixels inside the plot
   * @returns {number | null} in axis coordinates; null if no point is near
   */
  #snap(left) {
    const { toX, width } = this.#pixelScales();
    const x = at(this.#xRange, left / width);
    /** @type {number | null} */
    let best = null;
    let bestDistance = MAX_POINT_DISTANCE_PX;
    let isBestInside = false;
    for (const { xs, segments, ends } of this.#items) {
      const nearest = xs[nearestIndex(xs, x, segments)];
      const isInside = ends !== null && x >= ends[0] && x <= ends[1];
      const distance = Math.abs(toX(nearest) - left);
      if (!(distance <= MAX_POINT_DISTANCE_PX) || (isBestInside && !isInside)) continue;
      if (distance > bestDistance && isBestInside === isInside) continue;
      [best, bestDistance, isBestInside] = [nearest, distance, isInside];
    }
    return best;
  }

  /** Moves the pin's line and handle to the pinned x, or hides them. */
  #updatePin() {
    if (this.#pinned === null || !this.#layout) return this.#pin?.hide();
    if (!this.#pin) return void this.#createPin();
    const { xAxis } = this.#options;
    const left = this.#pixelScales().toX(toAxis(this.#axis("x"), this.#pinned));
    this.#pin.place(left, this.#pinned, X_FORMATS[xAxis](this.#pinned), xAxis === "step" ? "step" : "time");
  }

  /** Loads the module for the pin, and shows the pin. */
  async #createPin() {
    const { ChartPin } = await import("./pin.js");
    this.#pin ??= new ChartPin(this.#plot, {
      drag: (left, settled) => this.#dragPin(left, settled),
      walk: (direction) => this.#walkPin(direction),
      write: (x) => this.#movePin(x, true),
      remove: () => {
        this.#movePin(null, true);
        this.#element.focus({ preventScroll: true });
      },
    });
    this.#updatePin();
  }

  /**
   * Handles the keys that `gestures.js` does not handle.
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key was handled
   */
  #onKey({ key }) {
    if (key === "Escape") {
      if (!this.#selected && !this.isZoomed) return false;
      if (!this.#selected) this.resetZoom();
      this.#select(null);
    } else if (key === "ArrowLeft" || key === "ArrowRight") this.#walk(key === "ArrowLeft" ? -1 : 1, 1);
    else if (key === "ArrowUp" || key === "ArrowDown") this.#changeLine(key === "ArrowUp" ? -1 : 1);
    else if (key === "Home" || key === "End") this.#walk(key === "Home" ? -1 : 1, Infinity);
    else if (key === "Enter" && this.#selected && this.#options.onPin) {
      const item = /** @type {Item} */ (this.#selectedItem());
      const x = this.#valueOf(item.xs[this.#selected.index]);
      this.#movePin(x === this.#pinned ? null : x, true);
    } else if ((key === "Delete" || key === "Backspace") && this.#pinned !== null) this.#movePin(null, true);
    else return false;
    return true;
  }

  /**
   * Moves the selection along its line.
   * @param {-1 | 1} direction
   * @param {number} count  number of points; Infinity for the line's end
   */
  #walk(direction, count) {
    if (!this.#selected) {
      // Start at the pointer, or else at the edge of the view from which the key moves inwards.
      const hit = this.#hits()[0];
      const pointed = hit && this.#items.find((item) => isHitOf(hit, item));
      if (pointed) return this.#select({ key: itemKey(pointed), index: hit.index });
      if (this.#view && count !== Infinity) {
        const item = this.#items[this.#items.length - 1];
        const index = nearestIndex(item.xs, this.#xRange[direction > 0 ? 0 : 1], item.segments);
        return this.#select({ key: itemKey(item), index: Math.max(0, index) });
      }
    }
    const item = this.#selectedItem() ?? this.#items[this.#items.length - 1];
    const last = item.xs.length - 1;
    // Without a selection, ← starts at the last point and → at the first; Home and End go to the
    // first and the last.
    const startsAtLast = direction < 0 !== (count === Infinity);
    const index = this.#selected ? this.#selected.index + direction * count : startsAtLast ? last : 0;
    this.#select({ key: itemKey(item), index: Math.min(last, Math.max(0, index)) });
  }

  /** Moves the selection to the next line, near the same x. @param {-1 | 1} direction */
  #changeLine(direction) {
    const current = this.#selectedItem();
    const index = current ? this.#items.indexOf(current) : -1;
    const next = this.#items[(index + direction + this.#items.length) % this.#items.length];
    const x = current && this.#selected ? current.xs[this.#selected.index] : Number.MAX_VALUE;
    this.#select({ key: itemKey(next), index: Math.max(0, nearestIndex(next.xs, x, next.segments)) });
  }

  /** The item of the selected point. */
  #selectedItem() {
    return this.#items.find((item) => itemKey(item) === this.#selected?.key);
  }

  /** Selects a point, or none. @param {{ key: string, index: number } | null} point */
  #select(point) {
    this.#pointer = null;
    this.#selected = point;
    this.#updateHover();
  }

  /** Updates tooltip and overlay for the points under the pointer, or for the selected point. */
  #updateHover() {
    const hits = this.#hits();
    if (hits.length > 0) this.#showTooltip(hits);
    else this.#tooltip?.hide();
    this.#drawOverlay(hits);
    this.#notifyHover(hits);
  }

  /** Shows the tooltip, whose module is loaded first. @param {Hit[]} hits */
  async #showTooltip(hits) {
    if (!this.#tooltip) {
      const { ChartTooltip } = await import("./hover-tooltip.js");
      hits = this.#hits(); // the pointer may have moved during the import
      if (hits.length === 0 || this.#controller.signal.aborted) return;
      this.#tooltip ??= new ChartTooltip(this.#element);
    }
    const plot = this.#plot.getBoundingClientRect();
    const { left, top } = this.#pointer ?? hits[0];
    const { xAxis, readOut, onPin } = this.#options;
    const isKeyboard = this.#selected !== null;
    const hint = onPin && this.#pinned === null && !this.#pointer?.isTouch ? `${isKeyboard ? "Enter" : "click"} to pin` : "";
    this.#tooltip.show(hits, { left: plot.left + left, top: plot.top + (top || 0) }, isKeyboard, xAxis, hint, readOut);
  }

  /** Notifies `onHover` and the shared cursor. @param {Hit[] | null} hits */
  #notifyHover(hits) {
    const isHovered = Boolean(hits && hits.length > 0);
    if (!isHovered && !this.#wasHovering) return;
    this.#wasHovering = isHovered;
    this.#options.onHover?.(hits ?? []);
    const { cursor } = this.#options;
    if (!cursor) return;
    const layout = this.#layout;
    if (!hits || !isHovered || !layout) return cursor.move(null, null, this);
    const x = this.#pointer ? this.#snap(this.#pointer.left) : at(this.#xRange, hits[0].left / layout.width);
    if (x !== null) cursor.move(this.#valueOf(x), hits[0].run, this);
  }

  /** The points under the pointer, nearest first, or the selected point. @returns {Hit[]} */
  #hits() {
    if (!this.#layout) return [];
    const { toX, toY, height } = this.#pixelScales();
    if (this.#selected) {
      const item = this.#selectedItem();
      const { index } = this.#selected;
      if (!item || index >= item.xs.length) return [];
      const top = toY(item.ys[index]);
      return [this.#hit(item, index, toX(item.xs[index]), Number.isFinite(top) ? top : height)];
    }
    const pointer = this.#pointer;
    const x = pointer && this.#snap(pointer.left);
    return pointer && x !== null ? this.#hitsAt(x, pointer.top) : [];
  }

  /**
   * The points of all lines near an x, nearest to the pointer first. Lines that end before x or
   * begin after it have none.
   * @param {number} x  in axis coordinates
   * @param {number} pointerTop  CSS pixels inside the plot
   * @returns {Hit[]}
   */
  #hitsAt(x, pointerTop) {
    const { toX, toY, width, height } = this.#pixelScales();
    const pointerLeft = toX(x);
    /** @type {{ hit: Hit, distance: number }[]} */
    const hits = [];
    for (const item of this.#items) {
      const index = nearestIndex(item.xs, x, item.segments);
      if (index === -1) continue;
      const left = toX(item.xs[index]);
      const { ends } = item;
      const limit = ends && x >= ends[0] && x <= ends[1] ? MAX_POINT_DISTANCE_PX : MAX_DISTANCE_PAST_END_PX;
      if (!(Math.abs(left - pointerLeft) <= limit) || left < -1 || left > width + 1) continue;
      const top = toY(item.ys[index]);
      const isDrawn = Number.isFinite(top);
      // A point that cannot be drawn is as far away as its mark. Horizontal distance counts only a
      // quarter, because the points of different lines differ in height.
      const markTop = isDrawn ? top : toY(item.nonFinite.find((mark) => mark.index === index)?.markAt ?? NaN);
      const distance = Number.isFinite(markTop) ? Math.hypot((left - pointerLeft) / 4, markTop - pointerTop) : height;
      hits.push({ hit: this.#hit(item, index, left, isDrawn ? top : NaN), distance });
    }
    return hits.sort((a, b) => a.distance - b.distance).map(({ hit }) => hit);
  }

  /**
   * A point of an item as a Hit.
   * @param {Item} item
   * @param {number} index
   * @param {number} left
   * @param {number} top
   * @returns {Hit}
   */
  #hit({ line, band, name, run, color }, index, left, top) {
    return { line: line ?? undefined, band: band ?? undefined, name, run, color, index, left, top };
  }

  /**
   * Draws what changes with the pointer: the cursor, its points and highlighted lines.
   * @param {Hit[]} [hits]
   */
  #drawOverlay(hits = this.#hits()) {
    const context = this.#overlay.getContext("2d");
    if (!this.#layout || !context) return;
    const { width, height, toX } = this.#pixelScales();
    const { text, surface } = this.#colors;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.lineJoin = "round";

    // 1. Emphasize the hovered line, or all lines of the highlighted run.
    const items = this.#items.filter((item) => (hits.length > 0 ? isHitOf(hits[0], item) : item.run === this.#highlighted));
    if (items.length > 0 && this.#items.length > items.length) {
      if (hits.length === 0) {
        context.fillStyle = surface;
        context.globalAlpha = 0.75;
        context.fillRect(0, 0, width, height);
        context.globalAlpha = 1;
      }
      for (const item of items) {
        const path = this.#path(item, item.ys);
        context.strokeStyle = surface;
        context.lineWidth = LINE_WIDTH + 4;
        if (hits.length > 0) context.stroke(path);
        context.strokeStyle = item.color;
        context.lineWidth = LINE_WIDTH + 1.1;
        context.stroke(path);
      }
      this.#drawMarks(context, { width, height }, items);
    }
    // 2. Draw dots at the pinned x.
    if (this.#pinned !== null && this.#items.length <= MAX_DETAILED_LINES) {
      for (const { left, top, color } of this.#hitsAt(toAxis(this.#axis("x"), this.#pinned), 0)) {
        context.fillStyle = color;
        if (!Number.isNaN(top)) context.fill(new Path2D(dotPath(left, top, 3)));
      }
    }
    // 3. Find the cursor's position and points: at the pointer in this chart, or else at the x of
    //    the pointer in another chart.
    let points = hits.slice(0, 8);
    const snapped = this.#pointer && this.#snap(this.#pointer.left);
    let left = points.length > 0 && snapped !== null ? toX(snapped) : points[0]?.left;
    const remote = this.#remotePointer;
    if (remote && points.length === 0) {
      const x = toAxis(this.#axis("x"), remote.x);
      left = toX(x);
      points = this.#hitsAt(x, 0).filter(({ run }) => run === remote.run || this.#items.length <= MAX_DETAILED_LINES);
      points.sort((a, b) => Number(b.run === remote.run) - Number(a.run === remote.run));
    }
    if (!(left >= 0 && left <= width)) return;
    // 4. Draw the cursor, and its points with the nearest one on top.
    context.fillStyle = text;
    context.globalAlpha = 0.6;
    context.fillRect(Math.round(left), 0, 1, height);
    context.globalAlpha = 1;
    points.reverse().forEach((hit, i) => {
      if (Number.isNaN(hit.top)) return;
      const isNearest = i === points.length - 1;
      context.fillStyle = surface;
      context.fill(new Path2D(dotPath(hit.left, hit.top, isNearest ? 5.5 : 4)));
      context.fillStyle = hit.color;
      context.fill(new Path2D(dotPath(hit.left, hit.top, isNearest ? 4 : 2.5)));
    });
  }
}

/**
 * A new element with a class.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} kind
 * @param {string} className
 */
function make(kind, className) {
  const element = document.createElement(kind);
  element.className = className;
  return element;
}

/**
 * The columns of a band: the mean, then low and high of the outer and of each inner band.
 * @param {Band | null} band
 */
function bandColumns(band) {
  return [band?.mean, band?.low, band?.high, ...(band?.inner ?? []).flat()];
}

/** Whether a point belongs to an item. @param {Hit} hit @param {Item} item */
function isHitOf(hit, { line, band }) {
  return (hit.line ?? hit.band) === (line ?? band);
}

/** A key that is unique among the items of a chart. @param {Item} item */
function itemKey({ line, band, name }) {
  return (line ?? band)?.key ?? name;
}

/**
 * The smallest range that contains all ranges; null if there are none.
 * @param {readonly (Range | null)[]} ranges
 * @returns {Range | null}
 */
function union(ranges) {
  /** @type {Range | null} */
  let all = null;
  for (const range of ranges) {
    if (range) all = all ? [Math.min(all[0], range[0]), Math.max(all[1], range[1])] : range;
  }
  return all;
}

/** @type {Context | null} context of the scratch canvas, which all charts share */
let scratchContext = null;
/** @type {Map<string, number>} results of `colorNumber` */
const colorNumbers = new Map();

/** A canvas with the pixels of a raster, valid until the next call. @param {Raster} raster */
function scratchCanvas({ width, height, pixels }) {
  scratchContext ??= make("canvas", "").getContext("2d", { willReadFrequently: true });
  const context = /** @type {Context} */ (scratchContext);
  if (context.canvas.width < width) context.canvas.width = width;
  if (context.canvas.height < height) context.canvas.height = height;
  context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, height), 0, 0);
  return context.canvas;
}

/** A CSS colour as 0xBBGGRR. @param {string} color */
function colorNumber(color) {
  let number = colorNumbers.get(color);
  if (number === undefined) {
    const context = /** @type {Context} */ (make("canvas", "").getContext("2d"));
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
    colorNumbers.set(color, (number = (b << 16) | (g << 8) | r));
  }
  return number;
}
