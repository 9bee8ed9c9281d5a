/**
 * The content of a line chart in axis coordinates: its lines and bands as items, and the ranges of
 * its axes. No DOM.
 */

import { axisColumn, fromAxis, padded, toAxis, union } from "./ranges.js";
import { clipRange, extent, newNonFinitePoints, nonFinitePoints, segmentsOf, visibleExtent, windowOf, xColumn } from "./series.js";
import { axisTicks } from "./ticks.js";

/**
 * @typedef {import("./types.js").Axis} Axis
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Range} Range
 */

/**
 * The fields of a line or band from which its item is computed (see `makeItem`), without `value`
 * and `mean`, which identify the item.
 */
const ITEM_INPUTS = [
  ...["step", "wallTime", "smoothed", "segments", "startTime", "faint", "overview"],
  ...["x", "low", "high", "inner", "nonfinite"],
];

/** Minimum distance between ticks, in CSS pixels, by kind of axis. */
const MIN_TICK_DISTANCE_PX = { step: 52, relative: 58, wall_time: 78, value: 26 };

/** What a line chart shows. */
export class ChartModel {
  /** @type {import("./types.js").Axes} */ axes = { xAxis: "step", xScale: "linear", yScale: "linear", clip: false };
  /** @type {readonly Line[]} */ lines = [];
  /** @type {readonly Band[]} */ bands = [];
  /** @type {Item[]} in drawing order */ items = [];
  /** @type {Range | null} the visible range of the x axis, in its units; null for the full range */
  view = null;
  /** @type {Range | null} range of all known x, in axis coordinates */ fullRange = null;
  /** @type {Range} visible range of the x axis, in axis coordinates */ #xRange = [0, 1];
  /** @type {Range} visible range of the y axis, in axis coordinates */ #yRange = [0, 1];

  /** @returns {Axis} */
  get x() {
    const { xAxis, xScale } = this.axes;
    return { kind: xAxis, log: xScale === "log" && xAxis !== "wall_time", range: this.#xRange };
  }

  /** @returns {Axis} */
  get y() {
    return { kind: "value", log: this.axes.yScale === "log", range: this.#yRange };
  }

  /** The items that determine the ranges of the axes: all but faint lines, or all if there are only faint lines. */
  get axisItems() {
    const axisItems = this.items.filter(({ line }) => !line?.faint);
    return axisItems.length > 0 ? axisItems : this.items;
  }

  /** The full x range with a margin, in axis coordinates; null if it is not known. */
  get paddedFullRange() {
    return this.fullRange && padded(this.fullRange, 0.02);
  }

  /** The smallest and largest x of all data, in units of the x axis; null without points. */
  get xExtent() {
    const { x } = this;
    return this.fullRange && /** @type {Range} */ (this.fullRange.map((at) => fromAxis(x, at)));
  }

  /**
   * Changes the axes.
   * @param {Partial<import("./types.js").Axes>} axes  missing properties do not change
   * @returns {boolean} whether any has changed
   */
  setAxes(axes) {
    const old = this.axes;
    this.axes = { ...old, ...axes };
    const { xAxis, xScale, yScale, clip } = this.axes;
    const isNewX = xAxis !== old.xAxis || xScale !== old.xScale;
    if (!isNewX && yScale === old.yScale && clip === old.clip) return false;
    if (xAxis !== old.xAxis) this.view = null;
    if (isNewX) this.fullRange = null;
    this.items = [];
    this.updateItems();
    return true;
  }

  /** Makes the items of all lines and bands; those of unchanged columns are kept. */
  updateItems() {
    const old = new Map(this.items.map((item) => [item.line?.value ?? item.band?.mean, item]));
    /** @param {any} source  a line or band */
    const itemOf = (source) => {
      const line = source.value ? source : null;
      const band = line ? null : source;
      const item = old.get(source.value ?? source.mean);
      const oldSource = /** @type {any} */ (item?.line ?? item?.band);
      const { name, color, run = name } = source;
      return item && ITEM_INPUTS.every((key) => oldSource[key] === source[key]) ? { ...item, line, band, name, run, color } : this.#makeItem(line, band);
    };
    const faint = this.lines.filter((line) => line.faint);
    const others = this.lines.filter((line) => !line.faint);
    this.items = [...faint, ...this.bands, ...others].map(itemOf).filter(({ xs }) => xs.length > 0);
    // While zoomed in, the new rows may be only those of the view, so the known full range is kept.
    this.fullRange = union([this.view && this.fullRange, ...this.axisItems.map(({ xExtent }) => xExtent)]);
  }

  /**
   * Converts a line or a band to axis coordinates.
   * @param {Line | null} line  null for a band
   * @param {Band | null} band  null for a line
   * @returns {Item}
   */
  #makeItem(line, band) {
    const { name, color } = /** @type {Line | Band} */ (line ?? band);
    const { xAxis } = this.axes;
    const toCoordinates = (/** @type {Float64Array} */ column) => axisColumn(column, this.x.log);
    const xs = toCoordinates(line ? xColumn(line, xAxis, line.startTime) : /** @type {Band} */ (band).x);
    const whole = line?.overview ? xColumn(line.overview, xAxis, line.startTime) : band?.overview;
    const columns = (line ? [line.smoothed ?? line.value, line.smoothed && line.value] : [band?.mean, band?.low, band?.high, ...(band?.inner ?? []).flat()])
      .filter((column) => column != null)
      .map((column) => axisColumn(column, this.y.log));
    return {
      ...{ line, band, name, run: line?.run ?? name, color, xs, columns, segments: segmentsOf(xs, line?.segments) },
      ys: columns[0],
      raw: line && !line.faint ? (columns[1] ?? null) : null,
      ends: extent(xs),
      xExtent: whole ? union([extent(toCoordinates(whole)), extent(xs)]) : extent(xs),
      yExtent: union(columns.map(extent)),
      nonFinite: line ? nonFinitePoints(line.value) : band ? newNonFinitePoints(band) : [],
    };
  }

  /** Computes the visible ranges of the axes. @param {boolean} onlyX  keeps the range of the y axis */
  updateRanges(onlyX) {
    const { x } = this;
    const view = this.view?.map((value) => toAxis(x, value));
    this.#xRange = view?.every(Number.isFinite) ? /** @type {Range} */ (view) : padded(this.fullRange, 0.02);
    if (!onlyX) this.#yRange = this.#visibleYRange();
  }

  /** @returns {Range} */
  #visibleYRange() {
    const [from, to] = this.#xRange;
    const { log } = this.y;
    const range = union(
      this.axisItems.map(({ xs, raw, ys, columns, segments, line, yExtent }) => {
        if (this.axes.clip && line) return union(segments.map((segment) => clipRange(raw ?? ys, ...windowOf(xs, segment, from, to))));
        return this.view ? union(columns.map((column) => visibleExtent(xs, column, from, to))) : yExtent;
      }),
    );
    if (!range) return log ? [-1, 1] : [0, 1];
    return log && range[0] === range[1] ? [range[0] - 0.3, range[1] + 0.3] : padded(range, 0.06);
  }

  /** The ticks of an axis. @param {"x" | "y"} which @param {number} length  CSS pixels */
  ticks(which, length) {
    const axis = this[which];
    return axisTicks(axis, length / MIN_TICK_DISTANCE_PX[axis.kind]);
  }

  /** @param {import("./types.js").Place} place @param {boolean} hasNote */
  layOut(place, hasNote) {
    const hasDates = this.axes.xAxis === "wall_time";
    return place((height) => this.ticks("y", height), (width) => this.ticks("x", width), { hasNote, hasDates });
  }

  /**
   * The chart as it is drawn now.
   * @param {{ width: number, height: number }} size  of the plot, CSS pixels
   * @param {{ text: string, surface: string }} colors
   * @param {boolean} [isMoving]  whether a zoom or pan gesture is in progress
   * @returns {import("./types.js").Scene}
   */
  scene({ width, height }, colors, isMoving = false) {
    const { items, axisItems, x, y, axes } = this;
    return { items, axisItems, x, y, width, height, clip: axes.clip, isMoving, colors };
  }
}
