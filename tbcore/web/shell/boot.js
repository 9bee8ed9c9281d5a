/** The page's entry point: renders the top bar, the run list and the open tab. */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Lazy } from "../lib/ui/lazy.js";
import { suppressRequestErrors } from "./host.js";
import { watchKeys } from "./keys.js";
import { Opening, PluginView } from "./plugin-view.js";
import { Sidebar } from "./sidebar.js";
import { PLUGINS_PAGE, State } from "./state/reader-state.js";
import { keepInSync } from "./state/server-state.js";
import { TopBar, isFirstPass, orderTabs } from "./top-bar.js";

/** @typedef {import("../host.js").Plugin} Plugin */

/** Dialogs by name: how to load each module, and the component in it. */
const DIALOGS = {
  info: { load: () => import("./dialogs/info.js"), of: "InfoDialog" },
  help: { load: () => import("./dialogs/help.js"), of: "HelpDialog" },
};

/**
 * The page: top bar, run list and open tab, and a dialog while one is open.
 * @param {{ state: State, sync: { reload(): void, retry(): void } }} props
 */
function Page({ state, sync }) {
  const [showsRuns, setShowsRuns] = useState(false); // on narrow pages
  const [dialog, setDialog] = useState(/** @type {"info" | "help" | null} */ (null));
  const [isTabOpening, setIsTabOpening] = useState(true);
  const frontends = state.frontends.value;
  const showsPlugins = state.tab.value === PLUGINS_PAGE;
  const plugin = orderTabs(frontends?.plugins ?? []).find(({ name }) => name === state.tab.value);
  const emptyKind = showsPlugins ? null : findEmptyKind(state, plugin);
  const isConnecting = emptyKind === "connecting" && !state.serverError.value;
  const isOpening = isConnecting || (emptyKind === null && plugin?.error === null && isTabOpening);

  useEffect(() => openFirstTab(state));
  useEffect(() => watchKeys({ state, onRuns: () => setShowsRuns(true), onHelp: () => setDialog("help") }), []);
  useEffect(() => {
    const directory = frontends?.logdir.split("/").filter(Boolean).pop();
    document.title = frontends?.window_title || (directory ? `${directory} · tbcore` : "tbcore");
  }, [frontends]);

  const parts = { state, plugin };
  const content = showsPlugins
    ? html`<${Lazy} key="plugins" load=${() => import("./plugins-page.js")} of="PluginsPage" />`
    : emptyKind
      ? !isConnecting && html`<${Lazy} key="empty" load=${() => import("./empty-states.js")} of="EmptyState" kind=${emptyKind} ...${parts} />`
      : plugin && html`<${PluginView} key=${`${plugin.name} ${plugin.module}`} ...${parts} onOpening=${setIsTabOpening} />`;
  const onInfo = () => setDialog("info");
  const onHelp = () => setDialog("help");
  const onRuns = () => setShowsRuns(!showsRuns);
  return html`
    <${TopBar} ...${{ state, showsRuns, onRuns, onInfo, onHelp, onReload: sync.reload, onRetry: sync.retry }} />
    <div class="body">
      <${Sidebar} state=${state} isOpen=${showsRuns} onClose=${() => setShowsRuns(false)} onInfo=${onInfo} />
      <main>
        ${isOpening && html`<${Opening} key="opening" title=${plugin?.title} />`}
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

/**
 * Returns why there is no tab to show, or null if the open tab can be shown.
 * @param {State} state
 * @param {Plugin | undefined} plugin  the open tab's plugin
 * @returns {EmptyKind | null}
 */
function findEmptyKind(state, plugin) {
  const frontends = state.frontends.value;
  const status = state.status.value;
  if (!frontends || !status) return "connecting";
  if (plugin?.error || plugin?.active) return null;
  if (orderTabs(frontends.plugins).length === 0) return "noPlugin";
  if (isFirstPass(status)) return "loading";
  if (state.runs.value.length === 0) return "noRuns";
  return plugin ? "inactive" : "noActive";
}

/** Opens the first tab whose plugin is active, unless a tab is open already. @param {State} state */
function openFirstTab(state) {
  const tabs = orderTabs(state.frontends.value?.plugins ?? []);
  if (state.tab.value === PLUGINS_PAGE || tabs.some(({ name }) => name === state.tab.value)) return;
  const first = tabs.find(({ active, error }) => active && error === null);
  if (first) state.openTab(first.name);
}

suppressRequestErrors();
const state = new State();
const sync = keepInSync(state);
render(html`<${Page} state=${state} sync=${sync} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
