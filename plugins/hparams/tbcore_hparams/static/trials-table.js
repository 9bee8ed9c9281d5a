/**
 * The table: a row for each group of sessions. Only visible rows and columns are rendered. The
 * table scrolls both ways below fixed headings and beside fixed names. It is shown even without
 * rows, since a filter in its heading may be open.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { commonLengths, formatName, formatValue, plural } from "tbcore/format.js";
import { Name } from "tbcore/text-names.js";
import { Icon, Menu } from "tbcore/ui.js";
import { cellText, cellTitle, writerOf } from "./cell-text.js";
import { ColumnFilterForm } from "./column-filter.js";
import { dragColumn } from "./column-list.js";
import { NoRows } from "./empty-states.js";
import { ImportanceMark, ImportanceName } from "./importance-mark.js";
import { nameOf, sizeOf, titleOf } from "./labels.js";
import { RowDetails } from "./row-details.js";
import { isNumeric } from "./scales.js";
import { moveKey, nextSort } from "./sorting.js";

/** @typedef {import("./types.js").Column} Column */

const ROW_HEIGHT_PX = 31;
/** Height of the headings, which stay in place above the rows. */
const HEAD_HEIGHT_PX = 46;
/** Height of the details of a row before they are measured. */
const INITIAL_DETAILS_HEIGHT_PX = 300;
/** Number of rows rendered above and below the visible ones, for scrolling and for the Tab key. */
const OVERSCAN_ROWS = 6;
/** Number of columns in a batch. All columns of a batch are rendered if one of them is visible. */
const COLUMN_BATCH = 4;
/** Estimated width of a character. */
const CHARACTER_WIDTH_PX = 8;
/** Space at the left and the right of a cell's text, in sum. */
const CELL_PADDING_PX = 24;
const MIN_COLUMN_WIDTH_PX = 84;
const MAX_COLUMN_WIDTH_PX = 220;
/** That of a metric's averages, such as `0.517 [0.508, 0.533] (4 of 5)`. */
const MAX_FIGURE_WIDTH_PX = 280;
/** The same where it has two lines, beside the names of a narrow tab: up to this width of the table, as in the styles. */
const NARROW_FIGURE_WIDTH_PX = 176;
const MAX_NARROW_PX = 540;
/** Space for the arrow and the filter button beside a column's name. */
const HEADING_BUTTONS_WIDTH_PX = 34;
/** Space for the buttons beside a name, and for padding. */
const NAME_PADDING_PX = 115;
const MIN_NAME_WIDTH_PX = 180;
const MAX_NAME_WIDTH_PX = 420;
/** Number of a column's cells, from the top, that determine its width. */
const NUM_CELLS_MEASURED = 100;
/** Of the background colour of cells. */
const CELL_OPACITY = "35%";

/** The table. @param {{ tab: import("./tab.js").Tab }} props */
export function TrialsTable({ tab }) {
  const { sweep, view, rows } = tab;
  const { columns } = view;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [viewport, setViewport] = useState({ top: 0, left: 0, height: 600, width: 800 });
  const [detailsHeights, setDetailsHeights] = useState(/** @type {ReadonlyMap<string, number>} */ (new Map()));
  const measure = () => {
    const { scrollTop: top, scrollLeft: left, clientHeight: height, clientWidth: width } = /** @type {HTMLElement} */ (box.current);
    setViewport((old) => (old.top === top && old.left === left && old.height === height && old.width === width ? old : { top, left, height, width }));
  };
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    measure();
    const resizes = new ResizeObserver(measure);
    resizes.observe(box.current);
    return () => resizes.disconnect();
  }, []);

  // The upper edge of each row, and the lower edge of the last one.
  const tops = useMemo(() => {
    const edges = new Float64Array(rows.length + 1);
    rows.forEach((row, i) => {
      const { name } = sweep.groups[row];
      edges[i + 1] = edges[i] + ROW_HEIGHT_PX + (view.open.has(name) ? (detailsHeights.get(name) ?? INITIAL_DETAILS_HEIGHT_PX) : 0);
    });
    return edges;
  }, [rows, sweep, view.open, detailsHeights]);
  const first = Math.max(0, indexAt(tops, viewport.top) - OVERSCAN_ROWS);
  const end = Math.min(rows.length, indexAt(tops, viewport.top + viewport.height) + 1 + OVERSCAN_ROWS);

  // Scroll to a row that was selected outside the table.
  useEffect(() => {
    const index = tab.shownRow.value ? rows.indexOf(tab.shownRow.value.row) : -1;
    const element = box.current;
    if (!element || index < 0) return;
    const top = tops[index];
    const visibleHeight = element.clientHeight - HEAD_HEIGHT_PX;
    if (top < element.scrollTop || top + ROW_HEIGHT_PX > element.scrollTop + visibleHeight) element.scrollTop = top - visibleHeight / 3;
  }, [tab.shownRow.value]);

  const isNarrow = viewport.width <= MAX_NARROW_PX;
  const widths = useMemo(() => columns.map((column) => Math.min(widthOf(column), column.figure && isNarrow ? NARROW_FIGURE_WIDTH_PX : Infinity)), [columns, isNarrow]);
  const nameWidth = useMemo(() => {
    const longest = sweep.groups.reduce((longest, group) => Math.max(longest, `${group.label} ${sizeOf(group)}`.length), 0) + Math.max(0, ...Array.from(tab.marks.values(), ({ mark }) => mark.length));
    return Math.min(MAX_NAME_WIDTH_PX, Math.max(MIN_NAME_WIDTH_PX, longest * CHARACTER_WIDTH_PX + NAME_PADDING_PX));
  }, [sweep, tab.marks]);
  /** What all names have in common is truncated first. */
  const common = useMemo(() => commonLengths(sweep.groups.map(({ label }) => label)), [sweep]);
  // The left edge of each column, and the right edge of the last one.
  const lefts = useMemo(() => widths.reduce((edges, width, i) => edges.fill(edges[i] + width, i + 1), new Float64Array(widths.length + 1)), [widths]);
  // The rendered columns, in whole batches.
  const from = Math.floor(Math.max(0, indexAt(lefts, viewport.left) - 1) / COLUMN_BATCH) * COLUMN_BATCH;
  const to = Math.min(columns.length, Math.ceil((indexAt(lefts, viewport.left + viewport.width) + 1) / COLUMN_BATCH) * COLUMN_BATCH);
  const writers = useMemo(() => columns.map(writerOf), [columns]);
  const keys = useMemo(() => columns.map(({ key }) => key), [columns]);
  /** The name of the group that was last checked or unchecked. */
  const last = useRef("");
  /** Checks or unchecks a group, or with Shift all from the last one to it. @param {string} name @param {MouseEvent} event */
  const onPick = (name, { currentTarget, shiftKey }) => {
    const names = rows.map((row) => sweep.groups[row].name);
    const [start, end] = [names.indexOf(last.current), names.indexOf(name)].sort((a, b) => a - b);
    last.current = name;
    tab.pick(shiftKey && start >= 0 ? names.slice(start, end + 1) : [name], /** @type {HTMLInputElement} */ (currentTarget).checked);
  };
  /** @param {string} name @param {number} height */
  const onHeight = (name, height) => setDetailsHeights((old) => (old.get(name) === height ? old : new Map(old).set(name, height)));
  /** @param {number} height */
  const gap = (height) => height > 0 && html`<tr aria-hidden="true" class="gap" style=${{ height: `${height}px` }}></tr>`;

  return html`<div class="trials" ref=${box} onScroll=${measure} onPointerLeave=${() => tab.hover(null)} style=${{ "--viewport-width": `${viewport.width}px`, "--name-width": `min(${nameWidth}px, ${sweep.groups.some(({ archived }) => archived) ? 58 : 50}vw)` }}>
    <table aria-label="Sessions" aria-rowcount=${rows.length + 1} aria-colcount=${columns.length + 1} onKeyDown=${onRowKey}>
      <colgroup>
        <col class="name" />
        ${widths.map((width, i) => html`<col key=${keys[i]} style=${{ width: `${width}px` }} />`)}
        <col />
      </colgroup>
      <thead>
        <tr aria-rowindex="1">
          <${Heading} tab=${tab} column=${tab.nameColumn} keys=${keys} isFixed />
          ${skippedCells(from)}
          ${columns.slice(from, to).map((column) => html`<${Heading} key=${column.key} tab=${tab} column=${column} keys=${keys} />`)}
          ${skippedCells(columns.length - to)}
          <td></td>
        </tr>
      </thead>
      <tbody>
        ${gap(tops[first])}
        ${rows.slice(first, end).flatMap((row, i) => {
          const { name } = sweep.groups[row];
          const isOpen = view.open.has(name);
          return [
            html`<${Row} key=${name} tab=${tab} row=${row} index=${first + i} common=${common} columns=${columns} from=${from} to=${to} writers=${writers} isOpen=${isOpen} onPick=${onPick} />`,
            isOpen && html`<${Details} key=${`${name} details`} tab=${tab} row=${row} numColumns=${columns.length + 2} onHeight=${onHeight} />`,
          ];
        })}
        ${gap(tops[rows.length] - tops[end])}
      </tbody>
    </table>
    ${rows.length === 0 && html`<${NoRows} tab=${tab} />`}
  </div>`;
}

/** A cell in place of columns that are not rendered. @param {number} count */
function skippedCells(count) {
  return count > 0 && html`<td colspan=${count} aria-hidden="true"></td>`;
}

/**
 * Index of the last row or column that starts at or before a position.
 * @param {Float64Array} edges  where each row or column starts, and where the last one ends
 * @param {number} at
 */
function indexAt(edges, at) {
  let low = 0;
  let high = edges.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (edges[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The width of a column in CSS pixels. @param {Column} column */
function widthOf(column) {
  const write = writerOf(column);
  const longest = column.cells.slice(0, NUM_CELLS_MEASURED).reduce((/** @type {number} */ longest, _, row) => Math.max(longest, write(row).length), 0);
  const needed = Math.max(longest * CHARACTER_WIDTH_PX + CELL_PADDING_PX, (column.heading ?? column.label).length * CHARACTER_WIDTH_PX + CELL_PADDING_PX + HEADING_BUTTONS_WIDTH_PX);
  return Math.round(Math.min(column.statistics ? MAX_FIGURE_WIDTH_PX : MAX_COLUMN_WIDTH_PX, Math.max(MIN_COLUMN_WIDTH_PX, needed)));
}

/**
 * Moves the focus by arrow keys to the same control in the next row.
 * @param {KeyboardEvent} event
 */
function onRowKey(event) {
  const control = /** @type {HTMLElement} */ (event.target);
  const kind = control.dataset.control;
  if (!kind || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  event.preventDefault();
  const next = event.key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
  for (let row = control.closest("tr")?.[next]; row; row = row[next]) {
    const other = /** @type {HTMLElement | null} */ (row.querySelector(`[data-control="${kind}"]`));
    if (!other) continue;
    other.focus();
    return;
  }
}

/**
 * The heading of a column: its name, order, filter and importance.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.column
 * @param {readonly string[]} props.keys  of all columns
 * @param {boolean} [props.isFixed]  whether the column cannot be moved
 */
function Heading({ tab, column, keys, isFixed = false }) {
  const { view } = tab;
  const { key, label, heading = label, description, kind } = column;
  const sortIndex = view.sorts.findIndex((sort) => sort.key === key);
  const order = sortIndex < 0 ? null : view.sorts[sortIndex].descending ? "descending" : "ascending";
  const filter = tab.filterOf(key);
  /** @param {MouseEvent} event */
  const onSort = (event) => tab.setSorts(nextSort(view.isSorted || event.shiftKey ? view.sorts : [], key, event.shiftKey));
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const by = event.altKey && { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const target = by && keys[keys.indexOf(key) + by];
    if (!target) return;
    event.preventDefault();
    tab.setColumns(moveKey(keys, key, target));
  };
  const sortHint = "Click to sort, Shift-click to sort by several columns; drag or press Alt ← → to move";
  return html`<th
    scope="col"
    aria-colindex=${keys.indexOf(key) + 2}
    class="${isFixed ? "name" : ""} ${isNumeric(column) ? "number" : ""} ${column.key === view.metric?.key ? "metric" : ""}"
    aria-sort=${order ?? "none"}
    ...${dragColumn(key, (dragged) => tab.setColumns(moveKey(keys, dragged, key)), !isFixed)}
  >
    <div class="heading">
      <button type="button" class="sort" title="${formatName(description ? `${label}: ${description}` : label)}\n${sortHint}" onClick=${onSort} onKeyDown=${isFixed ? undefined : onKeyDown}>
        <span>${formatName(heading)}</span>
        ${order && html`<b aria-hidden="true">${order === "ascending" ? "↑" : "↓"}${view.sorts.length > 1 ? sortIndex + 1 : ""}</b>`}
      </button>
      <${Menu}
        icon="filter"
        label="Filter ${label}"
        className="tb-icon-button ${filter ? "filtered" : ""}"
        content=${() => html`<${ColumnMenu} tab=${tab} column=${column} />`}
      />
    </div>
    ${isFixed ? html`<${ImportanceName} tab=${tab} />` : kind !== "info" && html`<${ImportanceMark} tab=${tab} column=${column} />`}
  </th>`;
}

/**
 * The menu of a column.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.column
 */
function ColumnMenu({ tab, column }) {
  const { metric } = tab.view;
  return html`<div class="axis-settings">
    <h4>${formatName(column.label)}</h4>
    ${column.description && html`<p class="tb-dim">${column.description}</p>`}
    <${ColumnFilterForm} column=${column} filter=${tab.filterOf(column.key)} onFilter=${(/** @type {any} */ filter) => tab.setFilter(column.key, filter)} />
    ${column.kind === "metric" && column !== metric && html`<button type="button" class="tb-button" onClick=${() => tab.setMetric(column.key)}>Optimise this metric</button>`}
  </div>`;
}

/**
 * A row; its cells are rendered again only if they have changed.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {number} props.row  index of the group in the sweep
 * @param {number} props.index  position of the row in the table
 * @param {[start: number, end: number]} props.common  as of `commonLengths`
 * @param {readonly Column[]} props.columns
 * @param {number} props.from  first rendered column
 * @param {number} props.to  end of the rendered columns
 * @param {readonly ((row: number) => string)[]} props.writers
 * @param {boolean} props.isOpen
 * @param {(name: string, event: MouseEvent) => void} props.onPick
 */
function Row({ tab, row, index, common: [start, end], columns, from, to, writers, isOpen, onPick }) {
  const { sweep, grades, ramp } = tab;
  const group = sweep.groups[row];
  const isHovered = tab.hoveredRow.value === row;
  const isPicked = tab.picked.includes(row);
  const isBest = tab.bestRows.has(row);
  const mark = tab.marks.get(row);
  const text = mark?.mark ?? (isBest ? "best" : "");
  const color = tab.runColorOf(group);
  const cells = useMemo(
    () =>
      columns.slice(from, to).map((column, i) => {
        const cell = column.cells[row];
        const share = grades.get(column.key)?.get(cell) ?? NaN;
        const style = Number.isNaN(share) ? undefined : { backgroundColor: `color-mix(in srgb, ${ramp[Math.round(share * (ramp.length - 1))]} ${CELL_OPACITY}, transparent)` };
        return html`<td key=${column.key} aria-colindex=${from + i + 2} class=${classOf(column, cell)} title=${[cellTitle(column, row), tab.stepText(column, row)].filter(Boolean).join(column.figure ? ", " : " ") + spreadText(tab, column, group)} style=${style}>${column.figure ? html`<span>${writers[from + i](row)}</span>` : writers[from + i](row)}</td>`;
      }),
    [sweep, columns, from, to, grades, ramp, row, tab.aggregationName],
  );
  return html`<tr
    class="${isPicked ? "picked" : ""} ${isHovered ? "hovered" : ""} ${isBest ? "best" : ""}"
    aria-rowindex=${index + 2}
    data-name=${nameOf(group)}
    onPointerEnter=${() => tab.hover(row)}
  >
    <th scope="row" class="name" title=${titleOf(group)}>
      <div>
        <button
          type="button"
          class="open"
          data-control="open"
          aria-expanded=${isOpen}
          aria-label="Sessions and curves of ${group.label}"
          onClick=${() => tab.toggleOpen(group.name)}
        >
          <${Icon} name="chevron" />
        </button>
        <input
          type="checkbox"
          class="tb-check"
          data-control="pick"
          checked=${isPicked}
          aria-label="Check ${group.label}"
          title="Marks the row in the plots. “Show only” then shows the checked rows in all tabs"
          onClick=${(/** @type {MouseEvent} */ event) => onPick(group.name, event)}
        />
        <i style=${{ background: color }}></i>
        <span class="label" onClick=${() => tab.toggleOpen(group.name)}><${Name} name=${group.label} part=${[start, group.label.length - end]} /></span>
        ${text && html`<b class="best-mark" data-mark=${isBest ? undefined : text} title=${[isBest && tab.bestText, mark?.title].filter(Boolean).join("\n")}>${text}</b>`}
        ${sizeOf(group) && html`<small class="count" title=${countTooltip(tab, group)}>${sizeOf(group)}</small>`}
      </div>
    </th>
    ${skippedCells(from)}
    ${cells}
    ${skippedCells(columns.length - to)}
    <td></td>
  </tr>`;
}

/**
 * The tooltip of a row's number of sessions.
 * @param {import("./tab.js").Tab} tab
 * @param {import("./types.js").Group} group
 */
function countTooltip(tab, { sessions, archived }) {
  const numUnchecked = sessions.filter(({ name }) => !tab.runColors.has(name)).length;
  const more = archived ? `; ${archived} more are archived, and in none of the values` : "";
  return `sessions ${tab.sweep.grouped ? "of this group" : "with these hyperparameters"}${numUnchecked > 0 ? `; ${numUnchecked} of them not selected in the list of runs, but included` : ""}${more}`;
}

/**
 * The range of values among the sessions of a group: a further line for the tooltip of a cell.
 * @param {import("./tab.js").Tab} tab
 * @param {Column} column
 * @param {import("./types.js").Group} group
 */
function spreadText(tab, column, { sessions }) {
  if (column.kind !== "metric" || column.figure || sessions.length === 1) return "";
  const measured = sessions.filter((session) => tab.hasMetric(column, session));
  if (measured.length === 0) return "";
  const values = measured.map(({ index }) => tab.sweep.sessionValues[column.index].value[index]);
  return `\n${tab.aggregationName} of ${plural(measured.length, "session")}, ${formatValue(Math.min(...values))} to ${formatValue(Math.max(...values))}`;
}

/** The CSS class of a cell. @param {Column} column @param {import("./types.js").Cell} cell */
function classOf(column, cell) {
  if (cell === null) return isNumeric(column) ? "number missing" : "missing";
  if (typeof cell !== "number") return column.type === "mixed" ? `mixed ${typeof cell}` : "";
  return Number.isFinite(cell) ? "number" : "number nonfinite";
}

/**
 * The details below an open row.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {number} props.row
 * @param {number} props.numColumns
 * @param {(name: string, height: number) => void} props.onHeight
 */
function Details({ tab, row, numColumns, onHeight }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const group = tab.sweep.groups[row];
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const resizes = new ResizeObserver(() => onHeight(group.name, element.offsetHeight));
    resizes.observe(element);
    return () => resizes.disconnect();
  }, [group.name]);
  return html`<tr class="details">
    <td colspan=${numColumns}><div ref=${box}><${RowDetails} tab=${tab} group=${group} /></div></td>
  </tr>`;
}

/** A cell for other tables. @param {{ column: Column, row: number }} props */
export function Cell({ column, row }) {
  return html`<td class=${classOf(column, column.cells[row])} title=${cellTitle(column, row)}>${cellText(column, row)}</td>`;
}
