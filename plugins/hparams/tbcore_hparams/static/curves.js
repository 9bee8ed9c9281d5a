/**
 * Charts of metrics with a curve for each session, fetched when a chart comes into view.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, formatStep, plural, toNumber } from "tbcore/format.js";
import { useRefetch } from "tbcore/requests.js";
import { runTitle } from "tbcore/text-names.js";
import { useNear } from "tbcore/ui.js";
import { shortText } from "./cell-text.js";
import { runOf } from "./sweep.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Session} Session
 * @typedef {{ step: Float64Array, wallTime: Float64Array, value: Float64Array }} Curve
 * @typedef {{ session: Session, color: string }} Member  a session with a curve
 */

/** Number of charts shown until “Show all” is clicked. */
const INITIAL_CHARTS = 6;

/**
 * Reads a response of the route `metric_evals` into columns.
 * @param {[number, number, number | string][]} rows
 * @returns {Curve}
 */
export function readCurve(rows) {
  return {
    wallTime: Float64Array.from(rows, ([wallTime]) => wallTime),
    step: Float64Array.from(rows, ([, step]) => step),
    value: Float64Array.from(rows, ([, , value]) => toNumber(value)),
  };
}

/**
 * The query parameters for a curve. The route reads only `request`; `Answers` needs `run`, to fetch
 * again when that run has new points.
 * @param {Session} session
 * @param {Column} metric
 */
function queryFor({ name }, { metric }) {
  const run = runOf(name, metric?.group ?? "");
  return { run, tag: metric?.tag ?? "", request: JSON.stringify({ sessionName: name, metricName: metric }) };
}

/**
 * A chart of each metric, the first few at first.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {readonly Column[]} props.metrics
 * @param {readonly Member[]} props.members
 */
export function MetricCharts({ tab, metrics, members }) {
  const [areAllShown, setAllShown] = useState(false);
  const shown = areAllShown ? metrics : metrics.slice(0, INITIAL_CHARTS);
  return html`<div class="tb-grid">${shown.map((metric) => html`<${MetricChart} key=${metric.key} tab=${tab} metric=${metric} members=${members} />`)}</div>
    ${metrics.length > shown.length &&
    html`<button type="button" class="tb-button" onClick=${() => setAllShown(true)}>Show all ${plural(metrics.length, "metric")}</button>`}`;
}

/**
 * A card with a chart of one metric. If no session has more than one point, the points are listed instead.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.metric
 * @param {readonly Member[]} props.members
 */
function MetricChart({ tab, metric, members }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {import("tbcore/chart.js").LineChart | null} */ (null));
  const title = metric.title ?? metric.label;
  const isNear = useNear(box);
  const [loaded, setLoaded] = useState(/** @type {{ curves: readonly (Curve | null)[], LineChart: typeof import("tbcore/chart.js").LineChart } | null} */ (null));
  const curves = loaded?.curves;
  const [error, setError] = useState("");
  const generations = members.map(({ session }) => tab.answers.generations.of(queryFor(session, metric).run)).join("\n");
  const sessionNames = members.map(({ session }) => session.name).join("\n");

  const fetchCurves = async (/** @type {AbortSignal} */ signal) => {
    try {
      const loading = members.map(({ session }) => (tab.hasMetric(metric, session) ? tab.answers.load(queryFor(session, metric), signal) : null));
      // Line charts are loaded with the first curves.
      const [{ LineChart }, ...curves] = await Promise.all([import("tbcore/chart.js"), ...loading]);
      if (signal.aborted) return;
      setLoaded({ curves, LineChart });
      setError("");
    } catch (failure) {
      if (!signal.aborted) setError(/** @type {Error} */ (failure).message);
    }
  };
  useRefetch(isNear ? fetchCurves : null, [sessionNames, metric.key], generations);

  const lines = useMemo(
    () => curves?.flatMap((curve, i) => (curve && members[i] ? [{ name: members[i].session.name, label: members[i].session.label, color: members[i].color, ...curve }] : [])) ?? [],
    [curves, sessionNames, JSON.stringify(members.map(({ session, color }) => [session.label, color]))],
  );
  const isCurve = lines.some(({ step }) => step.length > 1);
  useLayoutEffect(() => {
    if (!loaded || !isCurve || !box.current) return undefined;
    chart.current = new loaded.LineChart(box.current, { label: title });
    return () => {
      chart.current?.destroy();
      chart.current = null;
    };
  }, [isCurve, metric.key]);
  useLayoutEffect(() => chart.current?.setLines(lines), [lines, isCurve]);
  useEffect(() => chart.current?.restyle(), [tab.theme]);

  return html`<article class="tb-card curve" aria-label=${title}>
    <header><h3 title=${formatName(title)}>${formatName(title)}</h3></header>
    <div class="tb-card-chart" data-hint=${curves || error ? "" : "loading"}>
      <div class=${isCurve ? "" : "single"} ref=${box} key=${String(isCurve)}>${!isCurve && singlePoints(lines)}</div>
    </div>
    ${error && html`<p class="tb-card-error">${error}</p>`}
  </article>`;

  /** The single point of each session, as text. @param {typeof lines} single */
  function singlePoints(single) {
    return single.map(
      ({ name, label, color, value, step }) => html`<p class="tb-card-run">
        <i style=${{ background: color }}></i><span class="tb-name" title=${runTitle({ name, label })}>${formatName(label)}</span>
        <b>${shortText(metric, value[0] ?? null)}</b>${value.length > 0 && html` at step ${formatStep(step[0])}`}
      </p>`,
    );
  }
}
