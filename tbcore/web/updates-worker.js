/**
 * One connection to data/updates for all tabs of a browser. A browser opens six connections to one server at most, and
 * an event stream keeps one for good: without this worker the sixth tab would not load.
 *
 * A classic worker: workers see no import map. Messages from a page:
 *   {type: "hello", url}   first message, and again whenever the page may have been forgotten
 *   {type: "here"}         answer to a ping
 *   {type: "retry"}        connect now rather than later
 *   {type: "bye"}          the page goes away
 * Messages to a page:
 *   {type: "status", status}          what the server said
 *   {type: "connection", connection}  "connecting", "live", "retrying", or "silent": nothing gets through
 *   {type: "ping"}                    to be answered
 */
{
  const FIRST_MESSAGE_MS = 8000;
  const PING_MS = 20000;
  const LONGEST_RETRY_MS = 10000;

  /** @type {Map<MessagePort, number>} pages, and how many pings they have left unanswered */
  const ports = new Map();
  /** @type {EventSource | null} */
  let source = null;
  let url = "";
  /** @type {unknown} */
  let status = null;
  let connection = "connecting";
  let numFailures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const scope = /** @type {{ onconnect: ((event: MessageEvent) => void) | null }} */ (/** @type {unknown} */ (self));
  scope.onconnect = (event) => {
    const port = event.ports[0];
    port.onmessage = (message) => receive(port, message.data);
  };
  setInterval(ping, PING_MS);

  /**
   * @param {MessagePort} port
   * @param {{ type: string, url?: string }} message
   */
  function receive(port, message) {
    if (message.type === "bye") {
      forget(port);
      return;
    }
    ports.set(port, 0);
    if (message.type === "hello") {
      url = message.url ?? url;
      port.postMessage({ type: "connection", connection });
      if (status !== null) port.postMessage({ type: "status", status });
    }
    if (message.type === "retry") close();
    if (source === null && (timer === undefined || message.type !== "here")) open();
  }

  function open() {
    clearTimeout(timer);
    source = new EventSource(url);
    let hasSpoken = false;
    timer = setTimeout(() => fail("silent"), FIRST_MESSAGE_MS);
    source.onmessage = (event) => {
      if (!hasSpoken) clearTimeout(timer);
      hasSpoken = true;
      numFailures = 0;
      status = JSON.parse(event.data);
      setConnection("live");
      send({ type: "status", status });
    };
    // The browser would try again by itself, but not after an answer such as 502, and at its own pace.
    source.onerror = () => fail("retrying");
  }

  /** @param {"retrying" | "silent"} kind */
  function fail(kind) {
    close();
    setConnection(kind);
    const delay = Math.min(LONGEST_RETRY_MS, 500 * 2 ** numFailures++);
    timer = setTimeout(open, delay);
  }

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

  /** Drops the pages that left without a word. A page that only slept says hello again. */
  function ping() {
    for (const [port, numUnanswered] of ports) {
      if (numUnanswered >= 3) forget(port);
      else ports.set(port, numUnanswered + 1);
    }
    send({ type: "ping" });
  }

  /** @param {MessagePort} port */
  function forget(port) {
    ports.delete(port);
    if (ports.size > 0) return;
    close(); // nobody listens
    status = null;
    connection = "connecting";
    numFailures = 0;
  }
}
