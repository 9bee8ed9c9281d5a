/**
 * Opens plugins' tabs: loads a plugin's module, makes the `host` for it, calls its `render`, and
 * handles its errors.
 */

import { computed } from "@preact/signals-core";
import { adoptStyles } from "../lib/ui/lazy.js";
import { openPreferences } from "./state/reader-state.js";
import { address, getJSON, withoutPrototype } from "./state/server.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { Cleanup, Host, Plugin, PluginModule, Readable } from "../host.js" */
/** @import { State } from "./state/reader-state.js" */

const COMPONENTS_CSS = new URL("../lib/components.css", import.meta.url);

/**
 * Opens a plugin's tab: loads its module and calls its `render`.
 * @param {object} options
 * @param {State} options.state
 * @param {Plugin & { module: string }} options.plugin
 * @param {HTMLElement} options.container  empty; the shadow root is attached to it
 * @param {number} options.attempt  0 for the first attempt; later ones load the module again
 * @param {(error: {}) => void} options.onError  called at most once, with the error that closed the tab
 * @param {(error: Error) => void} options.onUncaughtError  called for an error that the plugin did
 *   not catch; the tab stays open
 * @param {(isOpening: false) => void} options.onOpening  called when the tab has drawn something, which may be several times, or has failed
 * @returns {() => void} closes the tab
 */
export function openPlugin({ state, plugin, container, attempt, onError, onUncaughtError, onOpening }) {
  const closing = new AbortController();
  const { signal } = closing;
  /** @type {Cleanup} */
  let cleanup;
  const moduleUrl = new URL(address(plugin.module));
  // After a failure, browsers load a module again only from a different URL.
  if (attempt > 0) moduleUrl.searchParams.set("attempt", String(attempt));

  const root = container.attachShadow({ mode: "open" });
  const element = document.createElement("div");
  element.className = "tb-plugin";
  root.append(element);
  new MutationObserver(() => signal.aborted || onOpening(false)).observe(element, { childList: true });

  start().catch(fail);
  watchUncaughtErrors();
  return close;

  /** Loads the module and renders it, unless the tab is closed first. */
  async function start() {
    const [{ default: module }] = await Promise.all([importModule(moduleUrl), adoptStyles(root, COMPONENTS_CSS)]);
    if (signal.aborted) return;
    if (typeof module?.render !== "function") {
      throw new Error(`${plugin.module} has no default export with a function "render"`);
    }
    const host = makeHost({ state, plugin, moduleUrl, root, element, signal, fail });
    cleanup = await /** @type {PluginModule} */ (module).render(host);
    if (signal.aborted) runCleanup();
  }

  /** Closes the tab because of an error. @param {unknown} error */
  function fail(error) {
    if (signal.aborted) return;
    console.warn(`plugin ${plugin.name}:`, error);
    reportToServer(plugin, error);
    close();
    onOpening(false);
    onError(error ?? new Error("unknown error"));
  }

  function close() {
    if (signal.aborted) return;
    closing.abort(new DOMException("the tab was closed", "AbortError"));
    runCleanup();
    element.remove();
  }

  function runCleanup() {
    try {
      cleanup?.();
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
      if (!stack.includes(folder) && (!stack.includes(core) || stack.includes(`${core}shell/`))) return;
      reportToServer(plugin, error);
      onUncaughtError(error);
    };
    window.addEventListener("error", ({ error }) => handle(error), { signal });
    window.addEventListener("unhandledrejection", ({ reason }) => handle(reason), { signal });
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
  const loaded = [];
  const observer = new PerformanceObserver((list) => void loaded.push(...list.getEntries()));
  observer.observe({ type: "resource" });
  try {
    return await import(url.href);
  } catch (error) {
    loaded.push(...observer.takeRecords());
    await import("./import-errors.js").then(({ explain }) => explain(error, url, loaded), () => {});
    throw error;
  } finally {
    observer.disconnect();
  }
}

/** Sends an error to the server if it runs with `--dev`. @param {Plugin} plugin @param {unknown} error */
function reportToServer(plugin, error) {
  if (plugin.traceback !== undefined) import("./report-errors.js").then(({ report }) => report(plugin.name, error), console.warn);
}

// --- the host object -----------------------------------------------------------------------------

/**
 * Errors of requests that did not reach the server. The shell shows that the connection is lost, so
 * a plugin need not catch them.
 */
const networkErrors = new WeakSet();

/** Keeps the browser from logging errors of plugins' requests that were aborted, as by their closing tab, or that did not reach the server. */
export function suppressRequestErrors() {
  window.addEventListener("unhandledrejection", (event) => {
    // Once a body has begun to arrive, browsers have a message of their own.
    const isAborted = event.reason instanceof DOMException && event.reason.name === "AbortError";
    if (isAborted || networkErrors.has(event.reason)) event.preventDefault();
  });
}

/** Adds a request's error to `networkErrors` if it did not reach the server. @template T @param {Promise<T>} request */
function trackNetworkErrors(request) {
  // A TypeError is what `fetch` throws for the network.
  request.catch((error) => error instanceof TypeError && networkErrors.add(error));
  return request;
}

/**
 * Makes the host object of a tab.
 * @typedef {{ state: State, plugin: Plugin, moduleUrl: URL, root: ShadowRoot, element: HTMLElement, signal: AbortSignal }} Parts
 * @param {Parts & { fail: (error: unknown) => void }} parts
 * @returns {Host}
 */
function makeHost({ state, plugin, moduleUrl, root, element, signal, fail }) {
  const folder = `data/plugin/${plugin.name}/`;
  const prefix = `${plugin.name}.`;

  /** @type {Host["url"]} */
  const url = (path, params) => address(folder + path.replace(/^\//, ""), params);
  /** @template T @param {ReadonlySignal<T>} source */
  const readable = (source) => makeReadable(source, signal, fail);
  const ownSettings = computed(() => {
    const own = Object.entries(state.settings.value).filter(([name]) => name.startsWith(prefix));
    return withoutPrototype(Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value])));
  });
  const preferences = openPreferences(plugin.name);
  // The `#` cannot occur in the name of a plugin.
  const memory = openPreferences(`${plugin.name}#${state.frontends.value?.logdir}`);
  const generations = readable(state.generations);
  signal.addEventListener("abort", () => {
    state.pluginKeys.value = [];
    state.hoveredRun.value = null;
  });

  return {
    name: plugin.name,
    element,
    url,
    fetch(path, init = {}) {
      return trackNetworkErrors(fetch(url(path), { ...init, signal: AbortSignal.any([signal, init.signal ?? signal]) }));
    },
    fetchJSON: async (path, params) => withoutPrototype(await trackNetworkErrors(getJSON(url(path, params), { signal }))),
    async css(textOrUrl) {
      if (typeof textOrUrl !== "string" || !textOrUrl.includes("{")) return adoptStyles(root, new URL(textOrUrl, moduleUrl));
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(textOrUrl);
      root.adoptedStyleSheets.push(sheet);
    },
    runs: readable(state.shownRuns),
    wantedRuns: readable(state.wantedRuns),
    archived: readable(state.archived),
    groups: readable(state.groups),
    groupsBy: async (rule) => readable((await import("./state/groupings.js")).groupsBy(state, rule, signal)),
    leftOut: async (...which) => (await import("./state/not-shown.js")).leftOut(state, ...which),
    hoveredRun: Object.assign(readable(state.hoveredRun), { set: (/** @type {string | null} */ name) => void (state.hoveredRun.value = name) }),
    checkOnly: (names) => state.checkOnly([names].flat()),
    tagFilter: Object.assign(readable(state.tagFilter), { set: state.setTagFilter }),
    step: Object.assign(readable(state.step), { set: state.setStep }),
    settings: Object.assign(readable(ownSettings), {
      set: (/** @type {string} */ name, /** @type {string | null} */ value) => state.setSetting(prefix + name, value),
    }),
    preferences: Object.assign(readable(preferences.values), { set: preferences.set }),
    memory: Object.assign(readable(memory.values), { set: memory.set }),
    keys(keys) {
      if (!signal.aborted) state.pluginKeys.value = keys;
    },
    theme: readable(state.theme),
    notice: readable(computed(() => Reflect.get({ ...state.status.value }, prefix + "notice") ?? null)),
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

/**
 * Returns a read-only view of a signal for a plugin. Subscriptions end when the tab closes, and an
 * error thrown by a callback fails the tab.
 * @template T
 * @param {ReadonlySignal<T>} source
 * @param {AbortSignal} signal  aborted when the tab closes
 * @param {(error: unknown) => void} fail
 * @returns {Readable<T>}
 */
function makeReadable(source, signal, fail) {
  return {
    get value() {
      return source.value;
    },
    subscribe(callback) {
      if (signal.aborted) return () => {};
      const stop = source.subscribe((value) => {
        try {
          callback(value);
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
  };
}
