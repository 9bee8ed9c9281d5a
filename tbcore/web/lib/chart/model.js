/**
 * The content of a line chart in axis coordinates: its lines and bands as items, and the ranges of
 * its axes. And its content in words, for screen readers. No DOM.
 */

import { formatDuration, formatName, formatStep, formatTime, formatValue } from "../format.js";
import { axisColumn, padded, toAxis, union, valueAt } from "./axes.js";
import { extent, farLines, lastIndex, linearPart, nonFinitePoints, segmentsOf, visibleExtent, windowOf, xColumn } from "./series.js";
import { axisTicks } from "./ticks.js";

/**
 * @typedef {import("./types.js").Axis} Axis
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./types.js").XAxis} XAxis
 */

/** The fields of a line or band from which its item is computed (see `#convert`), without `value` and `mean`, which identify the item. */
const ITEM_INPUTS = /** @type {const} */ ([
  ...["step", "wallTime", "smoothed", "segments", "startTime", "faint", "overview"],
  ...["x", "low", "high", "inner", "nonfinite", "count", "overviewCount"],
]);

/** Minimum distance between ticks, in CSS pixels, by kind of axis. */
const MIN_TICK_DISTANCE_PX = { step: 52, number: 52, relative: 58, wall_time: 78, value: 26 };

/** Whether two x axes show different things. @param {import("./types.js").Axes} axes @param {import("./types.js").Axes} old */
export function isOtherAxis({ xAxis, xTitle }, old) {
  return xAxis !== old.xAxis || xTitle !== old.xTitle;
}

/** What a line chart shows. */
export class ChartModel {
  /** @type {import("./types.js").Axes} */ axes = { xAxis: "step", xTitle: "", xScale: "linear", yScale: "linear", clip: false };
  /** @type {readonly Line[]} */ lines = [];
  /** @type {readonly Band[]} */ bands = [];
  /** @type {typeof import("./bands.js") | null} null until there are bands */ bandCode = null;
  /** @type {typeof import("./left-out.js") | null} null until a chart may leave something out */ leftOut = null;
  /** @type {Item[]} faint lines, means and lines; of each kind, the first is drawn above the others */ items = [];
  /** @type {Range | null} the visible range of the x axis, in its units; null for the full range */
  view = null;
  /** @type {Range | null} range of all known x, in axis coordinates */ fullRange = null;
  /** @type {Item[]} items that reach far out of the range of all others */ farItems = [];
  /** @type {Range} visible range of the x axis, in axis coordinates */ #xRange = [0, 1];
  /** @type {Range} visible range of the y axis, in axis coordinates */ #yRange = [0, 1];
  #hasY = true;
  /** Ends of the linear parts of the x axis and the y axis, if these are symmetric-logarithmic. @type {(number | false)[]} */
  #linear = [false, false];

  /** @returns {Axis & { kind: XAxis }} */
  get x() {
    const { xAxis, xTitle: title, xScale } = this.axes;
    return { kind: xAxis, title, log: xAxis !== "wall_time" && (xScale === "log" || this.#linear[0]), range: this.#xRange, isEmpty: !this.view && !this.fullRange };
  }

  /** @returns {Axis} */
  get y() {
    return { kind: "value", log: this.axes.yScale === "log" || this.#linear[1], range: this.#yRange, isEmpty: !this.#hasY };
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

  /** The x range of the view, in axis coordinates; that of `x` follows in the next frame. */
  get visibleRange() {
    const { x } = this;
    const view = this.view?.map((value) => toAxis(x, value));
    return view?.every(Number.isFinite) ? /** @type {Range} */ (view) : padded(this.fullRange, 0.02);
  }

  /** The smallest and largest x of all data, in units of the x axis; null without points. */
  get xExtent() {
    const { x } = this;
    return this.fullRange && /** @type {Range} */ (this.fullRange.map((at) => valueAt(x, at)));
  }

  /**
   * Changes the axes.
   * @param {Partial<import("./types.js").Axes>} axes  missing properties do not change
   * @returns {boolean} whether any has changed
   */
  setAxes(axes) {
    const old = this.axes;
    this.axes = { ...old, ...axes };
    const isOther = isOtherAxis(this.axes, old);
    if (JSON.stringify(this.axes) === JSON.stringify(old)) return false;
    if (isOther) this.view = null;
    if (isOther || this.axes.xScale !== old.xScale) this.fullRange = null;
    this.items = [];
    this.updateItems();
    return true;
  }

  /** Makes the items of all lines and bands; those of unchanged columns are kept. */
  updateItems() {
    const { lines, bands, axes: { xAxis, xScale, yScale } } = this;
    const linear = [
      xScale === "symlog" && linearPart([...lines.map((line) => xColumn(line.overview ?? line, xAxis, line.startTime)), ...bands.map(({ overview, x }) => overview ?? x)], 0),
      yScale === "symlog" && linearPart([...lines.map((line) => (line.overview ?? line).value), ...bands.flatMap(({ low, high }) => [low, high])], 0.1),
    ];
    if (String(linear) !== String(this.#linear)) this.items = [];
    if (linear[0] !== this.#linear[0]) this.fullRange = null;
    this.#linear = linear;
    const old = new Map(this.items.map((item) => [item.line?.value ?? item.band?.mean, item]));
    /** @param {any} source  a line or band */
    const itemOf = (source) => {
      const [line, band] = source.value ? [source, null] : [null, source];
      const item = old.get(source.value ?? source.mean);
      const oldSource = /** @type {any} */ (item?.line ?? item?.band);
      const isSame = item && ITEM_INPUTS.every((key) => oldSource[key] === source[key]);
      const { name, color, run = name } = source;
      return { ...(isSame ? item : this.#convert(line, band)), line, band, name: formatName(line?.label ?? name), run, color };
    };
    const faint = this.lines.filter((line) => line.faint);
    const others = this.lines.filter((line) => !line.faint);
    this.items = [...faint, ...this.bands, ...others].map(itemOf).filter(({ xs }) => xs.length > 0);
    // While zoomed in, the new rows may be only those of the view, so the known full range is kept.
    this.fullRange = union([this.view && this.fullRange, this.axes.includeX ?? null, ...this.axisItems.map(({ xExtent }) => xExtent)]);
  }

  /** Converts a line or a band to axis coordinates. @param {Line | null} line @param {Band | null} band */
  #convert(line, band) {
    const { xAxis } = this.axes;
    const toCoordinates = (/** @type {Float64Array} */ column) => axisColumn(column, this.x.log);
    const xs = toCoordinates(line ? xColumn(line, xAxis, line.startTime) : /** @type {Band} */ (band).x);
    const whole = line?.overview ? xColumn(line.overview, xAxis, line.startTime) : band?.overview;
    const { overAll, segments, nonFinite } = band
      ? /** @type {NonNullable<typeof this.bandCode>} */ (this.bandCode).partsOfBand(band, xs)
      : { overAll: null, segments: segmentsOf(xs, line?.segments), nonFinite: nonFinitePoints(line?.value ?? []) };
    const all = (line ? [line.smoothed ?? line.value, line.smoothed && line.value] : [band?.mean, band?.low, band?.high, ...(band?.inner ?? []).flat()])
      .filter((column) => column != null)
      .map((column) => axisColumn(column, this.y.log));
    const [ys] = all;
    const columns = overAll?.(all) ?? all;
    return {
      ...{ xs, ys, columns, segments, nonFinite },
      raw: line && !line.faint ? (columns[1] ?? null) : null,
      ends: extent(xs),
      xExtent: whole ? union([extent(toCoordinates(whole)), extent(xs)]) : extent(xs),
      yExtent: union(columns.map(extent)) ?? extent(ys),
    };
  }

  /** Computes the visible ranges of the axes. @param {boolean} onlyX  keeps the range of the y axis */
  updateRanges(onlyX) {
    this.#xRange = this.visibleRange;
    if (!onlyX) this.#yRange = this.#visibleYRange();
  }

  /** Also finds the items that are far out of range. @returns {Range} */
  #visibleYRange() {
    const { axes: { clip, tail, include, includeX, limits }, leftOut } = this;
    const [min, to] = this.#xRange;
    const from = tail ? to - (to - min) / 5 : min;
    const { y } = this;
    const items = this.axisItems;
    const extents = items.map((item) => (this.view || tail ? union((this.bandCode?.rangeColumns(item, from, to) ?? item.columns).map((column) => visibleExtent(item.xs, column, from, to))) : item.yExtent));
    const far = farLines(extents);
    this.farItems = items.filter((_, index) => far.isFar[index]);
    const known = clip && leftOut ? leftOut.rangeWithoutOutliers(items, far, from, to) : union([...extents, ((!this.view || includeX) && include) || null]);
    this.#hasY = known !== null;
    const range = known && y.log && known[0] === known[1] ? /** @type {Range} */ ([known[0] - 0.3, known[0] + 0.3]) : padded(known, 0.06);
    return limits && leftOut ? leftOut.limitedRange(limits, y, range) : range;
  }

  /** The ticks of an axis. @param {"x" | "y"} which @param {number} length  CSS pixels */
  ticks(which, length) {
    const axis = this[which];
    return axis.isEmpty ? [] : axisTicks(axis, length / MIN_TICK_DISTANCE_PX[axis.kind], true);
  }

  /** @param {import("./types.js").Place} place @param {number | false} [right]  space beside the plot, CSS pixels; false for the usual */
  layOut(place, right) {
    const hasDates = this.axes.xAxis === "wall_time";
    return place((height) => this.ticks("y", height), (width) => this.ticks("x", width), { hasDates, right: right || 12 });
  }

  /**
   * The chart as it is drawn now.
   * @param {{ width: number, height: number }} size  of the plot, CSS pixels
   * @param {{ text: string, surface: string }} colors
   * @param {boolean} [isMoving]  whether a zoom or pan gesture is in progress
   * @returns {import("./types.js").Scene}
   */
  scene({ width, height }, colors, isMoving = false) {
    const { items, axisItems, x, y, axes: { clip, tail, limits }, bandCode } = this;
    return { bandCode, items, axisItems, x, y, width, height, clip: Boolean(clip || tail || limits), isMoving, colors };
  }
}

// --- words ---------------------------------------------------------------------------------------

/** Number of lines that the description names. */
const MAX_NAMES = 3;
/** Functions that format an x value. */
const X_FORMATS = { step: formatStep, number: formatStep, relative: formatDuration, wall_time: formatTime };

/** An x value as text. @param {XAxis} xAxis @param {number} x */
export function formatX(xAxis, x) {
  return X_FORMATS[xAxis](x);
}

/**
 * A chart for screen readers: its axes and lines, and its last values.
 * @param {string} label  what the chart shows
 * @param {ChartModel} model
 */
export function describe(label, { axes: { xAxis }, items, view, xExtent, x }) {
  const few = items.slice(0, MAX_NAMES);
  const more = items.length > few.length ? ` and ${items.length - few.length} more` : "";
  const whole = xExtent ?? [0, 0];
  const visible = view && [Math.max(view[0], whole[0]), Math.min(view[1], whole[1])];
  const [all, part] = [whole, visible].map((range) => range?.map((value) => formatX(xAxis, value)).join(" to "));
  const axis = { step: "step", number: x.title, relative: "relative time", wall_time: "wall time" }[xAxis];
  const names = few.map(({ name }) => name).join(", ");
  const end = view ? toAxis(x, view[1]) : Infinity;
  const lastValues = few.map(({ name, line, band, xs }) => {
    const last = lastIndex(xs, end, xAxis);
    return `${name} ${last < 0 ? "no value" : formatValue((line?.value ?? band?.mean ?? [])[last])}`;
  });
  return {
    label: `${label} by ${axis} from ${part ? `${part}, zoomed in from ${all}` : all}: ${names}${more}`,
    values: few.length > 0 ? `${view ? "Last values in view" : "Last values"}: ${lastValues.join(", ")}${more}` : "",
  };
}
