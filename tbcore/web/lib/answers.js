/**
 * What a server said of tags in runs: asked when a card comes into sight, a few at a time, and asked again only when the
 * run has changed. What was fetched stays on the screen until what is newer is there.
 *
 *     const answers = new Answers(host, "numbers", (json) => json.map(readRow)); // once, in render
 *     const { value, error } = useAnswer(answers, { run, tag }, isNear); // in a component
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { Queue, takingTurns } from "./queue.js";

/** Requests at a time: a browser opens six connections, and the page needs one. */
const LIMIT = 5;
/** Characters of answers that are kept for cards that may come back. */
const KEPT_LENGTH = 60_000_000;

/**
 * @typedef {{ run: string, tag: string, [name: string]: string | number | undefined }} Question  the parameters of a
 *   request; those that are undefined are left out
 */

/**
 * @template T
 * @typedef {{ generation: string, etag: string | null, value: T, length: number }} Answer
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
   * @param {string} path  below `data/plugin/<name>/`
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

  /** What is known, however old. @param {Question} question @returns {T | undefined} */
  get(question) {
    return this.#answers.get(keyOf(question))?.value;
  }

  /**
   * What the server has; asked only when the run has changed. An answer that is what it was, by its ETag, is not read again.
   * @param {Question} question
   * @param {AbortSignal} signal  ends the asking
   * @returns {Promise<T>} rejects with what the server said
   */
  async load(question, signal) {
    const key = keyOf(question);
    const generation = this.generations.of(question.run);
    const known = this.#answers.get(key);
    if (known?.generation === generation) {
      this.#answers.delete(key);
      this.#answers.set(key, known); // used last
      return known.value;
    }
    const answer = await this.#queue.add((ending) => this.#ask(key, known, ending), signal);
    this.#forget(key);
    this.#answers.set(key, { ...answer, generation });
    this.#length += answer.length;
    for (const old of this.#answers.keys()) {
      if (this.#length <= KEPT_LENGTH || old === key) break;
      this.#forget(old);
    }
    return answer.value;
  }

  /**
   * @param {string} query
   * @param {Answer<T> | undefined} known
   * @param {AbortSignal} signal
   * @returns {Promise<Omit<Answer<T>, "generation">>}
   */
  async #ask(query, known, signal) {
    const response = await this.#host.fetch(`${this.#path}?${query}`, { signal });
    const etag = response.headers.get("etag");
    const text = await response.text();
    if (!response.ok) throw new Error(text.trim() || `status ${response.status}`);
    if (known && etag !== null && etag === known.etag) return known;
    return { etag, value: this.#read(JSON.parse(text)), length: text.length };
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
 * @param {Question} question
 * @param {boolean} isWanted  false: nothing is asked, as of cards far away
 * @returns {{ value: T | undefined, error: string }} `value` may be older than `error`
 */
export function useAnswer(answers, question, isWanted) {
  const key = keyOf(question);
  const [failed, setFailed] = useState({ key, error: "" });
  const [, setValue] = useState(/** @type {T | undefined} */ (undefined));
  const ask = async (/** @type {AbortSignal} */ signal) => {
    try {
      const value = await answers.load(question, signal);
      if (signal.aborted) return;
      setValue(value);
      setFailed({ key, error: "" });
    } catch (failure) {
      if (!signal.aborted) setFailed({ key, error: /** @type {Error} */ (failure).message });
    }
  };
  useAsking(isWanted ? ask : null, [answers, key], answers.generations.of(question.run));
  return { value: answers.get(question), error: failed.key === key ? failed.error : "" };
}

/**
 * Asks, and again whenever there may be something new: not while it is being asked, or of a run that grows all the time
 * nothing would ever be there.
 * @param {((signal: AbortSignal) => Promise<void>) | null} ask  null: nothing is wanted. Does not reject; the signal ends it with
 *   the component, and when the question is another one
 * @param {readonly unknown[]} question  always as many parts
 * @param {string} generation  changes when there may be something new
 */
export function useAsking(ask, question, generation) {
  const latest = useRef(ask);
  latest.current = ask;
  const askAgain = useRef(() => {});
  useEffect(() => askAgain.current(), [generation]);
  useEffect(() => {
    if (!ask) return undefined;
    const leaving = new AbortController();
    const load = takingTurns(leaving.signal, async () => latest.current?.(leaving.signal));
    askAgain.current = () => void load();
    load();
    return () => {
      leaving.abort();
      askAgain.current = () => {};
    };
  }, [ask === null, ...question]);
}

/** @param {Question} question */
function keyOf(question) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(question)) if (value !== undefined) query.set(name, String(value));
  return query.toString();
}
