/**
 * A chart of the histograms of one series: stacked ridges with the newest in front, or curves on
 * one baseline. A ridge is identified by the index of its histogram in drawing order. Heights are
 * densities (samples per unit of the axis), exact to a pixel.
 *
 * Dragging zooms the axis of values, as in a line chart. The arrow keys step through buckets and
 * histograms.
 */

import { FONT, FONT_SIZE, addGestures, at, cancelDraw, drawAxes, limited, padded, pictureTools, scheduleDraw, shareOf, xColumn } from "tbcore/cards.js";
import { formatDuration, formatStep, formatTicks, formatTime, formatValue, numberTicks, plural } from "tbcore/format.js";
import { Tooltip, readOutNodes } from "tbcore/ui.js";
import { bucketAt, columnsOf, densityOf, rangeOf } from "./buckets.js";
import { amplitudeOf, baselinesOf, curveAt, fadedColor, positionTicks, ridgeAt, traceRidge } from "./ridges.js";

/**
 * @typedef {import("./types.js").Histogram} Histogram
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").Reading} Reading
 * @typedef {import("tbcore/cards.js").Layout} Layout
 * @typedef {CanvasRenderingContext2D} Context
 */

/** Height of a line of a label. */
const LINE_HEIGHT_PX = 13;
/** Width reserved for one label of the axis of values. */
const LABEL_WIDTH_PX = 58;
/** Maximum distance between the pointer and the bucket that the tooltip describes. */
const HOVER_REACH_PX = 3;

export class RidgeChart {
  /** @type {HTMLElement} */ #element;
  #label;
  #run = { name: "", color: "#888888" };
  /** @type {Pick<Options, "mode" | "y" | "trim" | "root">} */ #options = { mode: "offset", y: "step", trim: 0, root: false };
  #onHover;
  #onZoom;
  /** @type {readonly Histogram[]} in drawing order */ #histograms = [];
  /** @type {ArrayLike<number>} of the histograms on the vertical axis */ #positions = [];
  /** @type {Range | null} of all values, after trimming */ #fullRange = null;
  /** @type {Range | null} zoomed to; null for everything */ #view = null;
  /** @type {Range} of values that is drawn */ #x = [0, 1];
  /** @type {Layout | null} */ #layout = null;
  /** @type {Float64Array[]} of each histogram's columns, CSS pixels; a column is one device pixel wide */ #heights = [];
  /** @type {number[]} */ #baselines = [];
  #canvas = make("canvas", "tb-chart-canvas");
  #plot = make("div", "tb-chart-plot");
  #overlay = make("canvas", "tb-chart-overlay");
  #note = make("p", "tb-chart-note");
  #tooltip;
  #closed = new AbortController();
  /** @type {ResizeObserver} */ #resizes;
  /** @type {{ left: number, top: number } | null} CSS pixels inside the plot */ #pointer = null;
  /** @type {Reading | null} the bucket selected by the arrow keys */ #reading = null;
  #wasHovered = false;
  #colors = { text: "", grid: "", surface: "", ink: "" };

  /**
   * @param {HTMLElement} element  positioned and sized by the caller; gets the class `tb-chart`
   * @param {string} label  what the chart shows, for screen readers
   * @param {(isHovered: boolean) => void} onHover
   * @param {(isZoomed: boolean) => void} onZoom
   */
  constructor(element, label, onHover, onZoom) {
    this.#element = element;
    this.#label = label;
    this.#onHover = onHover;
    this.#onZoom = onZoom;
    this.#tooltip = new Tooltip(element);
    element.classList.add("tb-chart");
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-roledescription", "chart of histograms");
    this.#plot.append(this.#overlay, this.#note);
    element.append(this.#canvas, this.#plot);
    const { signal } = this.#closed;
    addGestures(
      element,
      this.#plot,
      {
        range: () => this.#layout && this.#x,
        show: (range) => this.#show(range),
        point: (point) => {
          this.#pointer = point;
          this.#reading = null;
          this.#update();
        },
        key: (event) => this.#onKey(event),
      },
      signal,
    );
    window.addEventListener("scroll", () => this.#tooltip.hide(), { signal, passive: true, capture: true });
    this.#resizes = new ResizeObserver(() => scheduleDraw(this.#draw, true));
    this.#resizes.observe(element);
  }

  /**
   * Replaces the histograms. The view stays as it is, unless the trim changes.
   * @param {readonly Histogram[]} histograms  in the order of the file
   * @param {{ name: string, color: string }} run
   * @param {Pick<Options, "mode" | "y" | "trim" | "root">} options
   */
  set(histograms, run, options) {
    const start = histograms[0]?.wallTime ?? 0;
    const positions = positionsOf(histograms, options.y, start);
    // Sorted by position, so that ridges further down are drawn in front.
    const order = Array.from(histograms.keys()).sort((a, b) => positions[a] - positions[b] || a - b);
    this.#histograms = order.map((index) => histograms[index]);
    this.#positions = positionsOf(this.#histograms, options.y, start);
    if (options.trim !== this.#options.trim) this.#setView(null);
    this.#run = run;
    this.#options = options;
    this.#fullRange = rangeOf(histograms, options.trim);
    this.#reading = this.#reading && this.#reading.ridge < histograms.length ? this.#reading : null;
    scheduleDraw(this.#draw);
    this.#updateLabel();
  }

  /** Redraws with the theme's current colours. Call it when the theme has changed. */
  restyle() {
    this.#colors.text = "";
    scheduleDraw(this.#draw);
  }

  /** Shows the full range of values. */
  resetZoom() {
    this.#show(null);
  }

  /** The chart as an SVG document. @returns {Promise<string>} */
  async toSVG() {
    const { frameSVG, PathData } = await pictureTools();
    const layout = this.#layout ?? { left: 40, top: 10, width: 100, height: 100, xTicks: [], yTicks: [] };
    const { clientWidth: width, clientHeight: height } = this.#element;
    const ridges = this.#histograms.map((_, ridge) => {
      const path = new PathData();
      traceRidge(path, this.#heights[ridge], 1 / devicePixelRatio, this.#baselines[ridge]);
      const strokes = this.#strokesOf(ridge).map(({ color, width: thick }) => `<path d="${path.data}" stroke="${color}" stroke-width="${thick}"/>`);
      const fill = this.#options.mode === "offset" ? `<path d="${path.data}" fill="${this.#color(ridge)}"/>` : "";
      return strokes[0] + fill + strokes.slice(1).join("");
    });
    const yTitle = this.#options.mode === "overlay" ? "density" : { step: "step", relative: "relative time", wall_time: "wall time" }[this.#options.y];
    /** @type {[string, string]} */
    const titles = ["value", yTitle];
    const frame = { label: this.#label, width, height, layout, titles, note: this.#notes(), colors: this.#colors };
    return frameSVG(frame, ridges, [this.#run]);
  }

  /** The chart as a PNG image. @returns {Promise<Blob>} image/png */
  async toPNG() {
    const { svgToPNG } = await pictureTools();
    return svgToPNG(await this.toSVG(), 2);
  }

  /** Removes the chart from its element. */
  destroy() {
    this.#closed.abort();
    this.#resizes.disconnect();
    this.#tooltip.destroy();
    if (this.#wasHovered) this.#onHover(false);
    cancelDraw(this.#draw);
    this.#canvas.remove();
    this.#plot.remove();
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  /** The range of all values, with padding. */
  #everything() {
    return padded(this.#fullRange, 0.02);
  }

  /** The visible range of values. @returns {Range} */
  #xRange() {
    return this.#view ?? this.#everything();
  }

  #draw = () => {
    const { clientWidth: width, clientHeight: height } = this.#element;
    const context = this.#canvas.getContext("2d");
    if (width < 60 || height < 60 || !context) return; // not laid out yet
    if (this.#colors.text === "") this.#readColors();
    const ratio = devicePixelRatio;
    resize(this.#canvas, width * ratio, height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    this.#plot.hidden = this.#histograms.length === 0;
    if (this.#plot.hidden) {
      this.#layout = null;
      this.#tooltip.hide();
      return;
    }
    this.#x = this.#xRange();
    context.font = `${FONT_SIZE}px ${FONT}`;
    const layout = this.#computeLayout(context, width, height, ratio);
    this.#layout = layout;
    drawAxes(context, { ...layout, yTicks: layout.yTicks.map(({ share }) => ({ share, label: "" })) }, this.#colors, ratio);
    this.#drawPositionLabels(context, layout);
    Object.assign(this.#plot.style, {
      left: `${layout.left}px`,
      top: `${layout.top}px`,
      width: `${layout.width}px`,
      height: `${layout.height}px`,
    });
    resize(this.#overlay, layout.width * ratio, layout.height * ratio);

    context.save();
    context.beginPath();
    context.rect(layout.left, layout.top, layout.width, layout.height + 1);
    context.clip();
    context.translate(layout.left, layout.top);
    this.#histograms.forEach((_, ridge) => this.#drawRidge(context, ridge, ratio));
    context.restore();
    this.#note.textContent = this.#notes();
    this.#update();
  };

  /**
   * Computes the layout of the chart, and all heights: in overlay mode the labels depend on the
   * heights, and the heights depend on the width that the labels leave.
   * @param {Context} context @param {number} width @param {number} height @param {number} ratio
   * @returns {Layout}
   */
  #computeLayout(context, width, height, ratio) {
    const top = 10;
    const plotHeight = height - top - 9 - LINE_HEIGHT_PX;
    const isOverlay = this.#options.mode === "overlay";
    const measure = (/** @type {{ label: string }} */ { label }) =>
      label.split("\n").reduce((widest, line) => Math.max(widest, Math.ceil(context.measureText(line).width)), 0);
    let left = 40;
    let yTicks = isOverlay ? [] : positionTicks(this.#options.y, this.#positions, plotHeight);
    // At most two passes: the labels of densities are known after the heights.
    for (let pass = 0; pass < 2; pass++) {
      left = Math.max(left, ...yTicks.map((tick) => measure(tick) + 12));
      this.#computeHeights(Math.max(1, Math.round((width - left - 12) * ratio)), plotHeight);
      if (!isOverlay) break;
      yTicks = this.#densityTicks(width - left - 12, plotHeight);
    }
    const plotWidth = width - left - 12;
    if (!this.#fullRange) return { left, top, width: plotWidth, height: plotHeight, xTicks: [], yTicks };
    const { at: values, spacing } = numberTicks(this.#x[0], this.#x[1], Math.max(2, Math.floor(plotWidth / LABEL_WIDTH_PX)));
    const labels = formatTicks(values, spacing);
    const xTicks = values.map((value, i) => ({ share: shareOf(this.#x, value), label: labels[i] }));
    return { left, top, width: plotWidth, height: plotHeight, xTicks, yTicks };
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
    const columns = this.#histograms.map(({ buckets }) => columnsOf(buckets, this.#x, numColumns));
    const count = columns.reduce((highest, column) => column.reduce((a, b) => Math.max(a, b), highest), 0);
    this.#baselines = mode === "overlay" ? this.#histograms.map(() => height) : baselinesOf(this.#positions, height);
    const isStacked = mode === "offset" && this.#baselines[0] < this.#baselines[this.#baselines.length - 1];
    this.#peak = { count, height: amplitudeOf(height, isStacked) };
    const scale = count > 0 ? this.#peak.height / (root ? Math.sqrt(count) : count) : 0;
    this.#heights = columns.map((column) => column.map((part) => (root ? Math.sqrt(part) : part) * scale));
  }

  /**
   * Ticks of the axis of densities, in overlay mode.
   * @param {number} width
   * @param {number} height
   */
  #densityTicks(width, height) {
    const { count, height: peakHeight } = this.#peak;
    const extent = this.#x[1] - this.#x[0];
    const peak = (count * this.#heights[0].length) / extent; // the highest density
    if (!(peak > 0) || !Number.isFinite(peak)) return [];
    const { at: values, spacing } = numberTicks(0, peak, Math.max(2, Math.floor(height / 30)));
    const labels = formatTicks(values, spacing);
    return values.map((value, i) => {
      const share = this.#options.root ? Math.sqrt(value / peak) : value / peak;
      return { share: (share * peakHeight) / height, label: labels[i] };
    });
  }

  /**
   * Draws the labels of the vertical axis; those with a date have two lines.
   * @param {Context} context
   * @param {Layout} layout
   */
  #drawPositionLabels(context, { left, top, height, yTicks }) {
    context.fillStyle = this.#colors.text;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { share, label } of yTicks) {
      const lines = label.split("\n").reverse(); // the date above the time of day
      lines.forEach((line, i) => {
        context.fillText(line, left - 6, top + (1 - share) * height + (i - lines.length + 1) * LINE_HEIGHT_PX);
      });
    }
  }

  /** The colour of a histogram. @param {number} ridge */
  #color(ridge) {
    const last = this.#histograms.length - 1;
    return fadedColor(this.#run.color, this.#colors.surface, last > 0 ? 1 - ridge / last : 0);
  }

  /** Draws a histogram. @param {Context} context @param {number} ridge @param {number} ratio */
  #drawRidge(context, ridge, ratio) {
    const path = new Path2D();
    traceRidge(path, this.#heights[ridge], 1 / ratio, this.#baselines[ridge]);
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
      { color: this.#colors.surface, width: 0.8 + Math.min(1.8, Math.max(0.6, spacing / 4)) },
      { color, width: 0.8 },
    ];
  }

  /** Notes on what the chart does not show. */
  #notes() {
    const { trim } = this.#options;
    const notes = trim > 0 ? [`${formatValue(trim)} % of the samples left out at each end`] : [];
    const numUnplaced = this.#histograms.reduce((sum, { buckets }) => sum + buckets.numUnplaced, 0);
    if (numUnplaced > 0) notes.push(`${plural(numUnplaced, "sample")} in buckets with infinite edges`);
    const numEmpty = this.#histograms.filter(({ buckets }) => !(buckets.total > 0)).length;
    if (numEmpty === this.#histograms.length) notes.push("no samples");
    else if (numEmpty > 0) notes.push(`${plural(numEmpty, "step")} without samples`);
    return notes.join(", ");
  }

  /** Reads the theme's colours from the style sheets. */
  #readColors() {
    const style = getComputedStyle(this.#element);
    const color = (/** @type {string} */ name, /** @type {string} */ other) => style.getPropertyValue(name).trim() || other;
    this.#colors = {
      text: color("--tb-ink-3", "gray"),
      grid: color("--tb-grid", "#dddddd"),
      surface: color("--tb-surface", "#ffffff"),
      ink: color("--tb-ink", "#000000"),
    };
  }

  /** Describes the contents to screen readers. */
  #updateLabel() {
    const first = this.#histograms[0];
    const last = this.#histograms[this.#histograms.length - 1];
    const values = this.#fullRange ? `, values from ${formatValue(this.#fullRange[0])} to ${formatValue(this.#fullRange[1])}` : "";
    const steps = first ? `${plural(this.#histograms.length, "histogram")} from step ${formatStep(first.step)} to ${formatStep(last.step)}` : "no histograms";
    this.#element.setAttribute("aria-label", `${this.#label}: ${steps}${values}`);
  }

  // --- hover, zoom, keys -------------------------------------------------------------------------------------------

  /** Zooms to a range of values; null shows everything. @param {Range | null} range */
  #show(range) {
    this.#setView(range && limited(range, this.#everything()));
    scheduleDraw(this.#draw, true);
  }

  /** Sets the visible range, without drawing. @param {Range | null} view */
  #setView(view) {
    const wasZoomed = this.#view !== null;
    this.#view = view;
    if (wasZoomed !== (view !== null)) this.#onZoom(view !== null);
  }

  /** Returns whether the key had an effect. @param {KeyboardEvent} event */
  #onKey({ key }) {
    const hasReading = this.#reading !== null;
    const last = this.#histograms.length - 1;
    const ridge = this.#reading?.ridge ?? last;
    const lastBucket = this.#histograms[ridge].buckets.left.length - 1;
    const bucket = this.#reading?.bucket ?? -1;
    if (key === "Escape") {
      if (!hasReading && !this.#view) return false;
      if (!hasReading) this.resetZoom();
      this.#read(null);
    } else if (key === "ArrowUp") this.#readRidge(hasReading ? Math.max(0, ridge - 1) : last);
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
    const { buckets } = this.#histograms[ridge];
    const { left, right } = buckets;
    const value = this.#reading?.value ?? (left.length > 0 ? left[0] / 2 + right[right.length - 1] / 2 : 0);
    this.#read({ ridge, bucket: bucketAt(buckets, value, Infinity), value });
  }

  /** Selects a bucket by its index. @param {number} ridge @param {number} bucket */
  #readBucket(ridge, bucket) {
    const { left, right } = this.#histograms[ridge].buckets;
    const index = Math.max(0, Math.min(left.length - 1, bucket));
    this.#read({ ridge, bucket: left.length > 0 ? index : -1, value: left.length > 0 ? left[index] / 2 + right[index] / 2 : 0 });
  }

  /** Selects a bucket by keyboard. @param {Reading | null} reading */
  #read(reading) {
    this.#pointer = null;
    this.#reading = reading;
    this.#update();
  }

  /**
   * The bucket under the pointer, otherwise the one selected by the arrow keys.
   * @returns {Reading | null}
   */
  #current() {
    const pointer = this.#pointer;
    const layout = this.#layout;
    if (!layout || !pointer) return this.#reading;
    const numColumns = this.#heights[0].length;
    const column = Math.max(0, Math.min(numColumns - 1, Math.floor((pointer.left / layout.width) * numColumns)));
    const ridge =
      this.#options.mode === "overlay"
        ? curveAt(this.#heights, column, layout.height - pointer.top)
        : ridgeAt(this.#heights, this.#baselines, column, pointer.top);
    const value = at(this.#x, pointer.left / layout.width);
    const reach = (HOVER_REACH_PX / layout.width) * (this.#x[1] - this.#x[0]);
    return ridge < 0 ? null : { ridge, bucket: bucketAt(this.#histograms[ridge].buckets, value, reach), value };
  }

  /** Updates the highlight and the tooltip when the pointer or the drawing has changed. */
  #update() {
    const reading = this.#current();
    this.#drawOverlay(reading);
    if ((reading !== null) !== this.#wasHovered) this.#onHover(reading !== null);
    this.#wasHovered = reading !== null;
    if (!reading || !this.#layout) return this.#tooltip.hide();
    const plot = this.#plot.getBoundingClientRect();
    const { left, top } = this.#pointer ?? {
      left: Math.max(0, Math.min(1, shareOf(this.#x, reading.value))) * this.#layout.width,
      top: this.#baselines[reading.ridge],
    };
    const readOut = this.#readOut(reading);
    this.#tooltip.show(readOutNodes(readOut), { left: plot.left + left, top: plot.top + top }, this.#reading ? readOut.spoken : null);
  }

  /** The text about a bucket. @param {Reading} reading @returns {import("tbcore/chart.js").ReadOut} */
  #readOut({ ridge, bucket, value }) {
    const histogram = this.#histograms[ridge];
    const { step, wallTime, min, max, num, buckets } = histogram;
    const start = this.#histograms.reduce((first, other) => Math.min(first, other.wallTime), wallTime);
    const isBucket = bucket >= 0;
    const edges = isBucket ? `${formatValue(buckets.left[bucket])} to ${formatValue(buckets.right[bucket])}` : `none at ${formatValue(value, 4)}`;
    const count = isBucket ? buckets.count[bucket] : 0;
    const share = buckets.total > 0 ? ` (${formatValue((100 * count) / buckets.total, 3)} %)` : "";
    const density = isBucket ? densityOf(buckets, bucket) : 0;
    return {
      name: this.#run.name,
      color: this.#color(ridge),
      rows: [
        ["Step", formatStep(step)],
        ["Bucket", edges],
        ["Count", `${formatStep(count)}${share}`],
        ["Density", formatValue(density, 4)],
        ["Samples", `${formatStep(num)} from ${formatValue(min)} to ${formatValue(max)}`],
        ["Relative", formatDuration(wallTime - start)],
      ],
      note: formatTime(wallTime),
      spoken: `step ${formatStep(step)}, ${isBucket ? `${edges}: ${plural(count, "sample")}` : "no bucket"}`,
    };
  }

  /** Highlights a bucket and its histogram. @param {Reading | null} reading */
  #drawOverlay(reading) {
    const context = this.#overlay.getContext("2d");
    const layout = this.#layout;
    if (!layout || !context) return;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, layout.width, layout.height);
    if (!reading || reading.ridge >= this.#histograms.length) return;
    const { ridge, bucket } = reading;
    const heights = this.#heights[ridge];
    const baseline = this.#baselines[ridge];
    const { left: lowerEdges, right: upperEdges } = this.#histograms[ridge].buckets;
    context.fillStyle = this.#colors.text;
    context.globalAlpha = 0.5;
    if (this.#options.mode === "offset") context.fillRect(0, Math.min(baseline, layout.height - 1), layout.width, 1);
    context.globalAlpha = 1;
    const path = new Path2D();
    traceRidge(path, heights, 1 / ratio, baseline);
    context.lineJoin = "round";
    context.strokeStyle = this.#colors.surface;
    context.lineWidth = 4;
    context.stroke(path);
    context.strokeStyle = this.#colors.ink;
    context.lineWidth = 1.4;
    context.stroke(path);
    if (bucket < 0) return;
    // Fill the bucket, at least one pixel wide.
    const from = Math.max(0, Math.min(heights.length - 1, Math.floor(shareOf(this.#x, lowerEdges[bucket]) * heights.length)));
    const to = Math.max(from + 1, Math.min(heights.length, Math.ceil(shareOf(this.#x, upperEdges[bucket]) * heights.length)));
    const area = new Path2D();
    traceRidge(area, heights, 1 / ratio, baseline, from, to);
    context.fillStyle = this.#colors.ink;
    context.globalAlpha = 0.65;
    context.fill(area);
    context.fillRect(from / ratio, Math.min(baseline, layout.height - 2), (to - from) / ratio, 2);
    context.globalAlpha = 1;
  }
}

/**
 * The positions of histograms on the vertical axis.
 * @param {readonly Histogram[]} histograms
 * @param {Options["y"]} kind
 * @param {number} start  seconds since the epoch
 */
function positionsOf(histograms, kind, start) {
  const step = Float64Array.from(histograms, (one) => one.step);
  const wallTime = Float64Array.from(histograms, (one) => one.wallTime);
  return xColumn({ step, wallTime, value: step }, kind, start);
}

/**
 * Resizes a canvas, which also clears it; does nothing if the size is the same.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width  device pixels
 * @param {number} height
 */
function resize(canvas, width, height) {
  if (canvas.width !== Math.round(width)) canvas.width = Math.round(width);
  if (canvas.height !== Math.round(height)) canvas.height = Math.round(height);
}

/**
 * Creates an element with a CSS class.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} kind
 * @param {string} className
 */
function make(kind, className) {
  const element = document.createElement(kind);
  element.className = className;
  return element;
}
