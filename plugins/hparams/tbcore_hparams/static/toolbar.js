/**
 * The bar of the tab: the metric that is optimised, what is shown of the sweep, what to do with it.
 */

import { html } from "htm/preact";
import { Menu } from "tbcore/lib/card.js";
import { Choice, Pick } from "tbcore/lib/controls.js";
import { plural } from "tbcore/lib/format.js";
import { Icon } from "tbcore/lib/icons.js";
import { save } from "tbcore/lib/save.js";
import { ColumnList } from "./column-list.js";
import { csvOf, jsonOf, latexOf } from "./export.js";
import { describeFilter } from "./filters.js";
import { labelOf } from "./scales.js";
import { shortText } from "./texts.js";
import { PARTS } from "./view.js";

/** @typedef {import("./types.js").Column} Column */

const PART_TITLES = { parallel: "Parallel", scatter: "Scatter", table: "Table" };
const WHY_METRIC = "Colours, the star and the first order of the rows go by this metric";
const ALL_SHOWN = "All sessions, whatever the list of runs has checked at first. Check runs there to choose.";
/** How the sessions of a row make one value. @type {readonly (readonly [import("./types.js").Aggregation, string, string])[]} */
const AGGREGATION_CHOICES = [
  ["avg", "Mean", "A row has the mean of its sessions"],
  ["min", "Least", "A row has all values of the session in which this metric is the least"],
  ["max", "Greatest", "A row has all values of the session in which this metric is the greatest"],
  ["median", "Median", "A row has all values of the session in which this metric is the median"],
];
/** @type {readonly (readonly [string, string, string])[]} */
const GOALS = [
  ["min", "↓ Min", "The smallest value is the best"],
  ["max", "↑ Max", "The greatest value is the best"],
];
/** @type {readonly (readonly [import("./view.js").Values, string, string])[]} */
const VALUE_CHOICES = [
  ["last", "Last value", "A metric is the last value that a session logged of it"],
  ["best", "Best value", "A metric is the best value over all steps of a session; the last one where its name does not say what is better"],
];
/** @type {readonly (readonly [name: string, ending: string, type: string, make: (shown: import("./export.js").Shown) => string])[]} */
const FILES = [
  ["CSV", "csv", "text/csv", csvOf],
  ["JSON", "json", "application/json", jsonOf],
  ["LaTeX", "tex", "application/x-latex", latexOf],
];

/** @param {{ tab: import("./tab.js").Tab }} props */
export function Toolbar({ tab }) {
  const { sweep, view, picked } = tab;
  const { metric, goal, parts } = view;
  const hasGroups = sweep.groups.some(({ sessions }) => sessions.length > 1);
  return html`<div class="tb-toolbar" role="toolbar" aria-label="Hyperparameters">
    ${metric &&
    html`<${Pick} label="Optimise" choices=${sweep.metrics.map(({ key, label }) => [key, label, WHY_METRIC])} value=${metric.key} onChange=${tab.setMetric} />
      <${Choice} label="Which values are better" name="goal" choices=${GOALS} value=${goal} onChange=${(/** @type {string} */ value) => tab.set("goal", value)} />
      <${Choice} label="Which value of a session counts" name="values" choices=${VALUE_CHOICES} value=${tab.values} onChange=${tab.setValues} />`}
    ${hasGroups &&
    metric &&
    html`<${Pick} label="Sessions" choices=${AGGREGATION_CHOICES} value=${tab.aggregation} onChange=${tab.setAggregation} />`}
    <fieldset class="tb-segments">
      <legend class="tb-hidden">What is shown</legend>
      ${PARTS.map(
        (part) => html`<label>
          <input type="checkbox" checked=${parts.has(part)} onChange=${() => tab.togglePart(part)} />${PART_TITLES[part]}
        </label>`,
      )}
    </fieldset>
    <${Menu}
      text="Columns"
      label="Columns of the table"
      content=${() => html`<${ColumnList} label="columns" columns=${tab.listedColumns} chosen=${view.columns} onChoose=${tab.setColumns} />`}
    />
    ${parts.has("parallel") &&
    html`<${Menu}
      text="Axes"
      label="Axes of the parallel coordinates"
      content=${() => html`<${ColumnList} label="axes" columns=${sweep.columns} chosen=${view.axes} onChoose=${tab.setAxes} />`}
    />`}
    <button
      type="button"
      class="tb-button ${picked.length > 1 ? "primary" : ""}"
      disabled=${picked.length < 2}
      title=${picked.length < 2 ? "Check two rows or more" : "Their hyperparameters, metrics and curves side by side"}
      onClick=${() => tab.set("compare", "true")}
    >
      Compare${picked.length > 0 ? ` ${picked.length}` : ""}
    </button>
    ${picked.length > 0 && html`<button type="button" class="tb-icon-button" aria-label="Uncheck all" title="Uncheck all" onClick=${() => tab.set("pick", null)}><${Icon} name="close" /></button>`}
    <${Menu} icon="download" label="Download" content=${() => html`<${Downloads} tab=${tab} />`} />
  </div>`;
}

/** @param {{ tab: import("./tab.js").Tab }} props */
function Downloads({ tab }) {
  const { sweep, view, rows } = tab;
  const { groups } = sweep;
  return html`<div class="downloads">
    <p>${plural(rows.length, "row")} as they are shown, in their order, with ${plural(view.columns.length, "column")}.</p>
    ${FILES.map(
      ([name, ending, type, make]) =>
        html`<button type="button" class="tb-button" onClick=${() => save(make({ columns: view.columns, groups, rows }), `hparams.${ending}`, type)}>${name}</button>`,
    )}
    ${tab.pictures.size > 0 && html`<p>What is drawn:</p>`}
    ${[...tab.pictures].map(
      ([part, take]) =>
        html`<button type="button" class="tb-button" onClick=${async () => save(await take(), `${part}.png`)}>${PART_TITLES[part]} (PNG)</button>`,
    )}
  </div>`;
}

/** The best row in words, and the filters in force. @param {{ tab: import("./tab.js").Tab }} props */
export function StatusLine({ tab }) {
  const { sweep, view, bestRow } = tab;
  const { metric, filters } = view;
  const settings = bestRow === null ? [] : sweep.columns.filter(({ kind, differs, isExtra, cells }) => kind === "hparam" && differs && !isExtra && cells[bestRow] !== null);
  return html`<div class="status-line">
    ${metric &&
    bestRow !== null &&
    html`<button type="button" class="best-row" title="${tab.bestText}\nClick to find it in the table" onClick=${() => tab.showRow(bestRow)}>
      <${Icon} name="star" /><span class="what">Best ${metric.label}</span> <b>${tab.write(metric, metric.cells[bestRow])}</b>
      <span class="where">
        <span class="run">${sweep.groups[bestRow].label}</span>
        ${settings.map((column) => html`<span class="setting">${column.label} <b>${shortText(column, column.cells[bestRow])}</b></span>`)}
      </span>
    </button>`}
    ${filters.length > 0 &&
    html`<ul class="chips" aria-label="Filters">
      ${filters.map((filter) => {
        const column = /** @type {Column} */ (sweep.byKey.get(filter.key));
        const text = `${column.label} ${describeFilter(filter, (value) => labelOf(column, value))}`;
        return html`<li key=${filter.key}>
          <button type="button" class="chip" aria-label="Remove the filter ${text}" title="Remove this filter" onClick=${() => tab.setFilter(filter.key, null)}>
            <span>${text}</span><${Icon} name="close" />
          </button>
        </li>`;
      })}
      ${filters.length > 1 && html`<li><button type="button" class="chip" onClick=${() => tab.set("filter", null)}>Clear all</button></li>`}
    </ul>`}
    <span class="tb-summary" role="status" title=${tab.areAllShown ? ALL_SHOWN : ""}>${tab.sayCounts()}</span>
  </div>`;
}
