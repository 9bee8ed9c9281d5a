/**
 * Cards, and what a chart of your own is made of: its frame with axes and gestures, ticks, and
 * columns of numbers. `chart.js` has line charts.
 */

export { ChartFrame } from "./lib/chart/chart-frame.js";
export { addGestures } from "./lib/chart/gestures.js";
export { xColumn } from "./lib/chart/series.js";
export { axisTicks } from "./lib/chart/ticks.js";
export { Card } from "./lib/cards/card.js";
export { ChartCard } from "./lib/cards/chart-card.js";
export { LazyCard } from "./lib/cards/lazy-card.js";

/**
 * @typedef {import("./lib/cards/chart-card.js").Chart} Chart
 * @typedef {import("./lib/cards/chart-card.js").ChartEvents} ChartEvents
 * @typedef {import("./lib/chart/types.js").Framed} Framed
 * @typedef {import("./lib/chart/types.js").GestureTarget} GestureTarget
 * @typedef {import("./lib/chart/types.js").Layout} Layout
 * @typedef {import("./lib/chart/types.js").Place} Place
 * @typedef {import("./lib/chart/types.js").PointerPosition} PointerPosition
 * @typedef {import("./lib/chart/types.js").Range} Range
 * @typedef {import("./lib/chart/types.js").Tick} Tick
 * @typedef {import("./lib/chart/types.js").XAxis} XAxis
 * @typedef {Awaited<ReturnType<typeof pictureTools>>} PictureTools
 */

/**
 * @template T
 * @typedef {import("./lib/cards/series-card.js").Series<T>} Series
 */

/**
 * @template T
 * @template {Chart} C
 * @typedef {import("./lib/cards/series-card.js").Drawing<T, C>} Drawing
 */

/** Loads `SeriesCard`, a card with a chart of one series, and `SAMPLES`, the choices of its number of steps. */
export function seriesCards() {
  return import("./lib/cards/series-card.js");
}

/**
 * Loads what a drawing needs to be saved as a picture, when the user asks for one: `frameSVG`, the
 * frame of a chart as SVG; `PathData`, which records a path as SVG; `tenth` and `escapeXML`, numbers
 * and text in SVG; `svgToPNG`.
 */
export function pictureTools() {
  return import("./lib/chart/svg.js");
}
