/**
 * The importance of a hyperparameter for the metric: a short bar and a number, with an explanation
 * as its tooltip.
 */

import { html } from "htm/preact";
import { explainImportance, formatImportance } from "./importance.js";

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
  if (column === metric) {
    return html`<small class="importance">${goal === "min" ? "lower is better" : "higher is better"}</small>`;
  }
  if (!importance || !metric) return html`<small class="importance"></small>`;
  const why = explainImportance(importance, metric.label);
  return html`<small class="importance" title=${why}>
      <span class="bar"><i style=${{ width: `${Math.round(importance.share * 100)}%` }}></i></span>
      ${formatImportance(importance)}
    </small>
    ${isExplained && html`<p class="tb-dim">${why}</p>`}`;
}
