/** The open tab: a plugin's module in its own shadow root, or the error that stopped it. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Lazy, withStyles } from "../lib/ui/lazy.js";
import { openPlugin } from "./plugin-loader.js";

/** @import { Plugin } from "../host.js" */
/** @import { State } from "./state/reader-state.js" */

/** The styles of an error. */
const LAZY_CSS = new URL("lazy.css", import.meta.url);

/**
 * A plugin's tab. It is closed when the component is removed. After an error, a retry loads the
 * module again.
 * @param {object} props
 * @param {State} props.state
 * @param {Plugin} props.plugin
 * @param {(isOpening: boolean) => void} props.onOpening  called with true when the tab opens, and
 *   with false when it has drawn something or has failed
 */
export function PluginView({ state, plugin, onOpening }) {
  const container = useRef(/** @type {HTMLElement | null} */ (null));
  const [attempt, setAttempt] = useState(0);
  // What closed the tab.
  const [error, setError] = useState(/** @type {unknown} */ (null));
  // What left it open.
  const [uncaught, setUncaught] = useState(/** @type {Error | null} */ (null));
  /** Whether an error is shown as plain text, because what shows it cannot be loaded. */
  const [isBare, setBare] = useState(false);
  const { module } = plugin;

  useEffect(() => {
    setUncaught(null);
    if (!container.current || module === null) return;
    onOpening(true);
    return openPlugin({
      state,
      plugin: { ...plugin, module },
      container: container.current,
      attempt,
      onError: setError,
      onUncaughtError: setUncaught,
      onOpening,
    });
  }, [attempt, plugin.error]);

  const retry = () => {
    setError(null);
    setUncaught(null);
    setBare(false);
    setAttempt(attempt + 1);
  };
  const failure = plugin.error ?? error ?? uncaught;
  const notice =
    failure !== null &&
    (isBare
      ? html`<p class="tb-nothing" role="alert">${String(failure)} <button type="button" class="tb-button" onClick=${retry}>Try again</button></p>`
      : html`<${Lazy} key="failure" load=${() => withStyles(LAZY_CSS, import("./failure.js"))} of="Failure" ...${{ state, plugin, error, uncaught }} onRetry=${retry} onClose=${() => setBare(true)} />`);
  if (failure !== null && failure !== uncaught) return notice;
  return html`
    ${notice}
    <h1 class="tb-hidden">${plugin.title}</h1>
    <div key=${attempt} class="plugin" data-plugin=${plugin.name} ref=${container}></div>
  `;
}

/**
 * A placeholder with the outlines of cards, until the tab has drawn something. The style sheet delays
 * it, so that a fast start does not flicker.
 * @param {{ title?: string }} props  the tab's title; none while the page connects
 */
export function Opening({ title }) {
  return html`<div class="opening" role="status" aria-label=${title ? `Opening ${title}` : "Connecting"}>
    <div class="tb-toolbar"><div class="tb-input"></div></div>
    <div class="tb-content">
      ${[1, 2].map(
        (section) => html`<div class="tb-group" key=${section}>
          <h2></h2>
          <div class="tb-grid">${[1, 2, 3].map((card) => html`<div class="tb-card" key=${card}></div>`)}</div>
        </div>`,
      )}
    </div>
  </div>`;
}
