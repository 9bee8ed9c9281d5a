/**
 * What a server said of tags in runs: asked when a card comes into sight, a few at a time, and asked again only when the
 * run has changed. What was fetched stays on the screen until what is newer is there.
 *
 *     const answers = new Answers(host, "numbers", (json) => json.map(readRow)); // once, in render
 *     const { value, error } = useAnswer(answers, run, tag, isNear); // in a component
 */

import { useEffect, useState } from "preact/hooks";
import { Queue } from "./queue.js";

/** Requests at a time: a browser opens six connections, and the page needs one. */
const LIMIT = 5;
/** Characters of answers that are kept for cards that may come back. */
const KEPT_LENGTH = 60_000_000;

/**
 * @template T
 * @typedef {{ generation: string, value: T, length: number }} Answer
 */

/** @template T */
export class Answers {
  /** @type {Map<string, Answer<T>>} least recently used first */ #answers = new Map();
  #queue = new Queue(LIMIT);
  #length = 0;
  #host;
  #path;
  #read;

  /**
   * @param {Pick<import("tbcore/host.js").Host, "fetch" | "generations">} host
   * @param {string} path  below `data/plugin/<name>/`; gets the parameters `run` and `tag`
   * @param {(json: any) => T} [read]  makes of an answer what is drawn; what JSON has, unless told
   */
  constructor(host, path, read = (json) => json) {
    this.#host = host;
    this.#path = path;
    this.#read = read;
  }

  /** The generations of the runs, which change when there may be something new. */
  get generations() {
    return this.#host.generations.value;
  }

  /** What is known, however old. @param {string} run @param {string} tag @returns {T | undefined} */
  get(run, tag) {
    return this.#answers.get(keyOf(run, tag))?.value;
  }

  /**
   * What the server has; asked only when the run has changed.
   * @param {string} run
   * @param {string} tag
   * @param {AbortSignal} signal  ends the asking
   * @returns {Promise<T>} rejects with what the server said
   */
  async load(run, tag, signal) {
    const key = keyOf(run, tag);
    const generation = this.generations.of(run);
    const known = this.#answers.get(key);
    if (known?.generation === generation) {
      this.#answers.delete(key);
      this.#answers.set(key, known); // used last
      return known.value;
    }
    const text = await this.#queue.add(async (ending) => {
      const query = new URLSearchParams({ run, tag });
      const response = await this.#host.fetch(`${this.#path}?${query}`, { signal: ending });
      const said = await response.text();
      if (!response.ok) throw new Error(said.trim() || `status ${response.status}`);
      return said;
    }, signal);
    const value = this.#read(JSON.parse(text));
    this.#forget(key);
    this.#answers.set(key, { generation, value, length: text.length });
    this.#length += text.length;
    for (const old of this.#answers.keys()) {
      if (this.#length <= KEPT_LENGTH || old === key) break;
      this.#forget(old);
    }
    return value;
  }

  /** @param {string} key */
  #forget(key) {
    this.#length -= this.#answers.get(key)?.length ?? 0;
    this.#answers.delete(key);
  }
}

/**
 * What the server has of a tag in a run, now and whenever the run changes.
 * @template T
 * @param {Answers<T>} answers
 * @param {string} run
 * @param {string} tag
 * @param {boolean} isWanted  false: nothing is asked, as of cards far away
 * @returns {{ value: T | undefined, error: string }} `value` may be older than `error`
 */
export function useAnswer(answers, run, tag, isWanted) {
  const [error, setError] = useState("");
  const [, setValue] = useState(/** @type {T | undefined} */ (undefined));
  const generation = answers.generations.of(run);
  useEffect(() => {
    if (!isWanted) return undefined;
    const leaving = new AbortController();
    answers.load(run, tag, leaving.signal).then(
      (value) => {
        if (leaving.signal.aborted) return;
        setValue(value);
        setError("");
      },
      (failure) => leaving.signal.aborted || setError(failure.message),
    );
    return () => leaving.abort();
  }, [answers, run, tag, isWanted, generation]);
  return { value: answers.get(run, tag), error };
}

/** @param {string} run @param {string} tag */
function keyOf(run, tag) {
  return JSON.stringify([run, tag]);
}
