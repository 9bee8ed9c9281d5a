/**
 * Where the sweep comes from: asked once, again when another aggregation is wanted, and when the server has something new.
 */

import { signal } from "@preact/signals-core";
import { readColumns } from "tbcore/lib/columns.js";
import { readSweep } from "./sweep.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Sweep} Sweep
 * @typedef {{ aggregation: string, group?: string, tag?: string, by?: string, extremes?: string }} Question
 */

/** While jobs run there is something new all the time; so often it is asked for, at most. */
const PAUSE_MS = 2000;

export class Source {
  /** What is known; null at first. @type {import("@preact/signals-core").Signal<Sweep | null>} */
  sweep = signal(null);
  /** Why there is nothing newer. */
  error = signal("");
  #host;
  #question = "";
  /** Of the question that `sweep` answers. */
  #answered = "";
  #generation = "";
  /** @type {Promise<void> | null} */ #asking = null;
  #isStale = false;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
    host.onReload(() => this.#refresh());
  }

  /** @param {Question} question @returns {Promise<void>} when the answer is there; does not reject */
  ask(question) {
    const text = new URLSearchParams(Object.entries(question).filter(([, value]) => value !== undefined)).toString();
    if (text === this.#question) return this.#asking ?? Promise.resolve();
    this.#question = text;
    return this.#refresh();
  }

  /** One request at a time; what has changed meanwhile is asked for after it. */
  #refresh() {
    this.#isStale = true;
    this.#asking ??= this.#work().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #work() {
    while (this.#isStale && !this.#host.signal.aborted) {
      this.#isStale = false;
      const question = this.#question;
      try {
        await this.#load(question);
        this.error.value = "";
      } catch (error) {
        if (this.#host.signal.aborted) return;
        this.error.value = error instanceof Error ? error.message : String(error);
      }
      // Another question is asked at once, the same one not that soon.
      if (this.#isStale && question === this.#question) await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }

  /** @param {string} question */
  async #load(question) {
    const known = question === this.#answered ? `&known=${encodeURIComponent(this.#generation)}` : "";
    const response = await this.#host.fetch(`table?${question}${known}`);
    if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
    const answer = readColumns(await response.arrayBuffer());
    if (answer.header.unchanged) return;
    this.#answered = question;
    this.#generation = answer.header.generation;
    this.sweep.value = readSweep(answer);
  }
}
