/**
 * The details of an open row: its sessions, and the curves of their metrics.
 */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { formatDuration, formatName, formatStep, formatTime } from "tbcore/format.js";
import { runTitle } from "tbcore/text-names.js";
import { colorsOf } from "tbcore/ui.js";
import { VALUE_NAMES, exactText, shortText } from "./cell-text.js";
import { MetricCharts } from "./curves.js";
import { isNumeric } from "./scales.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Session} Session
 */

/** Most metrics that have a column in the table of sessions. */
const MAX_METRIC_COLUMNS = 8;

/**
 * The details.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Group} props.group
 */
export function RowDetails({ tab, group }) {
  const { sessions } = group;
  const metrics = orderedMetrics(tab).filter((metric) => sessions.some((session) => tab.hasMetric(metric, session)));
  const members = useMemo(() => {
    // The runs of a group in the list of runs have one colour.
    const own = tab.sweep.grouped && sessions.length > 1 ? colorsOf(sessions.map(({ name }) => name), tab.theme) : tab.runColors;
    return sessions.map((session) => ({ session, color: own.get(session.name) ?? "#888888" }));
  }, [sessions, tab.runColors, tab.theme]);
  return html`
    <${Sessions} tab=${tab} members=${members} metrics=${metrics.slice(0, MAX_METRIC_COLUMNS)} />
    ${metrics.length === 0 && html`<p class="tb-dim">No metrics: no scalar was logged in the ${sessions.length === 1 ? "run of this session" : "runs of these sessions"} or below.</p>`}
    <${MetricCharts} tab=${tab} metrics=${metrics} members=${members} />
  `;
}

/**
 * All metrics, with the optimised one first.
 * @param {import("./tab.js").Tab} tab
 * @returns {Column[]}
 */
function orderedMetrics({ sweep, view }) {
  const others = sweep.metrics.filter((metric) => metric !== view.metric);
  return view.metric ? [view.metric, ...others] : others;
}

/**
 * The table of sessions.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {readonly import("./curves.js").Member[]} props.members
 * @param {readonly Column[]} props.metrics
 */
function Sessions({ tab, members, metrics }) {
  const sessions = members.map(({ session }) => session);
  const has = {
    start: sessions.some(({ start }) => !Number.isNaN(start)),
    end: sessions.some(({ start, end }) => end >= start),
    links: sessions.some(({ modelUri, monitorUrl }) => modelUri || monitorUrl),
  };
  const lasts = metrics.filter(({ extreme }) => !extreme);
  const varying = tab.sweep.grouped?.repeated ?? tab.sweep.columns.flatMap((column) => (column.sessionCells ? [{ column, cells: column.sessionCells }] : []));
  const repeated = varying.filter(({ cells }) => sessions.some(({ index }) => !Object.is(cells[index], cells[sessions[0].index])));
  return html`<div class="sessions">
    <table aria-label="Sessions of this row">
      <thead>
        <tr>
          <th scope="col">Session</th>
          ${repeated.map(({ column }) => html`<th scope="col" class=${isNumeric(column) ? "number" : ""} title=${column.description}>${formatName(column.label)}</th>`)}
          <th scope="col">Status</th>
          ${has.start && html`<th scope="col">Started</th>`}
          ${has.end && html`<th scope="col">Duration</th>`}
          ${metrics.map(
            (metric) => html`<th scope="col" class="number" title=${VALUE_NAMES[metric.extreme ?? "last"]}>${formatName(metric.label)}</th>
              ${metric.extreme && html`<th scope="col" class="number" title="The step of ${formatName(metric.label)}">at step</th>`}`,
          )}
          ${lasts.length > 0 && html`<th scope="col" class="number" title="of the last values">Step</th>`}
          ${has.links && html`<th scope="col">Links</th>`}
        </tr>
      </thead>
      <tbody>
        ${members.map(({ session, color }) => {
          const { name, label, status, start, end } = session;
          return html`<tr key=${name} onPointerEnter=${() => tab.host.hoveredRun.set(name)}>
            <th scope="row" title=${runTitle({ name, label })}><i style=${{ background: color }}></i>${formatName(label)}${!tab.runColors.has(name) && html` <small>not selected, but included</small>`}</th>
            ${repeated.map(({ column, cells }) => html`<td class=${isNumeric(column) ? "number" : ""} title=${exactText(column, cells[session.index])}>${shortText(column, cells[session.index])}</td>`)}
            <td>${status}</td>
            ${has.start && html`<td>${Number.isNaN(start) ? "—" : formatTime(start)}</td>`}
            ${has.end && html`<td>${end >= start ? formatDuration(end - start) : "—"}</td>`}
            ${metrics.map((metric) => {
              const cell = tab.hasMetric(metric, session) ? tab.sweep.sessionValues[metric.index].value[session.index] : null;
              return html`<td class="number" title=${exactText(metric, cell)}>${shortText(metric, cell)}</td>
                ${metric.extreme && html`<td class="number">${stepOf(tab, [metric], session)}</td>`}`;
            })}
            ${lasts.length > 0 && html`<td class="number">${stepOf(tab, lasts, session)}</td>`}
            ${has.links && html`<td><${Links} session=${session} /></td>`}
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/**
 * The largest step of a session's values of some metrics.
 * @param {import("./tab.js").Tab} tab
 * @param {readonly Column[]} metrics
 * @param {Session} session
 */
function stepOf(tab, metrics, session) {
  const steps = metrics.filter((metric) => tab.hasMetric(metric, session)).map(({ index }) => tab.sweep.sessionValues[index].step[session.index]);
  return steps.length > 0 ? formatStep(Math.max(...steps)) : "—";
}

/**
 * The session's model and monitor. Only http and https addresses become links, since any text can
 * be logged.
 * @param {{ session: Session }} props
 */
function Links({ session: { modelUri, monitorUrl } }) {
  return html`${[
    ["model", modelUri],
    ["monitor", monitorUrl],
  ].map(([title, address]) => {
    if (!address) return null;
    return /^https?:\/\//i.test(address)
      ? html`<a href=${address} target="_blank" rel="noopener noreferrer" title=${address}>${title}</a> `
      : html`<code title=${title}>${address}</code> `;
  })}`;
}
