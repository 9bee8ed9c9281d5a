/**
 * The legend of a chart: a table of what its lines are at the cursor, or at their ends. It is also how those who cannot
 * see the chart read it. Rows are made by `legend-rows.js`.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatDuration, formatStep, formatTime, formatValue } from "./format.js";
import { legendRows, sortRows } from "./legend-rows.js";
import { sampleOf } from "./marks.js";

export { legendRows };

/**
 * @typedef {import("./legend-rows.js").LegendRow} LegendRow
 * @typedef {import("./legend-rows.js").LegendSort} LegendSort
 */

/** Name of the property, heading, how it is written, what it is. @type {[keyof LegendRow, string, (value: any) => string, string][]} */
const COLUMNS = [
  ["name", "Run", String, "The run, or a group of runs"],
  ["smoothed", "Smoothed", formatValue, "The value on the smoothed line"],
  ["value", "Value", formatValue, "The value as it was logged; of a group the mean"],
  ["step", "Step", formatStep, "The step that the value was logged with"],
  ["low", "Low", formatValue, "The lower edge of a group's band, at that step"],
  ["high", "High", formatValue, "The upper edge of a group's band, at that step"],
  ["min", "Min", formatValue, "The lowest value in the part that the chart shows; of a group the lowest mean"],
  ["max", "Max", formatValue, "The highest value in the part that the chart shows; of a group the highest mean"],
  ["relative", "Relative", formatDuration, "Time since the run's first point of this tag"],
  ["wallTime", "Time", formatTime, "When the value was logged, on the clock"],
  ["runs", "Runs", String, "How many runs of the group are in the mean"],
];
/** Where a value is, rather than what it is. */
const PLACES = new Set(["step", "relative", "wallTime"]);
/** Of groups alone. */
const OF_GROUPS = new Set(["low", "high", "runs"]);
/** Where a heading sorts the largest first. */
const LARGEST_FIRST = new Set(["smoothed", "value", "max", "high"]);
const ROW_HEIGHT = 24;
/** Of more rows only those in sight exist. */
const MANY = 50;
const SPARE = 10;

/**
 * @param {object} props
 * @param {string} props.label  what the table is of
 * @param {readonly LegendRow[]} props.rows
 * @param {readonly LegendRow[]} [props.sortedBy]  the same rows with other values, which decide the order: so that rows stay
 *   where they are while values change under the pointer
 * @param {boolean} [props.isLast]  rows are of the ends of lines, not of a place that is pointed at
 * @param {LegendSort | null} [props.sort]  null: in the order of the lines
 * @param {(sort: LegendSort | null) => void} [props.onSort]  a heading was clicked: one way, the other, as before
 * @param {(row: LegendRow) => void} [props.onOnly]  only this run is wanted
 * @param {(row: LegendRow | null) => void} [props.onHover]
 * @param {string | null} [props.highlighted]  the run that is pointed at
 */
export function Legend({ label, rows, sortedBy = rows, isLast = false, sort = null, onSort, onOnly, onHover, highlighted = null }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 240 });
  const isLong = rows.length > MANY;
  const measure = () => {
    const { scrollTop: top, clientHeight: height } = /** @type {HTMLElement} */ (box.current);
    if (isLong && (top !== view.top || height !== view.height)) setView({ top, height });
  };
  useLayoutEffect(measure);

  const rowOf = new Map(rows.map((row) => [row.key, row]));
  const isSmoothed = rows.some(({ smoothed }) => smoothed !== null);
  const isGrouped = rows.some(({ runs }) => runs !== undefined);
  const columns = COLUMNS.filter(([column]) => (column !== "smoothed" || isSmoothed) && (isGrouped || !OF_GROUPS.has(column)));
  const first = isLong ? Math.max(0, Math.floor(view.top / ROW_HEIGHT) - SPARE) : 0;
  const last = isLong ? Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + SPARE) : rows.length;
  /** @param {number} count */
  const gap = (count) => count > 0 && html`<tr aria-hidden="true" style=${{ height: `${count * ROW_HEIGHT}px` }}></tr>`;

  return html`<div class="tb-legend" ref=${box} onScroll=${measure} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${rows.length + 1} onPointerLeave=${() => onHover?.(null)}>
      <thead>
        <tr>
          ${columns.map(([column, title, , why]) => {
            const order = sort?.column !== column ? null : sort.descending ? "descending" : "ascending";
            const first = LARGEST_FIRST.has(column);
            const next = sort?.column !== column ? { column, descending: first } : sort.descending === first ? { column, descending: !first } : null;
            return html`<th scope="col" data-column=${column} aria-sort=${order ?? "none"}>
              <button type="button" title=${why} data-first=${first ? "descending" : "ascending"} onClick=${() => onSort?.(next)}>
                ${column === "value" && isLast ? "Last value" : title}
              </button>
            </th>`;
          })}
        </tr>
      </thead>
      <tbody>
        ${gap(first)}
        ${sortRows(sortedBy, sort)
          .slice(first, last)
          .map(({ key }) => /** @type {LegendRow} */ (rowOf.get(key)))
          .map(
            (row, i) => html`<tr
              key=${row.key}
              aria-rowindex=${first + i + 2}
              class=${row.run === highlighted ? "tb-nearest" : ""}
              onPointerEnter=${() => onHover?.(row)}
            >
              <th scope="row" title=${row.name}>
                <i class=${row.dash ? "tb-dashed" : ""} style=${{ background: sampleOf(row.color, row.dash) }}></i><span><bdi>${row.name}</bdi></span>
                ${onOnly && html`<button type="button" aria-label="Only ${row.name}" onClick=${() => onOnly(row)}>only</button>`}
              </th>
              ${columns.slice(1).map(([column, , format]) => html`<td data-column=${column}>${isSaid(row, column) ? format(row[column]) : ""}</td>`)}
            </tr>`,
          )}
        ${gap(rows.length - last)}
      </tbody>
    </table>
  </div>`;
}

/**
 * Whether a row has something in a column: what has no point there has its extremes alone, and the
 * mean of a group has a place on one axis only.
 * @param {LegendRow} row
 * @param {keyof LegendRow} column
 */
function isSaid(row, column) {
  const value = row[column];
  const places = [row.step, row.relative, row.wallTime];
  if (value === null || value === undefined) return false;
  if (places.every(Number.isNaN)) return (column === "min" || column === "max") && !Number.isNaN(value);
  return !(Number.isNaN(value) && PLACES.has(column));
}
