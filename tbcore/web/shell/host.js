/** The host object: everything that a plugin's module can use of the page. Its types are in ../host.js. */

import { computed } from "@preact/signals-core";
import { ServerError, address, withoutPrototype } from "./state/server.js";
import { adoptStyleText, adoptStyles } from "./styles.js";

/** @typedef {import("../host.js").Host} Host */

/** Message of the error with which requests are rejected when their tab closes. */
export const TAB_CLOSED = "the tab was closed";
/**
 * Errors of requests that did not reach the server. The shell shows that the connection is lost, so
 * a plugin need not catch them.
 */
export const networkErrors = new WeakSet();

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

/** Adds a request's error to `networkErrors` if it did not reach the server. @template T @param {Promise<T>} request */
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
 * @param {import("./state/reader-state.js").State} parts.state
 * @param {import("../host.js").Plugin} parts.plugin
 * @param {URL} parts.moduleUrl
 * @param {ShadowRoot} parts.root
 * @param {HTMLElement} parts.element
 * @param {AbortSignal} parts.signal
 * @param {(error: unknown) => void} parts.fail
 * @returns {Host}
 */
export function makeHost({ state, plugin, moduleUrl, root, element, signal, fail }) {
  const folder = `data/plugin/${plugin.name}/`;
  const prefix = `${plugin.name}.`;

  /** @type {Host["url"]} */
  const url = (path, params) => address(folder + path.replace(/^\//, ""), params);
  /** @type {Host["fetch"]} */
  const request = (path, init = {}) => {
    const ownSignal = init.signal ? AbortSignal.any([signal, init.signal]) : signal;
    return trackNetworkErrors(fetch(url(path), { ...init, signal: ownSignal }));
  };

  /** @template T @param {import("@preact/signals-core").ReadonlySignal<T>} source */
  const readable = (source) => makeReadable(source, signal, fail);
  const ownSettings = computed(() => {
    const own = Object.entries(state.settings.value).filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
  });
  /** @type {Host["hoveredRun"]["set"]} */
  const setHoveredRun = (name) => void (state.hoveredRun.value = name);
  /** @type {Host["settings"]["set"]} */
  const setSetting = (name, value) => state.setSetting(prefix + name, value);
  const preferences = state.preferencesOf(plugin.name);
  const generations = readable(state.generations);
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
    runs: readable(state.shownRuns),
    wantedRuns: readable(state.wantedRuns),
    groups: readable(state.groups),
    hoveredRun: Object.assign(readable(state.hoveredRun), { set: setHoveredRun }),
    checkOnly: (name) => state.checkOnly([name]),
    tagFilter: Object.assign(readable(state.tagFilter), { set: state.setTagFilter }),
    settings: Object.assign(readable(ownSettings), { set: setSetting }),
    preferences: Object.assign(readable(preferences.values), { set: preferences.set }),
    keys(keys) {
      if (!signal.aborted) state.pluginKeys.value = keys;
    },
    theme: readable(state.theme),
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
 * @param {import("@preact/signals-core").ReadonlySignal<T>} source
 * @param {AbortSignal} closed
 * @param {(error: unknown) => void} fail
 * @returns {import("../host.js").Readable<T>}
 */
function makeReadable(source, closed, fail) {
  return {
    get value() {
      return source.value;
    },
    subscribe(callback) {
      if (closed.aborted) return () => {};
      const stop = source.subscribe((value) => {
        try {
          callback(value);
        } catch (error) {
          // Deferred, because the tab must not be closed while a signal is being set.
          queueMicrotask(() => fail(error));
        }
      });
      closed.addEventListener("abort", stop, { once: true });
      return () => {
        closed.removeEventListener("abort", stop);
        stop();
      };
    },
  };
}
