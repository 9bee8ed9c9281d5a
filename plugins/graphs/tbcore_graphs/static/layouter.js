/**
 * Lays out scopes in a worker, and remembers how.
 */

/** @typedef {import("./types.js").Job} Job @typedef {import("./types.js").Layout} Layout */

/** Layouts that are kept: enough to close and open again what was looked at. */
const KEPT = 300;

export class Layouter {
  /** @type {Worker | null} */ #worker = null;
  /** @type {Map<number, { key: string, resolve: (layout: Layout) => void, reject: (error: Error) => void }>} */ #waiting = new Map();
  /** @type {Map<string, Promise<Layout>>} */ #known = new Map();
  #lastId = 0;

  /** @param {Job} job @returns {Promise<Layout>} rejects when it cannot be laid out */
  layOut(job) {
    const key = JSON.stringify(job);
    let layout = this.#known.get(key);
    if (!layout) {
      layout = this.#ask(job, key);
      this.#known.set(key, layout);
      layout.catch(() => this.#known.get(key) === layout && this.#known.delete(key));
      if (this.#known.size > KEPT) this.#known.delete(/** @type {string} */ (this.#known.keys().next().value));
    }
    return layout;
  }

  /** Gives up what is not laid out yet. */
  giveUp() {
    if (this.#waiting.size > 0) this.stop();
  }

  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { key, reject } of this.#waiting.values()) {
      this.#known.delete(key);
      reject(new DOMException("no longer wanted", "AbortError"));
    }
    this.#waiting.clear();
  }

  /** @param {Job} job @param {string} key @returns {Promise<Layout>} */
  #ask(job, key) {
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { key, resolve, reject });
      worker.postMessage({ id, job });
    });
  }

  #start() {
    const worker = new Worker(new URL("./layout-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { id, layout, error } }) => {
      const asked = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (layout) asked?.resolve(layout);
      else asked?.reject(new Error(error));
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      const error = new Error(event.message || "the worker that lays out graphs could not be loaded");
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
      this.#worker = null;
    });
    return worker;
  }
}
