/**
 * Line charts:
 *
 *     const chart = new LineChart(element, { label: "loss" });
 *     chart.setLines([{ name: "train", color: "#3366cc", step, wallTime, value }]);
 *
 * `cards.js` has the card for a chart, and what charts of other kinds are made of.
 */

import { html } from "htm/preact";
import { Lazy } from "./lib/ui/lazy.js";

export { makeCursor } from "./lib/chart/cursor.js";
export { LineChart } from "./lib/chart/line-chart.js";
export { MAX_SMOOTHING, smoothed } from "./lib/chart/smoothing.js";

/**
 * @typedef {import("./lib/chart/types.js").Band} Band
 * @typedef {import("./lib/chart/types.js").Columns} Columns
 * @typedef {import("./lib/chart/types.js").Cursor} Cursor
 * @typedef {import("./lib/chart/types.js").Hit} Hit
 * @typedef {import("./lib/chart/types.js").Line} Line
 * @typedef {import("./lib/chart/types.js").Range} Range
 * @typedef {import("./lib/chart/types.js").ReadOut} ReadOut
 * @typedef {import("./lib/chart/types.js").XAxis} XAxis
 * @typedef {import("./lib/chart/legend-rows.js").LegendRow} LegendRow
 * @typedef {import("./lib/chart/legend-rows.js").LegendSort} LegendSort
 */

/**
 * A table of the lines and bands, at the pointer or at their ends. It is loaded when it is first
 * shown.
 * @param {Parameters<typeof import("./lib/chart/legend.js").Legend>[0]} props
 */
export function Legend(props) {
  return html`<${Lazy} load=${() => import("./lib/chart/legend.js")} of="Legend" ...${props} />`;
}
