/**
 * The importance of a hyperparameter for the metric: a short bar and a number, with an explanation
 * as its tooltip.
 */

import { html } from "htm/preact";
import { MIN_ROWS, explainImportance, formatImportance } from "./importance.js";

/**
 * The mark below the name of a column or axis.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {import("./types.js").Column} props.column
 * @param {boolean} [props.isExplained]  whether to show the explanation below it
 */
export function ImportanceMark({ tab, column, isExplained = false }) {
  const importance = tab.importance(column);
  const { metric, goal } = tab.view;
  if (column.key === metric?.key) {
    return html`<small class="importance">${goal === "min" ? "lower is better" : "higher is better"}</small>`;
  }
  if (!importance || !metric) return html`<small class="importance"></small>`;
  const why = explainImportance(importance, metric.label);
  return html`<small class="importance" title=${why}>
      ${importance.isClear && html`<span class="bar"><i style=${{ width: `${Math.round(importance.share * 100)}%` }}></i></span>`}
      ${formatImportance(importance)}
    </small>
    ${isExplained && html`<p class="tb-dim">${why}</p>`}`;
}

/**
 * The name of these marks, and the number of rows that they are based on.
 * @param {{ tab: import("./tab.js").Tab }} props
 */
export function ImportanceName({ tab }) {
  const { metric } = tab.view;
  const numRows = metric ? tab.passingRows.filter((row) => Number.isFinite(metric.cells[row])).length : 0;
  if (!metric || numRows < MIN_ROWS) return html`<small class="importance"></small>`;
  const why = `The share of the variance of ranks by ${metric.label} that each hyperparameter explains alone, without the others, over ${numRows} rows. “Unclear” is what chance reaches as well.`;
  return html`<small class="importance" title=${why}>importance, n = ${numRows}</small>`;
}
