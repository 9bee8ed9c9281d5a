/**
 * The menu of an axis: its filter, scale and position.
 */

import { html } from "htm/preact";
import { formatName } from "tbcore/format.js";
import { Check } from "tbcore/ui.js";
import { ColumnFilterForm } from "./column-filter.js";
import { ImportanceMark } from "./importance-mark.js";
import { canBeLog } from "./scales.js";
import { moveKey } from "./sorting.js";

/**
 * The content of the menu.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {import("./types.js").Column} props.column
 */
export function AxisSettings({ tab, column }) {
  const keys = tab.view.axes.map(({ key }) => key);
  const at = keys.indexOf(column.key);
  /** @param {number} by */
  const move = (by) => tab.setAxes(moveKey(keys, column.key, keys[at + by]));
  return html`<div class="axis-settings">
    <h4>${formatName(column.label)}</h4>
    ${column.description && html`<p class="tb-dim">${column.description}</p>`}
    <${ImportanceMark} tab=${tab} column=${column} isExplained />
    <${ColumnFilterForm} column=${column} filter=${tab.filterOf(column.key)} onFilter=${(/** @type {any} */ filter) => tab.setFilter(column.key, filter)} />
    ${canBeLog(column) && html`<${LogSwitch} tab=${tab} column=${column} />`}
    <div class="buttons">
      <button type="button" class="tb-button" disabled=${at === 0} onClick=${() => move(-1)}>← Move</button>
      <button type="button" class="tb-button" disabled=${at === keys.length - 1} onClick=${() => move(1)}>Move →</button>
      <button type="button" class="tb-button" disabled=${keys.length < 2} onClick=${() => tab.setAxes(keys.filter((key) => key !== column.key))}>Hide</button>
    </div>
  </div>`;
}

/**
 * A check box for a logarithmic axis.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {import("./types.js").Column} props.column
 * @param {boolean} [props.short]  whether to use a short label
 */
export function LogSwitch({ tab, column, short = false }) {
  return html`<${Check}
    label=${short ? "log" : "Logarithmic axis"}
    why="Logarithmic axis for ${column.label}"
    checked=${tab.view.isLog(column)}
    onChange=${(/** @type {boolean} */ value) => tab.setLog(column, value)}
  />`;
}
