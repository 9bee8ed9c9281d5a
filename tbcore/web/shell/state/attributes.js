/**
 * What is known about each run beyond its name: hyperparameters, values of tags, the last step and
 * times. The run list's columns, groups and colours use it. It is read from the server only while
 * something wants it.
 *
 * An attribute is named by a text as on the left of a comparison in a query: `lr`, `"my param"`,
 * `val/loss:last`, `loss:at(1000)`, `loss:change(1000)`, `step`, `age` or `took`. Only the server reads such texts.
 */

import { computed, signal } from "@preact/signals-core";
import { keepReading } from "./attribute-reader.js";

/** @import { ReadonlySignal, Signal } from "@preact/signals-core" */
/** @import { Names } from "../../lib/queries/completions.js" */
/** @import { Attribute } from "../../lib/queries/names.js" */
/** @import { ServerState } from "./server-state.js" */

/**
 * @typedef {number | string | boolean} AttributeValue  times in seconds
 *
 * @typedef {{ hparams: readonly string[], tags: readonly string[] }} AttributeNames  the names of all
 *   hyperparameters, and the scalar tags, those of most runs first; at most 1,000 each
 *
 * @typedef {object} Column  what is known of an attribute; null while it is read. Runs that lack it
 *   are not in the maps
 * @property {Signal<Meaning | null>} meaning
 * @property {Signal<ReadonlyMap<string, AttributeValue> | null>} values  by run
 * @property {Signal<ReadonlyMap<string, number> | null>} steps  the step of each value of a tag
 *
 * @typedef {{ text: string, attribute: Attribute } | { error: string }} Meaning  what a text names,
 *   with the one text that all texts of this attribute have in common; or what is wrong with it
 */

/** The attributes of each page. @type {WeakMap<ServerState, Attributes>} */
const opened = new WeakMap();

/** The attributes of a page's runs. @param {ServerState} state */
export function attributesFor(state) {
  const attributes = opened.get(state) ?? new Attributes(state);
  opened.set(state, attributes);
  return attributes;
}

/** What completes queries: the names of all attributes, which are kept up to date from now on, and words of notes; null until they are read. @param {ServerState} state @returns {ReadonlySignal<(AttributeNames & Pick<Names, "words">) | null>} */
export function namesFor(state) {
  const attributes = attributesFor(state);
  attributes.areNamesWanted.value = true;
  return computed(() => attributes.names.value && { ...attributes.names.value, words: state.notes.value?.words.value });
}

/** The attributes of all runs. */
export class Attributes {
  /** The attributes that are wanted. @type {Signal<ReadonlySet<string>>} */
  wanted = signal(new Set());
  /** Whether the names are wanted, and kept up to date. */
  areNamesWanted = signal(false);
  /** Null until they are read. @type {Signal<AttributeNames | null>} */
  names = signal(null);
  /** The wanted attributes that no run has, and the close ones that some run has. @type {Signal<ReadonlyMap<string, readonly string[]>>} */
  unknown = signal(new Map());
  /** Why attributes cannot be read; null if they can. @type {Signal<string | null>} */
  error = signal(null);
  /** By attribute. @type {Map<string, Column>} */
  #columns = new Map();
  /** What was asked for and is still wanted. @type {Set<readonly string[]>} */
  #asked = new Set();

  /** @param {ServerState} state */
  constructor(state) {
    keepReading(this, state);
  }

  /**
   * Asks for attributes until the function that it returns is called.
   * @param {readonly string[]} texts
   */
  want(texts) {
    const own = [...texts];
    this.#asked.add(own);
    this.#update();
    return () => {
      this.#asked.delete(own);
      this.#update();
    };
  }

  /** The values of an attribute by run; null until they are read. @param {string} text */
  valuesOf = (text) => this.column(text).values.value;

  /** What is wrong with a text that names no attribute; null if nothing is, or while it is read. @param {string} text */
  mistakeIn(text) {
    const meaning = this.column(text).meaning.value;
    return meaning && "error" in meaning ? meaning.error : null;
  }

  /** The text that all texts of an attribute have in common; the same text until it is known. @param {string} text */
  nameOf = (text) => {
    const meaning = this.column(text).meaning.value;
    return meaning && "attribute" in meaning ? meaning.text : text;
  };

  /** @param {string} text */
  column(text) {
    const column = this.#columns.get(text) ?? { meaning: signal(null), values: signal(null), steps: signal(null) };
    this.#columns.set(text, column);
    return column;
  }

  #update() {
    const wanted = new Set([...this.#asked].flat());
    const before = this.wanted.peek();
    if (wanted.size !== before.size || [...wanted].some((text) => !before.has(text))) this.wanted.value = wanted;
  }
}
