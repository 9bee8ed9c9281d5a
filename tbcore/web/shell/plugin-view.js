/** The open tab: a plugin's module in its own shadow root, or the error that stopped it. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../lib/ui/controls.js";
import { adoptStyles } from "../lib/ui/lazy.js";
import { openPlugin } from "./plugin-loader.js";
import { PLUGINS_PAGE } from "./state/reader-state.js";
import { ServerError } from "./state/server.js";

/** @import { Plugin } from "../host.js" */
/** @import { State } from "./state/reader-state.js" */

/**
 * A plugin's tab. It is closed when the component is removed. After an error, a retry loads the
 * module again.
 * @param {object} props
 * @param {State} props.state
 * @param {Plugin} props.plugin
 * @param {(isOpening: boolean) => void} props.onOpening  called with true when the tab opens, and
 *   with false when it has been drawn or has failed
 */
export function PluginView({ state, plugin, onOpening }) {
  const container = useRef(/** @type {HTMLElement | null} */ (null));
  const [attempt, setAttempt] = useState(0);
  // What closed the tab.
  const [error, setError] = useState(/** @type {unknown} */ (null));
  // What left it open.
  const [uncaught, setUncaught] = useState(/** @type {Error | null} */ (null));
  const { module } = plugin;

  useEffect(() => {
    setUncaught(null);
    if (!container.current || module === null) return undefined;
    onOpening(true);
    return openPlugin({
      state,
      plugin: { ...plugin, module },
      container: container.current,
      attempt,
      onError: (error) => {
        onOpening(false);
        setError(error);
      },
      onUncaughtError: setUncaught,
      onReady: () => onOpening(false),
    });
  }, [attempt, plugin.error]);

  const hasFailed = plugin.error ?? error ?? uncaught;
  useEffect(() => {
    if (hasFailed !== null) adoptStyles(document, new URL("lazy.css", import.meta.url)).catch(console.warn);
  }, [hasFailed]);
  const retry = () => {
    setError(null);
    setUncaught(null);
    setAttempt(attempt + 1);
  };
  if (plugin.error !== null) {
    return html`<${Failure}
      title="The plugin “${plugin.name}” could not be loaded"
      text=${plugin.error}
      traceback=${plugin.traceback}
      state=${state}
    />`;
  }
  if (error !== null) {
    return html`<${Failure}
      title="The tab “${plugin.title}” stopped because of an error"
      text=${messageOf(error, plugin)}
      details=${stackOf(error, plugin)}
      traceback=${(error instanceof ServerError && error.details) || plugin.traceback}
      state=${state}
      onRetry=${retry}
    />`;
  }
  return html`
    ${uncaught &&
    html`<div class="uncaught-error" role="alert">
      <${Icon} name="warning" /><span>${messageOf(uncaught, plugin)}</span>
      <button type="button" class="tb-button" onClick=${retry}>Reload this tab</button>
    </div>`}
    <h1 class="tb-hidden">${plugin.title}</h1>
    <div key=${attempt} class="plugin" data-plugin=${plugin.name} ref=${container}></div>
  `;
}

/**
 * A placeholder with the outlines of cards, until the tab has been drawn. The style sheet delays
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

/**
 * An error in place of a plugin. `traceback` is from the server: "" if there is none, undefined
 * without `--dev`.
 * @param {{ title: string, text: string, details?: string, traceback?: string, state: State, onRetry?: () => void }} props
 */
function Failure({ title, text, details, traceback, state, onRetry }) {
  return html`<div class="notice failure" role="alert">
    <h1><${Icon} name="warning" /> ${title}</h1>
    <p class="message">${text}</p>
    ${traceback && html`<pre class="traceback">${traceback}</pre>`}
    ${details &&
    html`<details open=${traceback !== undefined}>
      <summary>Details</summary>
      <pre>${details}</pre>
    </details>`}
    <p>
      ${onRetry &&
      html`<button type="button" class="tb-button primary" onClick=${onRetry}>Try again</button>${" "}`}
      <button type="button" class="tb-button" onClick=${() => state.openTab(PLUGINS_PAGE)}>About the plugins</button>
    </p>
  </div>`;
}

/** An error's message, with the name of the module if the error has no location. @param {unknown} error @param {Plugin} plugin */
function messageOf(error, plugin) {
  if (!(error instanceof Error)) return String(error);
  const message = `${error.name}: ${error.message}`;
  // Some browsers report the location of a syntax error in a module only in their console.
  const hasLocation = `${error.stack}${error.message}`.includes("://");
  if (hasLocation) return message;
  return `${message} (in ${plugin.module} or a module that it imports; see the browser's console for the line)`;
}

/** Returns an error's stack without the lines that repeat its message. @param {unknown} error @param {Plugin} plugin */
function stackOf(error, plugin) {
  if (!(error instanceof Error)) return undefined;
  const message = messageOf(error, plugin);
  return (error.stack ?? "").split("\n").filter((line) => !message.includes(line.trim())).join("\n");
}
