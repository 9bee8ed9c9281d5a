/**
 * The bar at the top: tabs, what the server is doing, reload and theme.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatBytes, plural } from "./lib/format.js";
import { Icon } from "./lib/icons.js";
import { address } from "./server.js";

const COPIED_MS = 2000;

/**
 * Plugins that have a tab: those with something to show, then the failed and the empty ones.
 * @param {readonly import("./state.js").Plugin[]} plugins  in the server's order
 */
export function orderTabs(plugins) {
  const tabs = plugins.filter(({ module, error }) => module !== null || error !== null);
  return [...tabs.filter(({ active }) => active), ...tabs.filter(({ active }) => !active)];
}

/**
 * @param {object} props
 * @param {import("./state.js").State} props.state
 * @param {boolean} props.showsRuns
 * @param {() => void} props.onRuns
 * @param {() => void} props.onInfo
 * @param {() => void} props.onHelp
 * @param {() => void} props.onReload
 * @param {() => void} props.onRetry
 */
export function TopBar({ state, showsRuns, onRuns, onInfo, onHelp, onReload, onRetry }) {
  const dark = state.theme.value === "dark";
  return html`<header class="top-bar">
    <button
      type="button"
      class="tb-icon-button runs-button"
      aria-label="Runs"
      title="Runs"
      aria-expanded=${showsRuns}
      aria-controls="runs"
      onClick=${onRuns}
    >
      <${Icon} name="menu" />
    </button>
    <a class="brand" href=${address("")} aria-label="tbcore">
      <img src=${address("static/tbcore/icon.svg")} alt="" width="20" height="20" />
      <span>tbcore</span>
    </a>
    <${Tabs} state=${state} />
    <${StatusChip} state=${state} onInfo=${onInfo} onRetry=${onRetry} />
    <${CopyLink} state=${state} />
    <button type="button" class="tb-icon-button" aria-label="Reload" title="Ask the server for everything again" onClick=${onReload}>
      <${Icon} name="reload" />
    </button>
    <button
      type="button"
      class="tb-icon-button"
      aria-label=${dark ? "Light theme" : "Dark theme"}
      title=${dark ? "Light theme" : "Dark theme"}
      onClick=${state.toggleTheme}
    >
      <${Icon} name=${dark ? "sun" : "moon"} />
    </button>
    <button type="button" class="tb-icon-button help-button" aria-label="Keys" title="Keys (?)" onClick=${onHelp}>?</button>
    <${Progress} state=${state} />
  </header>`;
}

/** @param {{ state: import("./state.js").State }} props */
function Tabs({ state }) {
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const tabs = orderTabs(state.frontends.value?.plugins ?? []);
  const isOpen = tabs.some(({ name }) => name === state.tab.value);
  useEffect(() => {
    const tab = list.current?.querySelector("[aria-selected=true]");
    tab?.scrollIntoView({ block: "nearest", inline: "nearest" }); // it may be one of those that need scrolling
  }, [isOpen, state.tab.value]);

  /** Arrow keys walk over the tabs and open them. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const at = tabs.findIndex(({ name }) => name === state.tab.value);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    const target = next === undefined ? undefined : tabs[(next + tabs.length) % tabs.length];
    if (!target) return;
    event.preventDefault();
    state.openTab(target.name);
    /** @type {HTMLElement | null | undefined} */
    const button = list.current?.querySelector(`[data-plugin="${CSS.escape(target.name)}"]`);
    button?.focus();
  };

  return html`<div class="tabs" role="tablist" aria-label="Plugins" ref=${list} onKeyDown=${onKeyDown}>
    ${tabs.map((plugin, index) => {
      const { name, title, active, description } = plugin;
      const error = plugin.error ?? plugin.activity_error;
      const selected = name === state.tab.value;
      const hint = error ? `failed: ${error}` : active ? description : `${description || title}: no data`;
      return html`<button
        type="button"
        key=${name}
        id="tab-${name}"
        class="tab ${active ? "" : "inactive"} ${error ? "failed" : ""}"
        data-plugin=${name}
        role="tab"
        aria-selected=${selected}
        aria-controls="content"
        tabindex=${selected || (!isOpen && index === 0) ? 0 : -1}
        title=${hint || undefined}
        onClick=${() => state.openTab(name)}
      >
        ${error && html`<${Icon} name="warning" />`}${title}
      </button>`;
    })}
  </div>`;
}

/**
 * Says that the address is a link to what the page shows, by copying it.
 * @param {{ state: import("./state.js").State }} props
 */
function CopyLink({ state }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setCopied, COPIED_MS, false);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const onClick = async () => {
    const { copy } = await import("./lib/copy.js");
    await copy(state.link());
    setCopied(true);
  };
  return html`<button
    type="button"
    class="tb-icon-button link-button"
    aria-label=${isCopied ? "Link copied" : "Copy link"}
    aria-live="polite"
    title="Copy a link to this view: tab, runs, filters, groups and zoom are in the page's address"
    onClick=${onClick}
  >
    <${Icon} name=${isCopied ? "check" : "link"} />
  </button>`;
}

/**
 * What the server is doing, in two or three words; opens the information window.
 * @param {object} props
 * @param {import("./state.js").State} props.state
 * @param {() => void} props.onInfo
 * @param {() => void} props.onRetry
 */
function StatusChip({ state, onInfo, onRetry }) {
  const connection = state.connection.value;
  const status = state.status.value;
  if (connection === "retrying") {
    return html`<button type="button" class="chip bad" role="status" title="Try again now" onClick=${onRetry}>
      <i></i><span>${state.refusal.value ?? "Disconnected, retrying"}</span>
    </button>`;
  }
  const numProblems = status ? status.problems.length + status.missing.length : 0;
  if (numProblems > 0) {
    return html`<button type="button" class="chip warn" aria-label=${plural(numProblems, "problem")} onClick=${onInfo}>
      <${Icon} name="warning" /><span>${plural(numProblems, "problem")}</span>
    </button>`;
  }
  const text = !status ? "Connecting" : isFirstPass(status) ? loadingText(status) : "Live";
  return html`<button
    type="button"
    class="chip ${text === "Live" ? "good" : ""}"
    aria-label="${text}; about this log directory"
    title="About this log directory"
    onClick=${onInfo}
  >
    <i></i><span>${text}</span>
  </button>`;
}

/** @param {{ state: import("./state.js").State }} props */
function Progress({ state }) {
  const status = state.status.value;
  if (!status || !isFirstPass(status) || state.connection.value === "retrying") return null;
  const share = status.bytes_total > 0 ? Math.min(1, status.bytes_read / status.bytes_total) : 0;
  return html`<div
    class="progress"
    role="progressbar"
    aria-label="Reading event files"
    aria-valuemin="0"
    aria-valuemax="100"
    aria-valuenow=${Math.round(share * 100)}
    aria-valuetext=${loadingText(status)}
  >
    <div style=${{ width: `${share * 100}%` }}></div>
  </div>`;
}

/**
 * The first pass reads what is there already; later ones only what was added, and need no words.
 * @param {import("./state.js").Status} status
 */
export function isFirstPass(status) {
  return status.loading && status.passes === 0;
}

/** @param {import("./state.js").Status} status */
export function loadingText({ bytes_read, bytes_total, num_runs }) {
  if (bytes_total === 0) return "Looking for event files";
  return `Reading ${formatBytes(bytes_read)} of ${formatBytes(bytes_total)}, ${plural(num_runs, "run")}`;
}
