/** What a line chart says in words: what it leaves out, and its content for screen readers. */

import { formatDuration, formatStep, formatTime, formatValue } from "../../format.js";
import { toAxis } from "./ranges.js";
import { lastIndex, windowOf } from "./series.js";

/** @typedef {import("./types.js").Item} Item @typedef {import("./types.js").XAxis} XAxis */

/** Number of lines that the description names. */
const MAX_NAMES = 3;
/** Functions that format an x value. */
const X_FORMATS = { step: formatStep, relative: formatDuration, wall_time: formatTime };

/** An x value as text. @param {XAxis} xAxis @param {number} x */
export function formatX(xAxis, x) {
  return X_FORMATS[xAxis](x);
}

/**
 * A note on values that are not shown, such as clipped outliers. It does not count them, because
 * the rows may be a sample of all points.
 * @param {import("./model.js").ChartModel} model
 */
export function noteOf({ axisItems, x, y, axes: { clip } }) {
  /** @type {string[]} */
  const notes = [];
  const [bottom, top] = y.range;
  /**
   * The distinct results of a test for the visible points; undefined is ignored.
   * @param {(item: Item, i: number) => boolean | undefined} test
   */
  const resultsOf = (test) => {
    const results = new Set();
    for (const item of axisItems) {
      for (const segment of item.segments) {
        const [from, to] = windowOf(item.xs, segment, ...x.range);
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
   * @param {string} what @param {(item: Item, i: number) => boolean | undefined} isHidden
   */
  const addHidden = (what, isHidden) => {
    const results = resultsOf(isHidden);
    if (!results.has(true)) return;
    notes.push(results.has(false) ? `${what}s ≤ 0 not shown` : `no positive ${what}s to show on a log axis`);
  };
  const isCut = (/** @type {number} */ value) => Number.isFinite(value) && (value < bottom || value > top);
  if (clip && resultsOf(({ line, raw, ys }, i) => line !== null && isCut((raw ?? ys)[i])).has(true)) notes.push("outliers clipped");
  if (x.log) addHidden(x.kind === "step" ? "step" : "time", ({ xs }, i) => !Number.isFinite(xs[i]));
  if (y.log) {
    addHidden("value", ({ line, band, raw, ys }, i) => {
      const value = line?.value ?? band?.mean;
      return value && Number.isFinite(value[i]) ? !Number.isFinite((raw ?? ys)[i]) : undefined;
    });
  }
  return notes.join(", ");
}

/**
 * A chart for screen readers: its axes and lines, and its last values.
 * @param {string} label  what the chart shows
 * @param {import("./model.js").ChartModel} model
 */
export function describe(label, { axes: { xAxis }, items, view, xExtent, x }) {
  const few = items.slice(0, MAX_NAMES);
  const more = items.length > few.length ? ` and ${items.length - few.length} more` : "";
  const whole = xExtent ?? [0, 0];
  const visible = view && [Math.max(view[0], whole[0]), Math.min(view[1], whole[1])];
  const [all, part] = [whole, visible].map((range) => range?.map((value) => formatX(xAxis, value)).join(" to "));
  const axis = { step: "step", relative: "relative time", wall_time: "wall time" }[xAxis];
  const names = few.map(({ name }) => name).join(", ");
  const end = view ? toAxis(x, view[1]) : Infinity;
  const lastValues = few.map(({ name, line, band, xs }) => {
    const last = lastIndex(xs, end);
    return `${name} ${last < 0 ? "no value" : formatValue((line?.value ?? band?.mean ?? [])[last])}`;
  });
  return {
    label: `${label} by ${axis} from ${part ? `${part}, zoomed in from ${all}` : all}: ${names}${more}`,
    values: few.length > 0 ? `${view ? "Last values in view" : "Last values"}: ${lastValues.join(", ")}${more}` : "",
  };
}
