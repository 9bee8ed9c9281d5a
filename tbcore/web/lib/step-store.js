/**
 * Which steps there are of which series, and what was logged at one of them. A few requests at a time.
 */

import { signal } from "@preact/signals-core";
import { Queue } from "./queue.js";
import { orderSteps } from "./steps.js";

/**
 * @typedef {object} Series
 * @property {import("./steps.js").StepItem[] | undefined} items  undefined: not known
 * @property {string} error  why they are not known, or not as of now
 * @property {string} generation  of the run, when they were asked for
 */

/** Browsers open six connections to one server; pictures and clips need some as well. */
const MOST_REQUESTS = 3;

export class StepStore {
  #host;
  #queue = new Queue(MOST_REQUESTS);
  /** @type {Map<string, Series>} */ #series = new Map();
  #isAnnounced = false;
  /** Changes when `of` has other answers. */
  version = signal(0);

  /** @param {import("tbcore/host.js").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * @param {string} run
   * @param {string} tag
   * @returns {Series | undefined} undefined: never asked for
   */
  of(run, tag) {
    return this.#series.get(keyOf(run, tag));
  }

  /**
   * The steps of all series that are known, of some runs and tags.
   * @param {(run: string, tag: string) => boolean} matches
   */
  known(matches) {
    return [...this.#series].flatMap(([key, { items = [] }]) => (matches(.../** @type {[string, string]} */ (JSON.parse(key))) ? [items] : []));
  }

  /**
   * Asks for the steps of a series, unless they are those of this generation.
   * @param {string} run
   * @param {string} tag
   * @param {string} generation
   * @param {AbortSignal} signal  drops the question while it waits
   */
  async load(run, tag, generation, signal) {
    const key = keyOf(run, tag);
    if (this.#series.get(key)?.generation === generation) return;
    try {
      const columns = await this.#queue.add(() => this.#host.fetchJSON("steps", { run, tag }), signal);
      this.#set(key, { items: orderSteps(columns), error: "", generation });
    } catch (failure) {
      if (signal.aborted) return;
      this.#set(key, { items: this.#series.get(key)?.items, error: /** @type {Error} */ (failure).message, generation });
    }
  }

  /**
   * What was logged together in one step.
   * @param {string} run
   * @param {string} tag
   * @param {import("./steps.js").StepItem} item
   * @param {AbortSignal} signal  drops the question while it waits
   * @returns {Promise<any[]>}
   */
  entries(run, tag, { index }, signal) {
    return this.#queue.add(() => this.#host.fetchJSON("step", { run, tag, index }), signal);
  }

  /**
   * @param {string} key
   * @param {Series} series
   */
  #set(key, series) {
    this.#series.set(key, series);
    // Once for all answers that come together.
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    setTimeout(() => {
      this.#isAnnounced = false;
      this.version.value++;
    });
  }
}

/**
 * @param {string} run
 * @param {string} tag
 */
function keyOf(run, tag) {
  return JSON.stringify([run, tag]);
}
