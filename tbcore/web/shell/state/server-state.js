/** The server's data, as signals, and what keeps them up to date: it listens for updates and fetches what changed. */

import { batch, computed, signal } from "@preact/signals-core";
import { keepUpToDate } from "../../lib/requests.js";
import { ServerError, address, getJSON, watchUpdates } from "./server.js";
import { runState } from "./tree.js";

/** @import { ReadonlySignal, Signal } from "@preact/signals-core" */
/** @import { Frontends, Generations, Notes, RunDetails } from "../../host.js" */
/** @import { Connection, Status } from "./server.js" */

/** Minimum time between two refreshes of a visible page. */
const REFRESH_INTERVAL_MS = 1000;
/** The same time per run: with many runs, the minimum is this time multiplied by their number. */
const REFRESH_INTERVAL_MS_PER_RUN = 0.1;
/** Minimum time between two refreshes of a hidden page. */
const HIDDEN_REFRESH_INTERVAL_MS = 10000;
/** Minimum time from one response with the details of all runs to the next request for them. */
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
  /** @type {Signal<Connection>} */
  connection = signal("connecting");
  /** Message of the server's error response to the last refresh, if any. @type {Signal<string | null>} */
  serverError = signal(null);
  /** @type {Signal<Frontends | null>} */
  frontends = signal(null);
  /** The plugins that have a tab, the active ones first. */
  tabs = computed(() => {
    const tabs = (this.frontends.value?.plugins ?? []).filter(({ module, error }) => module !== null || error !== null);
    return tabs.sort((a, b) => Number(b.active) - Number(a.active));
  });
  /** Names of all runs, in the order of data/runs. @type {Signal<string[]>} */
  allRuns = signal([]);
  /** What users have noted about runs; null until it is loaded. @type {Signal<Notes | null>} */
  notes = signal(null);
  /** Names and colours that users gave to runs. */
  noted = computed(() => this.notes.value?.runs.value ?? new Map());
  /** The runs that are put away. @type {ReadonlySignal<ReadonlySet<string>>} */
  archived = computed(() => this.notes.value?.hidden.value ?? new Set());
  /** The runs that are not put away. */
  runs = computed(() => (this.archived.value.size ? this.allRuns.value.filter((run) => !this.archived.value.has(run)) : this.allRuns.value));
  /** @type {Signal<ReadonlyMap<string, RunDetails>>} */
  runDetails = signal(new Map());
  /** The server's clock, in seconds since the epoch; updated while the page is visible. */
  now = signal(Date.now() / 1000);
  /** @type {Signal<Generations>} */
  generations = signal({ all: "", lists: "", of: () => "" });
  /** Whether the server has found that all runs are gone. The page keeps what it has of them until there are others. */
  areGone = computed(() => {
    const status = this.status.value;
    return status?.num_runs === 0 && this.allRuns.value.length > 0 && this.generations.value.all.startsWith(status.instance);
  });
}

/**
 * Starts synchronizing, for as long as the page is open. `reload` fetches everything again; `retry`
 * reconnects at once.
 * @param {ServerState} state
 * @param {() => Promise<unknown>} loadNotes  resolves in time, also if it fails
 */
export function keepInSync(state, loadNotes) {
  /** Number of calls of `reload`. It is part of all generations, so that each call changes them. */
  let numManualReloads = 0;
  /** The same number when the server was last asked to look for new data at once. */
  let numScans = 0;

  const requestDetails = syncRunDetails(state);
  const refresh = keepUpToDate(fetchChanges, {
    interval() {
      if (numScans < numManualReloads) return 0;
      const isVisible = document.visibilityState === "visible";
      return isVisible ? Math.max(REFRESH_INTERVAL_MS, state.allRuns.value.length * REFRESH_INTERVAL_MS_PER_RUN) : HIDDEN_REFRESH_INTERVAL_MS;
    },
    // A server that cannot be reached is shown by the connection's state.
    onError: (error) => void (state.serverError.value = error instanceof ServerError ? error.message : null),
  });
  const refreshIfNew = () => void (state.status.value && isNew(state.status.value) && refresh());
  const retry = watchUpdates({
    onStatus(status) {
      state.status.value = status;
      refreshIfNew();
    },
    onConnection(connection) {
      state.connection.value = connection;
      if (connection === "live" && state.frontends.value === null) refresh();
    },
  });
  // A refresh that waits comes sooner, or later.
  document.addEventListener("visibilitychange", refreshIfNew);
  refresh();

  return {
    reload() {
      numManualReloads++;
      refresh();
      if (state.connection.value !== "live") retry();
    },
    retry,
  };

  /** Fetches the status, and the lists of runs and plugins if their generation changed. */
  async function fetchChanges() {
    const asked = numManualReloads;
    const status = await getJSON(address("data/status", { runs: "true", scan: asked > numScans }));
    numScans = asked;
    const next = generationsOf(status);
    const hasNewData = (state.status.value = status) && isNew(status);
    // No archived run may show, not even for a moment.
    const noted = status.notes_generation && !state.notes.value && loadNotes();
    const lists = !hasNewData || next.lists === state.generations.value.lists ? null : await fetchLists();
    await noted;
    // If all runs went since the status, the page keeps them: the next status says so.
    const isShown = hasNewData && !(lists && !lists[0].length && status.num_runs);
    batch(() => {
      state.serverError.value = null;
      if (!isShown) return;
      if (lists) [state.allRuns.value, state.frontends.value] = lists;
      state.generations.value = next;
    });
    if (isShown) requestDetails();
    refreshIfNew();
  }

  /** Whether the server has newer data than the page, by the status that the page has just got. @param {Status} status */
  function isNew(status) {
    return !state.areGone.value && generationsOf(status).all !== state.generations.value.all;
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
  function generationsOf({ instance, num_reloads, generation, runs_generation, runs = {} }) {
    const prefix = `${instance}.${numManualReloads}.${num_reloads}`;
    return {
      all: `${prefix}.${generation}`,
      lists: `${prefix}.${runs_generation}`,
      of: (run) => `${prefix}.${Object.hasOwn(runs, run) ? runs[run] : generation}`,
    };
  }
}

/**
 * Keeps the details in the run list up to date, and the clock from which the ages of runs are
 * computed. Call what it returns when the server has new data.
 * @param {ServerState} state
 */
function syncRunDetails(state) {
  /** The server's clock minus the browser's, in seconds. */
  let clockOffset = 0;
  const request = keepUpToDate(fetchDetails, { interval: () => Math.max(DETAILS_INTERVAL_MS, state.allRuns.value.length * DETAILS_INTERVAL_MS_PER_RUN) });

  setInterval(() => {
    if (document.visibilityState !== "visible" || state.areGone.value) return;
    state.now.value = Date.now() / 1000 + clockOffset;
    if ([...state.runDetails.value.values()].some((run) => runState(run, state.now.value) === "live")) request();
  }, CLOCK_INTERVAL_MS);
  return request;

  async function fetchDetails() {
    /** @type {{ now: number, runs: string[], nonfinite: Record<string, RunDetails["nonfinite"]>, sources: Record<string, RunDetails["source"]> } & Record<`${"first_event" | "last_event" | "modified"}_times`, (number | string | null)[]>} */
    const { now, runs, first_event_times, last_event_times, modified_times, nonfinite, sources } = await getJSON(address("data/run_details"));
    clockOffset = now - Date.now() / 1000;
    /** @type {Map<string, RunDetails>} */
    const details = new Map();
    const ownOf = (/** @type {any} */ of, /** @type {string} */ name) => (Object.hasOwn(of, name) ? of[name] : undefined);
    for (const [i, name] of runs.entries()) {
      // A time is a number, null, or a string such as "NaN".
      const times = [first_event_times[i], last_event_times[i], modified_times[i]];
      const [start, last, modified] = times.map((time) => (typeof time === "number" ? time : null));
      details.set(name, { start, last, modified, nonfinite: ownOf(nonfinite, name), source: ownOf(sources, name) });
    }
    batch(() => {
      state.now.value = now;
      state.runDetails.value = details;
    });
  }
}
