/**
 * The toolbar (the metric to optimise, panels, columns and axes, and downloads) and the
 * status line below it.
 */

import { html } from "htm/preact";
import { formatName, formatStep, plural } from "tbcore/format.js";
import { Choice, Icon, IconButton, Menu, Pick, save } from "tbcore/ui.js";
import { cellText, writerOf } from "./cell-text.js";
import { ColumnList } from "./column-list.js";
import { describeFilter } from "./filters.js";
import { labelOf } from "./scales.js";
import { PANELS } from "./view.js";

/** @typedef {import("./types.js").Column} Column */

const PANEL_TITLES = { parallel: "Parallel", scatter: "Scatter", table: "Table" };
const METRIC_HELP = "Colours, the best row and the default order of rows depend on this metric";
const SHOW_ONLY_HELP = "Shows only the runs of these rows in all tabs, and unchecks all others in the list of runs. The tab Compare has them side by side.";
const NONFINITE_HELP = "The metric of these rows is NaN or infinite, which is never the best value. They have no colour.";
const ALL_SESSIONS_HELP = "The sessions of all matching runs are shown, not only those of the newest, unless you uncheck them in the list of runs.";
/**
 * How the sessions of a row are combined into one value.
 * @type {readonly (readonly [import("./types.js").Aggregation, string, string])[]}
 */
const AGGREGATION_CHOICES = [
  ["avg", "Mean", "A row has the means of its sessions"],
  ["min", "Minimum", "A row has the values of the session in which this metric is smallest"],
  ["max", "Maximum", "A row has the values of the session in which this metric is largest"],
  ["median", "Median", "A row has the values of the session in which this metric is the median"],
];
/** @type {readonly (readonly [string, string, string])[]} */
const GOALS = [
  ["min", "↓ Min", "Lower values are better"],
  ["max", "↑ Max", "Higher values are better"],
];
/** @type {readonly (readonly [import("./view.js").Values, string, string])[]} */
const VALUE_OPTIONS = [
  ["last", "Last", "Shows the last value of each metric that a session logged"],
  ["best", "Best", "Shows the best value over all steps of a session; the last one if the metric's name does not say which values are better"],
];
/**
 * The formats in which the table can be downloaded; `make` is a function of `export.js`.
 * @type {readonly (readonly [name: string, ending: string, type: string, make: "csvOf" | "jsonOf" | "latexOf"])[]}
 */
const FILES = [
  ["CSV", "csv", "text/csv", "csvOf"],
  ["JSON", "json", "application/json", "jsonOf"],
  ["LaTeX", "tex", "application/x-latex", "latexOf"],
];

/** The toolbar. @param {{ tab: import("./tab.js").Tab }} props */
export function Toolbar({ tab }) {
  const { sweep, view, picked } = tab;
  const { metric, goal, panels } = view;
  // Runs that are grouped in the list of runs have means.
  const hasGroups = !sweep.grouped && sweep.groups.some(({ sessions }) => sessions.length > 1);
  return html`<div class="tb-toolbar" role="toolbar" aria-label="Hyperparameters">
    ${metric &&
    html`<${Pick} label="Optimise" choices=${sweep.metrics.map(({ key, label }) => [key, label, METRIC_HELP])} value=${metric.key} onChange=${tab.setMetric} />
      <${Choice} label="Goal" name="goal" choices=${GOALS} value=${goal} onChange=${(/** @type {string} */ value) => tab.set("goal", value)} />
      <${Choice} label="Value of each session" name="values" choices=${VALUE_OPTIONS} value=${tab.values} onChange=${tab.setValues} />`}
    ${hasGroups &&
    metric &&
    html`<${Pick} label="Sessions" choices=${AGGREGATION_CHOICES} value=${tab.aggregation} onChange=${tab.setAggregation} />`}
    <fieldset class="tb-segments">
      <legend class="tb-hidden">Panels</legend>
      ${PANELS.map(
        (panel) => html`<label>
          <input type="checkbox" checked=${panels.has(panel)} onChange=${() => tab.togglePanel(panel)} />${PANEL_TITLES[panel]}
        </label>`,
      )}
    </fieldset>
    <${Menu}
      text="Columns"
      label="Columns of the table"
      content=${() => html`<${ColumnList} label="columns" columns=${sweep.columns.filter((column) => column !== tab.nameColumn)} chosen=${view.columns} onChoose=${tab.setColumns} />`}
    />
    ${panels.has("parallel") &&
    html`<${Menu}
      text="Axes"
      label="Axes of the parallel coordinates"
      content=${() => html`<${ColumnList} label="axes" columns=${sweep.columns} chosen=${view.axes} onChoose=${tab.setAxes} />`}
    />`}
    ${picked.length > 0 && html`<${IconButton} icon="close" label="Uncheck all" title="Uncheck all" onClick=${() => tab.set("pick", null)} />`}
    <${Menu} icon="download" label="Download" content=${() => html`<${Downloads} tab=${tab} />`} />
  </div>`;
}

/** Buttons to download the table and the plots. @param {{ tab: import("./tab.js").Tab }} props */
function Downloads({ tab }) {
  const { sweep, view, rows } = tab;
  const shown = { columns: view.columns, groups: sweep.groups, rows };
  return html`<div class="downloads">
    <p>The table as shown: ${plural(rows.length, "row")}, ${plural(view.columns.length, "column")}</p>
    ${FILES.map(
      ([name, ending, type, make]) =>
        html`<button type="button" class="tb-button" onClick=${async () => save((await import("./export.js"))[make](shown), `hparams.${ending}`, type)}>${name}</button>`,
    )}
    ${tab.exporters.value.size > 0 && html`<p>The plots as shown</p>`}
    ${[...tab.exporters.value].map(
      ([panel, take]) =>
        html`<button type="button" class="tb-button" onClick=${async () => save(await take(), `${panel}.png`)}>${PANEL_TITLES[panel]} (PNG)</button>`,
    )}
  </div>`;
}

/**
 * The best row, the filters, and the number of rows.
 * @param {{ tab: import("./tab.js").Tab }} props
 */
export function StatusLine({ tab }) {
  const { sweep, view, picked, bestRow, numNonfinite } = tab;
  const { metric, lacking, filters } = view;
  const settings = bestRow === null ? [] : sweep.columns.filter(({ kind, differs, cells }) => kind === "hparam" && differs && cells[bestRow] !== null);
  return html`<div class="status-line ${filters.length > 0 && "filtered"}">
    ${metric &&
    bestRow !== null &&
    html`<button type="button" class="best-row" title="${tab.bestText}\nClick to check it in the table" onClick=${() => tab.showRow(bestRow)}>
      <span class="what">Best ${sweep.grouped ? `${sweep.grouped.averageName} ` : ""}${formatName(metric.label)}</span> <b>${tab.bestFigure ?? writerOf(metric)(bestRow)}</b>
      <span class="where">
        <span class="run">${formatName(sweep.groups[bestRow].label)}</span>
        ${" "}<span class="setting at-step">${tab.stepText(metric, bestRow)}</span>
        ${settings.map((column) => html` <span class="setting">${formatName(column.label)} <b>${cellText(column, bestRow)}</b></span>`)}
      </span>
    </button>`}
    ${metric && lacking !== null && html`<span class="lacking">No row has ${formatName(lacking)}: ${formatName(metric.label)} is optimised</span>`}
    ${metric && numNonfinite > 0 && html`<span class="tb-dim" title=${NONFINITE_HELP}>${numNonfinite} not finite</span>`}
    ${filters.length > 0 &&
    html`<ul class="chips" aria-label="Filters">
      ${filters.map((filter) => {
        const column = /** @type {Column} */ (sweep.byKey.get(filter.key));
        const text = `${formatName(column.label)} ${describeFilter(filter, (value) => labelOf(column, value))}`;
        return html`<li key=${filter.key}>
          <button type="button" class="chip" aria-label="Remove filter ${text}" title="Remove this filter" onClick=${() => tab.setFilter(filter.key, null)}>
            <span>${text}</span><${Icon} name="close" />
          </button>
        </li>`;
      })}
      ${filters.length > 1 && html`<li><button type="button" class="chip" onClick=${() => tab.set("filter", null)}>Clear all</button></li>`}
    </ul>`}
    ${tab.rows.length > 0 &&
    (picked.length > 0 || tab.rows.length < tab.candidates.length) &&
    html`<button type="button" class="tb-button" title=${SHOW_ONLY_HELP} onClick=${tab.showOnlyRows}>Show only ${picked.length > 0 ? plural(picked.length, "checked row") : "these runs"}</button>`}
    <span class="tb-summary" role="status">${countsText(tab)}</span>
    ${tab.areAllShown && filters.length === 0 && html`<span class="tb-dim of-all" title=${ALL_SESSIONS_HELP}>not only of the newest runs</span>`}
  </div>`;
}

/** How many sessions or groups are shown, and what is left out, in words. @param {import("./tab.js").Tab} tab */
function countsText({ host, sweep, candidates, rows, numWithout, steps }) {
  const { grouped } = sweep;
  const noun = !grouped && sweep.groups.length === sweep.sessions.length ? "session" : "group";
  const shown = rows.length === candidates.length ? plural(candidates.length, noun) : `${rows.length} of ${plural(candidates.length, noun)}`;
  const numHidden = grouped ? grouped.numLeftOut : sweep.groups.length - candidates.length;
  const hidden = grouped ? plural(numHidden, "session") : `${formatStep(numHidden)} more`;
  const why = `${host.archived.value.size > 0 ? "archived, " : ""}not found or not selected in the list of runs`;
  const others = `${plural(numWithout, "run")} without hyperparameters`;
  const unequal = steps && `last values at steps ${steps.map(formatStep).join(" to ")}`;
  return [shown, unequal, numHidden > 0 && `${hidden} ${why}`, numWithout > 0 && others].filter(Boolean).join(", ");
}
