/** The error that stopped a tab, or that left it open. Loaded for the first one. */

import { html } from "htm/preact";
import { Icon } from "../lib/ui/controls.js";
import { PLUGINS_PAGE } from "./state/reader-state.js";
import { ServerError } from "./state/server.js";

/** @import { Plugin } from "../host.js" */
/** @import { State } from "./state/reader-state.js" */

/**
 * The notice in place of a tab, or above one that is still open.
 * @param {object} props
 * @param {State} props.state
 * @param {Plugin} props.plugin
 * @param {unknown} props.error  what closed the tab; null if nothing did
 * @param {Error | null} props.uncaught  what left it open
 * @param {() => void} props.onRetry
 */
export function Failure({ state, plugin, error, uncaught, onRetry }) {
  if (plugin.error !== null) {
    return html`<${Notice}
      title="The plugin “${plugin.name}” could not be loaded"
      text=${plugin.error}
      traceback=${plugin.traceback}
      state=${state}
    />`;
  }
  if (error !== null) {
    return html`<${Notice}
      title="The tab “${plugin.title}” stopped because of an error"
      text=${messageOf(error, plugin)}
      details=${stackOf(error, plugin)}
      traceback=${(error instanceof ServerError && error.details) || plugin.traceback}
      state=${state}
      onRetry=${onRetry}
    />`;
  }
  return html`<div class="uncaught-error" role="alert">
    <${Icon} name="warning" /><span>${messageOf(uncaught, plugin)}</span>
    <button type="button" class="tb-button" onClick=${onRetry}>Reload this tab</button>
  </div>`;
}

/**
 * An error in place of a plugin. `traceback` is from the server: "" if there is none, undefined
 * without `--dev`.
 * @param {{ title: string, text: string, details?: string, traceback?: string, state: State, onRetry?: () => void }} props
 */
function Notice({ title, text, details, traceback, state, onRetry }) {
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
