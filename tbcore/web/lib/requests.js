/**
 * Requests for the data of cards. A response is fetched when its card scrolls into view, and again
 * only after its run has changed. The old value stays on screen until the new one arrives. Only a
 * few requests run at the same time.
 *
 *     const answers = new Answers(host, "numbers", (json) => json.map(readRow)); // once, in render
 *     const { value, error } = useAnswer(answers, { run, tag }, isNear); // in a component
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { readColumns } from "./format.js";

export { readColumns };

/** A browser opens at most six connections to a server, and the rest of the page needs one. */
const MAX_CONCURRENT_REQUESTS = 5;
/** Maximum number of characters of response text that an `Answers` caches, over all cards. */
const MAX_CACHED_CHARS = 60_000_000;

/**
 * @typedef {{ run: string, [name: string]: string | number | undefined }} Params
 *   query parameters of a request; undefined parameters are left out
 */

/**
 * A cached response; `generation` is that of the run at the time of the request.
 * @template T
 * @typedef {{ generation: string, etag: string | null, value: T, numChars: number }} Answer
 */

/** The cached responses of one route. @template T */
export class Answers {
  /** @type {Map<string, Answer<T>>} maps query string to response; least recently used first */
  #answers = new Map();
  /** Characters of all cached responses. */
  #numChars = 0;
  #host;
  #path;
  #read;

  /**
   * @param {Pick<import("tbcore/host.js").Host, "fetch" | "generations">} host
   * @param {string} path  below `data/plugin/<name>/`
   * @param {(json: any) => T} [read]  converts a parsed response to the value to draw; by default
   *   the parsed JSON is that value
   */
  constructor(host, path, read = (json) => json) {
    this.#host = host;
    this.#path = path;
    this.#read = read;
  }

  /** The runs' current generations; a run's generation changes when the run may have new data. */
  get generations() {
    return this.#host.generations.value;
  }

  /** The cached value, however old. @param {Params} params @returns {T | undefined} */
  get(params) {
    return this.#answers.get(queryOf(params))?.value;
  }

  /**
   * The up-to-date value. It is requested only if it is not cached, or if the run has changed
   * since the last request. A response with an unchanged ETag is not parsed again.
   * @param {Params} params
   * @param {AbortSignal} signal  cancels the request
   * @returns {Promise<T>} rejects with the server's error message
   */
  async load(params, signal) {
    const query = queryOf(params);
    const generation = this.generations.of(params.run);
    let answer = this.#answers.get(query);
    if (answer?.generation !== generation) {
      answer = await inTurn(this.#host, (aborted) => this.#fetch(query, generation, aborted), signal);
      this.#numChars += answer.numChars - (this.#answers.get(query)?.numChars ?? 0);
    }
    this.#answers.delete(query);
    // Now the most recently used.
    this.#answers.set(query, answer);
    for (const [oldest, { numChars }] of this.#answers) {
      if (this.#numChars <= MAX_CACHED_CHARS || oldest === query) break;
      this.#answers.delete(oldest);
      this.#numChars -= numChars;
    }
    return answer.value;
  }

  /** Sends a request. @param {string} query @param {string} generation @param {AbortSignal} signal @returns {Promise<Answer<T>>} */
  async #fetch(query, generation, signal) {
    const response = await checked(this.#host.fetch(`${this.#path}?${query}`, { signal }));
    const etag = response.headers.get("etag");
    const text = await response.text();
    const cached = this.#answers.get(query);
    if (cached && etag !== null && etag === cached.etag) return { ...cached, generation };
    return { generation, etag, value: this.#read(JSON.parse(text)), numChars: text.length };
  }
}

/**
 * Preact hook: the value for a tag of a run, which is fetched at once, and again whenever the run
 * changes.
 * @template T
 * @param {Answers<T>} answers
 * @param {Params} params
 * @param {boolean} isEnabled  whether to send requests; false for cards that are far out of view
 * @returns {{ value: T | undefined, error: string }} `value` may be older than `error`
 */
export function useAnswer(answers, params, isEnabled) {
  const query = queryOf(params);
  const load = (/** @type {AbortSignal} */ signal) => answers.load(params, signal);
  const last = useLatest(isEnabled ? load : null, [answers, query], answers.generations.of(params.run));
  // The state of the hook only renders again: the value is read from the cache.
  return { value: answers.get(params), error: last.params[1] === query ? last.error : "" };
}

/**
 * Preact hook: the result of the last request that succeeded, and the error and the `params` of the
 * last one. The parameters are those of `useRefetch`.
 * @template T
 * @param {((signal: AbortSignal) => Promise<T>) | null} load @param {readonly unknown[]} params @param {string} generation
 */
function useLatest(load, params, generation) {
  const [last, setLast] = useState({ value: /** @type {T | undefined} */ (undefined), error: "", params });
  const send = async (/** @type {AbortSignal} */ signal) => {
    try {
      const value = await /** @type {NonNullable<typeof load>} */ (load)(signal);
      if (!signal.aborted) setLast({ value, error: "", params });
    } catch (failure) {
      if (!signal.aborted) setLast(({ value }) => ({ value, error: /** @type {Error} */ (failure).message, params }));
    }
  };
  useRefetch(load && send, params, generation);
  return last;
}

/**
 * Preact hook: sends a request at once, and again after each change of the generation. A newer
 * generation does not cancel a request in flight, or data that changes constantly would never
 * arrive.
 * @param {((signal: AbortSignal) => Promise<void>) | null} send  sends the request; must not
 *   reject. Its signal is aborted when the component unmounts or `params` change. null sends no
 *   requests
 * @param {readonly unknown[]} params  what the request depends on; the same number of items each
 *   time
 * @param {string} generation  changes when there may be new data
 */
export function useRefetch(send, params, generation) {
  const latestSend = useRef(send);
  latestSend.current = send;
  const refetch = useRef(async () => {});
  useEffect(() => void refetch.current(), [generation]);
  useEffect(() => {
    if (!send) return undefined;
    const controller = new AbortController();
    const load = keepUpToDate(async () => latestSend.current?.(controller.signal), controller);
    refetch.current = load;
    load();
    return () => controller.abort();
  }, [send === null, ...params]);
}

/** The query string of a request, which is also its cache key. @param {Params} params */
function queryOf(params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, String(value));
  return query.toString();
}

// --- POST ----------------------------------------------------------------------------------------

/** Longer bodies are compressed. The server accepts 1 MB, and a character has at most 3 bytes. */
const MAX_UNCOMPRESSED_CHARS = 300_000;

/**
 * Sends parameters as JSON in the body of a POST request. The server reads them with
 * `tbcore.http.json_body`.
 *
 *     const response = await post(host, "window", { tag, runs }, signal);
 *
 * @param {Pick<import("tbcore/host.js").Host, "fetch">} host
 * @param {string} path  below `data/plugin/<name>/`
 * @param {object} params
 * @param {AbortSignal} [signal]  cancels the request
 * @returns {Promise<Response>} rejects with the server's error message
 */
export async function post(host, path, params, signal) {
  const text = JSON.stringify(params);
  /** @type {RequestInit} */
  const init = { method: "POST", body: text, signal };
  if (text.length > MAX_UNCOMPRESSED_CHARS) {
    const compressed = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
    init.body = await new Response(compressed).arrayBuffer();
    init.headers = { "Content-Encoding": "gzip" };
  }
  return checked(host.fetch(path, init));
}

/** The response; rejects with the server's error message. @param {Promise<Response>} request */
async function checked(request) {
  const response = await request;
  if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
  return response;
}

// --- queues of tasks -----------------------------------------------------------------------------

/** The requests of each tab. `waiting` starts those that wait. @type {WeakMap<object, { numRunning: number, waiting: Set<() => void> }>} */
const queues = new WeakMap();

/**
 * Runs a request of a tab, after all requests of the tab that were passed before it. At most five
 * run at the same time.
 *
 *     const rows = await inTurn(host, async (aborted) => (await post(host, "rows", params, aborted)).json(), signal);
 *
 * @template T
 * @param {object} host  of the tab
 * @param {(signal: AbortSignal) => Promise<T>} task
 * @param {AbortSignal} signal  removes the task from the queue when aborted; is passed to the task,
 *   which should then stop
 * @returns {Promise<T>} the task's result; rejects with the signal's reason if the task never ran
 */
export async function inTurn(host, task, signal) {
  signal.throwIfAborted();
  const queue = queues.get(host) ?? { numRunning: 0, waiting: new Set() };
  queues.set(host, queue);
  if (queue.numRunning < MAX_CONCURRENT_REQUESTS) queue.numRunning++;
  else {
    await new Promise((resolve, reject) => {
      const start = () => {
        signal.removeEventListener("abort", leave);
        queue.waiting.delete(start);
        resolve(undefined);
      };
      const leave = () => {
        queue.waiting.delete(start);
        reject(signal.reason);
      };
      queue.waiting.add(start);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
  try {
    return await task(signal);
  } finally {
    const [startNext] = queue.waiting;
    if (startNext) startNext();
    else queue.numRunning--;
  }
}

/** Time from a failed update to the next attempt. */
const RETRY_DELAY_MS = 3000;

/**
 * Makes a function that updates something, soon. Only one update runs at a time: calls during an
 * update lead to one more after it, however many there are. A failed update is tried again.
 * @param {() => Promise<unknown>} update
 * @param {object} [options]
 * @param {() => number} [options.interval]  minimum time from the end of an update to the next one, in milliseconds
 * @param {(error: unknown) => void} [options.onError]  called with the reason of each failure
 * @param {AbortSignal} [options.signal]  when aborted, no further update starts
 */
export function keepUpToDate(update, { interval = () => 0, onError, signal } = {}) {
  let isBusy = false;
  let isWanted = false;
  /** When the last update ended, on the clock of `performance.now()`, in milliseconds. */
  let lastEnd = -Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** Resolves after the updates that it starts at once. @returns {Promise<void>} */
  return async function request() {
    isWanted = true;
    if (isBusy || signal?.aborted) return;
    clearTimeout(timer);
    let wait = lastEnd + interval() - performance.now();
    if (wait <= 0) {
      isBusy = true;
      // Calls in one go are one, and an effect that calls does not depend on what the update reads.
      await null;
      isWanted = false;
      try {
        await update();
        wait = Infinity;
      } catch (error) {
        wait = RETRY_DELAY_MS;
        onError?.(error);
      }
      isBusy = false;
      lastEnd = performance.now();
      if (isWanted) return request();
    }
    if (wait < Infinity) timer = setTimeout(request, wait);
  };
}

// --- columns of runs -----------------------------------------------------------------------------

/** @typedef {ReturnType<typeof readColumns>} Columns */

/**
 * Preact hook: columns of some runs, which are fetched at once, and again whenever one of the runs
 * changes. Sends a POST request with the body `{"runs": [...], ...params}`; the route parses it
 * with `json_body` and returns `columns_response`. The old columns stay until the new ones arrive.
 * @param {import("tbcore/host.js").Host} host
 * @param {string} path  the route, below `data/plugin/<name>/`
 * @param {object} params  other fields of the request's body
 * @param {readonly { name: string }[]} runs
 * @param {boolean} isEnabled  whether to send requests; usually the result of `useNear`
 * @returns {{ answer: Columns | null, error: string }} `answer` may be older than `error`
 */
export function useColumns(host, path, params, runs, isEnabled) {
  const names = runs.map(({ name }) => name);
  const body = { runs: names, ...params };
  const generations = host.generations.value;
  const load = async (/** @type {AbortSignal} */ aborted) => readColumns(await (await post(host, path, body, aborted)).arrayBuffer());
  const { value = null, error } = useLatest(
    isEnabled ? (signal) => inTurn(host, load, signal) : null,
    [path, JSON.stringify(body)],
    names.map((name) => generations.of(name)).join(" "),
  );
  return { answer: value, error };
}
