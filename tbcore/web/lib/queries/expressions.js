/**
 * Regular expressions and queries for tags of users. A browser may take years for an expression as
 * short as `(\w+\s?)+$`, which may come from a link. So a worker matches the names, with a deadline.
 * This module is loaded when the first expression or query is needed.
 */

import { signal } from "@preact/signals-core";
import { TOO_LONG } from "./expression-syntax.js";
import { offersFor } from "./offers.js";

/**
 * @typedef {import("./expression-worker.js").Result} Result
 * @typedef {import("./expression-worker.js").Answer} Answer
 * @typedef {import("./expression-worker.js").Question} Question
 */

/** Number of names that the worker matches at once. */
const NAMES_AT_ONCE = 5000;
/** Time in which the worker must match so many names. */
const DEADLINE_MS = 200;
/** Number of expressions whose results are kept. */
const MAX_EXPRESSIONS = 100;
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
  /** Whether there are results that `numAnswers` does not count yet. True at first, so that the first answer is counted even without names. */
  #hasNews = true;
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
      wait(this);
    }
    return result === ASKED ? undefined : result;
  }

  /** Makes the next question for the worker. @returns {Question} */
  ask() {
    const added = names.slice(numSent);
    numSent = names.length;
    return { text: this.text, kind: this.kind, added, asked: this.#toAsk.splice(0, NAMES_AT_ONCE) };
  }

  /** @param {Question} question @param {Answer} answer */
  receive({ asked }, answer) {
    if ("error" in answer) {
      this.error = answer.error;
      this.at = answer.at;
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

  /** Other queries that may be meant, if this one has a mistake or finds nothing. */
  get offers() {
    const findsNothing = this.error === null && this.numAnswers.value > 0 && !this.#results.some((result) => result === true);
    return this.kind === "tags" && (this.error !== null || findsNothing) ? offersFor(this.text, findsNothing) : [];
  }
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

/** A filter for a text that is more than plain words. @type {import("./filter.js").Match} */
export function filterOf(text, kind, before) {
  const expression = find(text, /** @type {Question["kind"]} */ (kind));
  const numAnswers = expression.numAnswers.value;
  const { error, at, offers } = expression;
  return { error, at, note: "", offers, numAnswers, matches: (name) => Boolean(expression.of(name) ?? (numAnswers > 0 ? false : before(name))) };
}

/** The expression or query with this text. @param {string} text @param {Question["kind"]} kind */
function find(text, kind) {
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
