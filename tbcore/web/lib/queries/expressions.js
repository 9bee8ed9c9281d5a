/**
 * Regular expressions and queries of users. A browser may take years for an expression as short as
 * `(\w+\s?)+$`, and it may come from a link. So a worker matches the names, with a deadline. Loaded
 * when the first expression or query is needed.
 */

import { signal } from "@preact/signals-core";
import { expressionQuery } from "../address.js";
import { TOO_LONG } from "./expression-syntax.js";
import { aboutUnknown, aboutValue, hasPair, withEquals, withSigns } from "./offers.js";

/**
 * @typedef {import("./expression-worker.js").Result} Result
 * @typedef {import("./expression-worker.js").Answer} Answer
 * @typedef {import("./expression-worker.js").Question} Question
 * @typedef {import("./expression-worker.js").Need} Need
 * @typedef {import("./filter.js").Attributes} Attributes
 * @typedef {import("./filter.js").Offer} Offer
 */

/** Number of names that the worker matches at once. */
const NAMES_AT_ONCE = 5000;
/** Time that it has for them. */
const DEADLINE_MS = 200;
/** Number of expressions whose results are kept. */
const MAX_EXPRESSIONS = 100;
/** What is like an expression, and is no query for one. */
const LIKE_EXPRESSION = /^(?!\s*re:).*(?:[\^$\\[(]|\.\*)/is;
/** Stands for a result that the worker was asked for. */
const ASKED = 0;

/** The latest expressions. @type {Map<string, Expression>} */
const expressions = new Map();
/** All names that the worker was asked about, and their numbers. @type {Map<string, number>} */
const numbers = new Map();
/** The same names, by number. @type {string[]} */
const names = [];
/** The number of these names that the worker has. */
let numSent = 0;
/** Expressions that have something to ask. @type {Set<Expression>} */
const waiting = new Set();
/** @type {Worker | null} */
let worker = null;
let isBusy = false;

/** An expression or query, and what is known of it. The worker finds out the rest. */
class Expression {
  /** The number of answers with new results. Whatever depends on the results reads it, to be updated. */
  numAnswers = signal(0);
  /** Why the expression cannot be used; null if it can. @type {string | null} */
  error = null;
  /** The character where a query has a mistake. @type {number | undefined} */
  at = undefined;
  /** The query that is meant by one with a mistake. @type {Offer | undefined} */
  #offer = undefined;
  /** What a query needs of each run; null until that is known, or if it needs nothing. */
  keys = signal(/** @type {readonly string[] | null} */ (null));
  /** @type {readonly Need[]} */
  #needs = [];
  /** Whether the worker has read the text. */
  #isRead = false;
  /** Whether there are results that `numAnswers` does not count yet; before the first, even if there are no names. */
  #hasNews = true;
  /** What is known of the runs, in the order of `keys`. @type {readonly ReadonlyMap<string, unknown>[] | null} */
  #columns = null;
  /** By the numbers of names. @type {(Result | typeof ASKED)[]} */
  #results = [];
  /** The numbers of names that the worker will be asked about. @type {number[]} */
  #toAsk = [];

  /** @param {string} text @param {Question["kind"]} kind */
  constructor(text, kind) {
    this.text = text;
    this.kind = kind;
    wait(this);
  }

  /** The result for a name. It is undefined until the worker, which is asked now, has answered. @param {string} name */
  of(name) {
    let number = numbers.get(name);
    if (number === undefined) {
      number = names.push(name) - 1;
      numbers.set(name, number);
    }
    const result = this.#results[number];
    if (result === undefined && this.error === null) {
      this.#results[number] = ASKED;
      this.#toAsk.push(number);
      if (!this.isMissing) wait(this);
    }
    return result === ASKED ? undefined : result;
  }

  /** Whether the query needs something that is not known yet. */
  get isMissing() {
    return this.keys.value !== null && this.#columns === null;
  }

  /** Uses what is known of the runs now; after a change, the worker is asked about all names again. @param {Attributes} attributes */
  update(attributes) {
    const columns = this.keys.value?.map((key) => attributes.columnOf(key).value);
    const isKnown = columns?.every((column) => column !== null);
    if (!columns || !isKnown || columns.every((column, i) => column === this.#columns?.[i])) return;
    this.#columns = columns;
    this.#toAsk = [...this.#results.keys()].filter((number) => this.#results[number] !== undefined);
    wait(this);
  }

  /** Returns the next question for the worker. @returns {Question} */
  ask() {
    const { text, kind } = this;
    // The first question finds out what a query needs: it is answered sooner without names.
    if (kind === "runs" && !this.#isRead) return { text, kind, added: [], asked: [], columns: null };
    const asked = this.#toAsk.splice(0, NAMES_AT_ONCE);
    const columns = this.#columns?.map((column) => asked.map((number) => column.get(names[number]) ?? null));
    const byKey = columns && new Map(columns.map((column, i) => [this.keys.peek()?.[i] ?? "", column]));
    const added = names.slice(numSent);
    numSent = names.length;
    return { text, kind, added, asked, columns: byKey ?? null };
  }

  /** @param {Question} question @param {Answer} answer */
  receive({ asked }, answer) {
    this.#isRead = true;
    if ("error" in answer) [this.error, this.at, this.#offer] = [answer.error, answer.at, answer.offer];
    else if ("keys" in answer) {
      this.#needs = answer.needs;
      this.keys.value = answer.keys;
      return;
    } else {
      for (const [i, result] of answer.results.entries()) {
        this.#hasNews ||= this.#results[asked[i]] !== result;
        this.#results[asked[i]] = result;
      }
    }
    if (this.error === null && this.#toAsk.length > 0) wait(this);
    else if (this.#hasNews || this.error !== null) {
      this.#hasNews = false;
      this.numAnswers.value++;
    }
  }

  /** The notes on a query: what is missing, and other queries that may be meant. @param {Attributes} [attributes] */
  describe(attributes) {
    const { text, error, kind } = this;
    if (this.isMissing) return { note: attributes?.error.value ? `Cannot read values: ${attributes.error.value}` : "Reading values…", offers: [] };
    const findsNothing = error === null && this.numAnswers.value > 0 && !this.#results.some((result) => result === true);
    const about = (error === null && this.#aboutUnknown(attributes)) || (findsNothing && this.#aboutValues());
    /** @type {Offer[]} */
    const offers = about ? [...about.offers] : [];
    if (this.#offer) offers.push(this.#offer);
    const signs = findsNothing && (kind === "runs" || kind === "tags") ? withSigns(text, kind) : [];
    offers.push(...signs);
    if (findsNothing && kind === "runs" && hasPair(text)) offers.push(...withEquals(text, namesOf(attributes)));
    if ((error !== null || findsNothing) && signs.length === 0 && LIKE_EXPRESSION.test(text)) offers.push({ label: "Search as an expression", text: expressionQuery(text) });
    return { note: about ? about.note : "", offers };
  }

  /** The note on the first name that no run has; null if there is none. @param {Attributes} [attributes] */
  #aboutUnknown(attributes) {
    const unknown = attributes?.unknown.value;
    const missing = this.#needs.find(({ key }) => unknown?.has(key));
    return missing ? aboutUnknown(this.text, missing, unknown?.get(missing.key) ?? [], namesOf(attributes)) : null;
  }

  /** The note on the first value that no run has; null if there is none. */
  #aboutValues() {
    const keys = this.keys.peek() ?? [];
    for (const need of this.#needs) {
      const about = aboutValue(this.text, need, this.#columns?.[keys.indexOf(need.key)]?.values() ?? []);
      if (about) return about;
    }
    return null;
  }
}

/** The names that runs have; null until they are read, for which this asks. @param {Attributes} [attributes] */
function namesOf(attributes) {
  // Later, since a computed signal may not change others.
  queueMicrotask(() => attributes?.wantNames?.());
  return attributes?.names?.value ?? null;
}

/**
 * The expression with this text.
 * @param {string} text
 * @param {boolean} [captures]  whether its results are the texts that its capture groups match, not
 *   whether it matches
 */
export function expressionOf(text, captures = false) {
  return find(text, captures ? "captures" : "matches");
}

/** The expression or query with this text. @param {string} text @param {Question["kind"]} kind */
export function find(text, kind) {
  const key = `${kind} ${text}`;
  const expression = expressions.get(key) ?? new Expression(text, kind);
  expressions.delete(key);
  expressions.set(key, expression);
  if (expressions.size > MAX_EXPRESSIONS) expressions.delete([...expressions.keys()][0]);
  return expression;
}

/** Asks the worker soon, when the names to ask about are known. @param {Expression} expression */
function wait(expression) {
  if (waiting.has(expression)) return;
  waiting.add(expression);
  setTimeout(askNext);
}

/** Asks the worker about the newest expression, unless it is busy, and then about the others. */
async function askNext() {
  const expression = [...waiting].at(-1);
  if (isBusy || !expression) return;
  waiting.delete(expression);
  isBusy = true;
  const question = expression.ask();
  const answer = await answerTo(question);
  isBusy = false;
  expression.receive(question, answer);
  askNext();
}

/** Starts the worker, unless there is one. */
export function startWorker() {
  return (worker ??= new Worker(new URL("expression-worker.js", import.meta.url), { type: "module", name: "tbcore expressions" }));
}

/** The worker's answer. A worker that takes too long is ended. @param {Question} question @returns {Promise<Answer>} */
function answerTo(question) {
  const asked = startWorker();
  return new Promise((resolve) => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const stop = (/** @type {string} */ error) => {
      clearTimeout(timer);
      asked.terminate();
      worker = null;
      numSent = 0;
      resolve({ error });
    };
    asked.onmessage = ({ data }) => {
      clearTimeout(timer);
      // The answer may have arrived while the page was busy: a second timer lets it go first.
      if (data === "started") timer = setTimeout(() => (timer = setTimeout(stop, 0, TOO_LONG)), DEADLINE_MS);
      else resolve(data);
    };
    asked.onerror = () => stop("its worker does not start");
    asked.postMessage(question);
  });
}
