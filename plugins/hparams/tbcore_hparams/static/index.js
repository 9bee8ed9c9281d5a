/**
 * The hyperparameters tab: which settings gave the best result, and why. A table, parallel
 * coordinates and a scatter plot show the same rows and share their filters.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Answers } from "tbcore/requests.js";
import { Lazy } from "tbcore/ui.js";
import { readCurve } from "./curves.js";
import { NoRows, NoSessions, Problems } from "./empty-states.js";
import { ParallelPlot } from "./parallel.js";
import { SweepSource } from "./sweep-source.js";
import { useTab } from "./tab.js";
import { StatusLine, Toolbar } from "./toolbar.js";
import { TrialsTable } from "./trials-table.js";

/** @typedef {import("./types.js").Host} Host */

export default {
  /** @param {Host} host */
  async render(host) {
    const source = new SweepSource(host);
    await Promise.all([source.request({ aggregation: "avg" }), host.css("./hparams.css")]);
    if (!source.sweep.value) throw new Error(source.error.value);
    const answers = new Answers(host, "metric_evals", readCurve);
    host.keys([
      { key: "↑ ↓", label: "Move between rows, from the button or the check box of a row" },
      { key: "Shift click", label: "Sort by several columns, or check all rows from the last one on" },
      { key: "Alt ← →", label: "Move a column, from its heading" },
      { key: "drag", label: "Filter by a range of an axis or an area of the scatter plot; a click on the range removes the filter" },
    ]);
    render(html`<${Page} host=${host} source=${source} answers=${answers} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * The tab, or a message while there are no sessions.
 * @param {object} props
 * @param {Host} props.host
 * @param {SweepSource} props.source
 * @param {Answers<import("./curves.js").Curve>} props.answers
 */
function Page({ host, source, answers }) {
  const sweep = source.sweep.value;
  if (!sweep || sweep.groups.length === 0) return html`<${NoSessions} />${sweep && html`<${Problems} problems=${sweep.problems} />`}`;
  const show = (/** @type {import("./types.js").Sweep} */ shown) => html`<${Dashboard} host=${host} source=${source} sweep=${shown} answers=${answers} />`;
  const grouping = host.groups.value;
  const [runs, archived] = [host.wantedRuns.value, host.archived.value];
  if (grouping) return html`<${Lazy} load=${() => import("./grouped-rows.js")} of="ByGroup" sweep=${sweep} runs=${runs} grouping=${grouping} show=${show} />`;
  if (archived.size === 0 || sweep.groups.length === sweep.sessions.length) return show(sweep);
  return html`<${Lazy} load=${() => import("./archived-rows.js")} of="WithoutArchived" sweep=${sweep} runs=${runs} archived=${archived} show=${show} />`;
}

/**
 * The toolbar and the panels.
 * @param {object} props
 * @param {Host} props.host
 * @param {SweepSource} props.source
 * @param {import("./types.js").Sweep} props.sweep
 * @param {Answers<import("./curves.js").Curve>} props.answers
 */
function Dashboard({ host, source, sweep, answers }) {
  const tab = useTab(host, sweep, answers);
  const { view, candidates, rows, aggregation } = tab;
  // The metric by which one session is selected to represent its group.
  const decidingMetric = aggregation === "avg" ? null : view.metric;
  const isBest = tab.values === "best";
  const by = decidingMetric && isBest ? (view.goal === "min" ? "lowest" : "highest") : undefined;
  useEffect(
    () => void source.request({ aggregation, ...decidingMetric?.metric, by, extremes: isBest ? "true" : undefined }),
    [aggregation, decidingMetric?.key, by, isBest],
  );

  const hasPlots = candidates.length > 0 && (view.panels.has("parallel") || view.panels.has("scatter"));
  const hasTable = candidates.length > 0 && view.panels.has("table");
  return html`<div class="hparams">
    <${Toolbar} tab=${tab} />
    ${source.error.value && html`<p class="tb-card-error" role="alert">${source.error.value}</p>`}
    ${tab.sweep.metrics.length === 0 &&
    html`<p class="note">These sessions have hyperparameters but no metrics. A metric is any scalar that is logged in a session's directory or below it.</p>`}
    <${Problems} problems=${sweep.problems} />
    ${sweep.description && html`<p class="note description" tabindex="0" role="region" aria-label="Description of the experiment">${sweep.description}</p>`}
    <${StatusLine} tab=${tab} />
    ${hasPlots &&
    html`<div class="plots">
      ${view.panels.has("parallel") && html`<${ParallelPlot} tab=${tab} />`}
      ${view.panels.has("scatter") && html`<${Lazy} load=${() => import("./scatter.js")} of="ScatterPlot" tab=${tab} />`}
    </div>`}
    ${hasTable && html`<${TrialsTable} tab=${tab} />`}
    ${rows.length === 0 && !hasTable && html`<${NoRows} tab=${tab} />`}
  </div>`;
}
