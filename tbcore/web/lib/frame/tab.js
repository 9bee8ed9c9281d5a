/**
 * The tab of a plugin with a page of its own: a frame with the page, which gets the host by the
 * messages of `tbcore/frame.js`. The address of this module has the page's own as `page`.
 *
 * Each message is `{ tbcore, args }`: what it is about, and the arguments of the function for it.
 */

/** @import { Generations, Host, Key, Run } from "../../host.js" */

const PAGE = new URL(new URL(import.meta.url).searchParams.get("page") ?? "", new URL("../../../../", import.meta.url));

/**
 * What the page may do. It needs `allow-same-origin` for requests to this server. The sandbox keeps
 * it from navigating the window, from opening other windows, and from dialogs that block everything.
 */
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-downloads";

/** Time in which a page calls `connect()` after it was loaded. */
const CONNECT_TIMEOUT_MS = 5000;

/** The values of the host that the page gets. */
const VALUES = /** @type {const} */ (["runs", "wantedRuns", "archived", "groups", "hoveredRun", "step", "settings", "preferences", "memory", "theme", "notice", "generations"]);
/** Those of them that the page may set. */
const SETTABLE = /** @type {const} */ (["hoveredRun", "step", "settings", "preferences", "memory"]);
/** The variables that follow the theme, without `--tb-`. */
const COLORS = ["ground", "surface", "hover", "line", "grid", "ink", "ink-2", "ink-3", "accent", "good", "warn", "bad"];

export default {
  /** @param {Host} host */
  async render(host) {
    // A frame would show an error of the server as if it were the page.
    const { ok, status } = await fetch(PAGE, { method: "HEAD", signal: host.signal });
    if (!ok) throw new Error(`the page ${PAGE.pathname} could not be loaded: status ${status}`);
    const frame = document.createElement("iframe");
    frame.title = `Page of the plugin ${host.name}`;
    frame.sandbox.value = SANDBOX;
    frame.style.cssText = "display: block; width: 100%; height: calc(100vh - var(--tb-bar-height)); border: 0";

    /** @param {string} tbcore @param {unknown[]} args */
    const send = (tbcore, ...args) => frame.contentWindow?.postMessage({ tbcore, args }, location.origin);

    let isConnected = false;
    let hasFailed = false;
    /** Shows an error above the page. @param {Error} error */
    const report = (error) => {
      hasFailed = true;
      reportError(error);
    };
    /** Shows what the page does not catch, also before it has connected. @param {Event} event */
    const onError = (event) => {
      // Later, since the page's own listeners may prevent that.
      setTimeout(() => {
        if (!host.signal.aborted && !event.defaultPrevented) report(uncaught(event));
      });
    };
    /** The window is that of the empty frame until the page has been loaded, and in most browsers it stays the same. */
    const listen = () => {
      for (const kind of ["error", "unhandledrejection"]) frame.contentWindow?.addEventListener(kind, onError, { signal: host.signal });
    };

    /** What the page may ask for, by the name in the message. */
    const requests = {
      hello() {
        isConnected = true;
        listen();
        const values = Object.fromEntries(VALUES.map((name) => [name, cloneable(host, name)]));
        send("hello", host.name, values, colors(host));
      },
      /** @param {typeof SETTABLE[number]} member @param {[string, string]} args */
      set: (member, ...args) => SETTABLE.includes(member) && /** @type {any} */ (host[member]).set(...args),
      /** @param {string | string[]} names */
      checkOnly: (names) => host.checkOnly(names),
      /** Sets the keyboard shortcuts of the page. @param {(Key & { acts: boolean })[]} keys */
      keys: (keys) => host.keys(keys.map(({ key, label, acts }) => ({ key, label, ...(acts && { act: () => send("key", key) }) }))),
      /** Does what the shell does for a key that was pressed in the page. @param {string} key */
      key: (key) => host.element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true })),
      /** Shows an error in place of the page. @param {string} name @param {string} message @param {string} stack */
      showError: (name, message, stack) => host.showError(errorOf(name, message, stack)),
    };

    /** @param {MessageEvent} event */
    const onMessage = ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== location.origin) return;
      const request = Object.hasOwn(requests, data?.tbcore) && requests[/** @type {keyof typeof requests} */ (data.tbcore)];
      if (request) /** @type {(...args: unknown[]) => void} */ (request)(...data.args);
    };
    window.addEventListener("message", onMessage, { signal: host.signal });
    for (const name of VALUES) {
      host[name].subscribe(() => send("change", name, cloneable(host, name), name === "theme" ? colors(host) : {}));
    }

    frame.src = PAGE.href;
    const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
    host.element.append(frame);
    listen();
    await loaded;
    /** @param {string} text */
    const reportSilence = (text) => isConnected || hasFailed || report(errorOf("Error", text, ""));
    const missing = missingScript(frame.contentWindow);
    if (missing) reportSilence(`the script ${missing} could not be loaded`);
    const timer = setTimeout(reportSilence, CONNECT_TIMEOUT_MS, `the page ${PAGE.pathname} has not called connect() of tbcore/frame.js`);
    return () => clearTimeout(timer);
  },
};

/** The address of a script that the server did not send. A window gets no event of it. @param {Window | null} page */
function missingScript(page) {
  const loaded = /** @type {PerformanceResourceTiming[]} */ (page?.performance.getEntriesByType("resource") ?? []);
  return loaded.find(({ initiatorType, responseStatus }) => /script|other/.test(initiatorType) && responseStatus >= 400)?.name;
}

/** The error of an event of the page. @param {Event} event */
function uncaught(event) {
  const { error, message, reason, filename, lineno } = /** @type {ErrorEvent & PromiseRejectionEvent} */ (event);
  // An error of another window is no instance of this one's `Error`.
  const thrown = error ?? reason ?? message;
  const { name = "Error", message: text = String(thrown), stack = "" } = Object(thrown);
  const isLocated = !filename || stack.includes(filename);
  return errorOf(name, isLocated ? text : `${text} (${filename}:${lineno})`, stack);
}

/**
 * A value of the host in a form that messages can have. Of the generations, `of` becomes a map with
 * the wanted runs.
 * @param {Host} host @param {typeof VALUES[number]} name
 */
function cloneable(host, name) {
  if (name !== "generations") return host[name].value;
  const { all, lists, of } = host.generations.value;
  return { all, lists, of: new Map(host.wantedRuns.value.map((run) => [run.name, of(run.name)])) };
}

/** The values of the variables that follow the theme. @param {Host} host */
function colors(host) {
  const style = getComputedStyle(host.element);
  return Object.fromEntries(COLORS.map((name) => [`--tb-${name}`, style.getPropertyValue(`--tb-${name}`)]));
}

/** An error of the page. The shell takes those for errors of the tab that have this module in their stack. @param {string} name @param {string} message @param {string} stack */
function errorOf(name, message, stack) {
  return Object.assign(new Error(message), { name, stack: `${stack}\n    at ${import.meta.url}` });
}
