/**
 * Loads the sweep: at first, when the query changes, and when the server has something new.
 */

import { signal } from "@preact/signals-core";
import { readColumns } from "tbcore/requests.js";
import { readSweep } from "./sweep.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Sweep} Sweep
 * @typedef {import("./types.js").TableQuery} TableQuery
 */

/** Shortest time between two requests with the same query, since running jobs log all the time. */
const MIN_RELOAD_INTERVAL_MS = 2000;

export class SweepSource {
  /**
   * The sweep that was loaded last; null at first.
   * @type {import("@preact/signals-core").Signal<Sweep | null>}
   */
  sweep = signal(null);
  /** Why the last request failed; "" if it succeeded. */
  error = signal("");
  #host;
  #query = "";
  /** The query that `sweep` was loaded with. */
  #loadedQuery = "";
  #generation = "";
  /** @type {Promise<void> | null} */ #loading = null;
  #isStale = false;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    host.onReload(() => this.#refresh());
  }

  /**
   * Sets the query, and loads the sweep if the query has changed.
   * @param {TableQuery} query
   * @returns {Promise<void>} resolves when the sweep is loaded; never rejects
   */
  request(query) {
    const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined)).toString();
    if (text === this.#query) return this.#loading ?? Promise.resolve();
    this.#query = text;
    return this.#refresh();
  }

  /**
   * Loads the sweep. One request at a time; changes during a request cause another one after it.
   */
  #refresh() {
    this.#isStale = true;
    this.#loading ??= this.#loadUntilCurrent().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  /** Sends requests until nothing has changed during the last one. */
  async #loadUntilCurrent() {
    while (this.#isStale && !this.#host.signal.aborted) {
      this.#isStale = false;
      const query = this.#query;
      try {
        await this.#load(query);
        this.error.value = "";
      } catch (error) {
        if (this.#host.signal.aborted) return;
        this.error.value = error instanceof Error ? error.message : String(error);
      }
      // A different query is sent at once, the same one only after a pause.
      if (this.#isStale && query === this.#query) await new Promise((done) => setTimeout(done, MIN_RELOAD_INTERVAL_MS));
    }
  }

  /** Sends one request. @param {string} query */
  async #load(query) {
    const known = query === this.#loadedQuery ? `&known=${encodeURIComponent(this.#generation)}` : "";
    const response = await this.#host.fetch(`table?${query}${known}`);
    if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
    const table = readColumns(await response.arrayBuffer());
    if (table.header.unchanged) return;
    this.#loadedQuery = query;
    this.#generation = table.header.generation;
    this.sweep.value = readSweep(table, /** @type {any} */ (Object.fromEntries(new URLSearchParams(query))));
  }
}
