/** Cards, and what a chart of your own is made of. `chart.js` has line charts. */
export * from "./lib/cards/card.js";
export * from "./lib/cards/chart-card.js";
export { pictureTools, seriesCards } from "./lib/cards/on-demand.js";
export { ChartFrame } from "./lib/chart/chart-frame.js";
export { addGestures } from "./lib/chart/gestures.js";
export { xColumn } from "./lib/chart/series.js";
export { axisTicks } from "./lib/chart/ticks.js";

/**
 * @typedef {import("./lib/cards/on-demand.js").PictureTools} PictureTools
 * @typedef {import("./lib/chart/types.js").Framed} Framed
 * @typedef {import("./lib/chart/types.js").GestureTarget} GestureTarget
 * @typedef {import("./lib/chart/types.js").Layout} Layout
 * @typedef {import("./lib/chart/types.js").Place} Place
 * @typedef {import("./lib/chart/types.js").PointerPosition} PointerPosition
 * @typedef {import("./lib/chart/types.js").Range} Range
 * @typedef {import("./lib/chart/types.js").Tick} Tick
 * @typedef {import("./lib/chart/types.js").XAxis} XAxis
 */

/** @typedef {import("./lib/cards/shared-ranges.js").SharedRanges} SharedRanges */

/**
 * @template T
 * @typedef {import("./lib/cards/series-card.js").Series<T>} Series
 */

/**
 * @template T
 * @template {import("./lib/cards/chart-card.js").Chart} C
 * @typedef {import("./lib/cards/series-card.js").Drawing<T, C>} Drawing
 */
