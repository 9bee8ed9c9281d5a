/**
 * The host of a plugin whose tab is a page of its own, in a frame. It runs in that page, and gets
 * what it has from `tab.js` by messages, which says how they look. It imports nothing.
 */

/** @import { Generations, Grouping, Key, Params, Readable, Run, Settings, Theme } from "../../host.js" */

/**
 * What a plugin's page can use of the page around it; as the members of `Host` of the same names.
 * What `set` sets is in `value` a moment later.
 * @typedef {object} FrameHost
 * @property {string} name  the plugin's name
 * @property {(path: string, init?: RequestInit) => Promise<Response>} fetch
 * @property {(path: string, params?: Params) => Promise<any>} fetchJSON
 * @property {(path: string, params?: Params) => string} url
 * @property {Readable<readonly Run[]>} runs
 * @property {Readable<readonly Run[]>} wantedRuns
 * @property {Readable<ReadonlySet<string>>} archived
 * @property {Readable<Grouping | null>} groups
 * @property {Readable<string | null> & { set(name: string | null): void }} hoveredRun
 * @property {(names: string | readonly string[]) => void} checkOnly
 * @property {Readable<number | null> & { set(step: number | null): void }} step
 * @property {Settings} settings
 * @property {Settings} preferences
 * @property {Settings} memory
 * @property {Readable<Theme>} theme  also the attribute `data-theme` and the `color-scheme` of the
 *   page's root, which has the variables that follow the theme
 * @property {Readable<string | null>} notice
 * @property {Readable<Generations>} generations
 * @property {(callback: (generations: Generations) => void) => () => void} onReload
 * @property {(keys: readonly Key[]) => void} keys
 * @property {(error: unknown) => void} showError
 */

const ROOT = new URL("../../../../", import.meta.url);

/** @type {Promise<FrameHost> | undefined} */
let connected;

/** Resolves to the host; rejects if the page is not in a frame of tbcore. */
export function connect() {
  connected ??= open();
  return connected;
}

/** Errors of requests that did not reach the server, which the page around this one shows. @type {WeakSet<object>} */
const networkErrors = new WeakSet();
/** @type {readonly Key[]} */
let ownKeys = [];

/** @param {string} tbcore @param {unknown[]} args */
function send(tbcore, ...args) {
  window.parent.postMessage({ tbcore, args }, location.origin);
}

/** @returns {Promise<FrameHost>} */
function open() {
  if (window.parent === window) return Promise.reject(new Error("this page is shown in a tab of tbcore; open it there"));
  return new Promise((resolve) => {
    /** @type {Record<string, Value<any>>} */
    let values = {};
    const answers = {
      /** @param {string} name @param {Record<string, unknown>} current @param {Record<string, string>} colors */
      hello(name, current, colors) {
        values = Object.fromEntries(Object.entries(current).map(([member, value]) => [member, new Value(member, value)]));
        paint(values.theme.value, colors);
        resolve(hostOf(name, values));
      },
      /** @param {string} member @param {unknown} value @param {Record<string, string>} colors */
      change(member, value, colors) {
        if (member === "theme") paint(/** @type {Theme} */ (value), colors);
        if (Object.hasOwn(values, member)) values[member].change(value);
      },
      /** @param {string} key */
      key: (key) => ownKeys.find((own) => own.key === key)?.act?.(new KeyboardEvent("keydown", { key })),
    };
    window.addEventListener("message", ({ source, origin, data }) => {
      if (source !== window.parent || origin !== location.origin) return;
      const answer = Object.hasOwn(answers, data?.tbcore) && answers[/** @type {keyof typeof answers} */ (data.tbcore)];
      if (answer) /** @type {(...args: unknown[]) => void} */ (answer)(...data.args);
    });
    document.addEventListener("keydown", onKeyDown);
    // The tab shows what is not prevented.
    window.addEventListener("unhandledrejection", (event) => networkErrors.has(event.reason) && event.preventDefault());
    send("hello");
  });
}

/** @param {string} name @param {Record<string, Value<any>>} values @returns {FrameHost} */
function hostOf(name, values) {
  /** @type {FrameHost["url"]} */
  const url = (path, params = {}) => {
    const address = new URL(`data/plugin/${name}/${path.replace(/^\//, "")}`, ROOT);
    for (const [name, value] of Object.entries(params)) {
      if (value !== null && value !== undefined) address.searchParams.append(name, String(value));
    }
    return address.href;
  };
  /** @param {string} address @param {RequestInit} [init] */
  const request = (address, init) => {
    const response = fetch(address, init);
    // A TypeError is what `fetch` throws for the network.
    response.catch((error) => error instanceof TypeError && networkErrors.add(error));
    return response;
  };
  const { runs, wantedRuns, archived, groups, hoveredRun, step, settings, preferences, memory, theme, notice, generations } = values;
  return {
    name,
    url,
    fetch: (path, init) => request(url(path), init),
    async fetchJSON(path, params) {
      const response = await request(url(path, params));
      if (response.ok) return withoutPrototype(await response.json());
      const isPlain = response.headers.get("Content-Type")?.startsWith("text/plain");
      const line = isPlain ? (await response.text()).split("\n")[0].slice(0, 500) : "";
      throw Object.assign(new Error(line || `status ${response.status}`), { name: "ServerError", status: response.status });
    },
    ...{ runs, wantedRuns, archived, groups, hoveredRun, step, settings, preferences, memory, theme, notice, generations },
    checkOnly: (names) => send("checkOnly", names),
    onReload(callback) {
      let isFirst = true;
      return generations.subscribe((value) => {
        if (!isFirst) callback(value);
        isFirst = false;
      });
    },
    keys(keys) {
      ownKeys = keys;
      send("keys", keys.map(({ key, label, act }) => ({ key, label, acts: act !== undefined })));
    },
    showError(error) {
      if (error instanceof Error) send("showError", error.name, error.message, error.stack ?? "");
      else send("showError", "Error", String(error), "");
    },
  };
}

/** A value of the host, as messages change it. @template T */
class Value {
  /** @type {T} */
  #value;
  /** @type {Set<(value: T) => void>} */
  #callbacks = new Set();

  /** @param {string} member @param {any} value  as in the message */
  constructor(member, value) {
    this.member = member;
    this.#value = received(member, value);
  }

  get value() {
    return this.#value;
  }

  /** @param {(value: T) => void} callback */
  subscribe(callback) {
    // Not the callback itself, which may be subscribed twice.
    const call = (/** @type {T} */ value) => callback(value);
    this.#callbacks.add(call);
    call(this.#value);
    return () => void this.#callbacks.delete(call);
  }

  /** @param {...unknown} args */
  set(...args) {
    send("set", this.member, ...args);
  }

  /** @param {any} value  as in the message */
  change(value) {
    this.#value = received(this.member, value);
    for (const call of [...this.#callbacks]) {
      try {
        call(this.#value);
      } catch (error) {
        reportError(error);
      }
    }
  }
}

/** A value as it was before it became a message. @param {string} member @param {any} value */
function received(member, value) {
  if (member === "generations") return { ...value, of: (/** @type {string} */ run) => value.of.get(run) ?? value.all };
  return ["settings", "preferences", "memory"].includes(member) ? withoutPrototype(value) : value;
}

/** Removes the prototype of an object whose keys are names; returns other values as they are. @param {any} value */
function withoutPrototype(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? Object.setPrototypeOf(value, null) : value;
}

/** @param {Theme} theme @param {Record<string, string>} colors  values of variables */
function paint(theme, colors) {
  const root = document.documentElement;
  root.dataset.theme = theme;
  root.style.colorScheme = theme;
  for (const [name, value] of Object.entries(colors)) root.style.setProperty(name, value);
}

/** Passes a key to the page around this one, whose shortcuts include those of this page. @param {KeyboardEvent} event */
function onKeyDown(event) {
  const { key } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.composedPath()[0])) return;
  if (ownKeys.some((own) => own.act && own.key === key)) event.preventDefault();
  send("key", key);
}

/** @param {EventTarget | undefined} target */
function isTyping(target) {
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|range|button|color)$/.test(target.type);
  return target instanceof HTMLElement && (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName));
}
