/**
 * Opens plugins' tabs: what a module is given, and what becomes of its errors. The agreement is in types.js.
 */

import { adoptStyleText, adoptStyles } from "./lib/styles.js";
import { ServerError, address, byName } from "./server.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").PluginModule} PluginModule
 * @typedef {import("./types.js").Cleanup} Cleanup
 * @typedef {import("./types.js").Run} Run
 * @typedef {import("./types.js").RunGroup} RunGroup
 * @typedef {import("./types.js").Grouping} Grouping
 * @typedef {import("./types.js").Key} Key
 * @typedef {import("./types.js").Generations} Generations
 * @typedef {import("./types.js").Theme} Theme
 * @typedef {import("./types.js").Filter} Filter
 * @typedef {import("./types.js").Params} Params
 * @typedef {import("./types.js").Settings} Settings
 */
/** @template T @typedef {import("./types.js").Readable<T>} Readable */

const TAB_CLOSED = "the tab was closed";
/** What requests were rejected with that did not reach the server: the shell says that, and no plugin has to. */
const unreached = new WeakSet();
const COMPONENTS_CSS = new URL("./lib/components.css", import.meta.url);

/**
 * Opens a plugin's tab: loads its module and lets it draw.
 * @param {object} options
 * @param {import("./state.js").State} options.state
 * @param {import("./state.js").Plugin & { module: string }} options.plugin
 * @param {HTMLElement} options.container  empty; gets the shadow root
 * @param {number} options.attempt  0 at first; a module that failed is loaded anew by every further attempt
 * @param {(error: unknown) => void} options.onError  called at most once; the tab is closed by then
 * @param {(error: Error) => void} options.onStrayError  an error nobody caught; the tab goes on
 * @param {() => void} options.onReady  called when render has returned
 * @returns {() => void} closes the tab
 */
export function openPlugin({ state, plugin, container, attempt, onError, onStrayError, onReady }) {
  const closing = new AbortController();
  /** @type {Cleanup} */
  let cleanup;
  const moduleUrl = new URL(address(plugin.module));
  if (attempt > 0) moduleUrl.searchParams.set("attempt", String(attempt)); // browsers remember modules that failed

  const root = container.attachShadow({ mode: "open" });
  const element = document.createElement("div");
  element.className = "tb-plugin";
  root.append(element);

  start().catch(fail);
  watchStrayErrors();
  return close;

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

  /** @param {unknown} error */
  function fail(error) {
    if (closing.signal.aborted) return;
    console.warn(`plugin ${plugin.name}:`, error);
    tellAuthor(plugin, error);
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
      console.warn(`plugin ${plugin.name}, while its tab closed:`, error);
    }
  }

  /** Errors nobody caught are the plugin's when its files are on the stack. */
  function watchStrayErrors() {
    const folder = new URL(".", moduleUrl).href;
    /** @param {unknown} error */
    const notice = (error) => {
      if (!(error instanceof Error) || unreached.has(error) || !error.stack?.includes(folder)) return;
      tellAuthor(plugin, error);
      onStrayError(error);
    };
    const options = { signal: closing.signal };
    window.addEventListener("error", ({ error }) => notice(error), options);
    window.addEventListener("unhandledrejection", ({ reason }) => notice(reason), options);
  }
}

/**
 * Imports a module. When it imports what is not there browsers say only that it cannot be had; here the error says what.
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
    if (error instanceof TypeError && missing.length > 0) error.message += `: ${missing.join(", ")} is not there`;
    return addPlace(error, url);
  } finally {
    observer.disconnect();
  }
}

/**
 * Throws the error of a module that could not be imported. Where its syntax is wrong browsers tell the window only, of
 * a module that stands in the page.
 * @param {unknown} error
 * @param {URL} moduleUrl
 * @returns {Promise<never>}
 */
async function addPlace(error, moduleUrl) {
  if (error instanceof SyntaxError && !error.stack?.includes("://")) {
    const place = await new Promise((resolve) => {
      const script = document.createElement("script");
      script.type = "module";
      const url = new URL(moduleUrl);
      url.searchParams.set("place", "");
      script.src = url.href;
      /** @param {ErrorEvent} event */
      const notice = ({ filename, lineno, colno }) => resolve(`${filename.split("?")[0]}:${lineno}:${colno}`);
      window.addEventListener("error", notice, { once: true });
      const end = () => {
        window.removeEventListener("error", notice);
        script.remove();
        resolve("");
      };
      script.onload = end;
      script.onerror = end;
      document.head.append(script);
    });
    if (place) error.stack = `${error.name}: ${error.message}\n    at ${place}`;
  }
  throw error;
}

/**
 * Has an error printed where the server runs, if it was started for authors of plugins.
 * @param {import("./state.js").Plugin} plugin
 * @param {unknown} error
 */
function tellAuthor(plugin, error) {
  const isKnown = error instanceof ServerError; // the server has printed what it said itself
  if (plugin.traceback === undefined || isKnown) return;
  const stack = (error instanceof Error && error.stack) || String(error);
  const body = JSON.stringify({ plugin: plugin.name, stack });
  fetch(address("data/page_errors"), { method: "POST", body }).catch(() => {}); // the page has it anyway
}

/**
 * Requests that end because their tab closed, or that do not reach the server, are no errors, even where a plugin does
 * not catch them.
 */
export function ignoreLostRequests() {
  window.addEventListener("unhandledrejection", (event) => {
    const isClosed = event.reason instanceof DOMException && event.reason.message === TAB_CLOSED;
    if (isClosed || unreached.has(event.reason)) event.preventDefault();
  });
}

/** @template T @param {Promise<T>} request @returns {Promise<T>} */
async function noticed(request) {
  try {
    return await request;
  } catch (error) {
    if (error instanceof TypeError) unreached.add(error); // of `fetch` it is the network
    throw error;
  }
}

/**
 * @param {object} parts
 * @param {import("./state.js").State} parts.state
 * @param {import("./state.js").Plugin} parts.plugin
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
  const request = (path, init = {}) =>
    noticed(fetch(url(path), { ...init, signal: init.signal ? AbortSignal.any([signal, init.signal]) : signal }));

  /**
   * A signal as the plugin sees it: its callbacks end with the tab, and what they throw is the plugin's fault.
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
          // Not from here: the tab is not closed while a signal is being set.
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
  /** @param {Record<string, string>} all */
  const ownSettings = (all) =>
    Object.fromEntries(
      Object.entries(all).flatMap(([name, value]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [])),
    );
  const preferences = state.preferencesOf(plugin.name);
  const generations = readable(state.generations, same);
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
      const response = await noticed(fetch(url(path, params), { signal }));
      if (!response.ok) throw await ServerError.from(response);
      return byName(await noticed(response.json()));
    },
    async css(textOrUrl) {
      if (typeof textOrUrl === "string" && textOrUrl.includes("{")) adoptStyleText(root, textOrUrl);
      else await adoptStyles(root, new URL(textOrUrl, moduleUrl));
    },
    runs: readable(state.shownRuns, same),
    wantedRuns: readable(state.wantedRuns, same),
    groups: readable(state.groups, same),
    hoveredRun: withSet(readable(state.hoveredRun, same), (/** @type {string | null} */ name) => void (state.hoveredRun.value = name)),
    checkOnly: state.checkOnly,
    tagFilter: withSet(readable(state.tagFilter, same), state.setTagFilter),
    settings: withSet(readable(state.settings, ownSettings), (/** @type {string} */ name, /** @type {string | null} */ value) =>
      state.setSetting(prefix + name, value),
    ),
    preferences: withSet(readable(preferences.values, same), preferences.set),
    keys: (keys) => {
      if (!signal.aborted) state.pluginKeys.value = keys;
    },
    theme: readable(state.theme, same),
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
function same(value) {
  return value;
}

/**
 * A signal that can be set as well.
 * @template {object} R, S
 * @param {R} readable
 * @param {S} set
 * @returns {R & { set: S }}
 */
function withSet(readable, set) {
  return Object.create(readable, { set: { value: set } });
}
