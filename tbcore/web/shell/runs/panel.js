/** The run list: a tree of folders, a flat list or groups, with a filter, an order and a toolbar. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FilterBox } from "../../lib/queries/filter.js";
import { IconButton } from "../../lib/ui/controls.js";
import { Lazy, withStyles } from "../../lib/ui/lazy.js";
import { openPreferences } from "../state/reader-state.js";
import { flatRows, treeRows } from "../state/tree.js";
import { MenuButton, Rows, countChecked } from "./rows.js";

/** The styles of what is loaded when it is first opened. */
const LAZY_CSS = new URL("../lazy.css", import.meta.url);
const FOOT_CSS = new URL("../foot.css", import.meta.url);
/** The orders of runs, with their titles. */
const SORTS = { name: "by name", start: "newest start first", last: "latest event first" };
/** What names of repetitions with different seeds have. */
const SEED = /(?:seed|s|fold|trial|rep\w*|try)[=_:-]?\d/i;

/** @import { Filter } from "../../lib/queries/filter.js" */
/** @import { State } from "../state/reader-state.js" */
/** @import { Table } from "./column-table.js" */
/** @import { Menu } from "./rows.js" */
/** @import { Row } from "../state/tree.js" */

/**
 * The run list with its toolbar. It sets `listed` to all rows of the list.
 * @param {{ state: State, listed: { current: readonly Row[] } }} props
 */
export function RunsPanel({ state, listed }) {
  const filter = state.runFilter.value;
  const checked = state.checked.value;
  const groupOf = state.groupOf.value;
  const { view, sort } = state.list.value;
  const table = useTable(state);
  const byName = state.sortedRuns.value;
  const shown = state.listed.value;
  const { matching, newest } = state.candidates.value;
  const hasFolders = useMemo(() => treeRows(byName, () => false).length < byName.length, [byName]);
  const [form, setForm] = useState(/** @type {"groups" | "columns" | null} */ (null));
  const formButton = useRef(/** @type {HTMLElement | null} */ (null));
  const [menu, setMenu] = useState(/** @type {Menu | null} */ (null));

  /** @type {import("./rows.js").Common["onMenu"]} */
  const openMenu = (event, row) => void (event.preventDefault(), setMenu({ event, row }));
  /** Opens a form, or closes it if it is open. @param {"groups" | "columns"} name @param {Event} event */
  const toggleForm = (name, event) => {
    formButton.current = /** @type {HTMLElement} */ (event.currentTarget);
    setForm(form === name ? null : name);
  };
  const closeForm = () => {
    setForm(null);
    formButton.current?.focus();
  };
  const done = () => void (state.beforeTyping.value = false);
  const [isOpen, toggle] = useOpen(filter);
  const rows = useMemo(() => {
    if (groupOf) return state.rules.value?.rowsOf(shown, groupOf, isOpen) ?? [];
    return view === "tree" ? treeRows(shown, isOpen) : flatRows(shown);
  }, [shown, view, groupOf, isOpen]);
  listed.current = rows;
  const numChecked = useMemo(() => countChecked(shown, checked), [shown, checked]);
  const isLimited = newest.size < matching.length;
  // If more runs match than are shown by default, a click unchecks when any is checked: to uncheck all must not load thousands first.
  const checksAll = numChecked < (isLimited ? 1 : shown.length);
  const hasFoot = useMemo(() => byName.some((run) => SEED.test(run)), [byName]) || groupOf !== null || state.colorLegend.value !== null || state.notes.value?.foot.value;
  /** Whether the list shows what another text finds. */
  const isOld = shown.length < byName.length && (filter.error || filter.isHeld);

  return html`<section class="tb-runs" aria-label="Runs">
    <${FilterBox} filter=${filter} onInput=${(/** @type {string} */ text) => state.setRunFilter(text, true)} onFocusIn=${state.loadQueries} onDone=${done} onKeyDown=${(/** @type {KeyboardEvent} */ { key }) => key === "Enter" && done()} names=${() => import("../state/attributes.js").then(({ namesFor }) => namesFor(state))} label="Filter runs" />
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
              onChange=${() => state.setList("view", isTree ? null : "list")}
            />${isTree ? "Tree" : "List"}
          </label>`,
        )}
      </span>`}
      <select
        aria-label="Sort runs"
        title="Sort runs"
        onChange=${(/** @type {Event} */ event) => {
          const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
          const isColumn = !Object.hasOwn(SORTS, value);
          state.setList("column", isColumn ? value : null);
          if (!isColumn) state.setList("sort", value === "name" ? null : value);
        }}
      >
        ${Object.entries(SORTS).map(
          ([value, title]) => html`<option value=${value} selected=${!table?.sorted.value && value === sort}>${title}</option>`,
        )}
        ${table && html`<${table.Orders} table=${table} />`}
      </select>
      <button
        type="button"
        class="tb-button ${groupOf ? "tb-on" : ""}"
        title="Group runs, such as seeds; choose what colours show"
        aria-expanded=${form === "groups"}
        onClick=${(/** @type {Event} */ event) => toggleForm("groups", event)}
      >
        ${groupOf ? `Grouped: ${state.groupRule.value.replace("by:", "")}` : "Group…"}
      </button>
      <${IconButton}
        icon="table"
        class=${table ? "tb-on" : ""}
        label="Columns…"
        title="Columns: hyperparameters and values"
        aria-expanded=${form === "columns"}
        onClick=${(/** @type {Event} */ event) => toggleForm("columns", event)}
      />
    </div>
    ${form === "groups" &&
    html`<${Lazy} key="groups" load=${() => withStyles(LAZY_CSS, import("./group-editor.js"))} of="GroupEditor" state=${state} onClose=${closeForm} />`}
    ${form === "columns" &&
    html`<${Lazy} key="columns" load=${() => withStyles(LAZY_CSS, import("./column-editor.js"))} of="ColumnEditor" state=${state} runs=${shown} onClose=${closeForm} />`}
    <div class="tb-runs-all" onContextMenu=${openMenu}>
      <label title="${checksAll ? "Check" : "Uncheck"} all">
        <input
          type="checkbox"
          class="tb-check"
          checked=${shown.length > 0 && numChecked === shown.length}
          indeterminate=${numChecked > 0 && numChecked < shown.length}
          disabled=${shown.length === 0}
          onChange=${() => state.checkRuns(shown, checksAll)}
        />
        <span class="tb-name"><span class="tb-name-head">${shown.length < byName.length ? "All matching" : "All runs"}${isOld && ` “${filter.shown?.trim()}”`}</span></span>
      </label>
      <span class="tb-runs-count" role="status">${(shown.length > 0 || !filter.error) && countText(numChecked, shown.length, byName.length)}</span>
      <${MenuButton} name="the list" onClick=${openMenu} />
    </div>
    ${(isLimited || state.selection.value.except.size || state.isSelectionMissing.value || state.ruleErrors.value.length > 0) &&
    html`<${Lazy} key="notes" load=${() => import("./notes.js")} of="RunsNotes" state=${state} />`}
    ${byName.length === 0 ? html`<p class="tb-runs-note">No runs.</p>` : rows.length === 0 ? html`<${Lazy} key="none" load=${() => import("./notes.js")} of="NoneFound" state=${state} />`
      : html`<${Rows} state=${state} rows=${rows} table=${table} onToggle=${toggle} onMenu=${openMenu} />`}
    ${hasFoot && html`<${Lazy} load=${() => withStyles(FOOT_CSS, import("./foot.js"))} of="RunsFoot" state=${state} />`}
    ${menu &&
    html`<${Lazy} key=${menu} load=${() => withStyles(LAZY_CSS, import("./menu.js"))} of="RunMenu" ...${{ state, rows, runs: shown, menu }} onClose=${() => setMenu(null)} />`}
  </section>`;
}

/** Preact hook: the columns; null if there are none, and until the module that shows them is loaded. @param {State} state */
function useTable(state) {
  const [table, setTable] = useState(/** @type {Table | null} */ (null));
  const hasColumns = state.columnsText.value !== "";
  useEffect(() => {
    if (hasColumns) table ?? withStyles(LAZY_CSS, import("./column-table.js")).then(({ makeTable }) => setTable(makeTable(state)), console.warn);
    else if (openPreferences("#sidebar").values.value.widened) import("./fit.js").then(({ fitListFor }) => fitListFor(""), console.warn);
  }, [hasColumns]);
  return hasColumns ? table : null;
}

/**
 * Preact hook: which folders and groups are open. Folders are open at first and groups are closed,
 * whether there is a filter or not. With a filter, the folders are open that were closed without it;
 * what the user closes stays closed until the filter changes.
 * @param {Filter} filter
 * @returns {[isOpen: (key: string) => boolean, toggle: (key: string) => void]}
 */
function useOpen({ text, error }) {
  // Keys of the rows that were toggled from their initial state, by the text of the filter; of groups, by "".
  const [toggled, setToggled] = useState(/** @type {ReadonlyMap<string, ReadonlySet<string> | undefined>} */ (new Map()));
  const scopeOf = (/** @type {string} */ key) => (error || key.startsWith("group:") ? "" : text);
  const isOpen = useMemo(
    () => (/** @type {string} */ key) => key.startsWith("group:") === (toggled.get(scopeOf(key))?.has(key) ?? false),
    [error || text, toggled],
  );
  const toggle = (/** @type {string} */ key) => {
    const scope = scopeOf(key);
    const next = new Set(toggled.get(scope));
    if (!next.delete(key)) next.add(key);
    // What was toggled for other filters is forgotten.
    setToggled(new Map([["", toggled.get("")], [text, toggled.get(text)], [scope, next]]));
  };
  return [isOpen, toggle];
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
