/**
 * Opens plugins' tabs: makes the host object for a plugin's module and handles the module's errors.
 * The contract between shell and module is in types.js.
 */

import { ServerError, address, withoutPrototype } from "./state/server.js";
import { adoptStyleText, adoptStyles } from "./styles.js";

/**
 * @typedef {import("../host.js").Host} Host
 * @typedef {import("../host.js").PluginModule} PluginModule
 * @typedef {import("../host.js").Cleanup} Cleanup
 * @typedef {import("../host.js").Run} Run
 * @typedef {import("../host.js").RunGroup} RunGroup
 * @typedef {import("../host.js").Grouping} Grouping
 * @typedef {import("../host.js").Key} Key
 * @typedef {import("../host.js").Generations} Generations
 * @typedef {import("../host.js").Theme} Theme
 * @typedef {import("../host.js").Filter} Filter
 * @typedef {import("../host.js").Params} Params
 * @typedef {import("../host.js").Settings} Settings
 */
/** @template T @typedef {import("../host.js").Readable<T>} Readable */

/** Message of the error with which requests are rejected when their tab closes. */
const TAB_CLOSED = "the tab was closed";
/**
 * Errors of requests that did not reach the server. The shell shows that the connection is lost, so
 * a plugin need not catch them.
 */
const networkErrors = new WeakSet();
const COMPONENTS_CSS = new URL("../lib/components.css", import.meta.url);

/**
 * Opens a plugin's tab: loads its module and calls its `render`.
 * @param {object} options
 * @param {import("./state/state.js").State} options.state
 * @param {import("./state/state.js").Plugin & { module: string }} options.plugin
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
    const [{ default: module }] = await Promise.all([
      importModule(moduleUrl),
      adoptStyles(root, COMPONENTS_CSS),
    ]);
    if (closing.signal.aborted) return;
    if (typeof module?.render !== "function") {
      throw new Error(`${plugin.module} has no default export with a function "render"`);
    }
    const host = makeHost({ state, plugin, moduleUrl, root, element, signal: closing.signal, fail });
    const result = await /** @type {PluginModule} */ (module).render(host);
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

  /** Reports uncaught errors whose stack includes one of the plugin's files. */
  function watchUncaughtErrors() {
    const folder = new URL(".", moduleUrl).href;
    /** @param {unknown} error */
    const handle = (error) => {
      if (!(error instanceof Error) || networkErrors.has(error) || !error.stack?.includes(folder)) return;
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
 * failed to load; the error thrown here names the missing file.
 * @param {URL} url
 * @returns {Promise<any>}
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
    return rethrowWithLocation(error, url);
  } finally {
    observer.disconnect();
  }
}

/**
 * Throws the error of a failed import, with the location of a syntax error in its stack. Browsers
 * report that location only in the window's error event for a `<script>` element, so the module is
 * loaded once more by such an element.
 * @param {unknown} error
 * @param {URL} moduleUrl
 * @returns {Promise<never>}
 */
async function rethrowWithLocation(error, moduleUrl) {
  if (error instanceof SyntaxError && !error.stack?.includes("://")) {
    const location = await new Promise((resolve) => {
      const script = document.createElement("script");
      script.type = "module";
      const url = new URL(moduleUrl);
      url.searchParams.set("location", "");
      script.src = url.href;
      /** @param {ErrorEvent} event */
      const onError = ({ filename, lineno, colno }) => resolve(`${filename.split("?")[0]}:${lineno}:${colno}`);
      window.addEventListener("error", onError, { once: true });
      const end = () => {
        window.removeEventListener("error", onError);
        script.remove();
        resolve("");
      };
      script.onload = end;
      script.onerror = end;
      document.head.append(script);
    });
    if (location) error.stack = `${error.name}: ${error.message}\n    at ${location}`;
  }
  throw error;
}

/**
 * Sends an error to the server, which prints it in its terminal if it runs with `--dev`.
 * @param {import("./state/state.js").Plugin} plugin
 * @param {unknown} error
 */
function reportToServer(plugin, error) {
  const isDev = plugin.traceback !== undefined;
  // The server has already printed its own errors.
  const isLogged = error instanceof ServerError;
  if (!isDev || isLogged) return;
  const stack = (error instanceof Error && error.stack) || String(error);
  const body = JSON.stringify({ plugin: plugin.name, stack });
  fetch(address("data/page_errors"), { method: "POST", body }).catch(() => {}); // shown in the page too
}

/**
 * Keeps the browser from logging uncaught errors of two kinds of requests of plugins: requests that
 * were aborted because their tab closed, and requests that did not reach the server.
 */
export function suppressRequestErrors() {
  window.addEventListener("unhandledrejection", (event) => {
    const isClosed = event.reason instanceof DOMException && event.reason.message === TAB_CLOSED;
    if (isClosed || networkErrors.has(event.reason)) event.preventDefault();
  });
}

/**
 * Awaits a request, and adds its error to `networkErrors` if it did not reach the server.
 * @template T
 * @param {Promise<T>} request
 * @returns {Promise<T>}
 */
async function trackNetworkErrors(request) {
  try {
    return await request;
  } catch (error) {
    if (error instanceof TypeError) networkErrors.add(error); // what `fetch` throws for the network
    throw error;
  }
}

/**
 * Makes the host object of a tab.
 * @param {object} parts
 * @param {import("./state/state.js").State} parts.state
 * @param {import("./state/state.js").Plugin} parts.plugin
 * @param {URL} parts.moduleUrl
 * @param {ShadowRoot} parts.root
 * @param {HTMLElement} parts.element
 * @param {AbortSignal} parts.signal
 * @param {(error: unknown) => void} parts.fail
 * @returns {Host}
 */
function makeHost({ state, plugin, moduleUrl, root, element, signal, fail }) {
  const folder = `data/plugin/${plugin.name}/`;
  const prefix = `${plugin.name}.`;

  /** @type {Host["url"]} */
  const url = (path, params) => address(folder + path.replace(/^\//, ""), params);
  /** @type {Host["fetch"]} */
  const request = (path, init = {}) => {
    const ownSignal = init.signal ? AbortSignal.any([signal, init.signal]) : signal;
    return trackNetworkErrors(fetch(url(path), { ...init, signal: ownSignal }));
  };

  /**
   * Returns a read-only view of a signal for the plugin. Subscriptions end when the tab closes, and
   * an error thrown by a callback fails the tab.
   * @template S, T
   * @param {import("@preact/signals-core").ReadonlySignal<S>} source
   * @param {(value: S) => T} pick
   * @returns {Readable<T>}
   */
  const readable = (source, pick) => ({
    get value() {
      return pick(source.value);
    },
    subscribe(callback) {
      if (signal.aborted) return () => {};
      const stop = source.subscribe((value) => {
        try {
          callback(pick(value));
        } catch (error) {
          // Deferred, because the tab must not be closed while a signal is being set.
          queueMicrotask(() => fail(error));
        }
      });
      signal.addEventListener("abort", stop, { once: true });
      return () => {
        signal.removeEventListener("abort", stop);
        stop();
      };
    },
  });
  /** Returns this plugin's settings, without the prefix. @param {Record<string, string>} all */
  const ownSettings = (all) =>
    Object.fromEntries(
      Object.entries(all)
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, value]) => [name.slice(prefix.length), value]),
    );
  /** @param {string | null} name */
  const setHoveredRun = (name) => void (state.hoveredRun.value = name);
  /** @param {string} name @param {string | null} value */
  const setSetting = (name, value) => state.setSetting(prefix + name, value);
  const preferences = state.preferencesOf(plugin.name);
  const generations = readable(state.generations, identity);
  signal.addEventListener("abort", () => {
    state.pluginKeys.value = [];
    state.hoveredRun.value = null;
  });

  return {
    name: plugin.name,
    element,
    url,
    fetch: request,
    async fetchJSON(path, params) {
      const response = await trackNetworkErrors(fetch(url(path, params), { signal }));
      if (!response.ok) throw await ServerError.from(response);
      return withoutPrototype(await trackNetworkErrors(response.json()));
    },
    async css(textOrUrl) {
      if (typeof textOrUrl === "string" && textOrUrl.includes("{")) adoptStyleText(root, textOrUrl);
      else await adoptStyles(root, new URL(textOrUrl, moduleUrl));
    },
    runs: readable(state.shownRuns, identity),
    wantedRuns: readable(state.wantedRuns, identity),
    groups: readable(state.groups, identity),
    hoveredRun: withSetter(readable(state.hoveredRun, identity), setHoveredRun),
    checkOnly: state.checkOnly,
    tagFilter: withSetter(readable(state.tagFilter, identity), state.setTagFilter),
    settings: withSetter(readable(state.settings, ownSettings), setSetting),
    preferences: withSetter(readable(preferences.values, identity), preferences.set),
    keys: (keys) => {
      if (!signal.aborted) state.pluginKeys.value = keys;
    },
    theme: readable(state.theme, identity),
    generations,
    onReload(callback) {
      let isFirst = true;
      return generations.subscribe((value) => {
        if (!isFirst) callback(value);
        isFirst = false;
      });
    },
    showError: fail,
    signal,
  };
}

/** @template T @param {T} value */
function identity(value) {
  return value;
}

/**
 * Returns a readable with an additional method `set`.
 * @template {object} R, S
 * @param {R} readable
 * @param {S} set
 * @returns {R & { set: S }}
 */
function withSetter(readable, set) {
  return Object.create(readable, { set: { value: set } });
}
