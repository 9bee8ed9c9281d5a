/**
 * Regular expressions and queries of users. A browser may take years for an expression as short as
 * `(\w+\s?)+$`, which may come from a link. So a worker matches the names, with a deadline. This
 * module is loaded when the first expression or query is needed.
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
/** Time in which the worker must match so many names. */
const DEADLINE_MS = 200;
/** Number of expressions whose results are kept. */
const MAX_EXPRESSIONS = 100;
/** Matches a text that looks like a regular expression, but is a query without `re:`. */
const LIKE_EXPRESSION = /^(?!\s*re:).*(?:[\^$\\[(]|\.\*)/is;
/** In place of a result: the worker will match the name. */
const ASKED = 0;

/** The latest expressions. @type {Map<string, Expression>} */
const expressions = new Map();
/** The number of each name that was passed to the worker, or will be. @type {Map<string, number>} */
const numbers = new Map();
/** The same names, by number. @type {string[]} */
const names = [];
/** How many of these names the worker has. */
let numSent = 0;
/** Expressions that have names to match. @type {Set<Expression>} */
const waiting = new Set();
/** @type {Worker | null} */
let worker = null;
let isBusy = false;

/** An expression or query, with the results that the worker has returned so far. */
class Expression {
  /** The number of answers with new results. What depends on the results reads it, so that it is updated. */
  numAnswers = signal(0);
  /** Why the expression cannot be used; null if it can. @type {string | null} */
  error = null;
  /** The character where a query has a mistake. @type {number | undefined} */
  at = undefined;
  /** The query that was probably meant, if this one has a mistake. @type {Offer | undefined} */
  #offer = undefined;
  /** The keys of the attributes that a query needs; null until they are known, or if it needs none. */
  keys = signal(/** @type {readonly string[] | null} */ (null));
  /** @type {readonly Need[]} */
  #needs = [];
  /** Whether the worker has read the text. */
  #isRead = false;
  /** Whether there are results that `numAnswers` does not count yet. True at first, so that the first answer is counted even without names. */
  #hasNews = true;
  /** The attributes of the runs, in the order of `keys`; null until all are loaded. @type {readonly ReadonlyMap<string, unknown>[] | null} */
  #columns = null;
  /** The results, by the numbers of names. @type {(Result | typeof ASKED)[]} */
  #results = [];
  /** The numbers of the names that the worker will match. @type {number[]} */
  #toAsk = [];

  /** @param {string} text @param {Question["kind"]} kind */
  constructor(text, kind) {
    this.text = text;
    this.kind = kind;
    wait(this);
  }

  /** The result for a name; undefined until the worker has matched it. This call queues the name. @param {string} name */
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

  /** Whether the query needs attributes that are not loaded yet. */
  get isMissing() {
    return this.keys.value !== null && this.#columns === null;
  }

  /** Uses the attributes that are loaded now. If they have changed, the worker matches all names again. @param {Attributes} attributes */
  update(attributes) {
    const columns = this.keys.value?.map((key) => attributes.columnOf(key).value);
    const isKnown = columns?.every((column) => column !== null);
    if (!columns || !isKnown || columns.every((column, i) => column === this.#columns?.[i])) return;
    this.#columns = columns;
    this.#toAsk = [...this.#results.keys()].filter((number) => this.#results[number] !== undefined);
    wait(this);
  }

  /** Makes the next question for the worker. @returns {Question} */
  ask() {
    const { text, kind } = this;
    // The answer to the first question is what the query needs. Without names, it comes sooner.
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
    if ("error" in answer) {
      this.error = answer.error;
      this.at = answer.at;
      this.#offer = answer.offer;
    } else if ("keys" in answer) {
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

/** The names that runs have; null until they are read. This call requests them. @param {Attributes} [attributes] */
function namesOf(attributes) {
  // Later, because a computed signal must not change other signals.
  queueMicrotask(() => attributes?.wantNames?.());
  return attributes?.names?.value ?? null;
}

/**
 * The expression with this text.
 * @param {string} text
 * @param {boolean} [captures]  if true, the result for a name is the text that the capture groups
 *   match; otherwise it is whether the expression matches
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

/** Sends the next question soon, when more names are queued. @param {Expression} expression */
function wait(expression) {
  if (waiting.has(expression)) return;
  waiting.add(expression);
  setTimeout(askNext);
}

/** Sends the question of the newest expression, unless the worker is busy, and then those of the others. */
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

/** The worker's answer. A worker that takes too long is terminated. @param {Question} question @returns {Promise<Answer>} */
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
      // The answer may have arrived while the page was busy. It is handled before the second timer.
      if (data === "started") timer = setTimeout(() => (timer = setTimeout(stop, 0, TOO_LONG)), DEADLINE_MS);
      else resolve(data);
    };
    asked.onerror = () => stop("its worker does not start");
    asked.postMessage(question);
  });
}
