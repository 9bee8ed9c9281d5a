/**
 * Line charts:
 *
 *     const chart = new LineChart(element, { label: "loss" });
 *     chart.setLines([{ name: "train", color: "#3366cc", step, wallTime, value }]);
 *
 * `cards.js` has the card for a chart, and what charts of other kinds are made of.
 */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { MAX_SMOOTHING, smoothed } from "./lib/chart/smoothing.js";
import { Lazy } from "./lib/ui/lazy.js";

export { makeCursor } from "./lib/chart/cursor.js";
export { LineChart } from "./lib/chart/line-chart.js";
export { MAX_SMOOTHING, smoothed };

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

/**
 * A control for the weight of smoothing, as a slider and as a number.
 * @param {object} props
 * @param {number} props.value  from 0 to MAX_SMOOTHING
 * @param {string} [props.why]  tooltip
 * @param {(value: number) => void} props.onChange
 */
export function Smoothing({ value, why, onChange }) {
  const id = useId();
  /** @param {Event} event */
  const onInput = (event) =>
    onChange(Math.min(MAX_SMOOTHING, Math.max(0, Number(/** @type {HTMLInputElement} */ (event.currentTarget).value) || 0)));
  return html`<div class="tb-smoothing" title=${why}>
    <span id=${id}>Smoothing</span>
    <input type="range" min="0" max="0.99" step="0.01" value=${value} aria-labelledby=${id} onInput=${onInput} />
    <input class="tb-input" type="number" min="0" max=${MAX_SMOOTHING} step="0.01" value=${value} aria-labelledby=${id} onChange=${onInput} />
  </div>`;
}
