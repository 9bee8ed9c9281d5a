/**
 * Fetches and caches the server's responses for tags of runs. A response is fetched when its card
 * scrolls into view, and again only after its run has changed. The old value stays on screen until
 * the new one arrives. Only a few requests run at the same time.
 *
 *     const answers = new Answers(host, "numbers", (json) => json.map(readRow)); // once, in render
 *     const { value, error } = useAnswer(answers, { run, tag }, isNear); // in a component
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { Queue, takingTurns } from "./queue.js";

/** A browser opens at most six connections to a server, and the rest of the page needs one. */
const MAX_CONCURRENT_REQUESTS = 5;
/** Maximum number of characters of response text that an `Answers` caches, over all cards. */
const MAX_CACHED_CHARS = 60_000_000;

/**
 * @typedef {{ run: string, tag: string, [name: string]: string | number | undefined }} Params
 *   query parameters of a request; undefined parameters are left out
 */

/**
 * @template T
 * @typedef {{ generation: string, etag: string | null, value: T, numChars: number }} Answer
 *   a cached response; `generation` is the generation of the run at the time of the request
 */

/** The cached responses of one route. @template T */
export class Answers {
  /** @type {Map<string, Answer<T>>} maps query string to response; least recently used first */
  #answers = new Map();
  #queue = new Queue(MAX_CONCURRENT_REQUESTS);
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
    const cached = this.#answers.get(query);
    if (cached?.generation === generation) {
      this.#answers.delete(query);
      this.#answers.set(query, cached); // now the most recently used
      return cached.value;
    }
    const answer = await this.#queue.add((aborted) => this.#fetch(query, cached, aborted), signal);
    this.#evict(query);
    this.#answers.set(query, { ...answer, generation });
    this.#numChars += answer.numChars;
    for (const oldest of this.#answers.keys()) {
      if (this.#numChars <= MAX_CACHED_CHARS || oldest === query) break;
      this.#evict(oldest);
    }
    return answer.value;
  }

  /**
   * Sends a request. Returns the cached response if the server's response has the same ETag.
   * @param {string} query
   * @param {Answer<T> | undefined} cached
   * @param {AbortSignal} signal
   * @returns {Promise<Omit<Answer<T>, "generation">>}
   */
  async #fetch(query, cached, signal) {
    const response = await this.#host.fetch(`${this.#path}?${query}`, { signal });
    const etag = response.headers.get("etag");
    const text = await response.text();
    if (!response.ok) throw new Error(text.trim() || `status ${response.status}`);
    if (cached && etag !== null && etag === cached.etag) return cached;
    return { etag, value: this.#read(JSON.parse(text)), numChars: text.length };
  }

  /** Removes a response from the cache. @param {string} query */
  #evict(query) {
    this.#numChars -= this.#answers.get(query)?.numChars ?? 0;
    this.#answers.delete(query);
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
  const [failed, setFailed] = useState({ query, error: "" });
  // Setting this state only renders the component again: the value is read from the cache.
  const [, setValue] = useState(/** @type {T | undefined} */ (undefined));
  const load = async (/** @type {AbortSignal} */ signal) => {
    try {
      const value = await answers.load(params, signal);
      if (signal.aborted) return;
      setValue(value);
      setFailed({ query, error: "" });
    } catch (failure) {
      if (!signal.aborted) setFailed({ query, error: /** @type {Error} */ (failure).message });
    }
  };
  useAsking(isEnabled ? load : null, [answers, query], answers.generations.of(params.run));
  return { value: answers.get(params), error: failed.query === query ? failed.error : "" };
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
export function useAsking(send, params, generation) {
  const latestSend = useRef(send);
  latestSend.current = send;
  const refetch = useRef(() => {});
  useEffect(() => refetch.current(), [generation]);
  useEffect(() => {
    if (!send) return undefined;
    const controller = new AbortController();
    const load = takingTurns(controller.signal, async () => latestSend.current?.(controller.signal));
    refetch.current = () => void load();
    load();
    return () => {
      controller.abort();
      refetch.current = () => {};
    };
  }, [send === null, ...params]);
}

/** The query string of a request, which is also its cache key. @param {Params} params */
function queryOf(params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, String(value));
  return query.toString();
}
