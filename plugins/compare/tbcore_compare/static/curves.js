/** Cards of curves: a tag in all runs of all columns. */

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
  const runs = columns.flatMap((column) => column.runs);
  const { answer, error } = useColumns(host, "curves", { tag }, runs, isNear);
  const { lines, notes } = useMemo(() => linesOf(answer, columns), [answer, columns]);
  const make = (/** @type {HTMLElement} */ element, /** @type {import("tbcore/cards.js").ChartEvents} */ on) =>
    new LineChart(element, { label: tag, cursor, onHover: (hits) => on.hover(hits[0]?.run ?? null, hits), onZoom: on.zoom });
  return html`<${ChartCard}
    ...${{ host, body, isNear, title: tag, make, error, notes }}
    draw=${(/** @type {LineChart} */ chart) => chart.setLines(lines)}
    drawnBy=${[lines]}
    hint=${answer || error || !isNear ? "" : "loading"}
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
  const notes = longest > 0 ? [`Of curves with up to ${formatStep(longest)} points, the lowest and highest of each part are drawn.`] : [];
  return { lines, notes };
}
