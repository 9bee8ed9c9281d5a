/**
 * The comparison of two or more rows: hyperparameters and metrics side by side, and curves in
 * shared charts.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, formatValue } from "tbcore/format.js";
import { Icon, IconButton, colorsOf } from "tbcore/ui.js";
import { cellText, cellTitle } from "./cell-text.js";
import { MetricCharts } from "./curves.js";
import { bestRow } from "./goals.js";
import { titleOf } from "./labels.js";
import { orderedMetrics } from "./row-details.js";
import { Cell } from "./trials-table.js";
import { goalOf } from "./view.js";

/** @typedef {import("./types.js").Column} Column */

/**
 * The dialog, which opens when it is first rendered.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {() => void} props.onClose
 */
export function Compare({ tab, onClose }) {
  const { sweep, view, picked } = tab;
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [isSameShown, setSameShown] = useState(false);
  useEffect(() => {
    if (dialog.current && !dialog.current.open) dialog.current.showModal();
  }, []);
  const colors = useMemo(() => {
    const groups = picked.map((row) => sweep.groups[row]);
    const own = new Map(groups.map((group) => [group.name, tab.runColorOf(group)]));
    // The colours of the table, unless two rows would have the same one.
    return new Set(own.values()).size === own.size ? own : colorsOf([...own.keys()], tab.theme);
  }, [picked, sweep, tab.theme, tab.runColors]);
  const members = useMemo(
    () =>
      picked.flatMap((row) => {
        const { name, sessions } = sweep.groups[row];
        return sessions.map((session) => ({ session, color: colors.get(name) ?? "#888888" }));
      }),
    [picked, sweep, colors],
  );
  const hparams = sweep.columns.filter(({ kind }) => kind === "hparam");
  const differing = hparams.filter((column) => isDifferent(column, picked));
  const same = hparams.filter((column) => !differing.includes(column));
  const metrics = orderedMetrics(tab).filter(({ cells }) => picked.some((row) => cells[row] !== null));
  const numColumns = picked.length + 1 + (picked.length === 2 ? 1 : 0);
  /** @param {readonly Column[]} columns */
  const lines = (columns) => columns.map((column) => html`<${Line} key=${column.key} tab=${tab} column=${column} rows=${picked} />`);

  return html`<dialog class="compare" ref=${dialog} aria-label="Comparison" onClose=${onClose} onClick=${(/** @type {Event} */ event) => event.target === dialog.current && dialog.current?.close()}>
    <div class="compare-window">
      <header>
        <h2>Compare ${picked.length} rows</h2>
        <${IconButton} icon="close" label="Close" title="Close" onClick=${() => dialog.current?.close()} />
      </header>
      <div class="compare-table" tabindex="0" role="region" aria-label="Values side by side">
        <table>
          <thead>
            <tr>
              <td></td>
              ${picked.map((row) => {
                const { name, label } = sweep.groups[row];
                return html`<th scope="col" title=${titleOf(sweep.groups[row])}><span><i style=${{ background: colors.get(name) }}></i>${formatName(label)}</span></th>`;
              })}
              ${picked.length === 2 && html`<th scope="col" title="Second minus first">Difference</th>`}
            </tr>
          </thead>
          <tbody>
            <tr class="section"><th colspan=${numColumns} scope="rowgroup">Hyperparameters that differ${differing.length === 0 ? ": none" : ""}</th></tr>
            ${lines(differing)}
            ${same.length > 0 &&
            html`<tr class="section">
              <th colspan=${numColumns} scope="rowgroup">
                <button type="button" aria-expanded=${isSameShown} onClick=${() => setSameShown(!isSameShown)}><${Icon} name="chevron" />Same for all (${same.length})</button>
              </th>
            </tr>`}
            ${isSameShown && lines(same)}
            ${metrics.length > 0 && html`<tr class="section"><th colspan=${numColumns} scope="rowgroup">Metrics</th></tr>`}
            ${lines(metrics)}
          </tbody>
        </table>
      </div>
      <${MetricCharts} tab=${tab} metrics=${metrics} members=${members} what="curve" />
    </div>
  </dialog>`;
}

/**
 * Whether the rows have different cells in a column, or one of them different values inside.
 * @param {Column} column
 * @param {readonly number[]} rows
 */
function isDifferent({ cells, sessionCells, figure }, rows) {
  return rows.some((row) => !Object.is(cells[row], cells[rows[0]]) || (sessionCells && figure?.(row)));
}

/**
 * A line of the table: one column of the sweep.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.column
 * @param {readonly number[]} props.rows
 */
function Line({ tab, column, rows }) {
  const { view } = tab;
  const goal = column === view.metric ? view.goal : column.kind === "metric" ? goalOf(column) : null;
  const best = goal ? bestRow(rows, column, goal) : null;
  const [a, b] = rows.map((row) => column.cells[row]);
  const difference = rows.length === 2 && typeof a === "number" && typeof b === "number" ? b - a : NaN;
  return html`<tr>
    <th scope="row" title=${column.description || formatName(column.label)}>${formatName(column.label)}</th>
    ${rows.map((row) =>
      best === row && isDifferent(column, rows)
        ? html`<td class="number best" title=${`${cellTitle(column, row)} ${tab.stepText(column, row)}\nbest of these`}><b class="best-mark">best</b> ${cellText(column, row)}</td>`
        : html`<${Cell} column=${column} row=${row} />`,
    )}
    ${rows.length === 2 && html`<td class="number tb-dim">${Number.isFinite(difference) && difference !== 0 ? `${difference > 0 ? "+" : "−"}${formatValue(Math.abs(difference), 4)}` : ""}</td>`}
  </tr>`;
}
