/**
 * The open tab: a plugin's module in a shadow root of its own, or what went wrong with it.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { openPlugin } from "./host.js";
import { Icon } from "./lib/icons.js";
import { ServerError } from "./server.js";
import { PLUGINS_PAGE } from "./state.js";

/**
 * @param {object} props
 * @param {import("./state.js").State} props.state
 * @param {import("./state.js").Plugin} props.plugin
 * @param {(isOpening: boolean) => void} props.onOpening  whether the tab has not drawn anything yet
 */
export function PluginView({ state, plugin, onOpening }) {
  const [attempt, setAttempt] = useState(0);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const retry = () => {
    setError(null);
    setAttempt(attempt + 1);
  };
  const onPlugins = () => state.openTab(PLUGINS_PAGE);
  if (plugin.error !== null) {
    return html`<${Failure} title="The plugin “${plugin.name}” could not be loaded" text=${plugin.error} traceback=${plugin.traceback} onPlugins=${onPlugins} />`;
  }
  if (error !== null) {
    return html`<${Failure} title="The tab “${plugin.title}” stopped" text=${messageOf(error, plugin)} details=${stackOf(error, plugin)} traceback=${error instanceof ServerError && error.details ? error.details : plugin.traceback} onRetry=${retry} onPlugins=${onPlugins} />`;
  }
  return html`<${Mount} key=${attempt} state=${state} plugin=${plugin} attempt=${attempt} onError=${setError} onRetry=${retry} onOpening=${onOpening} />`;
}

/**
 * @param {object} props
 * @param {import("./state.js").State} props.state
 * @param {import("./state.js").Plugin} props.plugin
 * @param {number} props.attempt
 * @param {(error: unknown) => void} props.onError
 * @param {() => void} props.onRetry
 * @param {(isOpening: boolean) => void} props.onOpening
 */
function Mount({ state, plugin, attempt, onError, onRetry, onOpening }) {
  const container = useRef(/** @type {HTMLElement | null} */ (null));
  const [stray, setStray] = useState(/** @type {Error | null} */ (null));
  const { module } = plugin;

  useEffect(() => {
    if (!container.current || module === null) return undefined;
    onOpening(true);
    return openPlugin({
      state,
      plugin: { ...plugin, module },
      container: container.current,
      attempt,
      onError: (error) => {
        onOpening(false);
        onError(error ?? new Error("unknown error"));
      },
      onStrayError: setStray,
      onReady: () => onOpening(false),
    });
  }, []);

  return html`
    ${stray &&
    html`<div class="stray" role="alert">
      <${Icon} name="warning" /><span>${messageOf(stray, plugin)}</span>
      <button type="button" class="tb-button" onClick=${onRetry}>Reload this tab</button>
    </div>`}
    <h1 class="tb-hidden">${plugin.title}</h1>
    <div class="plugin" data-plugin=${plugin.name} ref=${container}></div>
  `;
}

/**
 * The outlines of cards, until there is something to show. They come after a moment only.
 * @param {{ title?: string }} props  of the tab
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
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.text
 * @param {string} [props.details]
 * @param {string} [props.traceback]  of the server, which tells authors of plugins; undefined for others
 * @param {() => void} [props.onRetry]
 * @param {() => void} props.onPlugins
 */
function Failure({ title, text, details, traceback, onRetry, onPlugins }) {
  return html`<div class="notice failure" role="alert">
    <h1><${Icon} name="warning" /> ${title}</h1>
    <p class="message">${text}</p>
    ${traceback && html`<pre class="traceback">${traceback}</pre>`}
    ${details && html`<details open=${traceback !== undefined}><summary>Details</summary><pre>${details}</pre></details>`}
    <p>
      ${onRetry && html`<button type="button" class="tb-button primary" onClick=${onRetry}>Try again</button>${" "}`}
      <button type="button" class="tb-button" onClick=${onPlugins}>About the plugins</button>
    </p>
  </div>`;
}

/**
 * @param {unknown} error
 * @param {import("./state.js").Plugin} plugin
 */
function messageOf(error, plugin) {
  if (!(error instanceof Error)) return String(error);
  const message = `${error.name}: ${error.message}`;
  // Browsers keep to themselves where the syntax of a module is wrong, and say it in their console only.
  const hasPlace = `${error.stack}${error.message}`.includes("://");
  return hasPlace ? message : `${message} (in ${plugin.module} or what it imports; the browser's console has the line)`;
}

/**
 * The lines of the stack that say more than the message.
 * @param {unknown} error
 * @param {import("./state.js").Plugin} plugin
 */
function stackOf(error, plugin) {
  if (!(error instanceof Error)) return undefined;
  const message = messageOf(error, plugin);
  return (error.stack ?? "").split("\n").filter((line) => !message.includes(line.trim())).join("\n");
}
