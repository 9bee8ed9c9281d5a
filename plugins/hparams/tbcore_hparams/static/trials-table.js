/**
 * The table: a row for each group of sessions, of which only those in sight exist. It scrolls both ways; the heading and
 * the names stay. Without any row it is there as well: the filter that is being typed is in its heading.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Menu } from "tbcore/lib/card.js";
import { formatValue, plural } from "tbcore/lib/format.js";
import { Icon } from "tbcore/lib/icons.js";
import { cutLabel } from "tbcore/lib/run-tree.js";
import { ColumnFilterForm } from "./column-filter.js";
import { allowDrop, onDropped, startDrag } from "./column-list.js";
import { NoRows } from "./empty.js";
import { ImportanceMark } from "./importance-mark.js";
import { moveKey, nextSort } from "./order.js";
import { RowDetails } from "./row-details.js";
import { isNumeric } from "./scales.js";
import { exactText, shortText, writerOf } from "./texts.js";

/** @typedef {import("./types.js").Column} Column */

const ROW_HEIGHT = 31;
const HEAD_HEIGHT = 46;
/** Of a row that was opened, until it is measured. */
const DETAILS_HEIGHT = 300;
/** Rows beyond the edges, so that scrolling and the Tab key find something there. */
const SPARE = 6;
/** Columns come into sight so many at a time. */
const COLUMNS = 4;
/** Width of a column: so many pixels a character, and what is beside the text. */
const CHARACTER = 8;
const BESIDE = 24;
const NARROWEST = 84;
const WIDEST = 220;
/** The column of names: beside the text, and its limits. */
const BESIDE_NAME = 100;
const NARROWEST_NAME = 180;
const WIDEST_NAME = 420;
/** So many rows are looked at for the width of a column. */
const SAMPLED = 100;
/** How strong the colours of cells are, of 255. */
const TINT = "66";

/** @param {{ tab: import("./tab.js").Tab }} props */
export function TrialsTable({ tab }) {
  const { sweep, view, rows } = tab;
  const { columns } = view;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [sight, setSight] = useState({ top: 0, left: 0, height: 600, width: 800 });
  const [heights, setHeights] = useState(/** @type {ReadonlyMap<string, number>} */ (new Map()));
  const measure = () => {
    const { scrollTop: top, scrollLeft: left, clientHeight: height, clientWidth: width } = /** @type {HTMLElement} */ (box.current);
    setSight((old) => (old.top === top && old.left === left && old.height === height && old.width === width ? old : { top, left, height, width }));
  };
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    measure();
    const resizes = new ResizeObserver(measure);
    resizes.observe(box.current);
    return () => resizes.disconnect();
  }, []);

  const tops = useMemo(() => {
    const edges = new Float64Array(rows.length + 1);
    rows.forEach((row, i) => {
      const { name } = sweep.groups[row];
      edges[i + 1] = edges[i] + ROW_HEIGHT + (view.open.has(name) ? (heights.get(name) ?? DETAILS_HEIGHT) : 0);
    });
    return edges;
  }, [rows, sweep, view.open, heights]);
  const first = Math.max(0, indexAt(tops, sight.top) - SPARE);
  const last = Math.min(rows.length, indexAt(tops, sight.top + sight.height) + 1 + SPARE);

  // A row that was asked for elsewhere comes into sight.
  useEffect(() => {
    const index = tab.shownRow.value ? rows.indexOf(tab.shownRow.value.row) : -1;
    const element = box.current;
    if (!element || index < 0) return;
    const above = tops[index];
    const room = element.clientHeight - HEAD_HEIGHT;
    if (above < element.scrollTop || above + ROW_HEIGHT > element.scrollTop + room) element.scrollTop = above - room / 3;
  }, [tab.shownRow.value]);

  const widths = useMemo(() => columns.map((column) => widthOf(column)), [columns]);
  const nameWidth = useMemo(() => {
    const longest = sweep.groups.reduce((most, { label }) => Math.max(most, label.length), 0);
    return Math.min(WIDEST_NAME, Math.max(NARROWEST_NAME, longest * CHARACTER + BESIDE_NAME));
  }, [sweep]);
  const lefts = useMemo(() => widths.reduce((edges, width, i) => edges.fill(edges[i] + width, i + 1), new Float64Array(widths.length + 1)), [widths]);
  const from = Math.floor(Math.max(0, indexAt(lefts, sight.left) - 1) / COLUMNS) * COLUMNS;
  const to = Math.min(columns.length, Math.ceil((indexAt(lefts, sight.left + sight.width) + 1) / COLUMNS) * COLUMNS);
  const writers = useMemo(() => columns.map(writerOf), [columns]);
  const keys = useMemo(() => columns.map(({ key }) => key), [columns]);
  /** @param {string} name @param {number} height */
  const onHeight = (name, height) => setHeights((old) => (old.get(name) === height ? old : new Map(old).set(name, height)));
  /** @param {number} height */
  const gap = (height) => height > 0 && html`<tr aria-hidden="true" class="gap" style=${{ height: `${height}px` }}></tr>`;

  return html`<div class="trials" ref=${box} onScroll=${measure} onPointerLeave=${() => tab.hover(null)} style=${{ "--in-sight": `${sight.width}px`, "--name-width": `min(${nameWidth}px, 44vw)` }}>
    <table aria-label="Sessions" aria-rowcount=${rows.length + 1} aria-colcount=${columns.length + 1} onKeyDown=${onRowKey}>
      <colgroup>
        <col class="name" />
        ${widths.map((width, i) => html`<col key=${keys[i]} style=${{ width: `${width}px` }} />`)}
        <col />
      </colgroup>
      <thead>
        <tr aria-rowindex="1">
          <${Heading} tab=${tab} column=${tab.nameColumn} keys=${keys} isFixed />
          ${beside(from)}
          ${columns.slice(from, to).map((column) => html`<${Heading} key=${column.key} tab=${tab} column=${column} keys=${keys} />`)}
          ${beside(columns.length - to)}
          <td></td>
        </tr>
      </thead>
      <tbody>
        ${gap(tops[first])}
        ${rows.slice(first, last).flatMap((row, i) => {
          const { name } = sweep.groups[row];
          const isOpen = view.open.has(name);
          return [
            html`<${Row} key=${name} tab=${tab} row=${row} index=${first + i} columns=${columns} from=${from} to=${to} writers=${writers} isOpen=${isOpen} />`,
            isOpen && html`<${Details} key=${`${name} details`} tab=${tab} row=${row} numColumns=${columns.length + 2} onHeight=${onHeight} />`,
          ];
        })}
        ${gap(tops[rows.length] - tops[last])}
      </tbody>
    </table>
    ${rows.length === 0 && html`<${NoRows} tab=${tab} />`}
  </div>`;
}

/** Columns out of sight. @param {number} count */
function beside(count) {
  return count > 0 && html`<td colspan=${count} aria-hidden="true"></td>`;
}

/** The last row that begins at or above a place. @param {Float64Array} tops @param {number} at */
function indexAt(tops, at) {
  let low = 0;
  let high = tops.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** @param {Column} column */
function widthOf(column) {
  const write = writerOf(column);
  const longest = column.cells.slice(0, SAMPLED).reduce((/** @type {number} */ most, cell) => Math.max(most, write(cell).length), 0);
  const wanted = Math.max(longest * CHARACTER + BESIDE, column.label.length * CHARACTER + BESIDE + 34);
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, wanted)));
}

/**
 * The arrow keys go from row to row, on the same kind of control.
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
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.column
 * @param {readonly string[]} props.keys  of all columns
 * @param {boolean} [props.isFixed]  it stays where it is
 */
function Heading({ tab, column, keys, isFixed = false }) {
  const { view } = tab;
  const { key, label, description, kind } = column;
  const place = view.sorts.findIndex((sort) => sort.key === key);
  const order = place < 0 ? null : view.sorts[place].descending ? "descending" : "ascending";
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
  const sortHint = "Click to sort, with Shift by several columns; drag or Alt ← → to move";
  return html`<th
    scope="col"
    aria-colindex=${keys.indexOf(key) + 2}
    class="${isFixed ? "name" : ""} ${isNumeric(column) ? "number" : ""} ${column === view.metric ? "metric" : ""}"
    aria-sort=${order ?? "none"}
    draggable=${!isFixed}
    onDragStart=${(/** @type {DragEvent} */ event) => startDrag(event, key)}
    onDragOver=${(/** @type {DragEvent} */ event) => !isFixed && allowDrop(event)}
    onDrop=${(/** @type {DragEvent} */ event) => onDropped(event, (dragged) => tab.setColumns(moveKey(keys, dragged, key)))}
  >
    <div class="heading">
      <button type="button" class="sort" title="${description ? `${label}: ${description}` : label}\n${sortHint}" onClick=${onSort} onKeyDown=${isFixed ? undefined : onKeyDown}>
        <span>${label}</span>
        ${order && html`<b aria-hidden="true">${order === "ascending" ? "↑" : "↓"}${view.sorts.length > 1 ? place + 1 : ""}</b>`}
      </button>
      <${Menu}
        icon="filter"
        label="Filter ${label}"
        className="tb-icon-button ${filter ? "filtered" : ""}"
        content=${() => html`<${ColumnMenu} tab=${tab} column=${column} />`}
      />
    </div>
    ${kind !== "info" && html`<${ImportanceMark} tab=${tab} column=${column} />`}
  </th>`;
}

/**
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.column
 */
function ColumnMenu({ tab, column }) {
  const { metric } = tab.view;
  return html`<div class="axis-settings">
    <h4>${column.label}</h4>
    ${column.description && html`<p class="tb-dim">${column.description}</p>`}
    <${ColumnFilterForm} column=${column} filter=${tab.filterOf(column.key)} onFilter=${(/** @type {any} */ filter) => tab.setFilter(column.key, filter)} />
    ${column.kind === "metric" && column !== metric && html`<button type="button" class="tb-button" onClick=${() => tab.setMetric(column.key)}>Optimise this metric</button>`}
  </div>`;
}

/**
 * A row; made again only when something of it has changed.
 * @param {object} props
 * @param {import("./tab.js").Tab} props.tab
 * @param {number} props.row  of the sweep
 * @param {number} props.index  in the table
 * @param {readonly Column[]} props.columns
 * @param {number} props.from  columns in sight
 * @param {number} props.to
 * @param {readonly ((cell: import("./types.js").Cell) => string)[]} props.writers
 * @param {boolean} props.isOpen
 */
function Row({ tab, row, index, columns, from, to, writers, isOpen }) {
  const { sweep, grades, ramp } = tab;
  const group = sweep.groups[row];
  const isHovered = tab.hoveredRow.value === row;
  const isPicked = tab.picked.includes(row);
  const isBest = tab.bestRow === row;
  const color = tab.runColorOf(group);
  const cells = useMemo(
    () =>
      columns.slice(from, to).map((column, i) => {
        const cell = column.cells[row];
        const share = grades.get(column.key)?.get(cell) ?? NaN;
        const style = Number.isNaN(share) ? undefined : { backgroundColor: ramp[Math.round(share * (ramp.length - 1))] + TINT };
        return html`<td key=${column.key} aria-colindex=${from + i + 2} class=${classOf(column, cell)} title=${exactText(column, cell) + spreadText(tab, column, group)} style=${style}>${writers[from + i](cell)}</td>`;
      }),
    [sweep, columns, from, to, grades, ramp, row, tab.aggregationName],
  );
  const [head, tail] = cutLabel(group.label);
  return html`<tr
    class="${isPicked ? "picked" : ""} ${isHovered ? "hovered" : ""} ${isBest ? "best" : ""}"
    aria-rowindex=${index + 2}
    data-name=${group.label}
    onPointerEnter=${() => tab.hover(row)}
  >
    <th scope="row" class="name" title=${group.label === group.name ? group.label : `${group.label}\ngroup ${group.name}`}>
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
          aria-label="Compare ${group.label}"
          title="Compare"
          style=${{ "--tb-check": color }}
          onChange=${() => tab.togglePick(group.name)}
        />
        <span class="tb-name" onClick=${() => tab.toggleOpen(group.name)}><span class="tb-name-head">${head}</span><span class="tb-name-tail">${tail}</span></span>
        ${isBest && html`<span class="star" title=${tab.bestText}><${Icon} name="star" /><span class="tb-hidden">best</span></span>`}
        ${group.sessions.length > 1 && html`<small class="count" title=${sayCount(tab, group)}>×${group.sessions.length}</small>`}
      </div>
    </th>
    ${beside(from)}
    ${cells}
    ${beside(columns.length - to)}
    <td></td>
  </tr>`;
}

/** @param {import("./tab.js").Tab} tab @param {import("./types.js").Group} group */
function sayCount(tab, { sessions }) {
  const numUnchecked = sessions.filter(({ name }) => !tab.runColors.has(name)).length;
  return `sessions with these hyperparameters${numUnchecked > 0 ? `; ${numUnchecked} not checked in the list of runs, and counted as well` : ""}`;
}

/**
 * How far the sessions of a row are apart: another line of the title.
 * @param {import("./tab.js").Tab} tab
 * @param {Column} column
 * @param {import("./types.js").Group} group
 */
function spreadText(tab, column, { sessions }) {
  if (column.kind !== "metric" || sessions.length === 1) return "";
  const measured = sessions.filter((session) => tab.hasMetric(column, session));
  if (measured.length === 0) return "";
  const values = measured.map(({ index }) => tab.sweep.ofSessions[column.index].value[index]);
  return `\n${tab.aggregationName} of ${plural(measured.length, "session")}, ${formatValue(Math.min(...values))} to ${formatValue(Math.max(...values))}`;
}

/** @param {Column} column @param {import("./types.js").Cell} cell */
function classOf(column, cell) {
  if (cell === null) return isNumeric(column) ? "number missing" : "missing";
  if (typeof cell !== "number") return column.type === "mixed" ? `mixed ${typeof cell}` : "";
  return Number.isFinite(cell) ? "number" : "number nonfinite";
}

/**
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

/** For other tables. @param {{ column: Column, cell: import("./types.js").Cell }} props */
export function Cell({ column, cell }) {
  return html`<td class=${classOf(column, cell)} title=${exactText(column, cell)}>${shortText(column, cell)}</td>`;
}
