/**
 * Regular expressions of users. A browser may take years for one as short as `(\w+\s?)+$`, and it
 * may come from a link. So a worker matches the names, with a deadline.
 */

import { signal } from "@preact/signals-core";

/**
 * @typedef {import("./expression-worker.js").Result} Result
 * @typedef {import("./expression-worker.js").Answer} Answer
 * @typedef {import("./expression-worker.js").Question} Question
 */

/** Number of names that the worker matches at once. */
const NAMES_AT_ONCE = 5000;
/** Time that it has for them. */
const DEADLINE_MS = 200;
/** The error of an expression that takes longer. */
export const TOO_LONG = "takes too long";
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
/** What the worker is busy with. @type {{ expression: Expression, question: Question } | null} */
let task = null;
/** @type {Worker | null} */
let worker = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

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
  setTimeout(next);
}

/** Asks the worker for the newest expression, unless it is busy. */
function next() {
  const expression = [...waiting].at(-1);
  if (task || !expression) return;
  waiting.delete(expression);
  task = { expression, question: expression.ask() };
  if (worker) {
    send();
    return;
  }
  worker = new Worker(new URL("expression-worker.js", import.meta.url), { type: "module", name: "tbcore expressions" });
  worker.onmessage = ({ data }) => (data === "ready" ? send() : data === "started" ? startTimer() : finish(data));
  worker.onerror = () => stop("its worker does not start");
}

/** Sends the question of the current task. */
function send() {
  worker?.postMessage(task?.question);
}

function startTimer() {
  // The answer may have arrived while the page was busy: a second timer lets it go first.
  timer = setTimeout(() => (timer = setTimeout(stop, 0, TOO_LONG)), DEADLINE_MS);
}

/** Ends the worker and the current task. @param {string} error */
function stop(error) {
  worker?.terminate();
  worker = null;
  unsent = [...numbers.keys()];
  finish({ error });
}

/** Ends the current task. @param {Answer} answer */
function finish(answer) {
  clearTimeout(timer);
  const finished = task;
  task = null;
  finished?.expression.receive(finished.question, answer);
  next();
}
