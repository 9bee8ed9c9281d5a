/**
 * Requests to the server, and how the page learns that the server has new data. All URLs are
 * relative to the page, so they also work under a path prefix.
 */

import { loadingAgain } from "../../lib/ui/lazy.js";

/** An error response of the server. Its `message` is the first line of a plain-text response, or else the status. */
export class ServerError extends Error {
  /**
   * @param {string} message  one line, for the user
   * @param {number} status  HTTP status code
   * @param {string} [details]  the response's text after its first line
   */
  constructor(message, status, details = "") {
    super(message);
    this.name = "ServerError";
    this.status = status;
    this.details = details;
  }

  /** The error for a response with a status outside 200 to 299, whose body it reads. @param {Response} response */
  static async from(response) {
    const text = (await response.text().catch(() => "")).trim();
    const isPlain = (response.headers.get("Content-Type") ?? "").startsWith("text/plain");
    const [line, ...rest] = isPlain ? text.split("\n") : [""];
    const message = line.slice(0, 500) || `${response.status} ${response.statusText}`.trim();
    return new ServerError(message, response.status, rest.join("\n").trim());
  }
}

/**
 * The absolute URL of a path below the page's own URL.
 * @param {string} path
 * @param {import("../../host.js").Params} [params]  the query; null and undefined are left out
 */
export function address(path, params = {}) {
  const url = new URL(path, new URL(".", document.baseURI));
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined) url.searchParams.append(name, String(value));
  }
  return url.href;
}

/**
 * Removes the prototype of an object that is passed to a plugin and whose keys are names, and returns
 * the object. Afterwards it has undefined for every name that is not a key, even for `__proto__` or
 * `toString`. Other values are returned unchanged.
 * @template T
 * @param {T} value
 * @returns {T}
 */
export function withoutPrototype(value) {
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
  return isObject ? Object.setPrototypeOf(value, null) : value;
}

/**
 * Sends a GET request and returns the parsed JSON.
 * @type {(url: string, init?: RequestInit) => Promise<any>}
 * @throws {ServerError} when the response is an HTTP error
 */
export async function getJSON(url, init) {
  const response = await fetch(url, init);
  if (!response.ok) throw await ServerError.from(response);
  return response.json();
}

// --- news of the server --------------------------------------------------------------------------

// Three sources are tried in this order:
//
//     1. one event stream in a SharedWorker, for all tabs of the browser (updates-worker.js), while
//        one of them is visible
//     2. an event stream of this page, while it is visible
//     3. polling of data/status, while the page is visible

/**
 * The server's status, as data/updates and data/status send it.
 * @typedef {object} Status
 * @property {string} instance  differs after each start of the server
 * @property {number} num_reloads  increases when plugins are reloaded, and when a plugin's
 *   `is_active` returns after its timeout
 * @property {number} generation  increases when any data changes
 * @property {number} runs_generation  the generation at which the list of runs or tags last changed
 * @property {number} [notes_generation]  increases when notes change, and is 0 if there are none; undefined if no extension
 *   keeps any
 * @property {boolean} loading  whether a pass is in progress
 * @property {number} passes  completed passes over the log directory
 * @property {number} num_runs
 * @property {number} num_files
 * @property {number} num_directories
 * @property {number} bytes_read
 * @property {number} bytes_total
 * @property {number} num_requests  requests for remote files and listings since the start
 * @property {number} num_requests_per_scan  those of the last listing of remote directories
 * @property {string[]} logdirs  absolute paths, or URIs
 * @property {string[]} looked_for  patterns of the names of the files that have runs
 * @property {string[]} missing  the members of `logdirs` that do not exist
 * @property {string[]} problems  what is wrong now, besides `missing`
 * @property {number[]} problems_since  when each of them began, in seconds since the epoch
 * @property {{ problem: string, since: number, until: number }[]} past_problems  those that are over
 * @property {OtherFiles[]} other_files  of each kind that is there
 *
 * @typedef {object} OtherFiles  files beside event files that tbcore does not show
 * @property {string} kind
 * @property {number} num_files
 * @property {string} example  a path
 * @property {string} shown_by  tools that show them
 *
 * @typedef {"connecting" | "live" | "retrying"} Connection
 *
 * @typedef {{ onStatus: (status: Status) => void, onConnection: (connection: Connection) => void }} Listener
 */

/** Time within which the worker must send its first message. */
const WORKER_TIMEOUT_MS = 4000;
/** Time from a failure to load the module with the other sources to the next attempt. */
const LOAD_DELAY_MS = 3000;

/** Starts listening, for as long as the page is open; returns a function that reconnects at once. @param {Listener} listener */
export function watchUpdates(listener) {
  let closing = new AbortController();
  let retry = () => {};
  const loadSources = loadingAgain((attempt) => import(`./other-sources.js${attempt}`));
  /** @type {FallBack} */
  const fallBackTo = async (name) => {
    closing.abort();
    const { signal } = (closing = new AbortController());
    try {
      const sources = await loadSources();
      if (!signal.aborted) retry = sources[name](listener, signal, fallBackTo);
    } catch {
      if (signal.aborted) return;
      listener.onConnection("retrying");
      setTimeout(fallBackTo, LOAD_DELAY_MS, name);
    }
  };
  if (typeof SharedWorker === "function") retry = fromWorker(listener, closing.signal, fallBackTo);
  else fallBackTo("fromStream");
  window.addEventListener("online", () => retry());
  return () => retry();
}

/**
 * Listens to the server until the signal is aborted, and calls `fallBackTo` with the name of another
 * source if this one does not work. Returns a function that reconnects at once.
 * @typedef {(listener: Listener, signal: AbortSignal, fallBackTo: FallBack) => () => void} Source
 * @typedef {(name: "fromStream" | "fromPolling") => void} FallBack
 */

/** Listens to the shared worker. @type {Source} */
function fromWorker(listener, signal, fallBackTo) {
  /** @type {MessagePort | undefined} */
  let port;
  connect();

  function connect() {
    let worker;
    try {
      worker = new SharedWorker(new URL("updates-worker.js", import.meta.url), { name: "tbcore update stream" });
    } catch {
      queueMicrotask(() => fallBackTo("fromStream"));
      return;
    }
    port = worker.port;
    const timeout = setTimeout(fallBackTo, WORKER_TIMEOUT_MS, "fromStream");
    signal.addEventListener("abort", () => clearTimeout(timeout));
    worker.addEventListener("error", () => fallBackTo("fromStream"), { signal });
    port.onmessage = ({ data }) => {
      clearTimeout(timeout);
      if (data.type === "ping") send({ type: "pong" });
      else if (data.type === "status") listener.onStatus(data.status);
      else if (data.connection === "timed out") fallBackTo("fromPolling");
      else listener.onConnection(data.connection);
    };
    register();
  }

  /** @param {object} message */
  function send(message) {
    port?.postMessage(message);
  }

  function register() {
    send({ type: "register", url: address("data/updates"), isVisible: document.visibilityState === "visible" });
  }

  function disconnect() {
    send({ type: "unregister" });
    port?.close();
    port = undefined;
  }

  signal.addEventListener("abort", disconnect);
  window.addEventListener("pagehide", disconnect, { signal });
  window.addEventListener("pageshow", (event) => event.persisted && connect(), { signal });
  // The worker may also have removed a page that was suspended for long.
  document.addEventListener("visibilitychange", register, { signal });
  return () => send({ type: "retry" });
}
