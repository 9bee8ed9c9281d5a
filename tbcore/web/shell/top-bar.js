/** The bar at the top of the page: tabs, the server's status, and buttons. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatBytes, plural } from "../lib/format.js";
import { Icon, IconButton, copy } from "../lib/ui/controls.js";
import { Lazy, withStyles } from "../lib/ui/lazy.js";
import { address } from "./state/server.js";

/** @import { State } from "./state/reader-state.js" */
/** @import { Status } from "./state/server.js" */

/** How long the copy button confirms that the link was copied. */
const COPIED_NOTICE_MS = 2000;

/**
 * The bar. The run list is shown and hidden on narrow pages only.
 * @typedef {{ showsRuns: boolean, onRuns: () => void, onInfo: () => void, onHelp: () => void }} Switches
 * @param {Switches & { state: State, sync: ReturnType<typeof import("./state/server-state.js").keepInSync> }} props
 */
export function TopBar({ state, showsRuns, onRuns, onInfo, onHelp, sync }) {
  const status = state.status.value;
  const isDark = state.theme.value === "dark";
  const otherTheme = isDark ? "Light theme" : "Dark theme";
  return html`<header class="top-bar">
    <${IconButton} icon="menu" class="runs-button" label="Runs" title="Runs" aria-expanded=${showsRuns} aria-controls="runs" onClick=${onRuns} />
    <a class="brand" href=${address("")} aria-label="tbcore">
      <img src=${address("static/tbcore/icon.svg")} alt="" width="20" height="20" />
      <span>tbcore</span>
    </a>
    <${Tabs} state=${state} />
    <${StatusChip} state=${state} onInfo=${onInfo} onRetry=${sync.retry} />
    ${state.notes.value?.bar.value}
    <${CopyLink} state=${state} />
    <${IconButton} icon="reload" label="Reload" title="Reload all data from the server" onClick=${sync.reload} />
    <${IconButton} icon=${isDark ? "sun" : "moon"} label=${otherTheme} title=${otherTheme} onClick=${state.toggleTheme} />
    <button
      type="button"
      class="tb-icon-button help-button"
      aria-label="Keyboard shortcuts"
      title="Keyboard shortcuts (?)"
      onClick=${onHelp}
    >
      ?
    </button>
    ${status && isFirstPass(status) && state.connection.value !== "retrying" && html`<${Lazy} load=${() => withStyles(new URL("lazy.css", import.meta.url), import("./progress.js"))} of="Progress" status=${status} text=${loadingText(status)} />`}
  </header>`;
}

/**
 * The tabs, and a button that shows those without data, unless there are no others. If there is too
 * little space for all, they scroll sideways.
 * @param {{ state: State }} props
 */
function Tabs({ state }) {
  const tabs = state.tabs.value;
  const [showsMore, setShowsMore] = useState(false);
  const numUsed = tabs.filter(({ name, active, error, activity_error }) => active || error || activity_error || name === state.tab.value).length;
  const hasMore = numUsed > 0 && numUsed < tabs.length;
  const isOpen = tabs.some(({ name }) => name === state.tab.value);
  useEffect(() => {
    const tab = /** @type {HTMLElement} */ (document.getElementById(`tab-${state.tab.value}`));
    const bar = /** @type {HTMLElement | null} */ (tab?.closest(".tabs"));
    if (!bar) return;
    // After scrollIntoView, the Tab key would begin here, and not at the start of the page.
    // The last 32 pixels of the bar fade out.
    const left = tab.offsetLeft - bar.offsetLeft;
    bar.scrollLeft = Math.min(left, Math.max(bar.scrollLeft, left + tab.offsetWidth + 32 - bar.clientWidth));
  }, [isOpen, state.tab.value, state.notes.value?.bar.value]);

  /** Arrow keys, Home and End open other tabs. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const shown = /** @type {HTMLElement[]} */ ([.../** @type {HTMLElement} */ (event.currentTarget).children]).filter(({ hidden }) => !hidden);
    const index = shown.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = shown.at(next % shown.length);
    tab?.click();
    tab?.focus();
  };

  return html`<div class="tabs">
    <div role="tablist" aria-label="Plugins" onKeyDown=${onKeyDown}>
      ${tabs.map((plugin, index) => {
        const { name, title, active, description } = plugin;
        const error = plugin.error ?? plugin.activity_error;
        const isSelected = name === state.tab.value;
        return html`<button
          type="button"
          key=${name}
          id="tab-${name}"
          class="tab ${active ? "" : "inactive"} ${error ? "failed" : ""}"
          data-plugin=${name}
          role="tab"
          aria-selected=${isSelected}
          aria-controls="content"
          tabindex=${isSelected || (!isOpen && index === 0) ? 0 : -1}
          hidden=${hasMore && !showsMore && !active && !error && !isSelected}
          title=${error ? `Failed: ${error}` : description || undefined}
          onClick=${() => state.openTab(name)}
        >
          ${error && html`<${Icon} name="warning" />`}${title}
        </button>`;
      })}
    </div>
    ${hasMore &&
    html`<button type="button" class="tab inactive" title="Without data" aria-expanded=${showsMore} onClick=${() => setShowsMore(!showsMore)}>${showsMore ? "less" : "more"}</button>`}
  </div>`;
}

/** Whether the page's address is of use on this machine only. */
const isLocal = /^(localhost$|127\.|\[::1\])/.test(location.hostname);

/** The button that copies a link to the current view. @param {{ state: State }} props */
function CopyLink({ state }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setCopied, COPIED_NOTICE_MS, false);
    return () => clearTimeout(timer);
  }, [isCopied]);
  // Loaded before the click, since some browsers let only what follows it at once copy.
  const link = () => import("./state/picture.js").then(({ linkOf }) => linkOf(state)).catch(() => state.link());
  const onClick = async () => {
    await copy(await link());
    setCopied(true);
  };
  return html`<${IconButton}
    icon=${isCopied ? "check" : "link"}
    label=${isCopied ? "Link copied" : "Copy link"}
    class="link-button"
    aria-live="polite"
    title="Copy a link to this view, as it is${isLocal ? ", for this machine only" : ""}"
    onPointerEnter=${link}
    onFocus=${link}
    onClick=${onClick}
  />`;
}

/**
 * The server's status in a few words. A click opens the dialog about the log directory, or
 * reconnects if the connection is lost.
 * @param {{ state: State, onInfo: () => void, onRetry: () => void }} props
 */
function StatusChip({ state, onInfo, onRetry }) {
  const status = state.status.value;
  const isLost = state.connection.value === "retrying";
  const numProblems = status && !isLost ? status.problems.length + status.missing.length : 0;
  const news = !status ? "Connecting" : isFirstPass(status) ? loadingText(status) : "Connected";
  const [kind, text] = isLost
    ? ["bad", state.serverError.value ?? "Disconnected, retrying"]
    : numProblems > 0 ? ["warn", plural(numProblems, "problem")] : [news === "Connected" ? "good" : "", news];
  return html`<button
    type="button"
    class="chip ${kind}"
    role=${isLost ? "status" : undefined}
    aria-label=${text}
    title=${isLost ? "Try again now" : "About this log directory"}
    onClick=${isLost ? onRetry : onInfo}
  >
    ${numProblems > 0 ? html`<${Icon} name="warning" />` : html`<i></i>`}<span>${text}</span>
  </button>`;
}

/**
 * Whether the server reads the log directory for the first time. Later passes only read what was
 * added, so the page shows no progress of them.
 * @param {Status} status
 */
export function isFirstPass({ loading, passes }) {
  return loading && passes === 0;
}

/** Returns the progress of the first pass, as text. @param {Status} status */
export function loadingText({ bytes_read, bytes_total, num_runs }) {
  if (bytes_total === 0) return "Looking for event files";
  return `Reading ${formatBytes(bytes_read)} of ${formatBytes(bytes_total)}, ${plural(num_runs, "run")}`;
}
