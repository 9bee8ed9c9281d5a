/**
 * A SharedWorker with one connection to data/updates for all tabs of a browser. A browser opens at
 * most six connections to one server, and each event stream keeps one open: without this worker the
 * sixth tab would not load.
 *
 * This is a classic worker, since import maps do not apply in workers. Messages from a page:
 *   {type: "register", url, isVisible}  the first message, repeated when the page becomes visible or
 *                            hidden. Without a visible page there is no stream, so that the server rests
 *   {type: "pong"}           response to a ping
 *   {type: "retry"}          reconnect at once
 *   {type: "unregister"}     the page is closing
 * Messages to a page:
 *   {type: "status", status}          the server's latest status
 *   {type: "connection", connection}  "connecting", "live", "retrying", or "timed out": the stream
 *                                     sent no message, as behind a proxy that buffers responses
 *   {type: "ping"}                    the page must respond with a pong
 */

{
  /** Time from opening the stream within which its first message must arrive. */
  const FIRST_MESSAGE_TIMEOUT_MS = 8000;
  const PING_INTERVAL_MS = 20000;
  /** A page is removed if it has not responded to this many pings in a row. */
  const MAX_UNANSWERED_PINGS = 3;
  const FIRST_RETRY_DELAY_MS = 500;
  const MAX_RETRY_DELAY_MS = 10000;

  /** Number of unanswered pings of each page, by its port. @type {Map<MessagePort, number>} */
  const ports = new Map();
  /** The ports of the hidden pages. @type {Set<MessagePort>} */
  const hidden = new Set();
  /** @type {EventSource | null} */
  let source = null;
  let url = "";
  /** @type {unknown} */
  let status = null;
  let connection = "connecting";
  let numFailures = 0;
  /** Timeout of the first message, or delay of the next attempt. @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const scope = /** @type {{ onconnect: ((event: MessageEvent) => void) | null }} */ (/** @type {unknown} */ (self));
  scope.onconnect = (event) => {
    const port = event.ports[0];
    port.onmessage = (message) => receive(port, message.data);
  };
  setInterval(ping, PING_INTERVAL_MS);

  /** Handles a message from a page. @param {MessagePort} port @param {{ type: string, url?: string, isVisible?: boolean }} message */
  function receive(port, message) {
    if (message.type === "unregister") {
      remove(port);
      return;
    }
    ports.set(port, 0);
    if (message.type === "register") {
      if (message.isVisible) hidden.delete(port);
      else hidden.add(port);
      url = message.url ?? url;
      port.postMessage({ type: "connection", connection });
      if (status !== null) port.postMessage({ type: "status", status });
    }
    if (message.type === "retry") close();
    // All messages but a pong reconnect at once, even if an attempt is already scheduled.
    if (source === null && isWatched() && (timer === undefined || message.type !== "pong")) open();
  }

  /** Whether any page is visible. */
  function isWatched() {
    return [...ports.keys()].some((port) => !hidden.has(port));
  }

  /** Opens the stream. */
  function open() {
    clearTimeout(timer);
    source = new EventSource(url);
    let hasReceived = false;
    timer = setTimeout(() => fail("timed out"), FIRST_MESSAGE_TIMEOUT_MS);
    source.onmessage = (event) => {
      if (!hasReceived) clearTimeout(timer);
      hasReceived = true;
      numFailures = 0;
      status = JSON.parse(event.data);
      setConnection("live");
      send({ type: "status", status });
    };
    // The browser's own reconnection has no backoff, and gives up after a status such as 502.
    source.onerror = () => fail("retrying");
  }

  /**
   * Closes the stream and schedules the next attempt, with exponential backoff.
   * @param {"retrying" | "timed out"} next  the new state of the connection
   */
  function fail(next) {
    close();
    setConnection(next);
    const delay = Math.min(MAX_RETRY_DELAY_MS, FIRST_RETRY_DELAY_MS * 2 ** numFailures++);
    timer = setTimeout(open, delay);
  }

  /** Closes the stream, and cancels its timeout or the scheduled attempt. */
  function close() {
    source?.close();
    source = null;
    clearTimeout(timer);
    timer = undefined;
  }

  /** @param {string} next */
  function setConnection(next) {
    if (next === connection) return;
    connection = next;
    send({ type: "connection", connection });
  }

  /** @param {object} message */
  function send(message) {
    for (const port of ports.keys()) port.postMessage(message);
  }

  /**
   * Removes the pages that disappeared without unregistering, and pings the others. A page that was
   * only suspended registers again.
   */
  function ping() {
    for (const [port, numUnanswered] of ports) {
      if (numUnanswered >= MAX_UNANSWERED_PINGS) remove(port);
      else ports.set(port, numUnanswered + 1);
    }
    // Not as soon as a page is hidden: most are visible again a moment later.
    if (!isWatched()) close();
    send({ type: "ping" });
  }

  /** @param {MessagePort} port */
  function remove(port) {
    ports.delete(port);
    hidden.delete(port);
    if (ports.size > 0) return;
    close(); // the last page is gone
    status = null;
    connection = "connecting";
    numFailures = 0;
  }
}
