/** Opens plugins' tabs: loads a plugin's module, calls its `render`, and handles its errors. */

import { TAB_CLOSED, makeHost, networkErrors } from "./host.js";
import { ServerError, address } from "./state/server.js";
import { adoptStyles } from "./styles.js";

/**
 * @typedef {import("../host.js").Cleanup} Cleanup
 * @typedef {import("../host.js").Plugin} Plugin
 */

const COMPONENTS_CSS = new URL("../lib/components.css", import.meta.url);

/**
 * Opens a plugin's tab: loads its module and calls its `render`.
 * @param {object} options
 * @param {import("./state/reader-state.js").State} options.state
 * @param {Plugin & { module: string }} options.plugin
 * @param {HTMLElement} options.container  empty; the shadow root is attached to it
 * @param {number} options.attempt  0 for the first attempt; later ones load the module again
 * @param {(error: unknown) => void} options.onError  called at most once, with the error that
 *   closed the tab
 * @param {(error: Error) => void} options.onUncaughtError  called for an error that the plugin did
 *   not catch; the tab stays open
 * @param {() => void} options.onReady  called when `render` has returned
 * @returns {() => void} closes the tab
 */
export function openPlugin({ state, plugin, container, attempt, onError, onUncaughtError, onReady }) {
  const closing = new AbortController();
  /** @type {Cleanup} */
  let cleanup;
  const moduleUrl = new URL(address(plugin.module));
  // After a failure, browsers load a module again only from a different URL.
  if (attempt > 0) moduleUrl.searchParams.set("attempt", String(attempt));

  const root = container.attachShadow({ mode: "open" });
  const element = document.createElement("div");
  element.className = "tb-plugin";
  root.append(element);

  start().catch(fail);
  watchUncaughtErrors();
  return close;

  /** Loads the module and renders it, unless the tab is closed first. */
  async function start() {
    const [{ default: module }] = await Promise.all([importModule(moduleUrl), adoptStyles(root, COMPONENTS_CSS)]);
    if (closing.signal.aborted) return;
    if (typeof module?.render !== "function") {
      throw new Error(`${plugin.module} has no default export with a function "render"`);
    }
    const host = makeHost({ state, plugin, moduleUrl, root, element, signal: closing.signal, fail });
    const result = await /** @type {import("../host.js").PluginModule} */ (module).render(host);
    if (closing.signal.aborted) runCleanup(result);
    else {
      cleanup = result;
      onReady();
    }
  }

  /** Closes the tab because of an error. @param {unknown} error */
  function fail(error) {
    if (closing.signal.aborted) return;
    console.warn(`plugin ${plugin.name}:`, error);
    reportToServer(plugin, error);
    close();
    onError(error);
  }

  function close() {
    if (closing.signal.aborted) return;
    closing.abort(new DOMException(TAB_CLOSED, "AbortError"));
    runCleanup(cleanup);
    element.remove();
  }

  /** @param {Cleanup} undo */
  function runCleanup(undo) {
    try {
      undo?.();
    } catch (error) {
      console.warn(`plugin ${plugin.name}, while closing its tab:`, error);
    }
  }

  /** Reports uncaught errors whose stack includes one of the plugin's files, or of the parts that it uses. */
  function watchUncaughtErrors() {
    const folder = new URL(".", moduleUrl).href;
    const core = address("static/tbcore/");
    /** @param {unknown} error */
    const handle = (error) => {
      if (!(error instanceof Error) || networkErrors.has(error)) return;
      const stack = error.stack ?? "";
      // A component of the page that the tab uses may be drawn when no function of the tab runs.
      const isOfSharedParts = stack.includes(core) && !stack.includes(`${core}shell/`);
      if (!stack.includes(folder) && !isOfSharedParts) return;
      reportToServer(plugin, error);
      onUncaughtError(error);
    };
    const options = { signal: closing.signal };
    window.addEventListener("error", ({ error }) => handle(error), options);
    window.addEventListener("unhandledrejection", ({ reason }) => handle(reason), options);
  }
}

/**
 * Imports a module. If one of its own imports is missing, browsers only report that the module
 * failed to load; the error thrown here names the missing file. That of a syntax error has its
 * location in the stack.
 * @param {URL} url
 */
async function importModule(url) {
  /** @type {PerformanceEntryList} */
  let loaded = [];
  const observer = new PerformanceObserver((list) => void (loaded = [...loaded, ...list.getEntries()]));
  observer.observe({ type: "resource" });
  try {
    return await import(url.href);
  } catch (error) {
    const missing = [...loaded, ...observer.takeRecords()]
      .filter((entry) => /** @type {PerformanceResourceTiming} */ (entry).responseStatus >= 400)
      .map(({ name }) => name.replace(address(""), ""));
    if (error instanceof TypeError && missing.length > 0) error.message += `: could not load ${missing.join(", ")}`;
    if (error instanceof SyntaxError && !error.stack?.includes("://")) {
      const location = await findSyntaxError(url);
      if (location) error.stack = `${error.name}: ${error.message}\n    at ${location}`;
    }
    throw error;
  } finally {
    observer.disconnect();
  }
}

/**
 * Finds the location of a syntax error in a module. Browsers report it only in the window's error
 * event for a `<script>` element, so the module is loaded once more by such an element.
 * @param {URL} moduleUrl
 * @returns {Promise<string>} "" if the browser does not report it
 */
function findSyntaxError(moduleUrl) {
  return new Promise((resolve) => {
    const url = new URL(moduleUrl);
    url.searchParams.set("location", "");
    const script = Object.assign(document.createElement("script"), { type: "module", src: url.href });
    /** @param {ErrorEvent} event */
    const onError = ({ filename, lineno, colno }) => resolve(`${filename.split("?")[0]}:${lineno}:${colno}`);
    window.addEventListener("error", onError, { once: true });
    script.onload = script.onerror = () => {
      window.removeEventListener("error", onError);
      script.remove();
      resolve("");
    };
    document.head.append(script);
  });
}

/** Sends an error to the server, which prints it if it runs with `--dev`. @param {Plugin} plugin @param {unknown} error */
function reportToServer(plugin, error) {
  const isDev = plugin.traceback !== undefined;
  if (!isDev || error instanceof ServerError) return; // the server has already printed its own errors
  const stack = (error instanceof Error && error.stack) || String(error);
  const body = JSON.stringify({ plugin: plugin.name, stack });
  fetch(address("data/page_errors"), { method: "POST", body }).catch(() => {}); // shown in the page too
}

