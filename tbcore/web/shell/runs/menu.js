/**
 * The context menu of a row in the run list. Loaded when it is first opened.
 *
 * The popover has the type `manual`, and this module closes it on events outside: a popover of the
 * type `auto` would close as soon as the mouse button that opened it is released.
 */

import { html } from "htm/preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { formatName, plural } from "../../lib/format.js";
import { labelOf } from "../../lib/text-names.js";
import { copy } from "../../lib/ui/controls.js";
import { chooseColor } from "../state/picture.js";
import { toggleOf } from "./diverged.js";
import { divergedRuns } from "./rows.js";

/** @import { Plugin } from "../../host.js" */
/** @import { State } from "../state/reader-state.js" */
/** @import { Menu } from "./rows.js" */
/** @import { Row } from "../state/tree.js" */

/** Numbers of runs, or of groups, that the menu offers to show from the top of the list. */
const FIRST = [5, 10, 20];

/**
 * The menu of a row, or of all runs of the list. `rows` are those of the list, and `runs` its runs in its order, whatever the folders.
 * @param {{ state: State, rows: readonly Row[], runs: readonly string[], menu: Menu, onClose: () => void }} props
 */
export function RunMenu({ state, rows, runs, menu, onClose }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const row = menu.row ?? { kind: "all", name: runs.length < state.runs.value.length ? "All matching" : "All runs", runs };
  const isRun = row.kind === "run";
  // The run or group whose colour the menu can change and whose tabs it can open: if runs are grouped,
  // the group of a run; null for a folder, and for all runs.
  const shownName = isRun ? (state.groupOf.value?.get(row.name) ?? row.name) : row.kind === "group" ? row.name : null;
  const color = state.colors.value.get(row.runs[0]) ?? "#888888";
  // The colour of a run is kept with its notes if that is possible, or else in this browser.
  const keepColor = shownName === row.name && isRun ? state.notes.value?.setColor.value : null;
  /** @param {string | null} color */
  const setColor = (color) => {
    if (shownName === null) return;
    keepColor?.(shownName, color);
    chooseColor(state, shownName, keepColor ? null : color);
  };
  const hasColor = shownName !== null && (state.chosenColors.value.has(shownName) || (keepColor && state.noted.value.get(shownName)?.color));
  // Narrow rows have no room for this button.
  const [hasNoButton] = useState(() => /** @type {Element} */ (menu.event.target).closest(".tb-row")?.querySelector(".tb-run-only")?.getClientRects().length === 0);
  const { isHiding, toggled } = toggleOf(state, divergedRuns(state, row.runs));
  const logdir = state.frontends.value?.logdir ?? "";
  const path = isRun || row.kind === "folder" ? pathOf(logdir, row.name) : null;

  useEffect(() => {
    const popover = element.current;
    if (!popover) return;
    // The focus comes back to the row, so that its keys act on it.
    const opener = /** @type {Element} */ (menu.event.target);
    const box = opener.closest(".tb-row, .tb-runs-all")?.querySelector("input");
    box?.focus({ preventScroll: true });
    popover.showPopover();
    // The context-menu key sends no position.
    const { left, bottom } = opener.getBoundingClientRect();
    const [x, y] = menu.event.clientX > 0 ? [menu.event.clientX, menu.event.clientY] : [left, bottom];
    // Again when its size changes, because items may come late.
    const place = () => {
      const { width, height } = popover.getBoundingClientRect();
      popover.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
      popover.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    };
    place();
    const sizes = new ResizeObserver(place);
    sizes.observe(popover);
    popover.querySelector("button")?.focus();
    const controller = new AbortController();
    const options = { capture: true, signal: controller.signal };
    /** @param {Event} event */
    const onOutside = (event) => event.composedPath().includes(popover) || onClose();
    for (const name of ["pointerdown", "scroll", "focusin"]) addEventListener(name, onOutside, options);
    return () => {
      controller.abort();
      sizes.disconnect();
      if (box?.isConnected) box.focus({ preventScroll: true });
    };
  }, []);

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key === "Escape" || event.key === "Tab") {
      // The list that slides in on narrow pages stays open.
      event.stopPropagation();
      return onClose();
    }
    const items = /** @type {HTMLElement[]} */ ([...(element.current?.querySelectorAll("button, input") ?? [])]);
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    items[(next + items.length) % items.length].focus();
  };
  // Only a new colour is shown: one that is being chosen stays when the page is drawn again.
  const show = useCallback((/** @type {HTMLInputElement | null} */ box) => void (box && (box.value = color)), [color]);
  const first = firstOf(rows, runs);
  const order = orderOf(state);
  /** A button that closes the menu and then acts. @param {string | number} text @param {() => unknown} act @param {string} [label] */
  const item = (text, act, label) => {
    const onClick = () => {
      onClose();
      act();
    };
    return html`<button type="button" role="menuitem" aria-label=${label} onClick=${onClick}>${text}</button>`;
  };

  return html`<div class="tb-menu tb-run-menu" popover="manual" role="menu" aria-label=${row.name} ref=${element} onKeyDown=${onKeyDown}>
    <p>${formatName(row.name)}${row.kind === "group" && html`<br /><small>Its name comes from the grouping. A picture for a paper, in a chart’s menu, can have another.</small>`}</p>
    ${row.kind === "all" && toggled.length > 0 && item(`${isHiding ? "Hide" : "Show"} ${plural(toggled.length, "run")} with NaN or infinite values`, () => state.checkRuns(toggled, !isHiding))}
    ${first.length > FIRST[0] &&
    html`<div class="tb-menu-first" role="group" aria-label="Show only the first of the list">
      <span>Only the first</span>
      ${FIRST.filter((num) => num < first.length).map((num) => item(num, () => state.checkOnly(first.slice(0, num).flat()), `Show only the first ${num} of the list, ${order}`))}
      <i>${order}</i>
    </div>`}
    ${hasNoButton && item("Only this", () => state.checkOnly(row.runs))}
    ${state.notes.value?.menu(row.runs, item)}
    ${state.tabs.value.map((plugin) => plugin.run_action && plugin.active && !plugin.error && item(actionText(state, plugin, shownName), () => act(state, plugin, row.runs, shownName)))}
    ${row.kind === "all" ? item("Copy names", () => copy(row.runs.join("\n"))) : item("Copy name", () => copy(row.name))}
    ${path !== null && item("Copy path", () => copy(path))}
    ${shownName !== null &&
    html`<label>
        Colour${shownName === row.name ? "" : " of its group"}
        <input
          type="color"
          ref=${show}
          onChange=${(/** @type {Event} */ event) => setColor(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
        />
      </label>
      ${hasColor && item("Reset colour", () => setColor(null))}`}
  </div>`;
}

/** What a plugin does with a run or a group, or with the runs of a folder, in words. @param {State} state @param {Plugin} plugin @param {string | null} shownName */
function actionText({ shownRuns, groups }, { run_action: verb }, shownName) {
  if (shownName === null) return `${verb} these runs`;
  const others = (groups.value?.groups ?? shownRuns.value).filter(({ name }) => name !== shownName);
  if (others.length === 0) return verb;
  const what = groups.value ? "other shown group" : "other shown run";
  return `${verb} with ${others.length === 1 ? formatName(labelOf(shownRuns.value, others[0].name)) : `the ${plural(others.length, what)}`}`;
}

/** Opens a plugin's tab with a run or a group, or with the runs of a folder alone. @param {State} state @param {Plugin} plugin @param {readonly string[]} runs @param {string | null} shownName */
function act(state, { name: plugin }, runs, shownName) {
  if (shownName === null) state.checkOnly(runs);
  else {
    state.checkRuns(runs, true);
    state.setSetting(`${plugin}.run`, shownName);
  }
  state.openTab(plugin);
}

/** The runs in the order of the list; if they are grouped, those of each group. @param {readonly Row[]} rows @param {readonly string[]} runs @returns {(readonly string[])[]} */
function firstOf(rows, runs) {
  const top = rows.filter(({ depth }) => depth === 0);
  return top.some(({ kind }) => kind === "group") ? top.map(({ runs }) => runs) : runs.map((run) => [run]);
}

/** The order of the list in words. @param {State} state */
function orderOf({ list, isByColumn }) {
  const { sort, column } = list.value;
  if (isByColumn.value) return `by ${formatName(column.slice(1))}`;
  return sort === "start" ? "newest start first" : sort === "last" ? "latest event first" : "by name";
}

/** The path of a run on disk; null if it is unknown, because the logdir is a list or a URL. @param {string} logdir @param {string} name */
function pathOf(logdir, name) {
  if (logdir === "" || logdir.includes(",") || /^[^/\\]{2,}:/.test(logdir)) return null;
  return name === "." ? logdir : `${logdir.replace(/\/+$/, "")}/${name.replace(/\/$/, "")}`;
}
