/**
 * Notifies the page when the server has new data. Three sources are tried in this order:
 *
 *     1. one event stream in a SharedWorker, for all tabs of the browser (updates-worker.js)
 *     2. an event stream of this page, while it is visible
 *     3. polling of data/status, while the page is visible
 */

import { address, getJSON } from "./server.js";

/**
 * The server's status, as data/updates and data/status send it.
 * @typedef {object} Status
 * @property {string} instance  differs after each start of the server
 * @property {number} num_reloads  increases when plugins are reloaded, and when a plugin's
 *   `is_active` returns after its timeout
 * @property {number} generation  increases when any data changes
 * @property {number} runs_generation  the generation at which the list of runs or tags last changed
 * @property {boolean} loading  whether a pass is in progress
 * @property {number} passes  completed passes over the log directory
 * @property {number} num_runs
 * @property {number} num_files
 * @property {number} num_directories
 * @property {number} bytes_read
 * @property {number} bytes_total
 * @property {string[]} logdirs  absolute paths
 * @property {string[]} missing  the members of `logdirs` that do not exist
 * @property {string[]} problems
 *
 * @typedef {"connecting" | "live" | "retrying"} Connection
 *
 * @typedef {object} Listener
 * @property {(status: Status) => void} onStatus
 * @property {(connection: Connection) => void} onConnection
 */

const POLL_INTERVAL_MS = 3000;
/** Time within which the worker must send its first message. */
const WORKER_TIMEOUT_MS = 4000;
/** Time within which the page's own event stream must send its first message. */
const STREAM_TIMEOUT_MS = 8000;

/**
 * Starts listening, for as long as the page is open.
 * @param {Listener} listener
 * @returns {{ retry(): void }} `retry` reconnects at once
 */
export function watchUpdates(listener) {
  let source = typeof SharedWorker === "function" ? fromWorker(listener, fallBack) : fromStream(listener, fallBack);

  /** @param {"stream" | "poll"} next */
  function fallBack(next) {
    source.close();
    source = next === "stream" ? fromStream(listener, fallBack) : fromPolling(listener);
  }

  window.addEventListener("online", () => source.retry());
  return { retry: () => source.retry() };
}

/**
 * @typedef {{ retry(): void, close(): void }} Source
 * @typedef {(next: "stream" | "poll") => void} FallBack  replaces a source that does not work
 */

/** Listens to the shared worker. @param {Listener} listener @param {FallBack} fallBack @returns {Source} */
function fromWorker(listener, fallBack) {
  const closed = new AbortController();
  const { signal } = closed;
  /** @type {MessagePort | null} */
  let port = null;
  connect();

  function connect() {
    let worker;
    try {
      worker = new SharedWorker(new URL("updates-worker.js", import.meta.url), { name: "tbcore update stream" });
    } catch {
      queueMicrotask(() => fallBack("stream"));
      return;
    }
    port = worker.port;
    const timeout = setTimeout(() => fallBack("stream"), WORKER_TIMEOUT_MS);
    signal.addEventListener("abort", () => clearTimeout(timeout));
    worker.addEventListener("error", () => signal.aborted || fallBack("stream"), { signal });
    port.onmessage = ({ data }) => {
      clearTimeout(timeout);
      if (data.type === "ping") port?.postMessage({ type: "pong" });
      if (data.type === "status") listener.onStatus(data.status);
      if (data.type === "connection" && data.connection === "timed out") fallBack("poll");
      else if (data.type === "connection") listener.onConnection(data.connection);
    };
    register();
  }

  function register() {
    port?.postMessage({ type: "register", url: address("data/updates") });
  }

  function disconnect() {
    port?.postMessage({ type: "unregister" });
    port?.close();
    port = null;
  }

  window.addEventListener("pagehide", disconnect, { signal });
  window.addEventListener("pageshow", (event) => event.persisted && connect(), { signal });
  // The worker may have removed a page that was suspended for long.
  const onVisibilityChange = () => document.visibilityState === "visible" && register();
  document.addEventListener("visibilitychange", onVisibilityChange, { signal });
  return {
    retry: () => port?.postMessage({ type: "retry" }),
    close() {
      closed.abort();
      disconnect();
    },
  };
}

/** Listens to an event stream of this page. @param {Listener} listener @param {FallBack} fallBack @returns {Source} */
function fromStream(listener, fallBack) {
  const closed = new AbortController();
  /** @type {EventSource | null} */
  let source = null;
  let hasReceived = false;

  /** Opens the stream of a visible page, or closes that of a hidden one. */
  function connect() {
    source?.close();
    source = null;
    // A browser limits the connections to one server: a hidden page leaves them to visible ones.
    if (document.visibilityState !== "visible") return;
    source = new EventSource(address("data/updates"));
    source.onmessage = (event) => {
      hasReceived = true;
      listener.onConnection("live");
      listener.onStatus(JSON.parse(event.data));
    };
    source.onerror = () => {
      listener.onConnection("retrying");
      if (!hasReceived || source?.readyState === EventSource.CLOSED) fallBack("poll");
    };
  }
  const timeout = setTimeout(() => hasReceived || fallBack("poll"), STREAM_TIMEOUT_MS);
  closed.signal.addEventListener("abort", () => clearTimeout(timeout));
  document.addEventListener("visibilitychange", connect, { signal: closed.signal });
  connect();
  return {
    retry: connect,
    close() {
      closed.abort();
      source?.close();
    },
  };
}

/** Polls data/status. @param {Listener} listener @returns {Source} */
function fromPolling(listener) {
  const closed = new AbortController();
  const { signal } = closed;

  async function poll() {
    if (document.visibilityState !== "visible") return;
    try {
      listener.onStatus(await getJSON(address("data/status"), { signal }));
      listener.onConnection("live");
    } catch {
      if (!signal.aborted) listener.onConnection("retrying");
    }
  }
  const timer = setInterval(poll, POLL_INTERVAL_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  document.addEventListener("visibilitychange", poll, { signal });
  poll();
  return { retry: poll, close: () => closed.abort() };
}
