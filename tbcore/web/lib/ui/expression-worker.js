/**
 * A worker that matches names with regular expressions. The page ends it when an expression takes
 * too long. It has a copy of each name that it was asked about, so that each is sent only once.
 *
 * It responds to each question with "started", when the question has arrived as a whole, and then
 * with the answer.
 */

import { compileExpression } from "./expression-syntax.js";

/**
 * @typedef {object} Question
 * @property {string} text  the expression
 * @property {boolean} captures  whether the results are texts
 * @property {string[]} added  names that were not sent before; their numbers continue those of the
 *   names before
 * @property {number[]} asked  numbers of the names to match
 *
 * @typedef {boolean | string} Result  whether a name matches, or the text that the expression
 *   captures; "" if it does not match
 * @typedef {{ error: string } | { results: Result[] }} Answer
 */

/** @type {string[]} */
const names = [];

globalThis.onmessage = ({ data }) => {
  postMessage("started");
  postMessage(answer(data));
};

/** @param {Question} question @returns {Answer} */
function answer({ text, captures, added, asked }) {
  for (const name of added) names.push(name);
  try {
    const expression = compileExpression(text);
    return { results: asked.map((number) => (captures ? capture(expression, names[number]) : expression.test(names[number]))) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** The texts of the capture groups, or without any the whole match. @param {RegExp} expression @param {string} name */
function capture(expression, name) {
  const [whole = "", ...captured] = expression.exec(name) ?? [];
  return captured.length === 0 ? whole : captured.filter(Boolean).join(" ");
}
