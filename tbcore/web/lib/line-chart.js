/**
 * A chart of many lines, each with its own x values: axes, hover, zoom and marks for what a line cannot show. Plain DOM,
 * for any plugin:
 *
 *     const chart = new LineChart(element, { label: "loss" });
 *     chart.setLines([{ name: "train", color: "#3366cc", step, wallTime, value }]);
 *
 * The chart fills its element and follows its size. Drag to zoom, double-click to show everything again; the arrow
 * keys walk over the points.
 *
 * uPlot lays out and draws. Its scales run from 0 to 1 here, and this module maps values to them: uPlot's own scales have
 * no ticks beyond 1e17, and values of a diverged run go to 1e38.
 */

import uPlot from "uplot";
import { ChartTooltip } from "./chart-tooltip.js";
import { formatDuration, formatDurationTicks, formatStep, formatTicks, formatTime, formatTimeTicks } from "./format.js";
import {
  countFinite,
  extent,
  isRising,
  nearestIndex,
  nonFinitePoints,
  padded,
  paddedLog,
  tracePath,
  visibleExtent,
  xColumn,
} from "./series.js";
import { adoptStyles } from "./styles.js";
import { durationTicks, logTicks, numberTicks, timeTicks } from "./ticks.js";

/**
 * @typedef {import("./series.js").Columns} Columns
 * @typedef {import("./series.js").XAxis} XAxis
 * @typedef {Columns & { name: string, color: string }} Line  `name` is shown on hover
 * @typedef {"linear" | "log"} YScale
 *
 * @typedef {object} LineChartOptions
 * @property {string} label  what the chart shows, for those who cannot see it
 * @property {XAxis} [xAxis]  "step" unless told
 * @property {YScale} [yScale]  "linear" unless told
 * @property {(isZoomed: boolean) => void} [onZoom]  called when somebody zooms in or goes back
 *
 * @typedef {object} Prepared  a line and what is computed once from its columns
 * @property {Line} line
 * @property {Float64Array} xs
 * @property {boolean} rising
 * @property {[number, number] | null} xExtent
 * @property {boolean} isSingle  fewer than two points can be drawn
 * @property {{ index: number, beside: number }[]} nonFinite
 *
 * @typedef {[min: number, max: number]} Range
 *
 * @typedef {object} Hit  a point that is read just now
 * @property {Line} line
 * @property {number} index  of the point
 * @property {number} left  CSS pixels inside the plot
 * @property {number} top
 */

const UPLOT_CSS = new URL("../vendor/uplot.css", import.meta.url);
const LINE_WIDTH = 1.4;
/** Many lines are thin: easier to tell apart, and lines of one pixel are drawn twenty times as fast without a GPU. */
const MANY_LINES = 12;
const MANY_POINTS = 15_000;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** Room for one label, CSS pixels. */
const X_SPACE = { step: 52, relative: 58, wall_time: 78 };
const Y_SPACE = 26;
/** A line is read only where it has a point this near to the pointer, CSS pixels. */
const REACH = 60;
/** A drag shorter than this is a click. */
const DRAG = 5;
const MOST_ROWS = 8;

/** @type {WeakMap<Columns["value"], Map<XAxis, Omit<Prepared, "line">>>} */
const preparedCache = new WeakMap();

export class LineChart {
  /** @type {HTMLElement} */ #element;
  /** @type {LineChartOptions & { xAxis: XAxis, yScale: YScale }} */ #options;
  /** @type {Prepared[]} */ #lines = [];
  #isCrowded = false;
  /** @type {[number, number] | null} */ #zoom = null;
  /** @type {uPlot | null} */ #plot = null;
  /** @type {HTMLCanvasElement} */ #overlay = document.createElement("canvas");
  /** @type {HTMLElement} */ #selection = document.createElement("div");
  /** @type {ChartTooltip} */ #tooltip;
  /** @type {ResizeObserver} */ #resizes;
  /** @type {AbortController} */ #closed = new AbortController();
  /** @type {{ line: Line, index: number } | null} the point the arrow keys are at */ #reading = null;
  /** @type {{ left: number, top: number } | null} pointer, CSS pixels inside the plot */ #pointer = null;
  /** @type {number | null} where a drag began, CSS pixels */ #dragStart = null;
  /** What the axes show. On a logarithmic y axis it is of logarithms. */
  #view = { x: /** @type {Range} */ ([0, 1]), y: /** @type {Range} */ ([0, 1]) };
  #colors = { text: "", grid: "", surface: "" };

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {LineChartOptions} options
   */
  constructor(element, options) {
    this.#element = element;
    this.#options = { xAxis: "step", yScale: "linear", ...options };
    this.#tooltip = new ChartTooltip(element);
    element.classList.add("tb-chart");
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-roledescription", "line chart");
    this.#overlay.className = "tb-chart-overlay";
    this.#selection.className = "tb-chart-selection";
    this.#selection.hidden = true;
    this.#listen();
    this.#resizes = new ResizeObserver(() => this.#resize());
    this.#resizes.observe(element);
    adoptStyles(element, UPLOT_CSS).catch(() => {}); // sizes are set by uPlot; without the sheet only details differ
  }

  /**
   * Draws these lines and no others. Zoom and hover stay as they are, so lines may grow under a reader's eyes.
   * @param {readonly Line[]} lines  the first is drawn first
   */
  setLines(lines) {
    const { xAxis } = this.#options;
    this.#lines = lines.filter((line) => line.value.length > 0).map((line) => ({ line, ...prepare(line, xAxis) }));
    const numPoints = this.#lines.reduce((sum, { xs }) => sum + xs.length, 0);
    this.#isCrowded = this.#lines.length > MANY_LINES || numPoints > MANY_POINTS;
    this.#draw();
    this.#element.setAttribute("aria-label", this.#describe());
  }

  /**
   * Changes the axes; what is not named stays.
   * @param {{ xAxis?: XAxis, yScale?: YScale }} axes
   */
  setAxes(axes) {
    const { xAxis, yScale } = this.#options;
    const next = { xAxis, yScale, ...axes };
    if (next.xAxis === xAxis && next.yScale === yScale) return;
    Object.assign(this.#options, next);
    if (next.xAxis !== xAxis) this.#setZoom(null);
    this.setLines(this.#lines.map(({ line }) => line));
  }

  /** Reads the colours of axes and grid again, after the theme changed. */
  restyle() {
    this.#readColors();
    this.#plot?.redraw(false, true);
    this.#drawOverlay();
  }

  /** Whether only a part of the x axis is shown. */
  get isZoomed() {
    return this.#zoom !== null;
  }

  /** Shows everything again. */
  resetZoom() {
    this.#setZoom(null);
    this.#draw();
  }

  /** Takes the chart out of its element. */
  destroy() {
    this.#closed.abort();
    this.#resizes.disconnect();
    this.#tooltip.destroy();
    this.#destroyPlot();
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  #draw() {
    if (this.#lines.length === 0) {
      this.#destroyPlot();
      this.#tooltip.hide();
      return;
    }
    const data = /** @type {uPlot.AlignedData} */ (
      /** @type {unknown} */ ([null, ...this.#lines.map(({ xs, line }) => [xs, line.value])])
    );
    this.#view = { x: this.#xRange(), y: this.#yRange() };
    const plot = this.#plot;
    if (!plot) this.#makePlot(data);
    else {
      // A series of uPlot is a slot here: colours and columns come from #lines by position.
      while (plot.series.length < this.#lines.length + 1) plot.addSeries(this.#slot(), plot.series.length);
      while (plot.series.length > this.#lines.length + 1) plot.delSeries(plot.series.length - 1);
      plot.batch(() => {
        plot.setData(data);
        plot.redraw(false, true); // the ticks are new, although uPlot's scales are not
      });
    }
    this.#update();
  }

  /** @param {uPlot.AlignedData} data */
  #makePlot(data) {
    const width = this.#element.clientWidth;
    const height = this.#element.clientHeight;
    if (width < 40 || height < 40) return; // not laid out yet; #resize comes back
    this.#readColors();
    this.#plot = new uPlot(
      {
        width,
        height,
        mode: 2,
        pxAlign: false,
        padding: [10, 12, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        select: /** @type {uPlot.Select} */ ({ show: false, left: 0, top: 0, width: 0, height: 0 }),
        scales: {
          x: { time: false, range: [0, 1] },
          y: { range: [0, 1] },
        },
        axes: [this.#axis("x"), this.#axis("y")],
        series: [/** @type {uPlot.Series} */ ({}), ...this.#lines.map(() => this.#slot())],
        hooks: { draw: [() => this.#drawMarks()], setSize: [() => this.#sizeOverlay()] },
      },
      data,
      this.#element,
    );
    this.#plot.over.append(this.#selection, this.#overlay);
    this.#sizeOverlay();
  }

  /** @returns {uPlot.Series} */
  #slot() {
    return {
      width: LINE_WIDTH,
      pxAlign: 0,
      auto: false,
      stroke: (_, index) => this.#lines[index - 1]?.line.color ?? "transparent",
      points: { show: false },
      facets: [
        { scale: "x", auto: true },
        { scale: "y", auto: true },
      ],
      paths: (plot, index) => {
        const prepared = this.#lines[index - 1];
        const path = new Path2D();
        if (prepared) {
          const [toX, toY] = this.#mapping(plot, true);
          tracePath(path, prepared.xs, prepared.line.value, toX, toY);
        }
        const drawing = { stroke: path, fill: undefined, clip: undefined, band: undefined, gaps: undefined, flags: 0 };
        return Object.assign(drawing, { _width: this.#isCrowded ? 1 : LINE_WIDTH });
      },
    };
  }

  /**
   * @param {"x" | "y"} scale
   * @returns {uPlot.Axis}
   */
  #axis(scale) {
    let ticks = this.#placeTicks(scale, 0);
    return {
      scale,
      side: scale === "x" ? 2 : 3,
      font: FONT,
      gap: scale === "x" ? 4 : 6,
      stroke: () => this.#colors.text,
      grid: { stroke: () => this.#colors.grid, width: 1 },
      ticks: { show: false },
      splits: (plot) => {
        // The plot's own size is not known yet when uPlot first asks; it is the canvas less an axis.
        ticks = this.#placeTicks(scale, scale === "x" ? plot.width - 56 : plot.height - 32);
        const [min, max] = this.#view[scale];
        const place = scale === "y" && this.#options.yScale === "log" ? Math.log10 : Number;
        return ticks.at.map((tick) => (place(tick) - min) / (max - min));
      },
      values: () => this.#labels(scale, ticks),
      size: (plot, values, axisIndex, cycle) => {
        if (scale === "x") return this.#options.xAxis === "wall_time" ? 36 : 22;
        const axis = /** @type {uPlot.Axis & { _size: number }} */ (plot.axes[axisIndex]);
        if (cycle > 1) return axis._size;
        plot.ctx.font = plot.axes[axisIndex].font?.[0] ?? FONT;
        const widest = (values ?? []).reduce((most, text) => Math.max(most, plot.ctx.measureText(text).width), 0);
        return Math.max(40, Math.ceil(widest / uPlot.pxRatio) + 12);
      },
    };
  }

  /**
   * @param {"x" | "y"} scale
   * @param {number} length  CSS pixels
   */
  #placeTicks(scale, length) {
    const [min, max] = this.#view[scale];
    const most = Math.max(2, Math.floor(length / (scale === "x" ? X_SPACE[this.#options.xAxis] : Y_SPACE)));
    if (scale === "y") {
      return this.#options.yScale === "log" ? logTicks(10 ** min, 10 ** max, most) : numberTicks(min, max, most);
    }
    if (this.#options.xAxis === "relative") return durationTicks(min, max, most);
    if (this.#options.xAxis === "wall_time") return timeTicks(min, max, most);
    return numberTicks(min, max, most, 1);
  }

  /**
   * @param {"x" | "y"} scale
   * @param {import("./ticks.js").Ticks} ticks
   */
  #labels(scale, { at, spacing }) {
    if (scale === "x" && this.#options.xAxis === "relative") return formatDurationTicks(at, spacing);
    if (scale === "x" && this.#options.xAxis === "wall_time") return formatTimeTicks(at, spacing);
    return formatTicks(at, spacing);
  }

  /** @returns {Range} */
  #xRange() {
    return this.#zoom ?? padded(this.#xExtent(), 0.02);
  }

  /** @returns {Range | null} */
  #xExtent() {
    /** @type {Range | null} */
    let range = null;
    for (const { xExtent } of this.#lines) {
      if (!xExtent) continue;
      range = range ? [Math.min(range[0], xExtent[0]), Math.max(range[1], xExtent[1])] : xExtent;
    }
    return range;
  }

  /** @returns {Range} */
  #yRange() {
    const log = this.#options.yScale === "log";
    const [from, to] = this.#zoom ?? [-Infinity, Infinity];
    /** @type {[number, number] | null} */
    let range = null;
    for (const { xs, line } of this.#lines) {
      const part = visibleExtent(xs, line.value, from, to, log);
      if (part) range = range ? [Math.min(range[0], part[0]), Math.max(range[1], part[1])] : part;
    }
    if (!log) return padded(range, 0.06);
    const [min, max] = paddedLog(range, 0.06);
    return [Math.log10(min), Math.log10(max)];
  }

  /**
   * Functions from values to pixels: of the canvas, or CSS pixels inside the plot.
   * @param {uPlot} plot
   * @param {boolean} canvas
   * @returns {[toX: (x: number) => number, toY: (value: number) => number]}
   */
  #mapping(plot, canvas) {
    const scale = canvas ? 1 : 1 / uPlot.pxRatio;
    const left = canvas ? plot.bbox.left : 0;
    const top = canvas ? plot.bbox.top : 0;
    const width = plot.bbox.width * scale;
    const height = plot.bbox.height * scale;
    const [xMin, xMax] = this.#view.x;
    const [yMin, yMax] = this.#view.y;
    // Halved before they are subtracted: values may be so far apart that their distance is not finite.
    const half = yMax / 2 - yMin / 2;
    return [
      (x) => left + ((x - xMin) / (xMax - xMin)) * width,
      this.#options.yScale === "log"
        ? (value) => (value > 0 ? top + ((yMax - Math.log10(value)) / (2 * half)) * height : NaN)
        : (value) => top + ((yMax / 2 - value / 2) / half) * height,
    ];
  }

  /**
   * The x value at a place in the plot.
   * @param {uPlot} plot
   * @param {number} left  CSS pixels
   */
  #xAt(plot, left) {
    const [min, max] = this.#view.x;
    return min + (left / (plot.bbox.width / uPlot.pxRatio)) * (max - min);
  }

  /** Points of lines that have only one, and values that are not finite, on top of the lines. */
  #drawMarks() {
    const plot = this.#plot;
    if (!plot) return;
    const { ctx, bbox } = plot;
    const ratio = uPlot.pxRatio;
    const [toX, toY] = this.#mapping(plot, true);
    const bottom = bbox.top + bbox.height;
    ctx.save();
    for (const { line, xs, isSingle, nonFinite } of this.#lines) {
      if (!isSingle && nonFinite.length === 0) continue;
      ctx.fillStyle = ctx.strokeStyle = line.color;
      ctx.lineWidth = LINE_WIDTH * ratio;
      if (isSingle) {
        for (let i = 0; i < xs.length; i++) {
          const x = toX(xs[i]);
          const y = toY(line.value[i]);
          if (isInside(x, y, bbox)) dot(ctx, x, y, 3 * ratio);
        }
      }
      for (const { index, beside } of nonFinite) {
        const x = toX(xs[index]);
        if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue;
        const value = line.value[index];
        const size = 4 * ratio;
        if (value === Infinity) triangle(ctx, x, bbox.top + size, -size);
        else if (value === -Infinity) triangle(ctx, x, bottom - size, size);
        else {
          const y = toY(beside);
          cross(ctx, x, Number.isFinite(y) ? Math.min(bottom, Math.max(bbox.top, y)) : bottom - size, size * 0.8);
        }
      }
    }
    if (this.#options.yScale === "log" && this.#lines.every(({ line }) => !line.value.some((value) => value > 0))) {
      ctx.fillStyle = this.#colors.text;
      ctx.font = FONT.replace("11px", `${12 * ratio}px`);
      ctx.textAlign = "center";
      ctx.fillText("no value above 0 on a logarithmic axis", bbox.left + bbox.width / 2, bbox.top + bbox.height / 2);
    }
    ctx.restore();
  }

  #readColors() {
    const style = getComputedStyle(this.#element);
    this.#colors = {
      text: style.getPropertyValue("--tb-ink-3").trim() || "gray",
      grid: style.getPropertyValue("--tb-grid").trim() || "lightgray",
      surface: style.getPropertyValue("--tb-surface").trim() || "white",
    };
  }

  #resize() {
    const width = this.#element.clientWidth;
    const height = this.#element.clientHeight;
    if (!this.#plot) return this.#draw();
    if (width >= 40 && height >= 40 && (width !== this.#plot.width || height !== this.#plot.height)) {
      this.#plot.setSize({ width, height });
    }
  }

  #sizeOverlay() {
    const plot = this.#plot;
    if (!plot) return;
    this.#overlay.width = Math.max(1, plot.bbox.width);
    this.#overlay.height = Math.max(1, plot.bbox.height);
    this.#drawOverlay();
  }

  #destroyPlot() {
    this.#plot?.destroy();
    this.#plot = null;
  }

  #describe() {
    const { label, xAxis } = this.#options;
    const names = this.#lines.slice(0, 3).map(({ line }) => line.name);
    const more = this.#lines.length > names.length ? ` and ${this.#lines.length - names.length} more` : "";
    const [first, last] = this.#xExtent() ?? [0, 0];
    const format = { step: formatStep, relative: formatDuration, wall_time: formatTime }[xAxis];
    const axis = xAxis === "wall_time" ? "wall time" : xAxis;
    return `${label} by ${axis} from ${format(first)} to ${format(last)}: ${names.join(", ")}${more}`;
  }

  // --- hover, zoom, keys -------------------------------------------------------------------------------------------

  #listen() {
    const options = { signal: this.#closed.signal };
    const element = this.#element;
    element.addEventListener("pointermove", (event) => this.#onMove(event), options);
    element.addEventListener("pointerdown", (event) => this.#onDown(event), options);
    element.addEventListener("pointerup", (event) => this.#onUp(event), options);
    element.addEventListener("pointercancel", () => this.#cancelDrag(), options);
    // A finger leaves when it is lifted; what it pointed at stays until it touches something else.
    element.addEventListener("pointerleave", (event) => event.pointerType === "touch" || this.#leave(), options);
    document.addEventListener("pointerdown", (event) => event.composedPath().includes(element) || this.#leave(), options);
    element.addEventListener("dblclick", () => this.resetZoom(), options);
    element.addEventListener("keydown", (event) => this.#onKey(event), options);
    element.addEventListener("blur", () => this.#leave(), options);
    window.addEventListener("scroll", () => this.#tooltip.hide(), { ...options, passive: true, capture: true });
  }

  /**
   * @param {PointerEvent} event
   * @returns {{ left: number, top: number } | null} inside the plot; null outside
   */
  #position(event) {
    const plot = this.#plot;
    if (!plot) return null;
    const rect = plot.over.getBoundingClientRect();
    const left = event.clientX - rect.left;
    const top = event.clientY - rect.top;
    if (this.#dragStart !== null) return { left: Math.min(rect.width, Math.max(0, left)), top };
    return left >= -6 && left <= rect.width + 6 && top >= -6 && top <= rect.height + 6 ? { left, top } : null;
  }

  /** @param {PointerEvent} event */
  #onMove(event) {
    this.#pointer = this.#position(event);
    this.#reading = null;
    if (this.#dragStart !== null && this.#pointer) {
      const { left } = this.#pointer;
      this.#selection.hidden = Math.abs(left - this.#dragStart) < DRAG;
      this.#selection.style.left = `${Math.min(left, this.#dragStart)}px`;
      this.#selection.style.width = `${Math.abs(left - this.#dragStart)}px`;
    }
    this.#update();
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    const position = this.#position(event);
    if (event.button !== 0 || event.pointerType === "touch" || !position) return this.#onMove(event);
    this.#dragStart = position.left;
    this.#element.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  #onUp(event) {
    const plot = this.#plot;
    const start = this.#dragStart;
    const end = this.#position(event)?.left;
    this.#cancelDrag();
    if (!plot || start === null || end === undefined || Math.abs(end - start) < DRAG) return;
    const from = this.#xAt(plot, Math.min(start, end));
    const to = this.#xAt(plot, Math.max(start, end));
    if (to > from) this.#setZoom([from, to]);
    this.#draw();
  }

  #cancelDrag() {
    this.#dragStart = null;
    this.#selection.hidden = true;
  }

  #leave() {
    this.#pointer = null;
    this.#reading = null;
    this.#update();
  }

  /** @param {[number, number] | null} zoom */
  #setZoom(zoom) {
    const was = this.isZoomed;
    this.#zoom = zoom;
    if (was !== this.isZoomed) this.#options.onZoom?.(this.isZoomed);
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.#lines.length === 0) return;
    if (event.key === "Escape") {
      if (!this.#reading && !this.isZoomed) return;
      if (this.#reading) this.#leave();
      else this.resetZoom();
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      this.#walk(event.key === "ArrowLeft" ? -1 : 1, event.shiftKey ? 10 : 1);
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      this.#changeLine(event.key === "ArrowUp" ? -1 : 1);
    } else if (event.key === "Home" || event.key === "End") {
      this.#walk(event.key === "Home" ? -1 : 1, Infinity);
    } else return;
    event.preventDefault();
  }

  /**
   * @param {-1 | 1} direction
   * @param {number} count  of points
   */
  #walk(direction, count) {
    const line = this.#reading?.line ?? this.#lines[this.#lines.length - 1].line;
    const last = line.value.length - 1;
    // The first key goes to an end: where the walk begins, or with Home and End where it leads.
    const isFromEnd = direction < 0 !== (count === Infinity);
    const index = this.#reading ? this.#reading.index + direction * count : isFromEnd ? last : 0;
    this.#read(line, Math.min(last, Math.max(0, index)));
  }

  /** @param {-1 | 1} direction */
  #changeLine(direction) {
    const at = this.#lines.findIndex(({ line }) => line.name === this.#reading?.line.name);
    const next = this.#lines[(at + direction + this.#lines.length) % this.#lines.length];
    const current = this.#lines[at];
    const x = current && this.#reading ? current.xs[this.#reading.index] : Infinity;
    this.#read(next.line, Math.max(0, nearestIndex(next.xs, x, next.rising)));
  }

  /**
   * @param {Line} line
   * @param {number} index
   */
  #read(line, index) {
    this.#pointer = null;
    this.#reading = { line, index };
    this.#update();
  }

  /** Shows what is under the pointer or the arrow keys. */
  #update() {
    const hits = this.#hits();
    if (hits.length === 0) this.#tooltip.hide();
    else {
      const over = /** @type {uPlot} */ (this.#plot).over.getBoundingClientRect();
      const anchor = this.#pointer ?? hits[0];
      this.#tooltip.show(hits, { left: over.left + anchor.left, top: over.top + anchor.top }, this.#reading !== null);
    }
    this.#drawOverlay(hits);
  }

  /**
   * The points that are read just now, the nearest first.
   * @returns {Hit[]}
   */
  #hits() {
    const plot = this.#plot;
    if (!plot) return [];
    const [toX, toY] = this.#mapping(plot, false);
    const { width, height } = this.#overlayRect(plot);
    if (this.#reading) {
      const { line, index } = this.#reading;
      const prepared = this.#lines.find((candidate) => candidate.line.name === line.name);
      if (!prepared || index >= prepared.xs.length) return [];
      const top = toY(prepared.line.value[index]);
      return [{ line: prepared.line, index, left: toX(prepared.xs[index]), top: Number.isFinite(top) ? top : height }];
    }
    const pointer = this.#pointer;
    if (!pointer || this.#dragStart !== null) return [];
    const x = this.#xAt(plot, pointer.left);
    /** @type {(Hit & { distance: number })[]} */
    const hits = [];
    for (const { line, xs, rising } of this.#lines) {
      const index = nearestIndex(xs, x, rising);
      if (index === -1) continue;
      const left = toX(xs[index]);
      if (!(Math.abs(left - pointer.left) <= REACH) || left < -1 || left > width + 1) continue;
      const top = toY(line.value[index]);
      const isDrawn = Number.isFinite(top);
      const distance = isDrawn ? Math.hypot((left - pointer.left) / 4, top - pointer.top) : height;
      hits.push({ line, index, left, top: isDrawn ? top : NaN, distance });
    }
    return hits.sort((a, b) => a.distance - b.distance).slice(0, MOST_ROWS);
  }

  /** @param {uPlot} plot */
  #overlayRect(plot) {
    return { width: plot.bbox.width / uPlot.pxRatio, height: plot.bbox.height / uPlot.pxRatio };
  }

  /** @param {Hit[]} [hits] */
  #drawOverlay(hits = this.#hits()) {
    const plot = this.#plot;
    const context = this.#overlay.getContext("2d");
    if (!plot || !context) return;
    const ratio = uPlot.pxRatio;
    const { width, height } = this.#overlayRect(plot);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const nearest = hits[0];
    if (!nearest) return;

    context.strokeStyle = this.#colors.text;
    context.globalAlpha = 0.6;
    context.lineWidth = 1;
    const x = Math.round(nearest.left) + 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, height);
    context.stroke();
    context.globalAlpha = 1;

    const prepared = this.#lines.find(({ line }) => line.name === nearest.line.name);
    if (prepared && this.#lines.length > 1) {
      const [toX, toY] = this.#mapping(plot, false);
      const path = new Path2D();
      tracePath(path, prepared.xs, prepared.line.value, toX, toY);
      context.lineJoin = "round";
      context.strokeStyle = this.#colors.surface;
      context.lineWidth = LINE_WIDTH + 4;
      context.stroke(path);
      context.strokeStyle = prepared.line.color;
      context.lineWidth = LINE_WIDTH + 1.1;
      context.stroke(path);
    }
    for (const hit of hits.slice().reverse()) {
      if (Number.isNaN(hit.top)) continue;
      context.fillStyle = this.#colors.surface;
      dot(context, hit.left, hit.top, hit === nearest ? 5.5 : 4);
      context.fillStyle = hit.line.color;
      dot(context, hit.left, hit.top, hit === nearest ? 4 : 2.5);
    }
  }
}

/**
 * @param {Line} line
 * @param {XAxis} xAxis
 * @returns {Omit<Prepared, "line">}
 */
function prepare(line, xAxis) {
  let byAxis = preparedCache.get(line.value);
  if (!byAxis) preparedCache.set(line.value, (byAxis = new Map()));
  let prepared = byAxis.get(xAxis);
  if (!prepared) {
    const xs = xColumn(line, xAxis);
    prepared = {
      xs,
      rising: isRising(xs),
      xExtent: extent(xs),
      isSingle: countFinite(line.value, 2) < 2,
      nonFinite: nonFinitePoints(line.value),
    };
    byAxis.set(xAxis, prepared);
  }
  return prepared;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {uPlot.BBox} bbox
 */
function isInside(x, y, bbox) {
  return x >= bbox.left && x <= bbox.left + bbox.width && y >= bbox.top && y <= bbox.top + bbox.height;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} size  negative: pointing up
 */
function triangle(context, x, y, size) {
  context.beginPath();
  context.moveTo(x, y + size);
  context.lineTo(x - size, y - size);
  context.lineTo(x + size, y - size);
  context.fill();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function cross(context, x, y, size) {
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
}
