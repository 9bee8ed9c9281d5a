/**
 * The rows of the run list, with keyboard navigation. They are fast with ten thousand runs, because
 * only the visible rows are rendered.
 *
 * Keys: up, down, Home and End move; left and right collapse and expand; Space checks or unchecks,
 * with Shift all rows from the last one on, as a click with Shift does; Enter checks only this run; the
 * context-menu key opens the menu.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, formatStep, plural } from "../../lib/format.js";
import { Name } from "../../lib/text-names.js";
import { Icon } from "../../lib/ui/controls.js";
import { Lazy, VirtualList } from "../../lib/ui/lazy.js";
import { runState, shortAge } from "../state/tree.js";

const ROW_HEIGHT_PX = 26;
/** By which Page Up and Page Down move. */
const ROWS_PER_PAGE = 12;

/** @import { State } from "../state/reader-state.js" */
/** @import { Layout, Table } from "./column-table.js" */
/** @import { Row } from "../state/tree.js" */
/** The context menu of a row; of all runs without one. @typedef {{ event: MouseEvent, row?: Row }} Menu */

/**
 * The list itself, of at least one row, with keyboard navigation.
 * @typedef {{ state: State, table: Table | null, onToggle: (key: string) => void, onMenu: (event: MouseEvent, row?: Row) => void }} Common
 * @param {Common & { rows: Row[] }} props
 */
export function Rows({ state, rows, table, onToggle, onMenu }) {
  /** Key of the row that has the focus, or had it last. */
  const [active, setActive] = useState("");
  /** Key of the row to focus once it is rendered; "" for none. */
  const toFocus = useRef("");
  /** Key of the row that was last checked or unchecked. */
  const last = useRef("");
  const found = useMemo(() => rows.findIndex(({ key }) => key === active), [rows, active]);
  /** Index of the row that has the focus; of the one in its place if it is gone. */
  const place = useRef(0);
  const current = (place.current = found < 0 ? Math.min(place.current, rows.length - 1) : found);

  /** Checks or unchecks a row, or with Shift all from the last one to it. @param {Row} row @param {MouseEvent} event */
  const onCheck = (row, { currentTarget, shiftKey }) => {
    const { checked } = /** @type {HTMLInputElement} */ (currentTarget);
    const from = last.current;
    last.current = row.key;
    if (shiftKey) import("./range.js").then(({ checkRange }) => checkRange(state, rows, from, row, checked), console.warn);
    else state.checkRuns(row.runs, checked);
  };

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || (target instanceof Element && target.closest(".tb-heads"))) return;
    const row = rows[current];
    const next = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      ArrowRight: row.isOpen ? current + 1 : current,
      ArrowLeft: row.isOpen ? current : parentOf(rows, current),
      PageDown: current + ROWS_PER_PAGE,
      PageUp: current - ROWS_PER_PAGE,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (key === "Enter" && target instanceof HTMLInputElement) state.checkOnly(row.runs);
    else if (key === "ArrowLeft" && row.isOpen) onToggle(row.key);
    else if (key === "ArrowRight" && row.kind !== "run" && !row.isOpen) onToggle(row.key);
    else if (next === undefined) {
      if (!state.notes.value?.onKey(key, row.runs)) return;
    } else {
      const { key } = rows[Math.min(rows.length - 1, Math.max(0, next))];
      if (key !== row.key) toFocus.current = key;
      setActive(key);
    }
    event.preventDefault();
  };

  const [details, now] = [state.runDetails.value, state.now.value];
  /** Whether all runs have the same age, which is then shown under the pointer only. */
  const isSameAge = useMemo(() => {
    const ages = new Set();
    for (const { last } of details.values()) {
      if (last && ages.add(shortAge(now - last)).size > 1) return false;
    }
    return true;
  }, [details, now]);
  const layout = table?.layoutFor(rows);
  return html`<div
    class="tb-runs-rows ${table ? "tb-with-columns" : ""} ${isSameAge ? "tb-same-age" : ""}"
    style=${layout?.style}
    onPointerLeave=${() => (state.hoveredRun.value = null)}
  >
    <${VirtualList}
      items=${rows}
      rowHeight=${ROW_HEIGHT_PX}
      keyOf=${(/** @type {Row} */ row) => row.key}
      label="Runs"
      role="treegrid"
      showIndex=${toFocus.current === rows[current].key ? current : undefined}
      keepIndex=${current}
      onKeyDown=${onKeyDown}
      header=${table && html`<${table.Heads} table=${table} rows=${rows} ...${layout} />`}
      renderRow=${(/** @type {Row} */ row, /** @type {number} */ index) =>
        html`<${RunRow}
          state=${state}
          row=${row}
          table=${table}
          layout=${layout}
          index=${index}
          isCurrent=${index === current}
          toFocus=${toFocus}
          onToggle=${onToggle}
          onMenu=${onMenu}
          onFocus=${() => setActive(row.key)}
          onCheck=${onCheck}
        />`}
    />
  </div>`;
}

/**
 * One row of the list. The Tab key focuses the current row.
 * @param {Common & { row: Row, layout: Layout | undefined, index: number, isCurrent: boolean, toFocus: { current: string }, onFocus: () => void, onCheck: (row: Row, event: MouseEvent) => void }} props
 */
function RunRow({ state, row, table, layout, index, isCurrent, toFocus, onToggle, onMenu, onFocus, onCheck }) {
  const { kind, name, label, part, depth, runs } = row;
  const isRun = kind === "run";
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    // Only after a key was pressed: new runs must not move the focus. Before the next key comes.
    if (!isCurrent || toFocus.current !== row.key) return;
    toFocus.current = "";
    box.current?.focus({ preventScroll: true });
  }, [isCurrent]);
  const diverged = divergedRuns(state, runs);
  // Marks come after the first charts.
  const notes = state.notes.value;
  const noted = isRun ? state.noted.value.get(name) : undefined;
  const numChecked = countChecked(runs, state.checked.value);
  const [numRuns, archived] = (kind === "group" && state.rules.value?.countOf(name)) || [runs.length, ""];
  const openMenu = (/** @type {MouseEvent} */ event) => onMenu(event, row);
  const onPointerEnter = (/** @type {{ currentTarget: Element }} */ { currentTarget }) => {
    state.hoveredRun.value = kind === "folder" ? null : name;
    import("./run-sentences.js").then((module) => module.setTitles(currentTarget, state, name), console.warn);
  };
  return html`<div
    class="tb-row ${isRun ? "tb-run" : "tb-folder"} ${kind !== "folder" && name === state.hoveredRun.value ? "tb-hovered" : ""}"
    role="row"
    title=${formatName(name)}
    aria-level=${depth + 1}
    aria-setsize=${row.numSiblings}
    aria-posinset=${row.position}
    aria-rowindex=${index + (table ? 2 : 1)}
    aria-expanded=${isRun ? undefined : row.isOpen}
    style=${{ "--depth": depth }}
    onPointerEnter=${onPointerEnter}
    onFocusIn=${onFocus}
    onContextMenu=${openMenu}
  >
    <div class="tb-row-main">
      <span role="gridcell">
        ${isRun
          ? html`<i class="tb-twist"></i>`
          : html`<button
              type="button"
              class="tb-twist"
              tabindex="-1"
              title=${row.isOpen ? "Collapse (←)" : "Expand (→)"}
              aria-label="${row.isOpen ? "Collapse" : "Expand"} ${name}"
              onClick=${() => onToggle(row.key)}
            >
              <${Icon} name="chevron" />
            </button>`}
        <label title=${noted?.title}>
          <input
            ref=${box}
            type="checkbox"
            class="tb-check"
            style=${{ "--tb-check": kind === "folder" ? undefined : state.colors.value.get(runs[0]) }}
            aria-label=${isRun ? name : `${name}, ${plural(runs.length, "run")}`}
            checked=${numChecked === runs.length}
            indeterminate=${numChecked > 0 && numChecked < runs.length}
            tabindex=${isCurrent ? 0 : -1}
            onClick=${(/** @type {MouseEvent} */ event) => onCheck(row, event)}
          />
          <${Name} name=${noted?.label || label} part=${noted?.label ? [0, 0] : part} />
        </label>
        ${!row.isOpen && notes?.mark(runs)}
        ${diverged.length > 0 && notes && html`<${Lazy} load=${() => import("./diverged.js")} of="DivergedMark" ...${{ state, row, diverged, isCurrent }} />`}
      </span>
      <span role="gridcell" class="tb-run-info">
        ${isRun ? html`<${Age} state=${state} run=${name} />` : html`<span title=${plural(numRuns, "run") + archived}>${numChecked > 0 && numChecked < numRuns && `${formatStep(numChecked)} of `}${formatStep(numRuns)}${archived}</span>`}
      </span>
      <span role="gridcell" class="tb-run-actions">
        <button type="button" class="tb-run-only" tabindex="-1" onClick=${() => state.checkOnly(runs)} aria-label="Only ${name}">only</button>
        <${MenuButton} name=${name} onClick=${openMenu} />
      </span>
    </div>
    ${table && html`<${table.Cells} table=${table} row=${row} ...${layout} />`}
  </div>`;
}

/** The button that opens the menu of a row. @param {{ name: string, onClick: (event: MouseEvent) => void }} props */
export function MenuButton({ name, onClick }) {
  return html`<button
    type="button"
    class="tb-run-more"
    tabindex="-1"
    aria-haspopup="menu"
    aria-label="Actions for ${name}"
    title="More actions (or right-click)"
    onClick=${onClick}
  >
    ⋯
  </button>`;
}

/** The age of a run's last event, unless its writer gave it no time: null or 0. Without a connection, nobody knows whether it is live. @param {{ state: State, run: string }} props */
function Age({ state, run }) {
  const details = state.runDetails.value.get(run);
  if (!details) return null;
  const now = state.now.value;
  const { last } = details;
  const own = runState(details, now);
  const mark = (own === "failed" || (own === "live" && state.connection.value !== "retrying")) && own;
  return html`<span class="tb-age">
    ${mark && html`<i role="img" aria-label=${mark}></i>`}<span>${last ? shortAge(now - last) : ""}</span>
  </span>`;
}

/** The index of a row's folder or group; its own index at the top level. @param {readonly Row[]} rows @param {number} index */
function parentOf(rows, index) {
  let parent = index;
  while (parent > 0 && rows[parent].depth >= rows[index].depth) parent--;
  return rows[parent].depth < rows[index].depth ? parent : index;
}

/** The runs with NaN or infinite values. @param {State} state @param {readonly string[]} runs */
export function divergedRuns(state, runs) {
  const details = state.runDetails.value;
  return runs.filter((run) => details.get(run)?.nonfinite);
}

/** The number of runs that are checked. @param {readonly string[]} runs @param {ReadonlySet<string>} checked */
export function countChecked(runs, checked) {
  return runs.filter((run) => checked.has(run)).length;
}
