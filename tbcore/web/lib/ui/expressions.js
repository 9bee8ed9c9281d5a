/**
 * Regular expressions of users. A browser may take years for an expression as short as `(\w+\s?)+$`,
 * and it may come from a link. So a worker matches the names, with a deadline. Loaded when the first
 * expression is needed.
 */

import { signal } from "@preact/signals-core";
import { TOO_LONG } from "./filter.js";

/**
 * @typedef {import("./expression-worker.js").Result} Result
 * @typedef {import("./expression-worker.js").Answer} Answer
 * @typedef {import("./expression-worker.js").Question} Question
 */

/** Number of names that the worker matches at once. */
const NAMES_AT_ONCE = 5000;
/** Time that it has for them. */
const DEADLINE_MS = 200;
/** Number of expressions whose results are kept. */
const MAX_EXPRESSIONS = 100;
/** Stands for a result that the worker was asked for. */
const ASKED = 0;

/** The latest expressions. @type {Map<string, Expression>} */
const expressions = new Map();
/** All names that the worker was asked about, and their numbers. @type {Map<string, number>} */
const numbers = new Map();
/** The last of these names, which were not sent to the worker yet. @type {string[]} */
let unsent = [];
/** Expressions that have something to ask. @type {Set<Expression>} */
const waiting = new Set();
/** @type {Worker | null} */
let worker = null;
let isBusy = false;

/** An expression and what is known of it. The worker finds out the rest. */
class Expression {
  /** The number of answers. Whatever depends on the expression reads it, to be updated. */
  numAnswers = signal(0);
  /** Why the expression cannot be used; null if it can. @type {string | null} */
  error = null;
  /** By the numbers of names. @type {(Result | typeof ASKED)[]} */
  #results = [];
  /** The numbers of names that the worker will be asked about. @type {number[]} */
  #toAsk = [];

  /** @param {string} text @param {boolean} captures  whether its results are texts */
  constructor(text, captures) {
    this.text = text;
    this.captures = captures;
    wait(this);
  }

  /** The result for a name. It is undefined until the worker, which is asked now, has answered. @param {string} name */
  of(name) {
    let number = numbers.get(name);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(name, number);
      unsent.push(name);
    }
    const result = this.#results[number];
    if (result === undefined && this.error === null) {
      this.#results[number] = ASKED;
      this.#toAsk.push(number);
      wait(this);
    }
    return result === ASKED ? undefined : result;
  }

  /** Returns the next question for the worker. @returns {Question} */
  ask() {
    const { text, captures } = this;
    const question = { text, captures, added: unsent, asked: this.#toAsk.splice(0, NAMES_AT_ONCE) };
    unsent = [];
    return question;
  }

  /** @param {Question} question @param {Answer} answer */
  receive({ asked }, answer) {
    if ("error" in answer) this.error = answer.error;
    else for (const [i, result] of answer.results.entries()) this.#results[asked[i]] = result;
    if (this.error === null && this.#toAsk.length > 0) wait(this);
    else this.numAnswers.value++;
  }
}

/**
 * The expression with this text.
 * @param {string} text
 * @param {boolean} [captures]  whether its results are the texts that its capture groups match, not
 *   whether it matches
 */
export function expressionOf(text, captures = false) {
  const key = `${captures} ${text}`;
  const expression = expressions.get(key) ?? new Expression(text, captures);
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

/** The worker's answer. A worker that takes too long is ended. @param {Question} question @returns {Promise<Answer>} */
function answerTo(question) {
  const asked = (worker ??= new Worker(new URL("expression-worker.js", import.meta.url), { type: "module", name: "tbcore expressions" }));
  return new Promise((resolve) => {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const stop = (/** @type {string} */ error) => {
      clearTimeout(timer);
      asked.terminate();
      worker = null;
      unsent = [...numbers.keys()];
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
