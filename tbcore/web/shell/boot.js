/** The page: its top bar, run list and open tab, and its keyboard shortcuts. This is the entry point. */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../lib/format.js";
import { Icon } from "../lib/ui/controls.js";
import { Lazy, withStyles } from "../lib/ui/lazy.js";
import { suppressRequestErrors } from "./plugin-loader.js";
import { Opening, PluginView } from "./plugin-view.js";
import { RunsPanel } from "./runs/panel.js";
import { PLUGINS_PAGE, State, openPreferences, rewriteAddress } from "./state/reader-state.js";
import { keepInSync } from "./state/server-state.js";
import { TopBar, isFirstPass } from "./top-bar.js";

/** @import { Plugin } from "../host.js" */
/** @import { Row } from "./state/tree.js" */

/** The styles of what is loaded when it is first opened. */
const LAZY_CSS = new URL("lazy.css", import.meta.url);
/** How long after the first tab is drawn the page loads what it has of notes, if it has not yet. */
const KEPT_DELAY_MS = 1000;

// --- sidebar -------------------------------------------------------------------------------------

const DEFAULT_WIDTH_PX = 280;
const MIN_WIDTH_PX = 180;
/** Style sheets limit the width further on small windows. */
const MAX_WIDTH_PX = 1200;

/** The `#` cannot occur in the name of a plugin, so no plugin has the same preferences. */
const preferences = openPreferences("#sidebar");

/** @param {number} width */
const limited = (width) => Math.round(Math.min(MAX_WIDTH_PX, Math.max(MIN_WIDTH_PX, width)));

/**
 * The sidebar. Wide pages always show it, narrow ones if it is open.
 * @param {{ state: State, isOpen: boolean, onClose: () => void, onInfo: () => void }} props
 */
function Sidebar({ state, isOpen, onClose, onInfo }) {
  const width = limited(Number(preferences.values.value.width ?? DEFAULT_WIDTH_PX)) || DEFAULT_WIDTH_PX;
  const aside = useRef(/** @type {HTMLElement | null} */ (null));
  const rows = useRef(/** @type {readonly Row[]} */ ([]));
  const numUnshown = state.frontends.value?.unshown.reduce((sum, { num_tags }) => sum + num_tags, 0) ?? 0;

  useEffect(() => {
    if (!isOpen) return undefined;
    aside.current?.querySelector("input")?.focus();
    /** @param {KeyboardEvent} event */
    const onKey = (event) => event.key === "Escape" && onClose();
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      /** @type {HTMLElement} */ (document.querySelector(".runs-button")).focus();
    };
  }, [isOpen]);

  return html`
    ${isOpen && html`<div class="backdrop" onClick=${onClose}></div>`}
    <aside id="runs" class=${isOpen ? "open" : ""} ref=${aside} style=${{ "--sidebar": `${width}px` }}>
      <${RunsPanel} state=${state} listed=${rows} />
      <footer>
        ${numUnshown > 0 &&
        html`<button type="button" class="unshown" onClick=${onInfo}>
          <${Icon} name="info" />
          <span>${plural(numUnshown, "tag")} that no installed plugin shows</span>
        </button>`}
        <button type="button" class="logdir" title=${state.frontends.value?.logdir} onClick=${onInfo}>
          <bdi>${state.frontends.value?.logdir ?? ""}</bdi>
        </button>
      </footer>
      <${Handle} width=${width} rows=${rows} state=${state} />
    </aside>
  `;
}

/** The edge that changes the width. @param {{ width: number, rows: { readonly current: readonly Row[] }, state: State }} props */
function Handle({ width, rows, state }) {
  /** @param {Event & { key?: string }} event */
  const act = (event) => {
    if (event.key?.startsWith("Arrow")) event.preventDefault();
    const handle = /** @type {HTMLElement} */ (event.currentTarget);
    import("./runs/fit.js").then(({ moveEdge }) => moveEdge(event, handle, width, limited, rows.current, state.noted.value), console.warn);
  };
  return html`<div
    class="handle"
    role="separator"
    aria-orientation="vertical"
    aria-label="Width of the run list"
    aria-valuemin=${MIN_WIDTH_PX}
    aria-valuemax=${MAX_WIDTH_PX}
    aria-valuenow=${width}
    title="Drag to change the width. Double-click or Enter fits it to the names, and again restores it."
    tabindex="0"
    onDblClick=${act}
    onPointerDown=${act}
    onKeyDown=${act}
  ></div>`;
}

// --- keyboard shortcuts --------------------------------------------------------------------------

/**
 * Starts listening for keys, which the help dialog lists; returns a function that stops it.
 * @param {{ state: State, onRuns: () => void, onHelp: () => void }} options
 */
function watchKeys({ state, onRuns, onHelp }) {
  // A sidebar that slides in moves the focus to its filter by itself.
  const showRunFilter = () => focus(document.querySelector("aside")) || onRuns();
  const showTagFilter = () => focus(document.querySelector(".plugin")?.shadowRoot) || showRunFilter();
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const ofTab = state.pluginKeys.value.find(({ key, act }) => act && key === event.key);
    const act = { "?": onHelp, "/": showTagFilter, r: showRunFilter }[event.key] ?? (ofTab && (() => ofTab.act?.(event)));
    if (!act) return;
    event.preventDefault();
    act();
  };
  document.addEventListener("keydown", onKeyDown);
  return () => document.removeEventListener("keydown", onKeyDown);
}

/** Focuses the first search box and selects its text; returns false if it is hidden or missing. @param {ParentNode | null} [parent] */
function focus(parent) {
  const box = parent?.querySelector("input[type=search]");
  if (!(box instanceof HTMLInputElement) || !box.checkVisibility({ visibilityProperty: true })) return false;
  box.focus();
  box.select();
  return true;
}

/** Whether the key goes to a text field or a dialog, or a menu is open. Only `?` works while one is. @param {KeyboardEvent} event */
function isTyping(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement && !/^(checkbox|radio|range|button|color)$/.test(target.type)) return true;
  if (target.closest("dialog, select, textarea") || target.isContentEditable) return true;
  // The focus may still be on the button that opened the menu.
  const root = /** @type {ParentNode} */ (target.getRootNode());
  return event.key !== "?" && (target.closest(":popover-open") ?? root.querySelector("[popover=auto]:popover-open")) !== null;
}

// --- page ----------------------------------------------------------------------------------------

/** Dialogs by name: how to load each module, and the component in it. */
const DIALOGS = {
  info: { load: () => withStyles(LAZY_CSS, import("./info-dialog.js")), of: "InfoDialog" },
  help: { load: () => withStyles(LAZY_CSS, import("./help-dialog.js")), of: "HelpDialog" },
};

const skip = () => import("./skip.js").then(({ skipToCharts }) => skipToCharts(), console.warn);
const emptyStates = () => withStyles(LAZY_CSS, import("./empty-states.js"));

/** The page: top bar, run list and open tab, and a dialog while one is open. @param {{ state: State, sync: ReturnType<typeof keepInSync> }} props */
function Page({ state, sync }) {
  // Whether the run list is open on a narrow page.
  const [showsRuns, setShowsRuns] = useState(false);
  const [dialog, setDialog] = useState(/** @type {"info" | "help" | null} */ (null));
  const [isTabOpening, setIsTabOpening] = useState(true);
  const frontends = state.frontends.value;
  const showsPlugins = state.tab.value === PLUGINS_PAGE;
  const plugin = state.tabs.value.find(({ name }) => name === state.tab.value);
  const emptyKind = showsPlugins ? null : findEmptyKind(state, plugin);
  const isConnecting = emptyKind === "connecting" && !state.serverError.value;
  const isOpening = isConnecting || (emptyKind === null && plugin?.error === null && isTabOpening);

  useEffect(() => {
    if (isOpening) return undefined;
    const timer = setTimeout(loadKept, KEPT_DELAY_MS);
    return () => clearTimeout(timer);
  }, [isOpening]);
  const onInfo = () => setDialog("info");
  const onHelp = () => setDialog("help");
  // An effect after the paint would load the notice that no tab is open.
  useLayoutEffect(() => openFirstTab(state));
  useEffect(() => watchKeys({ state, onRuns: () => setShowsRuns(true), onHelp }), []);
  useEffect(() => {
    const directory = frontends?.logdir.split("/").filter(Boolean).pop();
    document.title = frontends?.window_title || (directory ? `${directory} · tbcore` : "tbcore");
  }, [frontends]);

  const parts = { state, plugin };
  const content = showsPlugins
    ? html`<${Lazy} key="plugins" load=${() => withStyles(LAZY_CSS, import("./plugins-page.js"))} of="PluginsPage" state=${state} />`
    : emptyKind
      ? !isConnecting && html`<${Lazy} key="empty" load=${emptyStates} of="EmptyState" kind=${emptyKind} ...${parts} />`
      : plugin && html`${state.shownRuns.value.length === 0 && html`<${Lazy} key="none" load=${emptyStates} of="NoneShown" state=${state} />`}<${PluginView} key=${`${plugin.name} ${plugin.module}`} ...${parts} onOpening=${setIsTabOpening} />`;
  const onRuns = () => setShowsRuns(!showsRuns);
  return html`
    <button type="button" class="tb-button skip" onClick=${skip}>Skip to charts</button>
    <${TopBar} ...${{ state, showsRuns, onRuns, onInfo, onHelp, sync }} />
    <div class="body">
      <${Sidebar} state=${state} isOpen=${showsRuns} onClose=${() => setShowsRuns(false)} onInfo=${onInfo} />
      <main>
        ${isOpening && html`<${Opening} key="opening" title=${plugin?.title} />`}
        ${(state.areGone.value || state.step.value !== null) && html`<${Lazy} key="gone" load=${emptyStates} of="PageNotes" state=${state} />`}
        <div
          key="content"
          id="content"
          role="tabpanel"
          aria-labelledby=${plugin && `tab-${plugin.name}`}
          aria-label=${showsPlugins ? "Plugins" : undefined}
        >
          ${content}
        </div>
      </main>
    </div>
    ${dialog && html`<${Lazy} key=${dialog} ...${DIALOGS[dialog]} state=${state} onClose=${() => setDialog(null)} />`}
  `;
}

/**
 * @typedef {"connecting" | "loading" | "noPlugin" | "noRuns" | "noActive" | "inactive"} EmptyKind
 *   why the page has no tab to show; "noActive": no plugin has data, "inactive": the open tab's
 *   plugin has none
 */

/** Why there is no tab to show; null if the tab of this plugin can be shown. @param {State} state @param {Plugin} [plugin] @returns {EmptyKind | null} */
function findEmptyKind(state, plugin) {
  const status = state.status.value;
  if (!state.frontends.value || !status) return "connecting";
  if (plugin?.error || plugin?.active) return null;
  if (state.tabs.value.length === 0) return "noPlugin";
  if (isFirstPass(status)) return "loading";
  if (state.allRuns.value.length === 0) return "noRuns";
  return plugin ? "inactive" : "noActive";
}

/** Opens the first tab whose plugin is active, unless a tab is open already. @param {State} state */
function openFirstTab(state) {
  const tabs = state.tabs.value;
  if (state.tab.value === PLUGINS_PAGE || tabs.some(({ name }) => name === state.tab.value)) return;
  const first = tabs.find(({ active, error }) => active && error === null);
  if (first) state.openTab(first.name);
}

suppressRequestErrors();
await rewriteAddress();
const state = new State();
const loadKept = () => import("./kept.js").then(({ start }) => start(state)).catch(console.warn);
const sync = keepInSync(state, loadKept);
render(html`<${Page} state=${state} sync=${sync} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
