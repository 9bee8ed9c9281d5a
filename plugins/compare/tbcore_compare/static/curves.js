/** Cards of curves: a tag in all runs of all columns, of groups their average with a band. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { ChartCard } from "tbcore/cards.js";
import { LineChart } from "tbcore/chart.js";
import { formatStep } from "tbcore/format.js";
import { useColumns } from "tbcore/requests.js";
import { useNear } from "tbcore/ui.js";

/**
 * The curves of a tag.
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {string} props.tag
 * @param {readonly import("./columns.js").Column[]} props.columns
 * @param {ReturnType<typeof import("tbcore/chart.js").makeCursor>} props.cursor
 */
export function CurveCard({ host, tag, columns, cursor }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const { average = "mean", averageName = "mean", spread = "deviation", spreadName = "" } = host.groups.value ?? {};
  const groups = columns.filter(({ runs }) => runs.length > 1);
  const single = columns.filter(({ runs }) => runs.length === 1);
  const ofRuns = useColumns(host, "curves", { tag }, single.flatMap(({ runs }) => runs), isNear && single.length > 0);
  const members = groups.map(({ runs }) => runs.map(({ name }) => name));
  const ofGroups = useColumns(host, "bands", { tag, groups: members, average, spread }, groups.flatMap(({ runs }) => runs), isNear && groups.length > 0);
  const { lines, longest } = useMemo(() => linesOf(ofRuns.answer, single), [ofRuns.answer, columns]);
  const { bands, mostSteps } = useMemo(() => bandsOf(ofGroups.answer, groups, averageName, spreadName), [ofGroups.answer, columns, averageName]);
  const notes = [
    longest > 0 && `Of curves with up to ${formatStep(longest)} points, the lowest and highest of each part are drawn.`,
    mostSteps > 0 && `Of groups with up to ${formatStep(mostSteps)} steps, the averages at some are drawn.`,
  ].filter((note) => note !== false);
  const error = ofRuns.error || ofGroups.error;
  const isLoading = isNear && !error && ((single.length > 0 && !ofRuns.answer) || (groups.length > 0 && !ofGroups.answer));
  const make = (/** @type {HTMLElement} */ element, /** @type {import("tbcore/cards.js").ChartEvents} */ on) =>
    new LineChart(element, { label: tag, cursor, onHover: (hits) => on.hover(hits[0]?.run ?? null, hits), onZoom: on.zoom });
  return html`<${ChartCard}
    ...${{ host, body, isNear, title: tag, make, error, notes }}
    draw=${(/** @type {LineChart} */ chart) => {
      chart.setBands(bands);
      chart.setLines(lines);
    }}
    drawnBy=${[lines, bands]}
    hint=${isLoading ? "loading" : ""}
  />`;
}

/**
 * @param {import("tbcore/requests.js").Columns | null} answer
 * @param {readonly import("./columns.js").Column[]} columns
 */
function linesOf(answer, columns) {
  /** @type {{ run: string, segments: number[], num_points: number }[]} */
  const header = answer?.header ?? [];
  const found = new Map(header.map((one, i) => [one.run, { ...one, columns: /** @type {any} */ (answer?.tables[i]) }]));
  const curves = columns.flatMap(({ color, runs }) => runs.flatMap(({ name, label }) => (found.has(name) ? [{ name, label, color, ...found.get(name) }] : [])));
  const lines = curves.map(({ name, label, color, segments, columns: { step, wallTime, value } }) => ({ name, label, color, segments, step, wallTime, value }));
  const longest = curves.reduce((most, { num_points = 0, columns: { step } }) => Math.max(most, num_points > step.length ? num_points : 0), 0);
  return { lines, longest };
}

/**
 * @param {import("tbcore/requests.js").Columns | null} answer
 * @param {readonly import("./columns.js").Column[]} groups
 * @param {string} average  in words
 * @param {string} spread  in words
 */
function bandsOf(answer, groups, average, spread) {
  /** @type {{ num_runs: number, num_steps: number }[]} */
  const header = answer?.header.length === groups.length ? answer.header : [];
  const bands = header.flatMap(({ num_runs: numRuns }, i) => {
    const { step: x, ...columns } = /** @type {any} */ (answer?.tables[i]);
    const { name, color, archived } = groups[i];
    return numRuns > 0 ? [{ name, color, numRuns, archived, average, label: spread, x, ...columns }] : [];
  });
  const mostSteps = header.reduce((most, { num_steps: count }, i) => Math.max(most, count > (answer?.tables[i].step?.length ?? 0) ? count : 0), 0);
  return { bands, mostSteps };
}
