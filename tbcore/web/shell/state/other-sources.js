/** Sources of news of the server where the shared worker does not work; server.js has their order. Loaded when one is needed. */

import { address, getJSON } from "./server.js";

/** @import { Source } from "./server.js" */

const POLL_INTERVAL_MS = 3000;
/** Time within which the page's own event stream must send its first message. */
const STREAM_TIMEOUT_MS = 8000;

/** Listens to an event stream of this page. @type {Source} */
export function fromStream(listener, signal, fallBackTo) {
  /** @type {EventSource | undefined} */
  let stream;
  let hasReceived = false;

  /** Opens the stream of a visible page, or closes that of a hidden one. */
  function connect() {
    stream?.close();
    // A browser limits the connections to one server: a hidden page leaves them to visible ones.
    if (document.visibilityState !== "visible") return;
    stream = new EventSource(address("data/updates"));
    stream.onmessage = (event) => {
      hasReceived = true;
      listener.onConnection("live");
      listener.onStatus(JSON.parse(event.data));
    };
    stream.onerror = () => {
      listener.onConnection("retrying");
      if (!hasReceived || stream?.readyState === EventSource.CLOSED) fallBackTo("fromPolling");
    };
  }
  const timeout = setTimeout(() => hasReceived || fallBackTo("fromPolling"), STREAM_TIMEOUT_MS);
  signal.addEventListener("abort", () => {
    clearTimeout(timeout);
    stream?.close();
  });
  document.addEventListener("visibilitychange", connect, { signal });
  connect();
  return connect;
}

/** Polls data/status. No other source replaces this one. @type {Source} */
export function fromPolling(listener) {
  async function poll() {
    if (document.visibilityState !== "visible") return;
    try {
      listener.onStatus(await getJSON(address("data/status", { visible: "true" })));
      listener.onConnection("live");
    } catch {
      listener.onConnection("retrying");
    }
  }
  setInterval(poll, POLL_INTERVAL_MS);
  document.addEventListener("visibilitychange", poll);
  poll();
  return poll;
}
