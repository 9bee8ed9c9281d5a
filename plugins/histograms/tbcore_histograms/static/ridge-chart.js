/**
 * A chart of the histograms of one series: stacked ridges with the newest in front, or curves on
 * one baseline. A ridge is identified by the index of its histogram in drawing order. Heights are
 * densities (samples per unit of the axis), exact to a pixel. Histograms are drawn in about 50 bins of
 * equal width, or with the buckets as logged if the option says so or if these are wider.
 *
 * Dragging zooms the axis of values, as in a line chart. The arrow keys step through buckets and
 * histograms. On the axis of steps, the step of all tabs has an outline, and a click or Enter moves it.
 */

import { ChartFrame, axisTicks } from "tbcore/cards.js";
import { Tooltip, readOutNodes } from "tbcore/tooltip.js";
import { bucketAt, columnsOf, rebin, shareOf } from "./buckets.js";
import { labelOf, notesOf, readOutOf, ridgeOf } from "./descriptions.js";
import { amplitudeOf, baselinesOf, curveAt, fadedColor, positionTicks, positionsOf, ridgeAt, traceRidge } from "./ridges.js";

/**
 * @typedef {import("./types.js").Buckets} Buckets
 * @typedef {import("./types.js").Histogram} Histogram
 * @typedef {Pick<import("./types.js").Options, "mode" | "y" | "trim" | "root" | "bins"> & { step?: number | null }} Options
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").Reading} Reading
 * @typedef {import("tbcore/cards.js").Layout} Layout
 * @typedef {CanvasRenderingContext2D} Context
 */

/** Space for one label of the axis of values, and of the axis of densities. */
const LABEL_SIZE_PX = { width: 58, height: 30 };
/** Maximum distance between the pointer and the bucket that the tooltip describes. */
const HOVER_REACH_PX = 3;

export class RidgeChart {
  #frame;
  #label;
  #run = { name: "", color: "#888888" };
  /** @type {Options} */ #options = { mode: "offset", y: "step", trim: 0, root: false, bins: "equal" };
  #onHover;
  #onZoom;
  #onStep;
  /** @type {readonly Histogram[]} in drawing order */ #histograms = [];
  /** @type {readonly Buckets[]} what is drawn of each histogram: bins, or its buckets */ #drawn = [];
  /** @type {ArrayLike<number>} of the histograms on the vertical axis */ #positions = [];
  /** @type {Range | null} of the axis, without its margin */ #fullRange = null;
  /** @type {Range | null} zoomed to; null for everything */ #view = null;
  /** @type {Range} of values that is drawn */ #x = [0, 1];
  /** @type {Float64Array[]} of each histogram's columns, CSS pixels; a column is one device pixel wide */ #heights = [];
  /** @type {number[]} */ #baselines = [];
  #tooltip;
  /** @type {{ left: number, top: number } | null} CSS pixels inside the plot */ #pointer = null;
  /** @type {Reading | null} the bucket selected by the arrow keys */ #reading = null;
  #wasHovered = false;

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {string} label  what the chart shows, for screen readers
   * @param {(isHovered: boolean) => void} onHover
   * @param {(isZoomed: boolean) => void} onZoom
   * @param {(step: number | null) => void} onStep
   */
  constructor(element, label, onHover, onZoom, onStep) {
    this.#label = label;
    this.#onHover = onHover;
    this.#onZoom = onZoom;
    this.#onStep = onStep;
    this.#tooltip = new Tooltip(element);
    this.#frame = new ChartFrame(element, "chart of histograms", {
      isEmpty: () => this.#histograms.length === 0,
      layOut: (place) => this.#layOut(place),
      draw: (context, layout) => this.#draw(context, layout),
      update: () => this.#update(),
      hideTooltip: () => this.#tooltip.hide(),
      range: () => this.#frame.layout && (this.#view ?? this.#everything()),
      full: () => this.#everything(),
      show: (range) => this.#show(range),
      point: (point) => {
        this.#pointer = point;
        this.#reading = null;
        this.#update();
      },
      click: () => this.#pin(),
      key: (event) => this.#onKey(event.key),
    });
    this.#frame.plot.append(this.#frame.note);
  }

  /**
   * Replaces the histograms. The view stays as it is, unless the trim changes.
   * @param {readonly Histogram[]} histograms  in the order of the file
   * @param {{ label: string, color: string }} run
   * @param {Options} options
   * @param {Range | null} own  range of the values, after trimming; null if there are none
   * @param {Range | null} full  range of the axis, which contains `own`
   */
  set(histograms, run, options, own, full) {
    const start = histograms[0]?.wallTime ?? 0;
    const positions = positionsOf(histograms, options.y, start);
    // Sorted by position, so that ridges further down are drawn in front.
    const order = Array.from(histograms.keys()).sort((a, b) => positions[a] - positions[b] || a - b);
    this.#histograms = order.map((index) => histograms[index]);
    this.#positions = positionsOf(this.#histograms, options.y, start);
    if (options.trim !== this.#options.trim) this.#setView(null);
    this.#run = { name: run.label, color: run.color };
    this.#options = options;
    this.#fullRange = full;
    this.#reading = this.#reading && this.#reading.ridge < histograms.length ? this.#reading : null;
    this.#rebin();
    this.#frame.scheduleDraw();
    this.#frame.element.setAttribute("aria-label", labelOf(this.#label, this.#histograms, own));
  }

  /** Redraws with the theme's current colours. Call it when the theme has changed. */
  restyle() {
    this.#frame.restyle();
  }

  /** Shows the full range of values. */
  resetZoom() {
    this.#show(null);
  }

  /** The chart as an SVG document. @returns {Promise<string>} */
  async toSVG() {
    const { ridgePicture } = await import("./ridge-picture.js");
    const ridges = this.#histograms.map((_, ridge) => ({ heights: this.#heights[ridge], baseline: this.#baselines[ridge], color: this.#color(ridge), strokes: this.#strokesOf(ridge) }));
    return ridgePicture(this.#label, this.#frame, ridges, this.#options, notesOf(this.#histograms, this.#options.trim), this.#run);
  }

  /** Removes the chart from its element. */
  destroy() {
    this.#frame.destroy();
    this.#tooltip.destroy();
    if (this.#wasHovered) this.#onHover(false);
  }

  // --- drawing -----------------------------------------------------------------------------------

  /** The range of all values, with a margin. @returns {Range} */
  #everything() {
    return ChartFrame.withMargin(this.#fullRange);
  }

  /**
   * Places the axes, and computes all heights.
   * @param {import("tbcore/cards.js").Place} place
   * @returns {Layout}
   */
  #layOut(place) {
    const { trim, step } = this.#options;
    this.#frame.note.textContent = this.#frame.note.title = notesOf(this.#histograms, trim, step);
    this.#rebin();
    const isOverlay = this.#options.mode === "overlay";
    /** @param {number} width @param {number} height  of the plot */
    const computeHeights = (width, height) => this.#computeHeights(Math.max(1, Math.round(width * devicePixelRatio)), height);
    let plotHeight = 0;
    const layout = place(
      (height) => {
        plotHeight = height;
        if (!isOverlay) return positionTicks(this.#options.y, this.#positions, height);
        // The labels of densities depend on the heights, and these on the width that labels leave.
        // They are made first for labels of the usual width, and again when the width is known.
        computeHeights(this.#frame.element.clientWidth - 52, height);
        return this.#densityTicks(height);
      },
      (width) => {
        computeHeights(width, plotHeight);
        return this.#fullRange ? axisTicks({ kind: "value", log: false, range: this.#x }, width / LABEL_SIZE_PX.width) : [];
      },
    );
    return isOverlay ? { ...layout, yTicks: this.#densityTicks(plotHeight) } : layout;
  }

  /** Sets the range of the axis, and the bins for it; the selected bin is at the same value. */
  #rebin() {
    this.#x = this.#view ?? this.#everything();
    this.#drawn = this.#histograms.map(({ buckets }) => (this.#options.bins === "equal" ? rebin(buckets, this.#x) : buckets));
    const reading = this.#reading;
    if (reading) this.#reading = { ...reading, bucket: bucketAt(this.#drawn[reading.ridge], reading.value, Infinity) };
  }

  /** `count`: number of samples in the highest column; `height`: its height in CSS pixels. */
  #peak = { count: 0, height: 0 };

  /**
   * Computes baselines and heights.
   * @param {number} numColumns
   * @param {number} height  of the plot
   */
  #computeHeights(numColumns, height) {
    const { mode, root } = this.#options;
    const columns = this.#drawn.map((buckets) => columnsOf(buckets, this.#x, numColumns));
    const count = columns.reduce((highest, column) => column.reduce((a, b) => Math.max(a, b), highest), 0);
    this.#baselines = mode === "overlay" ? this.#histograms.map(() => height) : baselinesOf(this.#positions, height);
    const isStacked = mode === "offset" && this.#baselines[0] < this.#baselines[this.#baselines.length - 1];
    this.#peak = { count, height: amplitudeOf(height, isStacked) };
    const scale = count > 0 ? this.#peak.height / (root ? Math.sqrt(count) : count) : 0;
    this.#heights = columns.map((column) => column.map((part) => (root ? Math.sqrt(part) : part) * scale));
  }

  /** Ticks of the axis of densities, in overlay mode. @param {number} height  of the plot */
  #densityTicks(height) {
    const { count, height: peakHeight } = this.#peak;
    const peak = (count * this.#heights[0].length) / (this.#x[1] - this.#x[0]); // the highest density
    if (!(peak > 0) || !Number.isFinite(peak)) return [];
    const ticks = axisTicks({ kind: "value", log: false, range: [0, peak] }, height / LABEL_SIZE_PX.height);
    return ticks.map((tick) => ({ ...tick, share: ((this.#options.root ? Math.sqrt(tick.share) : tick.share) * peakHeight) / height }));
  }

  /** Draws all histograms. @param {Context} context @param {Layout} layout */
  #draw(context, { width, height }) {
    context.beginPath();
    context.rect(0, 0, width, height + 1);
    context.clip();
    this.#histograms.forEach((_, ridge) => this.#drawRidge(context, ridge));
    return 0;
  }

  /** The colour of a histogram. @param {number} ridge */
  #color(ridge) {
    const last = this.#histograms.length - 1;
    return fadedColor(this.#run.color, this.#frame.colors.surface, last > 0 ? 1 - ridge / last : 0);
  }

  /** Draws a histogram. @param {Context} context @param {number} ridge */
  #drawRidge(context, ridge) {
    const path = new Path2D();
    traceRidge(path, this.#heights[ridge], 1 / devicePixelRatio, this.#baselines[ridge]);
    context.lineJoin = "round";
    const [first, ...others] = this.#strokesOf(ridge);
    stroke(first);
    if (this.#options.mode === "offset") {
      context.fillStyle = this.#color(ridge);
      context.fill(path);
    }
    others.forEach(stroke);

    /** @param {{ color: string, width: number }} pen */
    function stroke({ color, width }) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke(path);
    }
  }

  /** The outlines of a ridge; all but the first are drawn over its fill. @param {number} ridge */
  #strokesOf(ridge) {
    const color = this.#color(ridge);
    if (this.#options.mode === "overlay") return [{ color, width: this.#histograms.length > 12 ? 1 : 1.4 }];
    // The light edge is drawn around the ridge: inside the ridge, the edge would cover parts that
    // are one pixel wide.
    const spacing = (this.#baselines[this.#baselines.length - 1] - this.#baselines[0]) / this.#baselines.length;
    return [
      { color: this.#frame.colors.surface, width: 0.8 + Math.min(1.8, Math.max(0.6, spacing / 4)) },
      { color, width: 0.8 },
    ];
  }

  // --- hover, zoom, keys -------------------------------------------------------------------------

  /** Zooms to a range of values; null shows everything. @param {Range | null} range */
  #show(range) {
    this.#setView(range);
    this.#frame.scheduleDraw(true);
  }

  /** Sets the visible range, without drawing. @param {Range | null} view */
  #setView(view) {
    const wasZoomed = this.#view !== null;
    this.#view = view;
    if (wasZoomed !== (view !== null)) this.#onZoom(view !== null);
  }

  /** Returns whether the key had an effect. @param {string} key */
  #onKey(key) {
    const hasReading = this.#reading !== null;
    const last = this.#histograms.length - 1;
    const ridge = this.#reading?.ridge ?? last;
    const lastBucket = this.#drawn[ridge].left.length - 1;
    const bucket = this.#reading?.bucket ?? -1;
    if (key === "Escape") {
      if (!hasReading && !this.#view) return false;
      if (!hasReading) this.resetZoom();
      this.#read(null);
    } else if (key === "Enter" && hasReading) this.#pin();
    else if (key === "ArrowUp") this.#readRidge(hasReading ? Math.max(0, ridge - 1) : last);
    else if (key === "ArrowDown") this.#readRidge(hasReading ? Math.min(last, ridge + 1) : last);
    else if (key === "ArrowLeft") this.#readBucket(ridge, hasReading ? bucket - 1 : lastBucket);
    else if (key === "ArrowRight") this.#readBucket(ridge, hasReading ? bucket + 1 : 0);
    else if (key === "Home") this.#readBucket(ridge, 0);
    else if (key === "End") this.#readBucket(ridge, lastBucket);
    else return false;
    return true;
  }

  /** Selects the bucket of another histogram at the same value. @param {number} ridge */
  #readRidge(ridge) {
    const buckets = this.#drawn[ridge];
    const { left, right } = buckets;
    const value = this.#reading?.value ?? (left.length > 0 ? left[0] / 2 + right[right.length - 1] / 2 : 0);
    this.#read({ ridge, bucket: bucketAt(buckets, value, Infinity), value });
  }

  /** Selects a bucket by its index. @param {number} ridge @param {number} bucket */
  #readBucket(ridge, bucket) {
    const { left, right } = this.#drawn[ridge];
    const index = Math.max(0, Math.min(left.length - 1, bucket));
    this.#read({ ridge, bucket: left.length > 0 ? index : -1, value: left.length > 0 ? left[index] / 2 + right[index] / 2 : 0 });
  }

  /** Selects a bucket by keyboard. @param {Reading | null} reading */
  #read(reading) {
    this.#pointer = null;
    this.#reading = reading;
    this.#update();
  }

  /** Moves all tabs to the step of the current histogram; to the latest if they are there. */
  #pin() {
    const step = this.#histograms[this.#current()?.ridge ?? -1]?.step;
    if (step !== undefined && this.#options.y === "step") this.#onStep(step === this.#options.step ? null : step);
  }

  /**
   * The bucket under the pointer, otherwise the one selected by the arrow keys.
   * @returns {Reading | null}
   */
  #current() {
    const pointer = this.#pointer;
    const { layout } = this.#frame;
    if (!layout || !pointer) return this.#reading;
    const numColumns = this.#heights[0].length;
    const column = Math.max(0, Math.min(numColumns - 1, Math.floor((pointer.left / layout.width) * numColumns)));
    const ridge =
      this.#options.mode === "overlay"
        ? curveAt(this.#heights, column, layout.height - pointer.top)
        : ridgeAt(this.#heights, this.#baselines, column, pointer.top);
    const [from, to] = this.#x;
    const value = from + (pointer.left / layout.width) * (to - from);
    const reach = (HOVER_REACH_PX / layout.width) * (to - from);
    return ridge < 0 ? null : { ridge, bucket: bucketAt(this.#drawn[ridge], value, reach), value };
  }

  /** Updates the highlight and the tooltip when the pointer or the drawing has changed. */
  #update() {
    const reading = this.#current();
    this.#drawOverlay(reading);
    if ((reading !== null) !== this.#wasHovered) this.#onHover(reading !== null);
    this.#wasHovered = reading !== null;
    const { layout } = this.#frame;
    if (!reading || !layout) return this.#tooltip.hide();
    const plot = this.#frame.plot.getBoundingClientRect();
    const { left, top } = this.#pointer ?? {
      left: Math.max(0, Math.min(1, shareOf(this.#x, reading.value))) * layout.width,
      top: this.#baselines[reading.ridge],
    };
    const readOut = readOutOf(reading, this.#histograms, this.#drawn[reading.ridge], { name: this.#run.name, color: this.#color(reading.ridge) });
    this.#tooltip.show(readOutNodes(readOut), { left: plot.left + left, top: plot.top + top }, this.#reading ? readOut.spoken : null);
  }

  /** Highlights a bucket and its histogram, and that of the step of all tabs. @param {Reading | null} reading */
  #drawOverlay(reading) {
    const context = this.#frame.clearOverlay();
    if (!context) return;
    this.#highlight(context, { ridge: ridgeOf(this.#histograms, this.#options.step), bucket: -1 });
    if (reading) this.#highlight(context, reading);
  }

  /** @param {Context} context @param {Pick<Reading, "ridge" | "bucket">} reading */
  #highlight(context, { ridge, bucket }) {
    const { layout, colors } = this.#frame;
    if (!layout || !this.#histograms[ridge]) return;
    const ratio = devicePixelRatio;
    const heights = this.#heights[ridge];
    const baseline = this.#baselines[ridge];
    const { left: lowerEdges, right: upperEdges } = this.#drawn[ridge];
    context.fillStyle = colors.text;
    context.globalAlpha = 0.5;
    if (this.#options.mode === "offset") context.fillRect(0, Math.min(baseline, layout.height - 1), layout.width, 1);
    context.globalAlpha = 1;
    const path = new Path2D();
    traceRidge(path, heights, 1 / ratio, baseline);
    context.lineJoin = "round";
    context.strokeStyle = colors.surface;
    context.lineWidth = 4;
    context.stroke(path);
    context.strokeStyle = colors.ink;
    context.lineWidth = 1.4;
    context.stroke(path);
    if (bucket < 0) return;
    // Fill the bucket, at least one pixel wide.
    const from = Math.max(0, Math.min(heights.length - 1, Math.floor(shareOf(this.#x, lowerEdges[bucket]) * heights.length)));
    const to = Math.max(from + 1, Math.min(heights.length, Math.ceil(shareOf(this.#x, upperEdges[bucket]) * heights.length)));
    const area = new Path2D();
    traceRidge(area, heights, 1 / ratio, baseline, from, to);
    context.fillStyle = colors.ink;
    context.globalAlpha = 0.65;
    context.fill(area);
    context.fillRect(from / ratio, Math.min(baseline, layout.height - 2), (to - from) / ratio, 2);
    context.globalAlpha = 1;
  }
}
