/**
 * Keeps the page's state equal to the server: listens for updates, and asks again for what changed.
 */

import { batch } from "@preact/signals-core";
import { isLive } from "./lib/run-order.js";
import { ServerError, address, byName, getJSON } from "./server.js";
import { watchUpdates } from "./updates.js";

/** Shortest time between two refreshes: of a page that is seen, and of one that is not. */
const PAUSE_MS = 1000;
const HIDDEN_PAUSE_MS = 10000;
const RETRY_MS = 3000;
/** Details of runs are asked for at most as often, and less often where there are very many. */
const DETAILS_MS = 2000;
const DETAILS_MS_PER_RUN = 2;
/** Ages of runs are told to the minute; a file may grow without a new event. */
const CLOCK_MS = 30000;

/**
 * Starts, and goes on for as long as the page lives.
 * @param {import("./state.js").State} state  what the server says is set here
 * @returns {{ reload(): void, retry(): void }} reload: ask again for everything; retry: connect now
 */
export function keepInSync(state) {
  /** What the page shows: answers are equal as long as this is. */
  let loaded = { all: "", lists: "" };
  /** Rises with every `reload`, so that everything counts as changed. */
  let epoch = 0;
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
  const details = keepDetails(state);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && timer && schedule());
  refresh();

  return {
    reload() {
      epoch++;
      lastRefresh = -Infinity;
      schedule();
      if (state.connection.value !== "live") updates.retry();
    },
    retry: updates.retry,
  };

  function schedule() {
    if (isRefreshing) return; // looks again when it is done
    const pause = document.visibilityState === "visible" ? PAUSE_MS : HIDDEN_PAUSE_MS;
    clearTimeout(timer);
    timer = setTimeout(refresh, Math.max(0, lastRefresh + pause - performance.now()));
  }

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
        state.refusal.value = null;
        if (lists) [state.runs.value, state.frontends.value] = lists;
        if (next.all !== loaded.all) state.generations.value = next;
      });
      if (next.all !== loaded.all) details.ask();
      loaded = next;
    } catch (error) {
      failed = true; // no answer at all is what the connection's state says already
      state.refusal.value = error instanceof ServerError ? error.message : null;
    }
    isRefreshing = false;
    lastRefresh = performance.now();
    if (failed) timer = setTimeout(refresh, RETRY_MS);
    else if (state.status.value && generationsOf(state.status.value).all !== loaded.all) schedule();
  }

  /** @returns {Promise<[string[], import("./state.js").Frontends]>} */
  async function fetchLists() {
    const [runs, frontends] = await Promise.all([getJSON(address("data/runs")), getJSON(address("data/frontends"))]);
    // With `--api legacy` this is an object. Its keys are the runs, but numbers among them come first here.
    return [Array.isArray(runs) ? runs : (await getJSON(address("data/run_details"))).runs, frontends];
  }

  /**
   * @param {import("./updates.js").Status & { runs?: Record<string, number> }} status
   * @returns {import("./state.js").Generations}
   */
  function generationsOf({ instance, num_reloads, generation, runs_generation, runs }) {
    const prefix = `${instance}.${epoch}.${num_reloads}`;
    return {
      all: `${prefix}.${generation}`,
      lists: `${prefix}.${runs_generation}`,
      of: (run) => `${prefix}.${(runs && byName(runs)[run]) ?? generation}`,
    };
  }
}

/**
 * Keeps what the run list says of each run up to date, and the clock by which its ages are told.
 * @param {import("./state.js").State} state
 */
function keepDetails(state) {
  let lastAsked = -Infinity;
  /** The server's clock minus the browser's, in seconds. */
  let offset = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    state.now.value = Date.now() / 1000 + offset;
    if ([...state.runDetails.value.values()].some((run) => isLive(run, state.now.value))) ask();
  }, CLOCK_MS);
  return { ask };

  function ask() {
    const pause = Math.max(DETAILS_MS, state.runs.value.length * DETAILS_MS_PER_RUN);
    timer ??= setTimeout(fetchDetails, Math.max(0, lastAsked + pause - performance.now()));
  }

  async function fetchDetails() {
    lastAsked = performance.now();
    timer = undefined;
    try {
      const { now, runs, first_event_times, last_event_times, modified_times, nonfinite } = await getJSON(
        address("data/run_details"),
      );
      offset = now - Date.now() / 1000;
      /** @type {Map<string, import("./state.js").RunDetails>} */
      const details = new Map();
      for (const [i, name] of runs.entries()) {
        const [start, last, modified] = [first_event_times[i], last_event_times[i], modified_times[i]].map(timeOf);
        details.set(name, { start, last, modified, nonfinite: byName(nonfinite)[name] });
      }
      batch(() => {
        state.now.value = now;
        state.runDetails.value = details;
      });
    } catch {
      // asked again with the next change; that the server is away is said elsewhere
    }
  }
}

/** @param {unknown} value  null, or a text for what is no number, where there is no time */
function timeOf(value) {
  return typeof value === "number" ? value : null;
}
