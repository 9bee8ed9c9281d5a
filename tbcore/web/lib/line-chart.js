/**
 * A chart of many lines, each with its own x values: axes, hover, zoom and marks for what a line cannot show. Plain DOM,
 * for any plugin:
 *
 *     const chart = new LineChart(element, { label: "loss" });
 *     chart.setLines([{ name: "train", color: "#3366cc", step, wallTime, value }]);
 *
 * The chart fills its element and follows its size. `gestures.js` says how it is zoomed and moved; the arrow keys walk
 * over the points. A view is a part [from, to] of the x axis, null for everything.
 *
 * All columns are brought to the axes once, as logarithms where an axis is logarithmic; from there to pixels is linear.
 */

import { axisColumn, drawAxes, FONT, fromAxis, layOut, shareOf, toAxis } from "./axes.js";
import { formatDuration, formatStep, formatTime, formatValue } from "./format.js";
import { drawNever, drawSoon } from "./frames.js";
import { addGestures, at, limited } from "./gestures.js";
import { dotPath, marksOf, strokesOf } from "./marks.js";
import { Raster } from "./raster.js";
import {
  clipRange,
  extent,
  lastIndex,
  lossPoints,
  nearestIndex,
  nonFinitePoints,
  padded,
  partsOf,
  risingRuns,
  traceBand,
  tracePath,
  visibleExtent,
  windowOf,
  xColumn,
} from "./series.js";

/**
 * @typedef {import("./chart-types.js").Columns} Columns
 * @typedef {import("./chart-types.js").XAxis} XAxis
 * @typedef {import("./chart-types.js").Scale} YScale
 * @typedef {import("./chart-types.js").Line} Line
 * @typedef {import("./chart-types.js").Band} Band
 * @typedef {import("./chart-types.js").Hit} Hit
 * @typedef {import("./chart-types.js").Range} Range
 * @typedef {import("./chart-types.js").Item} Item
 * @typedef {import("./chart-types.js").LineChartOptions} LineChartOptions
 * @typedef {import("./chart-types.js").Layout} Layout
 * @typedef {CanvasRenderingContext2D} Context
 */

const LINE_WIDTH = 1.4;
/** More lines are thin, to be told apart; more points are drawn by our own raster, which is several times as fast. */
const MANY_LINES = 12;
const MANY_POINTS = 15_000;
/** Opacity of values behind their smoothed line, of faint lines, and of a band. */
const FAINT = 0.28;
const MEMBER = 0.6;
const BAND = 0.18;
/** Of a line or band: what its place on the axes depends on. */
const KEPT = ["step", "wallTime", "smoothed", "segments", "startTime", "faint", "overview", "x", "low", "high", "inner", "nonfinite"];
/** How a place on the x axis is written. */
const FORMATS = { step: formatStep, relative: formatDuration, wall_time: formatTime };
/** A line is read only where it has a point this near to the cursor, CSS pixels; beyond its ends nearly none. */
const REACH = 60;
const BESIDE = 2;

export class LineChart {
  /** @type {HTMLElement} */ #element;
  /** @type {import("./chart-types.js").Callbacks & import("./chart-types.js").Axes} */ #options;
  /** @type {readonly Line[]} */ #lines = [];
  /** @type {readonly Band[]} */ #bands = [];
  /** @type {Item[]} */ #items = [];
  /** @type {Range | null} */ #view = null;
  /** A gesture is on: the y axis stands still, and lines are drawn thin. */
  #isMoving = false;
  /** @type {Range | null} of everything, as far as it is known, on the axis */ #whole = null;
  /** @type {Range} what the axes show */ #x = [0, 1];
  /** @type {Range} */ #y = [0, 1];
  /** @type {Layout | null} */ #layout = null;
  /** @type {Raster | null} */ #raster = null;
  #canvas = make("canvas", "tb-chart-canvas");
  #plot = make("div", "tb-chart-plot");
  #overlay = make("canvas", "tb-chart-overlay");
  #note = make("p", "tb-chart-note");
  /** @type {import("./chart-tooltip.js").ChartTooltip | null} made when something is pointed at */ #tooltip = null;
  /** @type {ResizeObserver} */ #resizes;
  #closed = new AbortController();
  #leaveCursor = () => {};
  /** @type {{ name: string, index: number } | null} the point the arrow keys are at */ #reading = null;
  /** @type {import("./chart-types.js").Pointed | null} pointer, CSS pixels inside the plot */ #pointer = null;
  /** @type {number | null} an x that stays marked */ #pinned = null;
  /** @type {import("./chart-pin.js").ChartPin | null} made when an x is pinned */ #pin = null;
  /** Whether the next point is asked for. */
  #isAsking = false;
  /** @type {{ x: number, run: string | null } | null} the pointer in another chart */ #shared = null;
  /** @type {string | null} run */ #highlighted = null;
  #wasHovered = false;
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
    this.#listen();
    this.#resizes = new ResizeObserver(() => this.#drawSoon(true));
    this.#resizes.observe(element);
  }

  /**
   * Draws these lines and no others. View and hover stay as they are, so lines may grow under a reader's eyes.
   * @param {readonly Line[]} lines  the first is drawn first
   */
  setLines(lines) {
    this.#lines = lines;
    this.#prepare();
  }

  /** Draws these bands, behind all lines. @param {readonly Band[]} bands */
  setBands(bands) {
    this.#bands = bands;
    this.#prepare();
  }

  /**
   * Changes the axes; what is not named stays. Another x axis shows everything.
   * @param {Partial<import("./chart-types.js").Axes>} axes
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
    if (options.xAxis !== xAxis || options.xScale !== xScale) this.#whole = null;
    this.#items = [];
    this.#prepare();
  }

  /** Reads the colours of axes and grid again, after the theme changed. */
  restyle() {
    this.#colors.text = "";
    this.#drawSoon();
  }

  /** The part of the x axis that is shown, in its units; null: everything. */
  get view() {
    return this.#view;
  }

  /**
   * Shows a part of the x axis, without calling `onView`.
   * @param {Range | null} view
   * @param {boolean} [settled]  false while a gesture is on: the y axis stands still
   */
  setView(view, settled = true) {
    const was = this.isZoomed;
    this.#view = view;
    this.#isMoving = !settled;
    this.#drawSoon();
    if (settled) this.#describe();
    if (was !== this.isZoomed) this.#options.onZoom?.(this.isZoomed);
  }

  /** Device pixels of the plot's width, as far as labels leave it alike; 0 before layout. */
  get pixels() {
    return Math.round(Math.max(0, this.#element.clientWidth - 56) * devicePixelRatio);
  }

  /** What the x axis shows when it shows everything, in its units; null without points. */
  get xExtent() {
    const x = this.#axis("x");
    return this.#whole && /** @type {Range} */ (this.#whole.map((place) => fromAxis(x, place)));
  }

  /** Whether only a part of the x axis is shown. */
  get isZoomed() {
    return this.#view !== null;
  }

  /** Shows everything again, as the reader would. */
  resetZoom() {
    this.#show(null, true);
  }

  /** Draws the lines of a run strong and all others faint. @param {string | null} run */
  highlight(run) {
    if (run === this.#highlighted) return;
    this.#highlighted = run;
    this.#drawOverlay();
  }

  /**
   * The chart as a document of SVG: title, axes, lines and their names.
   * @param {string} [note]  what to know about the lines, such as their smoothing
   * @returns {Promise<string>}
   */
  async toSVG(note) {
    return (await import("./chart-export.js")).chartSVG(this.#picture(note));
  }

  /**
   * The same as pixels.
   * @param {number} [scale]  pixels in a CSS pixel
   * @param {string} [note]
   * @returns {Promise<Blob>} image/png
   */
  async toPNG(scale = 2, note) {
    return (await import("./chart-export.js")).chartPNG(this.#picture(note), scale);
  }

  /** Takes the chart out of its element. */
  destroy() {
    this.#hover(null);
    this.#closed.abort();
    this.#leaveCursor();
    this.#resizes.disconnect();
    this.#tooltip?.destroy();
    drawNever(this.#draw);
    for (const part of [this.#canvas, this.#plot, this.#note]) part.remove();
  }

  // --- from columns to axes ----------------------------------------------------------------------------------------

  /** @param {"x" | "y"} which @returns {import("./chart-types.js").Axis} */
  #axis(which) {
    const { xAxis, xScale, yScale } = this.#options;
    return which === "x"
      ? { kind: xAxis, log: xScale === "log" && xAxis !== "wall_time", range: this.#x }
      : { kind: "value", log: yScale === "log", range: this.#y };
  }

  #prepare() {
    const old = new Map(this.#items.map((item) => [item.line?.value ?? item.band?.mean, item]));
    // What did not change is not brought to the axes again.
    /** @param {any} source */
    const itemOf = (source) => {
      const line = source.value ? source : null;
      const band = line ? null : source;
      const item = old.get(source.value ?? source.mean);
      const was = /** @type {any} */ (item?.line ?? item?.band);
      const { name, color, run = name } = source;
      return item && KEPT.every((key) => was[key] === source[key]) ? { ...item, line, band, name, run, color } : this.#itemOf(line, band);
    };
    const faint = this.#lines.filter((line) => line.faint);
    const others = this.#lines.filter((line) => !line.faint);
    this.#items = [...faint, ...this.#bands, ...others].map(itemOf).filter(({ xs }) => xs.length > 0);
    // What is known beyond the rows of a view stays known.
    this.#whole = union([this.#view && this.#whole, ...this.#framed().map(({ xExtent }) => xExtent)]);
    this.#drawSoon();
    this.#describe();
  }

  /** @param {Line | null} line @param {Band | null} band  instead of a line @returns {Item} */
  #itemOf(line, band) {
    const { name, color } = /** @type {Line | Band} */ (line ?? band);
    const log = this.#axis("y").log;
    const toAxis = (/** @type {Float64Array} */ x) => axisColumn(x, this.#axis("x").log);
    const xs = toAxis(line ? xColumn(line, this.#options.xAxis, line.startTime) : /** @type {Band} */ (band).x);
    const whole = line?.overview ? xColumn(line.overview, this.#options.xAxis, line.startTime) : band?.overview;
    const parts = partsOf(xs, line?.segments);
    const columns = (line ? [line.smoothed ?? line.value, line.smoothed && line.value] : bandColumns(band))
      .filter((column) => column != null)
      .map((column) => axisColumn(column, log));
    return {
      ...{ line, band, name, run: line?.run ?? name, color, xs, columns, parts },
      ys: columns[0],
      raw: line && !line.faint ? (columns[1] ?? null) : null,
      ends: extent(xs),
      xExtent: whole ? union([extent(toAxis(whole)), extent(xs)]) : extent(xs),
      yExtent: union(columns.map(extent)),
      nonFinite: line ? nonFinitePoints(line.value) : band ? lossPoints(band) : [],
    };
  }

  /** What the axes are made for: not faint lines, unless there is nothing else. */
  #framed() {
    const framed = this.#items.filter(({ line }) => !line?.faint);
    return framed.length > 0 ? framed : this.#items;
  }

  /** @returns {Range} */
  #xRange() {
    const axis = this.#axis("x");
    const view = this.#view?.map((value) => toAxis(axis, value));
    return view?.every(Number.isFinite) ? /** @type {Range} */ (view) : this.#everything();
  }

  /** @returns {Range} */
  #everything() {
    return padded(this.#whole, 0.02);
  }

  /** @returns {Range} */
  #yRange() {
    const [from, to] = this.#x;
    const { log } = this.#axis("y");
    const range = union(
      this.#framed().map(({ xs, raw, ys, columns, parts, line, yExtent }) => {
        if (this.#options.clip && line) {
          return union(parts.map((part) => clipRange(raw ?? ys, ...windowOf(xs, part, from, to))));
        }
        return this.#view ? union(columns.map((column) => visibleExtent(xs, column, from, to))) : yExtent;
      }),
    );
    if (!range) return log ? [-1, 1] : [0, 1];
    return log && range[0] === range[1] ? [range[0] - 0.3, range[1] + 0.3] : padded(range, 0.06);
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  /** @param {boolean} [isFirst] */
  #drawSoon(isFirst) {
    drawSoon(this.#draw, isFirst);
  }

  #draw = () => {
    const { clientWidth: width, clientHeight: height } = this.#element;
    const context = this.#canvas.getContext("2d");
    if (width < 60 || height < 60 || !context) return 0; // not laid out yet
    if (this.#colors.text === "") this.#readColors();
    const ratio = devicePixelRatio;
    if (this.#canvas.width !== Math.round(width * ratio) || this.#canvas.height !== Math.round(height * ratio)) {
      this.#canvas.width = Math.round(width * ratio);
      this.#canvas.height = Math.round(height * ratio);
      this.#isMoving = false;
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
    this.#x = this.#xRange();
    const old = this.#isMoving && this.#layout;
    if (!old) {
      this.#y = this.#yRange();
      this.#note.textContent = this.#note.title = this.#notes();
    }
    context.font = `11px ${FONT}`;
    const measure = (/** @type {string} */ text) => context.measureText(text).width;
    const hasNote = this.#note.textContent !== "";
    const layout = layOut(width, height, this.#axis("x"), this.#axis("y"), measure, hasNote, old);
    this.#layout = layout;
    drawAxes(context, layout, this.#colors, ratio);
    this.#place(layout, ratio);

    context.save();
    context.beginPath();
    context.rect(layout.left, layout.top, layout.width, layout.height);
    context.clip();
    context.translate(layout.left, layout.top);
    this.#drawBands(context);
    let later = 0;
    const framed = this.#framed();
    const isThin = framed.length > MANY_LINES;
    const numPoints = framed.reduce((sum, { xs }) => sum + xs.length, 0);
    if (numPoints > MANY_POINTS || this.#isMoving) this.#drawThin(context, ratio, this.#items);
    else {
      if (framed.length < this.#items.length) this.#drawThin(context, ratio, this.#items.filter(({ line }) => line?.faint));
      this.#drawStrokes(context, framed, isThin ? 1 : LINE_WIDTH);
      later = numPoints / (isThin ? 10_000 : 1000); // microseconds for each point, without a GPU
    }
    context.restore();
    context.save();
    context.translate(layout.left, layout.top);
    this.#drawMarks(context, layout, this.#items);
    context.restore();
    this.#placePin();
    this.#update();
    return later;
  };

  /** @param {Layout} layout @param {number} ratio */
  #place({ left, top, width, height }, ratio) {
    Object.assign(this.#plot.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.#overlay.width !== size[0] || this.#overlay.height !== size[1]) [this.#overlay.width, this.#overlay.height] = size;
    if (this.#raster?.width !== size[0] || this.#raster.height !== size[1]) this.#raster = null;
  }

  /** Functions from axes to CSS pixels inside the plot. */
  #mapping() {
    const { width, height } = /** @type {Layout} */ (this.#layout);
    return {
      toX: (/** @type {number} */ x) => shareOf(this.#x, x) * width,
      toY: (/** @type {number} */ y) => (1 - shareOf(this.#y, y)) * height,
      width,
      height,
    };
  }

  /** @param {Item} item @param {Float64Array} column */
  #path({ xs, parts }, column) {
    const { toX, toY } = this.#mapping();
    const path = new Path2D();
    for (const part of parts) tracePath(path, xs, column, toX, toY, ...windowOf(xs, part, ...this.#x));
    return path;
  }

  /** @param {Context} context */
  #drawBands(context) {
    const { toX, toY } = this.#mapping();
    for (const { band, color, xs, columns } of this.#items) {
      if (!band) continue;
      context.globalAlpha = BAND;
      context.fillStyle = color;
      for (let i = 1; i < columns.length; i += 2) {
        const path = new Path2D();
        traceBand(path, xs, columns[i], columns[i + 1], toX, toY);
        context.fill(path);
      }
      context.globalAlpha = 1;
    }
  }

  /** @param {Context} context @param {readonly Item[]} items @param {number} width */
  #drawStrokes(context, items, width) {
    context.lineJoin = "round";
    for (const strong of [false, true]) {
      for (const item of items) {
        const column = strong ? item.ys : item.raw;
        if (!column) continue;
        context.globalAlpha = strong ? 1 : FAINT;
        context.strokeStyle = item.color;
        context.lineWidth = item.band ? width + 0.6 : width;
        context.setLineDash([...((item.line ?? item.band)?.dash ?? [])]);
        context.stroke(this.#path(item, column));
      }
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  /** @param {Context} context @param {number} ratio @param {readonly Item[]} items */
  #drawThin(context, ratio, items) {
    const { width, height } = /** @type {Layout} */ (this.#layout);
    const raster = (this.#raster ??= new Raster(Math.round(width * ratio), Math.round(height * ratio)));
    raster.clear();
    for (const strong of [false, true]) {
      for (const item of items) {
        const column = strong ? item.ys : item.raw;
        if (!column) continue;
        const color = colorNumber(item.color);
        const opacity = item.line?.faint ? MEMBER : strong ? 1 : FAINT;
        for (const part of item.parts) {
          const window = windowOf(item.xs, part, ...this.#x);
          const dash = (item.line ?? item.band)?.dash?.map((length) => length * ratio);
          for (const [from, to] of part.rising ? [window] : risingRuns(item.xs, ...window)) {
            raster.line(item.xs, column, from, to, this.#x, this.#y, color, opacity, ratio, dash);
          }
        }
      }
    }
    const scratch = scratchCanvas(raster);
    context.drawImage(scratch, 0, 0, raster.width, raster.height, 0, 0, width, height);
  }

  /** @param {Context} context @param {{ width: number, height: number }} size @param {readonly Item[]} items */
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

  /** @param {{ width: number, height: number }} size @param {readonly Item[]} [items] */
  #marks({ width, height }, items = this.#items) {
    const plot = { x: this.#axis("x"), y: this.#axis("y"), width, height };
    const showsPoints = this.#framed().length <= MANY_LINES && !this.#isMoving;
    return items.map((item) => ({
      color: item.color,
      ...marksOf(item, plot, showsPoints && !item.line?.faint, this.#options.clip),
    }));
  }

  /** What the chart does not show. Rows may be a selection of all points, so nothing is counted. */
  #notes() {
    /** @type {string[]} */
    const notes = [];
    const [bottom, top] = this.#y;
    /** Of the points in sight; undefined: of no interest. @param {(item: Item, i: number) => boolean | undefined} test */
    const foundIn = (test) => {
      const found = new Set();
      for (const item of this.#framed()) {
        for (const part of item.parts) {
          const [from, to] = windowOf(item.xs, part, ...this.#x);
          for (let i = from; i < to && found.size < 2; i++) {
            const is = test(item, i);
            if (is !== undefined) found.add(is);
          }
        }
      }
      return found;
    };
    /** @param {string} what @param {(item: Item, i: number) => boolean | undefined} isHidden */
    const addHidden = (what, isHidden) => {
      const found = foundIn(isHidden);
      if (found.has(true)) notes.push(found.has(false) ? `${what}s ≤ 0 not shown` : `no ${what} above 0 on a logarithmic axis`);
    };
    const isCut = (/** @type {number} */ y) => Number.isFinite(y) && (y < bottom || y > top);
    if (this.#options.clip && foundIn(({ line, raw, ys }, i) => line !== null && isCut((raw ?? ys)[i])).has(true)) notes.push("outliers clipped");
    if (this.#axis("x").log) addHidden(this.#options.xAxis === "step" ? "step" : "time", ({ xs }, i) => !Number.isFinite(xs[i]));
    if (this.#axis("y").log) {
      addHidden("value", ({ line, band, raw, ys }, i) => {
        const value = line?.value ?? band?.mean;
        return value && Number.isFinite(value[i]) ? !Number.isFinite((raw ?? ys)[i]) : undefined;
      });
    }
    return notes.join(", ");
  }

  /** What is shown, large enough to be read on its own. @param {string} [more] @returns {import("./chart-types.js").Picture} */
  #picture(more) {
    const width = Math.max(640, this.#element.clientWidth);
    const height = Math.max(360, this.#element.clientHeight);
    const axes = { x: this.#axis("x"), y: this.#axis("y") };
    const note = [more, this.#note.textContent].filter(Boolean).join(", ");
    const layout = layOut(width, height, axes.x, axes.y, (text) => 6.5 * text.length, note !== "");
    const marks = this.#marks(layout);
    return { label: this.#options.label, width, height, layout, ...axes, items: this.#items, marks, note, colors: this.#colors };
  }

  #readColors() {
    const style = getComputedStyle(this.#element);
    const color = (/** @type {string} */ name, /** @type {string} */ other) => style.getPropertyValue(name).trim() || other;
    this.#colors = { text: color("--tb-ink-3", "gray"), grid: color("--tb-grid", "#ddd"), surface: color("--tb-surface", "white") };
  }

  #describe() {
    const { label, xAxis } = this.#options;
    const names = this.#items.slice(0, 3).map(({ name }) => name);
    const more = this.#items.length > names.length ? ` and ${this.#items.length - names.length} more` : "";
    const format = FORMATS[xAxis];
    const whole = this.xExtent ?? [0, 0];
    const view = this.#view && [Math.max(this.#view[0], whole[0]), Math.min(this.#view[1], whole[1])];
    const [all, part] = [whole, view].map((range) => range?.map(format).join(" to "));
    const axis = xAxis === "wall_time" ? "wall time" : xAxis;
    const text = `${label} by ${axis} from ${part ? `${part}, of ${all}` : all}: ${names.join(", ")}${more}`;
    this.#element.setAttribute("aria-label", text);
    const end = this.#view ? toAxis(this.#axis("x"), this.#view[1]) : Infinity;
    const ends = this.#items.slice(0, 3).map(({ name, line, band, xs }) => {
      const last = lastIndex(xs, end);
      return `${name} ${last < 0 ? "none" : formatValue((line?.value ?? band?.mean ?? [])[last])}`;
    });
    const what = this.#view ? "Last values in view" : "Last values";
    this.#element.setAttribute("aria-description", ends.length > 0 ? `${what}: ${ends.join(", ")}${more}` : "");
  }

  // --- hover, zoom, keys -------------------------------------------------------------------------------------------

  #listen() {
    const { signal } = this.#closed;
    addGestures(
      this.#element,
      this.#plot,
      {
        range: () => this.#layout && this.#x,
        show: (range, settled) => this.#show(range, settled),
        point: (point) => {
          this.#pointer = point;
          this.#reading = null;
          this.#update();
        },
        click: ({ left, top }) => {
          const place = this.#layout && this.#snapped(left);
          const hit = place !== null && this.#hitsAt(place, top)[0];
          if (hit) this.#movePin(this.#unitsOf(place), true);
        },
        key: (event) => this.#onKey(event),
      },
      signal,
    );
    window.addEventListener("scroll", () => this.#tooltip?.hide(), { signal, passive: true, capture: true });
    const { cursor } = this.#options;
    if (cursor) this.#leaveCursor = cursor.join(this);
  }

  /** @param {Range | null} range  on the axis @param {boolean} settled */
  #show(range, settled) {
    const axis = this.#axis("x");
    const part = range && limited(range, this.#whole && this.#everything());
    const view = part && /** @type {Range} */ (part.map((place) => fromAxis(axis, place)));
    if (!view && !this.#view && !this.#isMoving) return; // nothing new
    this.setView(view, settled);
    this.#drawSoon(true);
    this.#options.onView?.(view, settled);
  }

  /**
   * Another chart with the same cursor is pointed at.
   * @param {number | null} x  null: no longer
   * @param {string | null} run  of the nearest line there
   */
  showCursor(x, run) {
    this.#shared = x === null ? null : { x, run };
    this.#drawOverlay();
  }

  /**
   * Marks an x with a line and a handle, in this chart alone; `cursor.pin` does it in all.
   * @param {number | null} x  null: none
   * @param {boolean} [settled]  false while it is dragged
   * @param {boolean} [here]  whether the reader did it in this chart
   */
  showPin(x, settled = true, here = false) {
    this.#pinned = x;
    this.#placePin();
    this.#drawOverlay();
    if (here) this.#tooltip?.hide(); // it may lie where the table of the values comes
    this.#options.onPin?.(x, settled, here);
  }

  /** As the reader does. @param {number | null} x @param {boolean} settled */
  #movePin(x, settled) {
    const { cursor, onPin } = this.#options;
    if (!onPin) return;
    if (cursor) cursor.pin(x, settled, this);
    else this.showPin(x, settled, true);
  }

  /** To the point that is nearest to a place. @param {number} left  CSS pixels inside the plot @param {boolean} settled */
  #dragPin(left, settled) {
    const place = this.#layout && this.#snapped(left);
    if (place !== null) this.#movePin(this.#unitsOf(place), settled);
    else if (settled) this.#movePin(this.#pinned, true);
  }

  /** To the next point of any line. @param {-1 | 1} direction */
  async #walkPin(direction) {
    const from = this.#pinned;
    if (from === null || this.#isAsking) return;
    let next = this.#nextDrawn(from, direction);
    const asked = this.#options.nextX?.(from, direction);
    if (asked) {
      this.#isAsking = true;
      next = await asked.catch(() => next); // what is drawn is better than to stand still
      this.#isAsking = false;
    }
    if (next !== null && this.#pinned === from && !this.#closed.signal.aborted) this.#movePin(next, true);
  }

  /** @param {number} from @param {-1 | 1} direction @returns {number | null} in units of the x axis */
  #nextDrawn(from, direction) {
    const place = toAxis(this.#axis("x"), from);
    let next = NaN;
    for (const { xs } of this.#framed()) {
      for (const x of xs) {
        // Not the same x once more, come out of a logarithm a little otherwise.
        const isBeyond = direction * (x - place) > Math.abs(place) * 1e-14;
        if (isBeyond && Number.isFinite(x) && !(direction * (x - next) >= 0)) next = x;
      }
    }
    return Number.isFinite(next) ? this.#unitsOf(next) : null;
  }

  /** In units of the x axis, without what logarithms add in the last digits. @param {number} place  on the axis */
  #unitsOf(place) {
    return Number(fromAxis(this.#axis("x"), place).toPrecision(15));
  }

  /**
   * The place of the nearest point of any line that has not ended there, or of any at all where all have.
   * @param {number} left  CSS pixels inside the plot
   * @returns {number | null} on the axis; null: none is near
   */
  #snapped(left) {
    const { toX, width } = this.#mapping();
    const x = at(this.#x, left / width);
    /** @type {number | null} */
    let place = null;
    let away = REACH;
    let lives = false;
    for (const { xs, parts, ends } of this.#items) {
      const nearest = xs[nearestIndex(xs, x, parts)];
      const isInside = ends !== null && x >= ends[0] && x <= ends[1];
      const distance = Math.abs(toX(nearest) - left);
      if (!(distance <= REACH) || (lives && !isInside)) continue;
      if (distance > away && lives === isInside) continue;
      [place, away, lives] = [nearest, distance, isInside];
    }
    return place;
  }

  #placePin() {
    if (this.#pinned === null || !this.#layout) return this.#pin?.hide();
    if (!this.#pin) return void this.#makePin();
    const { xAxis } = this.#options;
    const left = this.#mapping().toX(toAxis(this.#axis("x"), this.#pinned));
    this.#pin.place(left, this.#pinned, FORMATS[xAxis](this.#pinned), xAxis === "step" ? "step" : "time");
  }

  async #makePin() {
    const { ChartPin } = await import("./chart-pin.js");
    this.#pin ??= new ChartPin(this.#plot, {
      drag: (left, settled) => this.#dragPin(left, settled),
      walk: (direction) => this.#walkPin(direction),
      write: (x) => this.#movePin(x, true),
      remove: () => {
        this.#movePin(null, true);
        this.#element.focus({ preventScroll: true });
      },
    });
    this.#placePin();
  }

  /** @param {KeyboardEvent} event */
  #onKey({ key }) {
    if (key === "Escape") {
      if (!this.#reading && !this.isZoomed) return false;
      if (!this.#reading) this.resetZoom();
      this.#read(null);
    } else if (key === "ArrowLeft" || key === "ArrowRight") this.#walk(key === "ArrowLeft" ? -1 : 1, 1);
    else if (key === "ArrowUp" || key === "ArrowDown") this.#changeLine(key === "ArrowUp" ? -1 : 1);
    else if (key === "Home" || key === "End") this.#walk(key === "Home" ? -1 : 1, Infinity);
    else if (key === "Enter" && this.#reading && this.#options.onPin) {
      const item = /** @type {Item} */ (this.#readItem());
      const x = this.#unitsOf(item.xs[this.#reading.index]);
      this.#movePin(x === this.#pinned ? null : x, true);
    } else if ((key === "Delete" || key === "Backspace") && this.#pinned !== null) this.#movePin(null, true);
    else return false;
    return true;
  }

  /** @param {-1 | 1} direction @param {number} count  of points */
  #walk(direction, count) {
    if (!this.#reading) {
      // It begins where the pointer is, or at an end of what is shown.
      const hit = this.#hits()[0];
      const pointed = hit && this.#items.find((item) => isOf(hit, item));
      if (pointed) return this.#read({ name: keyOf(pointed), index: hit.index });
      if (this.#view && count !== Infinity) {
        const item = this.#items[this.#items.length - 1];
        const index = nearestIndex(item.xs, this.#x[direction > 0 ? 0 : 1], item.parts);
        return this.#read({ name: keyOf(item), index: Math.max(0, index) });
      }
    }
    const item = this.#readItem() ?? this.#items[this.#items.length - 1];
    const last = item.xs.length - 1;
    // The first key goes to an end: where the walk begins, or with Home and End where it leads.
    const isFromEnd = direction < 0 !== (count === Infinity);
    const index = this.#reading ? this.#reading.index + direction * count : isFromEnd ? last : 0;
    this.#read({ name: keyOf(item), index: Math.min(last, Math.max(0, index)) });
  }

  /** @param {-1 | 1} direction */
  #changeLine(direction) {
    const current = this.#readItem();
    const place = current ? this.#items.indexOf(current) : -1;
    const next = this.#items[(place + direction + this.#items.length) % this.#items.length];
    const x = current && this.#reading ? current.xs[this.#reading.index] : Number.MAX_VALUE;
    this.#read({ name: keyOf(next), index: Math.max(0, nearestIndex(next.xs, x, next.parts)) });
  }

  #readItem() {
    return this.#items.find((item) => keyOf(item) === this.#reading?.name);
  }

  /** @param {{ name: string, index: number } | null} reading */
  #read(reading) {
    this.#pointer = null;
    this.#reading = reading;
    this.#update();
  }

  /** Shows what is under the pointer or the arrow keys. */
  #update() {
    const hits = this.#hits();
    if (hits.length > 0) this.#showTooltip(hits);
    else this.#tooltip?.hide();
    this.#drawOverlay(hits);
    this.#hover(hits);
  }

  /** @param {Hit[]} hits */
  async #showTooltip(hits) {
    if (!this.#tooltip) {
      const { ChartTooltip } = await import("./chart-tooltip.js");
      hits = this.#hits(); // meanwhile the pointer has moved
      if (hits.length === 0 || this.#closed.signal.aborted) return;
      this.#tooltip ??= new ChartTooltip(this.#element);
    }
    const plot = this.#plot.getBoundingClientRect();
    const { left, top } = this.#pointer ?? hits[0];
    const { xAxis, readOut, onPin } = this.#options;
    const isRead = this.#reading !== null;
    const hint = onPin && this.#pinned === null && !this.#pointer?.isTouch ? `${isRead ? "Enter" : "click"} to pin` : "";
    this.#tooltip.show(hits, { left: plot.left + left, top: plot.top + (top || 0) }, isRead, xAxis, hint, readOut);
  }

  /** Tells others. @param {Hit[] | null} hits */
  #hover(hits) {
    const isHovered = Boolean(hits && hits.length > 0);
    if (!isHovered && !this.#wasHovered) return;
    this.#wasHovered = isHovered;
    this.#options.onHover?.(hits ?? []);
    const { cursor } = this.#options;
    if (!cursor) return;
    const layout = this.#layout;
    if (!hits || !isHovered || !layout) return cursor.move(null, null, this);
    const place = this.#pointer ? this.#snapped(this.#pointer.left) : at(this.#x, hits[0].left / layout.width);
    if (place !== null) cursor.move(this.#unitsOf(place), hits[0].run, this);
  }

  /** The points that are read just now, the nearest first. @returns {Hit[]} */
  #hits() {
    if (!this.#layout) return [];
    const { toX, toY, height } = this.#mapping();
    if (this.#reading) {
      const item = this.#readItem();
      const { index } = this.#reading;
      if (!item || index >= item.xs.length) return [];
      const top = toY(item.ys[index]);
      return [this.#hit(item, index, toX(item.xs[index]), Number.isFinite(top) ? top : height)];
    }
    const pointer = this.#pointer;
    const place = pointer && this.#snapped(pointer.left);
    return pointer && place !== null ? this.#hitsAt(place, pointer.top) : [];
  }

  /**
   * What the lines have at a place: those that ended before it or begin behind it have nothing.
   * @param {number} x  on the axis
   * @param {number} pointerTop
   */
  #hitsAt(x, pointerTop) {
    const { toX, toY, width, height } = this.#mapping();
    const pointerLeft = toX(x);
    /** @type {{ hit: Hit, distance: number }[]} */
    const hits = [];
    for (const item of this.#items) {
      const index = nearestIndex(item.xs, x, item.parts);
      if (index === -1) continue;
      const left = toX(item.xs[index]);
      const { ends } = item;
      const reach = ends && x >= ends[0] && x <= ends[1] ? REACH : BESIDE;
      if (!(Math.abs(left - pointerLeft) <= reach) || left < -1 || left > width + 1) continue;
      const top = toY(item.ys[index]);
      const isDrawn = Number.isFinite(top);
      // What has no place is as near as its mark.
      const markTop = isDrawn ? top : toY(item.nonFinite.find((mark) => mark.index === index)?.beside ?? NaN);
      const distance = Number.isFinite(markTop) ? Math.hypot((left - pointerLeft) / 4, markTop - pointerTop) : height;
      hits.push({ hit: this.#hit(item, index, left, isDrawn ? top : NaN), distance });
    }
    return hits.sort((a, b) => a.distance - b.distance).map(({ hit }) => hit);
  }

  /** @param {Item} item @param {number} index @param {number} left @param {number} top @returns {Hit} */
  #hit({ line, band, name, run, color }, index, left, top) {
    return { line: line ?? undefined, band: band ?? undefined, name, run, color, index, left, top };
  }

  /** @param {Hit[]} [hits] */
  #drawOverlay(hits = this.#hits()) {
    const context = this.#overlay.getContext("2d");
    if (!this.#layout || !context) return;
    const { width, height, toX } = this.#mapping();
    const { text, surface } = this.#colors;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.lineJoin = "round";

    const items = this.#items.filter((item) => (hits.length > 0 ? isOf(hits[0], item) : item.run === this.#highlighted));
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
    if (this.#pinned !== null && this.#items.length <= MANY_LINES) {
      for (const { left, top, color } of this.#hitsAt(toAxis(this.#axis("x"), this.#pinned), 0)) {
        context.fillStyle = color;
        if (!Number.isNaN(top)) context.fill(new Path2D(dotPath(left, top, 3)));
      }
    }
    let points = hits.slice(0, 8);
    const place = this.#pointer && this.#snapped(this.#pointer.left);
    let left = points.length > 0 && place !== null ? toX(place) : points[0]?.left;
    const shared = this.#shared;
    if (shared && points.length === 0) {
      const x = toAxis(this.#axis("x"), shared.x);
      left = toX(x);
      points = this.#hitsAt(x, 0).filter(({ run }) => run === shared.run || this.#items.length <= MANY_LINES);
      points.sort((a, b) => Number(b.run === shared.run) - Number(a.run === shared.run));
    }
    if (!(left >= 0 && left <= width)) return;
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

/** @template {keyof HTMLElementTagNameMap} K @param {K} kind @param {string} className */
function make(kind, className) {
  const element = document.createElement(kind);
  element.className = className;
  return element;
}

/** The mean, then low and high of each band. @param {Band | null} band */
function bandColumns(band) {
  return [band?.mean, band?.low, band?.high, ...(band?.inner ?? []).flat()];
}

/** Whether a point is one of an item. @param {Hit} hit @param {Item} item */
function isOf(hit, { line, band }) {
  return (hit.line ?? hit.band) === (line ?? band);
}

/** @param {Item} item */
function keyOf({ line, band, name }) {
  return (line ?? band)?.key ?? name;
}

/** @param {readonly (Range | null)[]} ranges @returns {Range | null} */
function union(ranges) {
  /** @type {Range | null} */
  let all = null;
  for (const range of ranges) {
    if (range) all = all ? [Math.min(all[0], range[0]), Math.max(all[1], range[1])] : range;
  }
  return all;
}

/** @type {Context | null} */
let pen = null;
/** @type {Map<string, number>} */
const colorNumbers = new Map();

/** A canvas with the pixels of a raster. @param {Raster} raster */
function scratchCanvas({ width, height, pixels }) {
  pen ??= make("canvas", "").getContext("2d", { willReadFrequently: true });
  const context = /** @type {Context} */ (pen);
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
