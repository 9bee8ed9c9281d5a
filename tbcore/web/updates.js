/**
 * Tells the page when the server has something new.
 *
 *     SharedWorker with the one event stream  ->  else an event stream of this page, while it is visible
 *                                             ->  else polling of data/status, while it is visible
 */

import { address, getJSON } from "./server.js";

/**
 * What data/updates and data/status say.
 * @typedef {object} Status
 * @property {string} instance  a new one with every start of the server
 * @property {number} num_reloads  rises when plugins are reloaded, and when one has said late whether it is active
 * @property {number} generation  rises when anything changed
 * @property {number} runs_generation  generation at which the list of runs or tags changed last
 * @property {boolean} loading
 * @property {number} passes  finished passes over the log directory
 * @property {number} num_runs
 * @property {number} num_files
 * @property {number} num_directories
 * @property {number} bytes_read
 * @property {number} bytes_total
 * @property {string[]} logdirs  absolute paths
 * @property {string[]} missing  those of them that do not exist
 * @property {string[]} problems
 *
 * @typedef {"connecting" | "live" | "retrying"} Connection
 *
 * @typedef {object} Listener
 * @property {(status: Status) => void} onStatus
 * @property {(connection: Connection) => void} onConnection
 */

const POLL_MS = 3000;
const WORKER_MS = 4000;

/**
 * Listens for as long as the page lives.
 * @param {Listener} listener
 * @returns {{ retry(): void }}  retry: connect now rather than later
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
 * @typedef {(next: "stream" | "poll") => void} FallBack
 */

/**
 * @param {Listener} listener
 * @param {FallBack} fallBack
 * @returns {Source}
 */
function fromWorker(listener, fallBack) {
  const closed = new AbortController();
  const { signal } = closed;
  /** @type {MessagePort | null} */
  let port = null;
  connect();

  function connect() {
    let worker;
    try {
      worker = new SharedWorker(new URL("updates-worker.js", import.meta.url), { name: "tbcore updates" });
    } catch {
      queueMicrotask(() => fallBack("stream"));
      return;
    }
    port = worker.port;
    const silence = setTimeout(() => fallBack("stream"), WORKER_MS);
    signal.addEventListener("abort", () => clearTimeout(silence));
    worker.addEventListener("error", () => signal.aborted || fallBack("stream"), { signal });
    port.onmessage = ({ data }) => {
      clearTimeout(silence);
      if (data.type === "ping") port?.postMessage({ type: "here" });
      if (data.type === "status") listener.onStatus(data.status);
      if (data.type === "connection" && data.connection === "silent") fallBack("poll");
      else if (data.type === "connection") listener.onConnection(data.connection);
    };
    hello();
  }

  function hello() {
    port?.postMessage({ type: "hello", url: address("data/updates") });
  }

  function leave() {
    port?.postMessage({ type: "bye" });
    port?.close();
    port = null;
  }

  window.addEventListener("pagehide", leave, { signal });
  window.addEventListener("pageshow", (event) => event.persisted && connect(), { signal });
  // A page that slept for long may have been forgotten.
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && hello(), { signal });
  return {
    retry: () => port?.postMessage({ type: "retry" }),
    close() {
      closed.abort();
      leave();
    },
  };
}

/**
 * @param {Listener} listener
 * @param {FallBack} fallBack
 * @returns {Source}
 */
function fromStream(listener, fallBack) {
  const closed = new AbortController();
  /** @type {EventSource | null} */
  let source = null;
  let hasSpoken = false;

  function follow() {
    source?.close();
    source = null;
    if (document.visibilityState !== "visible") return; // leaves the connection to tabs that are seen
    source = new EventSource(address("data/updates"));
    source.onmessage = (event) => {
      hasSpoken = true;
      listener.onConnection("live");
      listener.onStatus(JSON.parse(event.data));
    };
    source.onerror = () => {
      listener.onConnection("retrying");
      if (!hasSpoken || source?.readyState === EventSource.CLOSED) fallBack("poll");
    };
  }
  const silence = setTimeout(() => hasSpoken || fallBack("poll"), WORKER_MS * 2);
  closed.signal.addEventListener("abort", () => clearTimeout(silence));
  document.addEventListener("visibilitychange", follow, { signal: closed.signal });
  follow();
  return {
    retry: follow,
    close() {
      closed.abort();
      source?.close();
    },
  };
}

/**
 * @param {Listener} listener
 * @returns {Source}
 */
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
  const timer = setInterval(poll, POLL_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
  document.addEventListener("visibilitychange", poll, { signal });
  poll();
  return { retry: poll, close: () => closed.abort() };
}
