/**
 * Records what a page does, starting before its first script: listeners, timers, connections and
 * observers that are not removed, with the plugin whose code created them. That is the plugin with
 * a file on the stack. Also callbacks of a plugin that run when its tab is closed: those that one of
 * its files passed itself, not a library or the page for it.
 */
(() => {
  Error.stackTraceLimit = 60;
  /** @type {Map<object | number, { kind: string, what: string, plugin: string, where: string }>} */
  const live = new Map();
  const frames = {};
  let pending = 0;
  let quietSince = performance.now();
  let keys = 0;

  function origin() {
    const stack = new Error().stack ?? "";
    const found = /\/static\/plugins\/([^/\s]+)\/([^\s)]*)/.exec(stack);
    return found ? { plugin: found[1], where: found[2] } : { plugin: "", where: "" };
  }

  // Callbacks that ran after their tab was closed.
  const late = [];
  function recordingLate(what, callback) {
    const frames = (new Error().stack ?? "").split("\n");
    const caller = frames.find((line) => /\/static\//.test(line) && !/\/(watch\.js|signals-core\.mjs)/.test(line));
    const [, plugin, where] = /\/static\/plugins\/([^/\s]+)\/([^\s)]*)/.exec(caller ?? "") ?? [];
    if (!plugin || typeof callback !== "function") return callback;
    return function (...args) {
      if (pluginElement(plugin) === null) late.push({ what, plugin, where });
      return callback.apply(this, args);
    };
  }

  function begin(kind, what) {
    const key = ++keys;
    live.set(key, { kind, what, ...origin() });
    return key;
  }

  // Listeners on objects that outlive a tab.
  const outlivesTab = (target) =>
    target === window ||
    target === document ||
    target === document.documentElement ||
    target === document.body ||
    target === window.visualViewport ||
    target instanceof MediaQueryList;
  const listeners = [];
  const find = (target, type, callback, capture) =>
    listeners.findIndex((one) => one.target === target && one.type === type && one.callback === callback && one.capture === capture);
  const forget = (target, type, callback, capture) => {
    const at = find(target, type, callback, capture);
    if (at >= 0) live.delete(listeners.splice(at, 1)[0].key);
  };
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (type, callback, options) {
    const target = this ?? window;
    const capture = typeof options === "boolean" ? options : Boolean(options?.capture);
    const signal = options?.signal;
    if (callback && outlivesTab(target) && !signal?.aborted && find(target, type, callback, capture) < 0) {
      listeners.push({ target, type, callback, capture, key: begin("listener", `${type} on ${target.constructor?.name}`) });
      const end = () => forget(target, type, callback, capture);
      if (signal) addEventListener.call(signal, "abort", end, { once: true });
      if (options?.once) addEventListener.call(target, type, end, { once: true, capture });
    }
    return addEventListener.call(target, type, callback, options);
  };
  EventTarget.prototype.removeEventListener = function (type, callback, options) {
    forget(this ?? window, type, callback, typeof options === "boolean" ? options : Boolean(options?.capture));
    return removeEventListener.call(this ?? window, type, callback, options);
  };

  // Timers, and animation frames.
  const timers = new Map();
  for (const [set, clear, repeats] of [
    ["setInterval", "clearInterval", true],
    ["setTimeout", "clearTimeout", false],
  ]) {
    const original = window[set];
    const originalClear = window[clear];
    window[set] = (given, delay, ...rest) => {
      const what = `${set} of ${delay ?? 0} ms`;
      const key = begin("timer", what);
      // An interval that still runs is among those that are not removed.
      const callback = repeats ? given : recordingLate(what, given);
      const run = (...args) => {
        if (!repeats) live.delete(key);
        return callback(...args);
      };
      const id = original.call(window, typeof callback === "function" ? run : callback, delay, ...rest);
      timers.set(id, key);
      return id;
    };
    window[clear] = (id) => {
      live.delete(timers.get(id));
      timers.delete(id);
      originalClear.call(window, id);
    };
  }
  const { requestAnimationFrame } = window;
  window.requestAnimationFrame = (callback) => {
    const { plugin } = origin();
    frames[plugin] = (frames[plugin] ?? 0) + 1;
    return requestAnimationFrame.call(window, callback);
  };

  // Workers and connections.
  for (const name of ["Worker", "EventSource", "WebSocket", "BroadcastChannel", "AudioContext"]) {
    const Original = window[name];
    if (!Original) continue;
    const end = "terminate" in Original.prototype ? "terminate" : "close";
    window[name] = class extends Original {
      #key = begin("connection", name);
      [end](...args) {
        live.delete(this.#key);
        return super[end](...args);
      }
    };
  }

  // Observers. The targets are in a WeakSet, so that they can be garbage collected.
  for (const name of ["ResizeObserver", "IntersectionObserver", "MutationObserver", "PerformanceObserver"]) {
    const Original = window[name];
    window[name] = class extends Original {
      #targets = new WeakSet();
      #count = 0;
      #key = 0;
      observe(target, ...rest) {
        super.observe(target, ...rest);
        if (target instanceof Node && this.#targets.has(target)) return;
        if (target instanceof Node) this.#targets.add(target);
        if (this.#count++ === 0) this.#key = begin("observer", name);
      }
      unobserve(target) {
        super.unobserve(target);
        if (this.#targets.delete(target) && --this.#count === 0) live.delete(this.#key);
      }
      disconnect() {
        super.disconnect();
        this.#targets = new WeakSet();
        this.#count = 0;
        live.delete(this.#key);
      }
    };
  }

  // What the content policy refused, here and in the frame of a plugin's page, also if the code caught
  // the error and the console has no line of it.
  const refused = [];
  addEventListener.call(window, "securitypolicyviolation", ({ effectiveDirective, blockedURI, sourceFile, lineNumber }) => {
    const where = sourceFile ? ` in ${sourceFile.replace(/.*\/static\//, "")}, line ${lineNumber}` : "";
    const line = `${effectiveDirective} refuses ${blockedURI}${where}`;
    const { refused: found } = window.top.watch;
    if (!found.includes(line)) found.push(line);
  });

  const { fetch } = window;
  const requests = [];
  window.fetch = (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    const body = typeof init?.body === "string" ? init.body : null;
    requests.push({ url: new URL(url, document.baseURI).href, method: init?.method ?? "GET", body });
    pending++;
    const done = () => {
      pending--;
      quietSince = performance.now();
    };
    const response = fetch.call(window, input, init);
    response.then(done, done);
    return response;
  };

  // What comes by message, as the host does for a page in a frame, may lead to requests.
  addEventListener.call(window, "message", () => (quietSince = performance.now()));

  const pluginElement = (name) => document.querySelector(`.plugin[data-plugin="${CSS.escape(name)}"]`);
  const tabElement = (name) => pluginElement(name)?.shadowRoot?.querySelector(".tb-plugin");
  // The frame of a plugin with a page of its own.
  const frameOf = (name) => tabElement(name)?.querySelector(":scope > iframe");
  const content = (name) => {
    const frame = frameOf(name);
    return frame ? frame.contentDocument?.body : tabElement(name);
  };
  // A page in a frame has the host when it has the theme.
  const isFrameQuiet = ({ contentDocument, contentWindow }, quiet) =>
    contentDocument?.documentElement.dataset.theme !== undefined && contentWindow.watch.isQuiet(quiet);
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  globalThis.watch = {
    requests,
    refused,
    /** The shell's error notices about the tab. */
    notices: () => [...document.querySelectorAll(".notice.failure, .uncaught-error")].map((one) => one.innerText),
    /** Whether this window has had no pending requests for `quiet` ms. */
    isQuiet: (quiet) => pending === 0 && performance.now() - quietSince > quiet,
    /** Whether the tab shows something and has had no pending requests for `quiet` ms, or failed. */
    isReady: (name, quiet) =>
      document.querySelector(".notice.failure") !== null ||
      (content(name)?.childNodes.length > 0 &&
        document.querySelector(".opening") === null &&
        globalThis.watch.isQuiet(quiet) &&
        (!frameOf(name) || isFrameQuiet(frameOf(name), quiet))),
    isDrawn: (name) => content(name)?.childNodes.length > 0,
    isLeft: (name) => pluginElement(name) === null,
    /** What a plugin has created and not removed. */
    left: (name) => [...live.values()].filter(({ plugin }) => plugin === name),
    frames: (name) => frames[name] ?? 0,
    recordingLate,
    /** Callbacks of a plugin that ran after its tab was closed. */
    late: (name) => late.filter(({ plugin }) => plugin === name),
    /** Changes what tabs follow: the checked runs, the run under the pointer and the size. */
    async disturb() {
      const row = document.querySelector(".tb-run");
      for (const type of ["pointerover", "pointerout"]) row?.dispatchEvent(new PointerEvent(type, { bubbles: true }));
      for (const _ of "ab") {
        row?.querySelector("input").click();
        await sleep(50);
      }
      window.dispatchEvent(new Event("resize"));
    },
    total: () => live.size,
    /** HTML of all elements outside of the page's own root. */
    outside: () =>
      [...document.querySelectorAll("html *")].filter((one) => !one.closest("#app")).map((one) => one.outerHTML.slice(0, 120)),
    sleep,
    async openAndLeave(name, blank, rounds) {
      const until = async (test, timeout) => {
        const deadline = performance.now() + timeout;
        while (!test() && performance.now() < deadline) await sleep(15);
      };
      for (let round = 0; round < rounds; round++) {
        location.hash = name;
        await until(() => globalThis.watch.isReady(name, 30), 3000);
        location.hash = blank;
        await until(() => globalThis.watch.isLeft(name), 3000);
      }
    },

    /** HTML of up to three elements that make the page or the tab wider than the window. */
    overflow(name) {
      const wide = [document.documentElement, document.body, document.querySelector("main"), content(name)].filter(
        (one) => one && one.scrollWidth > one.clientWidth + 1,
      );
      if (wide.length === 0) return [];
      const right = document.documentElement.clientWidth;
      const causes = [...(content(name)?.querySelectorAll("*") ?? [])].filter((one) => one.getBoundingClientRect().right > right + 1);
      return causes.length ? causes.slice(0, 3).map(shown) : wide.map(shown);
    },

    /** Descriptions of up to five texts whose contrast to their background is below `minimum`. */
    lowContrast(name, minimum) {
      const found = new Map();
      const root = content(name);
      if (!root) return [];
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode.data.trim();
        const element = walker.currentNode.parentElement;
        if (!text || !element?.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        if (element.closest("[disabled], [aria-disabled=true], [aria-hidden=true], option, title, desc, canvas")) continue;
        const { width, height } = element.getBoundingClientRect();
        if (width < 2 || height < 2) continue;
        const style = getComputedStyle(element);
        const isSVG = element instanceof SVGElement;
        // The background of a text in an SVG is another shape, not an ancestor.
        if (isSVG) continue;
        const behind = background(element);
        if (behind === null) continue;
        const ratio = contrast(over(color(style.color), behind), behind);
        if (ratio < minimum) found.set(text.slice(0, 40), `${ratio.toFixed(1)}: ${shown(element)}`);
      }
      return [...found].slice(0, 5).map(([text, what]) => `“${text}” has a contrast of ${what}`);
    },

    /** Whether names from the log became elements. */
    markup: (name) => document.body.id === "tbcore-markup" || Boolean(content(name)?.querySelector("#tbcore-markup")),
  };

  const shown = (element) => element.cloneNode(false).outerHTML.slice(0, 160);
  const parse = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  function color(text) {
    const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    if (plain) return [plain[1], plain[2], plain[3], plain[4] ?? 1].map(Number);
    parse.clearRect(0, 0, 1, 1);
    parse.fillStyle = text;
    parse.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = parse.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  }
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  /** The background colour of an element; null if it is an image. */
  function background(element) {
    const layers = [];
    for (let at = element; at; at = at.assignedSlot ?? at.parentElement ?? at.getRootNode().host) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none") return null;
      const layer = color(style.backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    const ground = [255, 255, 255, 1];
    return layers.reverse().reduce((below, layer) => over(layer, below), ground);
  }
  function contrast(one, other) {
    const luminance = (rgb) => {
      const [r, g, b] = rgb.slice(0, 3).map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  }
})();
