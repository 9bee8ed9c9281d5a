/**
 * The run list: a tree of folders, a flat list or groups, with check boxes in the runs' colours, a
 * filter, and the age of each run. It is fast with ten thousand runs, because only the visible rows
 * are rendered.
 *
 * Keys inside the list: up, down, Home and End move; left and right collapse and expand; Space
 * checks or unchecks; Enter checks only this run; the context-menu key opens the menu.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatTime, plural } from "../../format.js";
import { FilterBox } from "../../lib/ui/filter.js";
import { Icon } from "../../lib/ui/icons.js";
import { Lazy, VirtualList } from "../../lib/ui/lazy.js";
import { withStyles } from "../plugin-loader.js";
import { describeNonfinite, describeRun, flatRows, groupRows, isLive, orderRuns, shortAge, treeRows } from "./tree.js";
import { AUTO_LIMIT } from "./selection.js";
import { Name } from "../../text-names.js";

const ROW_HEIGHT_PX = 26;
/** Number of rows that Page Up and Page Down move by. */
const ROWS_PER_PAGE = 12;
/** The orders of runs, with their titles. */
const SORTS = { name: "by name", start: "newest start first", last: "latest event first" };

/** @import { Filter } from "../../lib/ui/filter.js" */
/** @import { State } from "../state/reader-state.js" */
/** @import { Row } from "./tree.js" */
/** The context menu of a row, at a position in the window. @typedef {{ row: Row, x: number, y: number }} Menu */

/** The run list with its toolbar. @param {{ state: State }} props */
export function RunsPanel({ state }) {
  const filter = state.runFilter.value;
  const checked = state.checked.value;
  const details = state.runDetails.value;
  const groupOf = state.groupOf.value;
  const { view = "tree", sort = "name" } = state.listPreferences.values.value;
  const byName = state.sortedRuns.value;
  const order = /** @type {keyof typeof SORTS} */ (sort);
  const runs = useMemo(() => orderRuns(byName, order, details), [byName, order, order === "name" ? null : details]);
  const shown = useMemo(() => runs.filter(filter.matches), [runs, filter]);
  const hasFolders = useMemo(() => treeRows(byName, () => false).length < byName.length, [byName]);
  const [isGrouping, setGrouping] = useState(false);
  const groupButton = useRef(/** @type {HTMLElement | null} */ (null));
  const [menu, setMenu] = useState(/** @type {Menu | null} */ (null));

  const closeGroups = () => {
    setGrouping(false);
    groupButton.current?.focus();
  };
  const [isOpen, toggle] = useOpen(filter);
  const rows = useMemo(() => {
    if (groupOf) return groupRows(shown, groupOf, isOpen);
    return view === "tree" ? treeRows(shown, isOpen) : flatRows(shown);
  }, [shown, view, groupOf, isOpen]);
  const numChecked = useMemo(() => countChecked(shown, checked), [shown, checked]);
  const isAuto = state.selection.value.base === "auto" && runs.length > AUTO_LIMIT;

  return html`<section class="tb-runs" aria-label="Runs">
    <${FilterBox} filter=${filter} onInput=${state.setRunFilter} label="Filter runs (regular expression)" />
    <div class="tb-runs-bar">
      ${hasFolders &&
      !groupOf &&
      html`<span class="tb-segments" role="radiogroup" aria-label="Layout of the run list">
        ${[true, false].map(
          (isTree) => html`<label title=${isTree ? "Runs in folders by path" : "Full names"}>
            <input
              type="radio"
              name="tb-runs-view"
              checked=${(view === "tree") === isTree}
              onChange=${() => state.listPreferences.set("view", isTree ? null : "list")}
            />${isTree ? "Tree" : "List"}
          </label>`,
        )}
      </span>`}
      <select
        aria-label="Sort runs"
        title="Sort runs"
        value=${sort}
        onChange=${(/** @type {Event} */ event) => {
          const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
          state.listPreferences.set("sort", value === "name" ? null : value);
        }}
      >
        ${Object.entries(SORTS).map(([value, title]) => html`<option value=${value} selected=${value === sort}>${title}</option>`)}
      </select>
      <button
        type="button"
        class="tb-button ${groupOf ? "tb-on" : ""}"
        title="Group related runs, such as seeds of an experiment, and give each group one colour"
        ref=${groupButton}
        aria-expanded=${isGrouping}
        onClick=${() => setGrouping(!isGrouping)}
      >
        ${groupOf ? "Grouped" : "Group…"}
      </button>
    </div>
    ${isGrouping &&
    html`<${Lazy} load=${() => withStyles(import("./group-editor.js"))} of="GroupEditor" state=${state} onClose=${closeGroups} />`}
    <div class="tb-runs-all">
      <label>
        <input
          type="checkbox"
          class="tb-check"
          checked=${shown.length > 0 && numChecked === shown.length}
          indeterminate=${numChecked > 0 && numChecked < shown.length}
          disabled=${shown.length === 0}
          onChange=${(/** @type {Event} */ event) => state.checkRuns(shown, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
        />
        <span>${shown.length < runs.length ? "All matching" : "All runs"}</span>
      </label>
      <span class="tb-runs-count" role="status">${countText(numChecked, shown.length, runs.length)}</span>
    </div>
    ${isAuto && html`<p class="tb-runs-note">Only the newest ${AUTO_LIMIT} runs are shown. Check runs to choose which.</p>`}
    ${state.isSelectionStored.value &&
    html`<p class="tb-runs-note">Too many runs are selected to fit into a link. The selection is stored in this browser only; to share one, use a filter or groups.</p>`}
    ${state.selection.value.base === "auto" &&
    state.isSelectionMissing.value &&
    html`<p class="tb-runs-note" role="status">The selection of runs in this link is not stored in this browser. It was made in another browser, or has been removed since.</p>`}
    ${state.groupError.value && html`<p class="tb-runs-note" role="status">Cannot group by “${state.groupRule.value}”: ${state.groupError.value}.</p>`}
    ${rows.length === 0
      ? html`<p class="tb-runs-note">${runs.length > 0 ? "No runs match." : "No runs yet."}</p>`
      : html`<${Rows} state=${state} rows=${rows} onToggle=${toggle} onMenu=${setMenu} />`}
    ${menu &&
    html`<${Lazy} key=${menu} load=${() => withStyles(import("./menu.js"))} of="RunMenu" state=${state} menu=${menu} onClose=${() => setMenu(null)} />`}
  </section>`;
}

/**
 * Preact hook: which folders and groups are open. Without a filter, folders are open at first and
 * groups are closed. With a filter, both are open at first; what the user closes stays closed
 * until the filter changes.
 * @param {Filter} filter
 * @returns {[isOpen: (key: string) => boolean, toggle: (key: string) => void]}
 */
function useOpen({ text, error }) {
  const scope = error ? "" : text;
  // Keys of the rows that were toggled from their initial state, by the text of the filter.
  const [toggled, setToggled] = useState(/** @type {Record<string, ReadonlySet<string>>} */ ({}));
  const keys = toggled[scope];
  const isOpen = useMemo(
    () => (/** @type {string} */ key) => (scope !== "" || !key.startsWith("group:")) !== (keys?.has(key) ?? false),
    [scope === "", keys],
  );
  const toggle = (/** @type {string} */ key) => {
    const next = new Set(keys);
    if (!next.delete(key)) next.add(key);
    // What was toggled for other filters is forgotten.
    setToggled({ "": toggled[""], [scope]: next });
  };
  return [isOpen, toggle];
}

/**
 * The list itself, of at least one row, with keyboard navigation.
 * @typedef {{ state: State, onToggle: (key: string) => void, onMenu: (menu: Menu) => void }} Common
 * @param {Common & { rows: Row[] }} props
 */
function Rows({ state, rows, onToggle, onMenu }) {
  /** Key of the row that has the focus, or had it last. */
  const [active, setActive] = useState("");
  /** Key of the row to focus once it is rendered; "" for none. */
  const toFocus = useRef("");
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const found = useMemo(() => rows.findIndex(({ key }) => key === active), [rows, active]);
  const current = Math.max(0, found);

  useEffect(() => {
    // Only after a key was pressed: new runs must not move the focus.
    if (toFocus.current !== rows[current].key) return;
    toFocus.current = "";
    /** @type {HTMLElement | null | undefined} */
    const box = list.current?.querySelector('[role="row"] input[tabindex="0"]');
    box?.focus({ preventScroll: true });
  }, [current]);

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
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
    }[key];
    if (key === "Enter" && target instanceof HTMLInputElement) state.checkOnly(row.runs);
    else if (key === "ArrowLeft" && row.isOpen) onToggle(row.key);
    else if (key === "ArrowRight" && row.kind !== "run" && !row.isOpen) onToggle(row.key);
    else if (next === undefined) return;
    else {
      const { key } = rows[Math.min(rows.length - 1, Math.max(0, next))];
      if (key !== row.key) toFocus.current = key;
      setActive(key);
    }
    event.preventDefault();
  };

  return html`<div class="tb-runs-rows" ref=${list} onPointerLeave=${() => (state.hoveredRun.value = null)}>
    <${VirtualList}
      items=${rows}
      rowHeight=${ROW_HEIGHT_PX}
      keyOf=${(/** @type {Row} */ row) => row.key}
      label="Runs"
      role="treegrid"
      showIndex=${toFocus.current === rows[current].key ? current : undefined}
      onKeyDown=${onKeyDown}
      renderRow=${(/** @type {Row} */ row, /** @type {number} */ index) =>
        html`<${RunRow}
          state=${state}
          row=${row}
          index=${index}
          isCurrent=${index === current}
          onToggle=${onToggle}
          onMenu=${onMenu}
          onFocus=${() => setActive(row.key)}
        />`}
    />
  </div>`;
}

/**
 * One row of the list. The Tab key focuses the current row.
 * @param {Common & { row: Row, index: number, isCurrent: boolean, onFocus: () => void }} props
 */
function RunRow({ state, row, index, isCurrent, onToggle, onMenu, onFocus }) {
  const { kind, name, label, depth, runs } = row;
  const isRun = kind === "run";
  const numChecked = countChecked(runs, state.checked.value);
  /** Opens the menu at an element. @param {Event} event @param {number} [dx] */
  const openMenu = ({ currentTarget }, dx = 0) => {
    const { left, bottom } = /** @type {HTMLElement} */ (currentTarget).getBoundingClientRect();
    onMenu({ row, x: left + dx, y: bottom });
  };
  return html`<div
    class="tb-row ${isRun ? "tb-run" : "tb-folder"} ${isRun && name === state.hoveredRun.value ? "tb-hovered" : ""}"
    role="row"
    title=${name}
    aria-level=${depth + 1}
    aria-setsize=${row.numSiblings}
    aria-posinset=${row.position}
    aria-rowindex=${index + 1}
    aria-expanded=${isRun ? undefined : row.isOpen}
    style=${{ "--depth": depth }}
    onPointerEnter=${() => (state.hoveredRun.value = isRun ? name : null)}
    onContextMenu=${(/** @type {MouseEvent} */ event) => {
      event.preventDefault();
      // The context-menu key sends no position.
      if (event.clientX > 0) onMenu({ row, x: event.clientX, y: event.clientY });
      else openMenu(event, 40);
    }}
  >
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
      <label>
        <input
          type="checkbox"
          class="tb-check"
          style=${{ "--tb-check": kind === "folder" ? undefined : state.colors.value.get(runs[0]) }}
          aria-label=${isRun ? name : `${name}, ${plural(runs.length, "run")}`}
          checked=${numChecked === runs.length}
          indeterminate=${numChecked > 0 && numChecked < runs.length}
          tabindex=${isCurrent ? 0 : -1}
          onFocus=${onFocus}
          onChange=${(/** @type {Event} */ event) => state.checkRuns(runs, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
        />
        <${Name} name=${label} />
      </label>
    </span>
    <span role="gridcell" class="tb-run-info">
      ${isRun ? html`<${Age} state=${state} run=${name} />` : html`<span title=${plural(runs.length, "run")}>${runs.length.toLocaleString("en")}</span>`}
    </span>
    <span role="gridcell" class="tb-run-actions">
      <button type="button" class="tb-run-only" tabindex="-1" onClick=${() => state.checkOnly(runs)} aria-label="Only ${name}">only</button>
      <button
        type="button"
        class="tb-run-more"
        tabindex="-1"
        aria-haspopup="menu"
        aria-label="Actions for ${name}"
        title="More actions (or right-click the row)"
        onClick=${openMenu}
      >
        ⋯
      </button>
    </span>
  </div>`;
}

/** The age of a run's last event, and a mark if the run has non-finite values. @param {{ state: State, run: string }} props */
function Age({ state, run }) {
  const details = state.runDetails.value.get(run);
  if (!details) return null;
  const now = state.now.value;
  const { last, nonfinite } = details;
  return html`
    ${nonfinite && html`<b class="tb-nan" title=${describeNonfinite(nonfinite)}>NaN</b>`}
    <span class="tb-age" title=${describeRun(details, now, formatTime)}>
      ${isLive(details, now) && html`<i role="img" aria-label="live"></i>`}<span>${last === null ? "" : shortAge(now - last)}</span>
    </span>
  `;
}

/** The index of a row's folder or group; its own index at the top level. @param {readonly Row[]} rows @param {number} index */
function parentOf(rows, index) {
  let parent = index;
  while (parent > 0 && rows[parent].depth >= rows[index].depth) parent--;
  return rows[parent].depth < rows[index].depth ? parent : index;
}

/** The number of runs that are checked. @param {readonly string[]} runs @param {ReadonlySet<string>} checked */
function countChecked(runs, checked) {
  return runs.reduce((count, run) => count + Number(checked.has(run)), 0);
}

/**
 * How many runs are checked: `3 of 10`, or `3 of 5 (of 10)` while a filter matches 5 of 10 runs.
 * @param {number} numChecked  checked runs that match the filter
 * @param {number} numShown  runs that match the filter
 * @param {number} numRuns  all runs
 */
function countText(numChecked, numShown, numRuns) {
  if (numRuns === 0) return "";
  const [some, shown, all] = [numChecked, numShown, numRuns].map((count) => count.toLocaleString("en"));
  return numShown < numRuns ? `${some} of ${shown} (of ${all})` : `${some} of ${all}`;
}
