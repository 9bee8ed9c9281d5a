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
import { FilterBox } from "../../lib/ui/filter-box.js";
import { Icon } from "../../lib/ui/icons.js";
import { Lazy } from "../../lib/ui/lazy.js";
import { VirtualList } from "../../lib/ui/virtual-list.js";
import { describeNonfinite, describeRun, isLive, orderRuns, shortAge } from "./order.js";
import { AUTO_LIMIT } from "./selection.js";
import { flatRows, groupRows, treeRows } from "./tree.js";
import { Name } from "../../text-names.js";

const ROW_HEIGHT_PX = 26;
/** Number of rows that Page Up and Page Down move by. */
const ROWS_PER_PAGE = 12;
/** The choices of the order of runs. @type {[value: import("./order.js").Sort, title: string][]} */
const SORTS = [
  ["name", "by name"],
  ["start", "newest start first"],
  ["last", "latest event first"],
];

/**
 * @typedef {import("../state/reader-state.js").State} State
 * @typedef {import("./tree.js").Row} Row
 * @typedef {{ row: Row, x: number, y: number }} Menu  the context menu of a row, at a position in
 *   the window
 */

/** The run list with its toolbar. @param {{ state: State }} props */
export function RunsPanel({ state }) {
  const filter = state.runFilter.value;
  const checked = state.checked.value;
  const details = state.runDetails.value;
  const groupOf = state.groupOf.value;
  const { view = "tree", sort = "name" } = state.listPreferences.values.value;
  const byName = state.sortedRuns.value;
  const order = /** @type {import("./order.js").Sort} */ (sort);
  const runs = useMemo(() => orderRuns(byName, order, details), [byName, order, order === "name" ? null : details]);
  const shown = useMemo(() => runs.filter(filter.matches), [runs, filter]);
  const hasFolders = useMemo(() => treeRows(byName, () => true).length > byName.length, [byName]);
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
        ${["tree", "list"].map(
          (value) => html`<label title=${value === "tree" ? "Runs in folders by path" : "Full names"}>
            <input
              type="radio"
              name="tb-runs-view"
              checked=${(view === "tree") === (value === "tree")}
              onChange=${() => state.listPreferences.set("view", value === "tree" ? null : value)}
            />${value === "tree" ? "Tree" : "List"}
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
        ${SORTS.map(([value, title]) => html`<option value=${value} selected=${value === sort}>${title}</option>`)}
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
    html`<${Lazy} load=${() => import("./group-editor.js")} of="GroupEditor" state=${state} onClose=${closeGroups} />`}
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
    html`<${Lazy} key=${menu} load=${() => import("./menu.js")} of="RunMenu" state=${state} menu=${menu} onClose=${() => setMenu(null)} />`}
  </section>`;
}

/**
 * Preact hook: which folders and groups are open. Without a filter, folders are open at first and
 * groups are closed. With a filter, both are open at first; what the user closes stays closed
 * until the filter changes.
 * @param {import("../../lib/ui/filter.js").Filter} filter
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
 * The list itself, with keyboard navigation.
 * @param {object} props
 * @param {State} props.state
 * @param {Row[]} props.rows  at least one
 * @param {(key: string) => void} props.onToggle
 * @param {(menu: Menu) => void} props.onMenu
 */
function Rows({ state, rows, onToggle, onMenu }) {
  const checked = state.checked.value;
  const colors = state.colors.value;
  const hovered = state.hoveredRun.value;
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

  /** @param {number} index */
  const moveTo = (index) => {
    const { key } = rows[Math.min(rows.length - 1, Math.max(0, index))];
    if (key === rows[current].key) return;
    toFocus.current = key;
    setActive(key);
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[current];
    const canOpen = row.kind !== "run";
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowDown: () => moveTo(current + 1),
      ArrowUp: () => moveTo(current - 1),
      ArrowRight: () => canOpen && (row.isOpen ? moveTo(current + 1) : onToggle(row.key)),
      ArrowLeft: () => (canOpen && row.isOpen ? onToggle(row.key) : moveTo(parentOf(rows, current))),
      PageDown: () => moveTo(current + ROWS_PER_PAGE),
      PageUp: () => moveTo(current - ROWS_PER_PAGE),
      Home: () => moveTo(0),
      End: () => moveTo(rows.length - 1),
    };
    if (event.key === "Enter" && event.target instanceof HTMLInputElement) actions.Enter = () => state.checkOnly(row.runs);
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
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
          numChecked=${row.kind === "run" ? Number(checked.has(row.name)) : countChecked(row.runs, checked)}
          color=${row.kind === "folder" ? undefined : colors.get(row.runs[0])}
          isCurrent=${index === current}
          isHovered=${row.kind === "run" && row.name === hovered}
          onToggle=${onToggle}
          onMenu=${onMenu}
          onFocus=${() => setActive(row.key)}
        />`}
    />
  </div>`;
}

/**
 * One row of the list.
 * @param {object} props
 * @param {State} props.state
 * @param {Row} props.row
 * @param {number} props.index  position in the list, from 0
 * @param {number} props.numChecked  number of checked runs in the row
 * @param {string | undefined} props.color  undefined for a folder
 * @param {boolean} props.isCurrent  whether it is the row that the Tab key focuses
 * @param {boolean} props.isHovered  whether the run is hovered, here or in a chart
 * @param {(key: string) => void} props.onToggle
 * @param {(menu: Menu) => void} props.onMenu
 * @param {() => void} props.onFocus
 */
function RunRow({ state, row, index, numChecked, color, isCurrent, isHovered, onToggle, onMenu, onFocus }) {
  const { kind, name, label, depth, runs } = row;
  const isRun = kind === "run";
  /** @param {number} x @param {number} y */
  const openMenu = (x, y) => onMenu({ row, x, y });
  return html`<div
    class="tb-row ${isRun ? "tb-run" : "tb-folder"} ${isHovered ? "tb-hovered" : ""}"
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
      const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
      // The context-menu key sends no position.
      if (event.clientX > 0) openMenu(event.clientX, event.clientY);
      else openMenu(box.left + 40, box.bottom);
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
          style=${{ "--tb-check": color }}
          aria-label=${isRun ? name : `${name}, ${plural(runs.length, "run")}`}
          checked=${numChecked === runs.length}
          indeterminate=${numChecked > 0 && numChecked < runs.length}
          tabindex=${isCurrent ? 0 : -1}
          onFocus=${onFocus}
          onChange=${(/** @type {Event} */ event) =>
            state.checkRuns(runs, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
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
        onClick=${(/** @type {MouseEvent} */ event) => {
          const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
          openMenu(box.left, box.bottom);
        }}
      >
        ⋯
      </button>
    </span>
  </div>`;
}

/**
 * The age of a run's last event, and a mark if the run has non-finite values.
 * @param {{ state: State, run: string }} props
 */
function Age({ state, run }) {
  const details = state.runDetails.value.get(run);
  if (!details) return null;
  const now = state.now.value;
  const { last, nonfinite } = details;
  const live = isLive(details, now);
  const age = last === null ? "" : shortAge(now - last);
  return html`
    ${nonfinite && html`<b class="tb-nan" title=${describeNonfinite(nonfinite)}>NaN</b>`}
    <span class="tb-age" title=${describeRun(details, now, formatTime)}>
      ${live && html`<i role="img" aria-label="live"></i>`}<span>${age}</span>
    </span>
  `;
}

/**
 * The index of a row's folder or group; its own index at the top level.
 * @param {readonly Row[]} rows
 * @param {number} index
 */
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
