/**
 * A worker that matches names with regular expressions and queries for tags. The page terminates it
 * when an expression takes too long. It keeps a copy of each name, so that the page sends a name only
 * once.
 *
 * For each question it posts "started" when the whole question has arrived, and then the answer.
 */

import { compileExpression } from "./expression-syntax.js";
import { QueryError, parseQuery } from "./tag-queries.js";

/**
 * @typedef {object} Question
 * @property {string} text  the expression or query
 * @property {Kind} kind
 * @property {string[]} added  names that have not been sent before; they get the next numbers
 * @property {number[]} asked  numbers of the names to match
 *
 * @typedef {"matches" | "captures" | "tags"} Kind  "matches" and "captures": an expression, with
 *   booleans or texts as results; "tags": a query
 * @typedef {boolean | string} Result  whether a name matches, or the text that the expression
 *   captures; "" if it does not match
 *
 * @typedef {{ results: Result[] } | { error: string, at?: number }} Answer  the results; or the
 *   mistake, and the character where it is
 */

/** @type {string[]} */
const names = [];

globalThis.onmessage = ({ data }) => {
  postMessage("started");
  postMessage(answer(data));
};

/** @param {Question} question @returns {Answer} */
function answer({ text, kind, added, asked }) {
  for (const name of added) names.push(name);
  try {
    const match = matcherOf(text, kind);
    return { results: asked.map((number) => match(names[number])) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error), at: error instanceof QueryError ? error.at : undefined };
  }
}

/** @param {string} text @param {Kind} kind @returns {(name: string) => Result} */
function matcherOf(text, kind) {
  if (kind === "tags") return parseQuery(text);
  const expression = compileExpression(text);
  return kind === "captures" ? (name) => capture(expression, name) : (name) => expression.test(name);
}

/** The texts of the capture groups, or without any the whole match. @param {RegExp} expression @param {string} name */
function capture(expression, name) {
  const [whole = "", ...captured] = expression.exec(name) ?? [];
  return captured.length === 0 ? whole : captured.filter(Boolean).join(" ");
}
