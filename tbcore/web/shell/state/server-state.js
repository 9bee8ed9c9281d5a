/** The server's data, as signals, and what keeps them up to date: it listens for updates and fetches what changed. */

import { batch, signal } from "@preact/signals-core";
import { isLive } from "../runs/order.js";
import { ServerError, address, getJSON, withoutPrototype } from "./server.js";
import { watchUpdates } from "./updates.js";

/**
 * @template T
 * @typedef {import("@preact/signals-core").Signal<T>} Signal
 */
/**
 * @typedef {import("./updates.js").Status} Status
 * @typedef {import("../../host.js").Frontends} Frontends
 * @typedef {import("../../host.js").Generations} Generations
 * @typedef {import("../../host.js").RunDetails} RunDetails
 */

/** Minimum time between two refreshes of a visible page. */
const REFRESH_INTERVAL_MS = 1000;
/** Minimum time between two refreshes of a hidden page. */
const HIDDEN_REFRESH_INTERVAL_MS = 10000;
/** Time from a failed refresh to the next attempt. */
const RETRY_DELAY_MS = 3000;
/** Minimum time between two requests for the details of all runs. */
const DETAILS_INTERVAL_MS = 2000;
/** The same time per run: with many runs, the minimum is this time multiplied by their number. */
const DETAILS_INTERVAL_MS_PER_RUN = 2;
/**
 * Time between two updates of the page's clock; the ages of runs are shown in minutes. If any run
 * is live, the details are fetched at the same time, since its file may grow without a new event.
 */
const CLOCK_INTERVAL_MS = 30000;

/** The server's data. */
export class ServerState {
  /** @type {Signal<Status | null>} */
  status = signal(null);
  /** @type {Signal<import("./updates.js").Connection>} */
  connection = signal("connecting");
  /** Message of the server's error response to the last refresh, if any. @type {Signal<string | null>} */
  serverError = signal(null);
  /** @type {Signal<Frontends | null>} */
  frontends = signal(null);
  /** Names of all runs, in the order of data/runs. @type {Signal<string[]>} */
  runs = signal([]);
  /** @type {Signal<ReadonlyMap<string, RunDetails>>} */
  runDetails = signal(new Map());
  /** The server's clock, in seconds since the epoch; updated while the page is visible. */
  now = signal(Date.now() / 1000);
  /** @type {Signal<Generations>} */
  generations = signal({ all: "", lists: "", of: () => "" });
}

/**
 * Starts synchronizing, for as long as the page is open.
 * @param {ServerState} state  receives the server's data
 * @returns {{ reload(): void, retry(): void }} `reload` fetches everything again; `retry`
 *   reconnects at once
 */
export function keepInSync(state) {
  /** Generations of the data that the page has. */
  let loaded = { all: "", lists: "" };
  /** Number of calls of `reload`. It is part of all generations, so that each call changes them. */
  let numManualReloads = 0;
  /** When the last refresh ended, on the clock of `performance.now()`, in milliseconds. */
  let lastRefresh = -Infinity;
  let isRefreshing = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const updates = watchUpdates({
    onStatus(status) {
      state.status.value = status;
      if (generationsOf(status).all !== loaded.all) schedule();
    },
    onConnection(connection) {
      state.connection.value = connection;
      if (connection === "live" && state.frontends.value === null) schedule();
    },
  });
  const details = syncRunDetails(state);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && timer && schedule());
  refresh();

  return {
    reload() {
      numManualReloads++;
      lastRefresh = -Infinity;
      schedule();
      if (state.connection.value !== "live") updates.retry();
    },
    retry: updates.retry,
  };

  /** Starts a refresh as soon as the interval since the last one has passed. */
  function schedule() {
    if (isRefreshing) return; // the refresh checks for newer data when it ends
    const isVisible = document.visibilityState === "visible";
    const interval = isVisible ? REFRESH_INTERVAL_MS : HIDDEN_REFRESH_INTERVAL_MS;
    clearTimeout(timer);
    timer = setTimeout(refresh, Math.max(0, lastRefresh + interval - performance.now()));
  }

  /** Fetches the status, and the lists of runs and plugins if their generation changed. */
  async function refresh() {
    timer = undefined;
    isRefreshing = true;
    let failed = false;
    try {
      const status = await getJSON(address("data/status", { runs: "true" }));
      const next = generationsOf(status);
      const lists = next.lists === loaded.lists ? null : await fetchLists();
      batch(() => {
        state.status.value = status;
        state.serverError.value = null;
        if (lists) [state.runs.value, state.frontends.value] = lists;
        if (next.all !== loaded.all) state.generations.value = next;
      });
      if (next.all !== loaded.all) details.request();
      loaded = next;
    } catch (error) {
      failed = true;
      // A server that cannot be reached is shown by the connection's state.
      state.serverError.value = error instanceof ServerError ? error.message : null;
    }
    isRefreshing = false;
    lastRefresh = performance.now();
    if (failed) timer = setTimeout(refresh, RETRY_DELAY_MS);
    else if (state.status.value && generationsOf(state.status.value).all !== loaded.all) schedule();
  }

  /** Fetches the lists of runs and plugins. @returns {Promise<[string[], Frontends]>} */
  async function fetchLists() {
    const [runs, frontends] = await Promise.all([getJSON(address("data/runs")), getJSON(address("data/frontends"))]);
    // With `--api legacy`, data/runs is an object with the runs as keys. JavaScript moves integer
    // keys to the front, so the names are read from data/run_details, which keeps their order.
    return [Array.isArray(runs) ? runs : (await getJSON(address("data/run_details"))).runs, frontends];
  }

  /**
   * Returns the generations in a status. A restart of the server, a reload of plugins and `reload`
   * change all of them.
   * @param {Status & { runs?: Record<string, number> }} status
   * @returns {Generations}
   */
  function generationsOf({ instance, num_reloads, generation, runs_generation, runs }) {
    const prefix = `${instance}.${numManualReloads}.${num_reloads}`;
    return {
      all: `${prefix}.${generation}`,
      lists: `${prefix}.${runs_generation}`,
      of: (run) => `${prefix}.${(runs && withoutPrototype(runs)[run]) ?? generation}`,
    };
  }
}

/**
 * Keeps the details in the run list up to date, and the clock from which the ages of runs are
 * computed.
 * @param {ServerState} state
 * @returns {{ request(): void }} `request` is called when the server has new data
 */
function syncRunDetails(state) {
  /** When the last request was sent, on the clock of `performance.now()`, in milliseconds. */
  let lastRequest = -Infinity;
  /** The server's clock minus the browser's, in seconds. */
  let clockOffset = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    state.now.value = Date.now() / 1000 + clockOffset;
    if ([...state.runDetails.value.values()].some((run) => isLive(run, state.now.value))) request();
  }, CLOCK_INTERVAL_MS);
  return { request };

  /** Fetches the details as soon as the interval since the last request has passed. */
  function request() {
    const numRuns = state.runs.value.length;
    const interval = Math.max(DETAILS_INTERVAL_MS, numRuns * DETAILS_INTERVAL_MS_PER_RUN);
    timer ??= setTimeout(fetchDetails, Math.max(0, lastRequest + interval - performance.now()));
  }

  async function fetchDetails() {
    lastRequest = performance.now();
    timer = undefined;
    try {
      const { now, runs, first_event_times, last_event_times, modified_times, nonfinite } = await getJSON(
        address("data/run_details"),
      );
      clockOffset = now - Date.now() / 1000;
      /** @type {Map<string, RunDetails>} */
      const details = new Map();
      for (const [i, name] of runs.entries()) {
        const times = [first_event_times[i], last_event_times[i], modified_times[i]];
        const [start, last, modified] = times.map(numberOrNull);
        details.set(name, { start, last, modified, nonfinite: withoutPrototype(nonfinite)[name] });
      }
      batch(() => {
        state.now.value = now;
        state.runDetails.value = details;
      });
    } catch {
      // The next change sends another request, and the connection's state shows lost connections.
    }
  }
}

/**
 * Returns a time from the server's JSON, or null if it is unknown.
 * @param {unknown} value  a number, null, or a string such as "NaN"
 */
function numberOrNull(value) {
  return typeof value === "number" ? value : null;
}
