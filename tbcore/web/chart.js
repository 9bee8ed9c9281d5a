/** Line charts, their legend and their smoothing. `cards.js` has the card for a chart, and what other charts are made of. */
export * from "./lib/chart/line-chart.js";
export { MAX_SMOOTHING, smoothed } from "./lib/chart/series.js";
