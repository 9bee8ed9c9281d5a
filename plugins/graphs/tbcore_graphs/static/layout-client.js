/**
 * Lays out scopes in a worker, and caches the layouts.
 */

/** @typedef {import("./types.js").Job} Job @typedef {import("./types.js").Layout} Layout */

/** Most layouts in the cache: enough to close scopes and open them again without a new layout. */
const MAX_CACHED_LAYOUTS = 300;

export class LayoutClient {
  /** @type {Worker | null} */ #worker = null;
  /** @type {Map<number, { key: string, resolve: (layout: Layout) => void, reject: (error: Error) => void }>} */ #pending = new Map();
  /** @type {Map<string, Promise<Layout>>} */ #cache = new Map();
  #lastId = 0;

  /**
   * The layout of a scope.
   * @param {Job} job
   * @returns {Promise<Layout>} rejects if the layout fails or is cancelled
   */
  layOut(job) {
    const key = JSON.stringify(job);
    let layout = this.#cache.get(key);
    if (!layout) {
      layout = this.#request(job, key);
      this.#cache.set(key, layout);
      layout.catch(() => this.#cache.get(key) === layout && this.#cache.delete(key));
      if (this.#cache.size > MAX_CACHED_LAYOUTS) this.#cache.delete(/** @type {string} */ (this.#cache.keys().next().value));
    }
    return layout;
  }

  /** Cancels all layouts that are not finished. */
  cancelPending() {
    if (this.#pending.size > 0) this.stop();
  }

  /** Stops the worker; the next layout starts another. */
  stop() {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { key, reject } of this.#pending.values()) {
      this.#cache.delete(key);
      reject(new DOMException("layout cancelled", "AbortError"));
    }
    this.#pending.clear();
  }

  /** Sends a job to the worker. @param {Job} job @param {string} key @returns {Promise<Layout>} */
  #request(job, key) {
    const worker = (this.#worker ??= this.#start());
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { key, resolve, reject });
      worker.postMessage({ id, job });
    });
  }

  /** Starts a worker. */
  #start() {
    const worker = new Worker(new URL("./layout-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { id, layout, error } }) => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (layout) pending?.resolve(layout);
      else pending?.reject(new Error(error));
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      const error = new Error(event.message || "could not load the worker that lays out graphs");
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
      this.#worker = null;
    });
    return worker;
  }
}
