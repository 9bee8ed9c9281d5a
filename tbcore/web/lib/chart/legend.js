/**
 * The legend of a line chart: a table of its lines and bands. It is also the accessible alternative
 * to the chart. `legend-rows.js` makes the rows.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatDuration, formatName, formatStep, formatTime, formatValue } from "../format.js";
import { describeFigure, figureHeading } from "../group-figure.js";
import { runTitle } from "../text-names.js";
import { lineSample } from "../ui/colors.js";
import { adoptSheet, loadSheet } from "../ui/lazy.js";
import { capitalized, shortTitle } from "./hover-tooltip.js";
import { bandRow, legendRows, partOf, pinnedRow, sortRows } from "./legend-rows.js";

/** The styles, which are there before the first table is drawn. */
const SHEET = await loadSheet(new URL("./legend.css", import.meta.url)).catch(console.warn);

/**
 * @typedef {import("./types.js").Band} Band
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Range} Range
 * @typedef {import("./legend-rows.js").LegendRow} LegendRow
 * @typedef {import("./legend-rows.js").LegendSort} LegendSort
 */

/**
 * For each column: property of `LegendRow`, heading, formatter, and tooltip of the heading.
 * @type {[column: keyof LegendRow, title: string, format: (value: any) => string, why: string][]}
 */
const COLUMNS = [
  ["name", "Run", String, "The run, or a group of runs"],
  ["final", "Final", formatValue, ""],
  ["smoothed", "Smoothed", formatValue, "The value on the smoothed line"],
  ["value", "Value", formatValue, "The value as it was logged; for a group, the average of its runs that have one there"],
  ["x", "x", formatStep, ""],
  ["step", "Step", formatStep, "The step at which the value was logged"],
  ["low", "Low", formatValue, "The lower edge of the group's band at this step"],
  ["high", "High", formatValue, "The upper edge of the group's band at this step"],
  ["min", "Min", formatValue, "The lowest value in the visible part of the chart; for a group, the lowest average"],
  ["max", "Max", formatValue, "The highest value in the visible part of the chart; for a group, the highest average"],
  ["relative", "Relative", formatDuration, "Time since the run's first point of this tag"],
  ["wallTime", "Time", formatTime, "The date and time at which the value was logged"],
  ["runs", "Runs", String, "The number of runs in the group's average"],
];
/** Columns with the position of a value: its step or time. */
const POSITION_COLUMNS = new Set(["x", "step", "relative", "wallTime"]);
/** Columns that only groups have. */
const GROUP_COLUMNS = new Set(["final", "low", "high", "runs"]);
/** Columns that the first click on their heading sorts in descending order. */
const DESCENDING_FIRST = new Set(["final", "smoothed", "value", "max", "high"]);
const ROW_HEIGHT_PX = 24;
/** Maximum length of a table that renders all its rows; longer ones render the visible rows only. */
const MAX_ROWS_WITHOUT_WINDOW = 50;
/** Number of rows rendered above the visible rows, and the number rendered below them. */
const NUM_SPARE_ROWS = 10;

/** @type {readonly Band[]} */
const NO_BANDS = [];

/**
 * The table: values at the pin or the pointer, otherwise the last values in the visible part. Rows
 * are sorted by the last values, so that they do not move with the pointer.
 * @param {object} props
 * @param {string} props.label  accessible name of the table
 * @param {readonly Line[]} props.lines  a new array whenever a line has changed
 * @param {readonly Band[]} [props.bands]  one row each
 * @param {import("./types.js").XAxis} [props.xAxis]
 * @param {string} [props.xTitle]  what an axis of numbers shows
 * @param {readonly Hit[] | null} [props.hits]  the points under the pointer, from `onHover`
 * @param {Range | null} [props.view]  the visible part of the x axis; null for all of it
 * @param {number | null} [props.pin]  the pinned x, whose values are shown wherever the pointer is
 * @param {ReadonlyMap<string, Line> | null} [props.pinned]  maps the key of a line that has no row
 *   at the pin to the points that were logged there
 * @param {LegendSort | null} [props.sort]  null for the order of the lines
 * @param {(sort: LegendSort | null) => void} [props.onSort]  called when a heading is clicked;
 *   repeated clicks give the column's first direction, then the opposite direction, then null
 * @param {(row: LegendRow) => void} [props.onOnly]  called to show only this row's run
 * @param {(row: LegendRow | null) => void} [props.onHover]
 * @param {string | null} [props.highlighted]  name of the hovered run
 */
export function Legend({ label, sort = null, onSort, onOnly, onHover, highlighted = null, xTitle = "x", ...shown }) {
  const { rows, lastRows } = useRows(shown);
  const isPinned = (shown.pin ?? null) !== null;
  const isLast = !isPinned && !shown.hits;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 240 });
  const isLong = rows.length > MAX_ROWS_WITHOUT_WINDOW;
  /** Updates the visible part of a long table. */
  const measure = () => {
    const { scrollTop: top, clientHeight: height } = /** @type {HTMLElement} */ (box.current);
    if (isLong && (top !== view.top || height !== view.height)) setView({ top, height });
  };
  useLayoutEffect(() => adoptSheet(box.current?.getRootNode(), SHEET), []);
  useLayoutEffect(measure);

  const rowOf = new Map(rows.map((row) => [row.key, row]));
  const isSmoothed = rows.some(({ smoothed }) => smoothed !== null);
  const isGrouped = rows.some(({ runs }) => runs !== undefined);
  const hasX = rows.some(({ x }) => x !== undefined);
  const { average = "mean", final } = shown.bands?.[0] ?? {};
  const spread = final?.spread ?? "deviation";
  // What the values are, if all are averages of groups.
  const noun = isGrouped && rows.every(({ runs }) => runs !== undefined) ? average : "value";
  const hasTimes = isGrouped || shown.lines.some(({ wallTime }) => wallTime);
  const hasFinal = rows.some(({ figure }) => figure);
  const columns = COLUMNS.filter(
    ([column]) =>
      (column !== "smoothed" || isSmoothed) &&
      (column !== "x" || hasX) &&
      (column !== "final" || hasFinal) &&
      (hasTimes || !(column === "relative" || column === "wallTime")) &&
      (!isGrouped ? !GROUP_COLUMNS.has(column) : column === "name" || lastRows.some((row) => hasValue(row, column))),
  );
  const firstIndex = isLong ? Math.max(0, Math.floor(view.top / ROW_HEIGHT_PX) - NUM_SPARE_ROWS) : 0;
  const endIndex = isLong ? Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_HEIGHT_PX) + NUM_SPARE_ROWS) : rows.length;
  /** An empty row in place of rows that are not rendered. @param {number} count */
  const gap = (count) => count > 0 && html`<tr aria-hidden="true" style=${{ height: `${count * ROW_HEIGHT_PX}px` }}></tr>`;

  return html`<div class="tb-legend" ref=${box} onScroll=${measure} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${rows.length + 1} onPointerLeave=${() => onHover?.(null)}>
      <thead>
        <tr>
          ${columns.map(([column, title, , why]) => {
            const order = sort?.column !== column ? null : sort.descending ? "descending" : "ascending";
            // Whether the first click sorts in descending order.
            const descends = DESCENDING_FIRST.has(column);
            const next = sort?.column !== column ? { column, descending: descends } : sort.descending === descends ? { column, descending: !descends } : null;
            return html`<th scope="col" data-column=${column} aria-sort=${order ?? "none"}>
              <button type="button" title=${column === "final" ? `Of the last values of the group’s runs, from all points and not smoothed, the ${describeFigure(average, spread)}; for a run, its last value` : why.replace("average", average) || xTitle} data-first=${descends ? "descending" : "ascending"} onClick=${() => onSort?.(next)}>
                ${column === "value" ? (!isLast ? capitalized(noun) : noun === "value" ? "Last value" : `${capitalized(noun)} at end`) : column === "x" ? shortTitle({ title: xTitle }) : column === "final" ? `Final: ${figureHeading(average, spread)}` : title}
              </button>
            </th>`;
          })}
        </tr>
      </thead>
      <tbody>
        ${gap(firstIndex)}
        ${sortRows(isPinned ? rows : lastRows, sort)
          .slice(firstIndex, endIndex)
          .map(({ key }) => /** @type {LegendRow} */ (rowOf.get(key)))
          .map(
            (row, i) => html`<tr
              key=${row.key}
              aria-rowindex=${firstIndex + i + 2}
              class=${row.run === highlighted ? "tb-nearest" : ""}
              onPointerEnter=${() => onHover?.(row)}
            >
              <th scope="row" title=${runTitle({ name: row.name.startsWith(`${row.run} · `) ? row.name : row.run, label: row.name })}>
                <i class=${row.dash ? "tb-dashed" : ""} style=${{ background: lineSample(row.color, row.dash) }}></i><span><bdi>${formatName(row.name)}</bdi></span>
                ${onOnly && html`<button type="button" aria-label="Only ${row.name}" onClick=${() => onOnly(row)}>only</button>`}
              </th>
              ${columns.slice(1).map(([column, , format]) => html`<td data-column=${column} title=${column === "final" ? row.figure?.title : undefined}>${column === "final" && row.figure ? row.figure.text : hasValue(row, column) ? format(row[column]) : ""}</td>`)}
            </tr>`,
          )}
        ${gap(rows.length - endIndex)}
      </tbody>
    </table>
  </div>`;
}

/**
 * The rows to show, and rows with the same keys that have the last values in the visible part.
 * @param {Pick<Parameters<typeof Legend>[0], "lines" | "bands" | "xAxis" | "hits" | "view" | "pin" | "pinned">} shown
 */
function useRows({ lines, bands = NO_BANDS, xAxis = "step", hits = null, view = null, pin = null, pinned = null }) {
  const lastRows = useMemo(
    () => [
      ...bands.map((band) => bandRow(band, null, null, xAxis, view)),
      ...legendRows(lines.map((line) => partOf(line, xAxis, view)), null, xAxis),
    ],
    [lines, bands, xAxis, view],
  );
  const rows = useMemo(() => {
    if (!hits && pin === null) return lastRows;
    const lineRows = pin === null ? legendRows(lines, hits, xAxis) : lines.map((line) => pinnedRow(pinned?.get(line.key ?? "") ?? line, pin, xAxis));
    return [
      ...bands.map((band) => bandRow(band, hits, pin, xAxis, view)),
      ...lineRows.map((row, index) => ({ ...row, min: lastRows[bands.length + index].min, max: lastRows[bands.length + index].max })),
    ];
  }, [lastRows, hits, pin, pinned]);
  return { rows, lastRows };
}

/**
 * Whether a row has a value in a column. A line without a point at the cursor has only min and max.
 * The mean of a group has only one of step, relative time and wall time, and a bar has none.
 * @param {LegendRow} row @param {keyof LegendRow} column
 */
function hasValue(row, column) {
  const value = row[column];
  const positions = [row.step, row.relative, row.wallTime, row.x ?? NaN];
  if (value === null || value === undefined) return false;
  if (column === "final") return true;
  if (positions.every(Number.isNaN) && !row.runs) return (column === "min" || column === "max") && !Number.isNaN(value);
  return !(Number.isNaN(value) && POSITION_COLUMNS.has(column));
}
