/**
 * A worker that matches names with regular expressions and queries. The page terminates it when an
 * expression takes too long. It keeps a copy of each name, so that the page sends a name only once.
 *
 * For each question it posts "started" when the whole question has arrived, and then the answer.
 */

import { attributesOf, isFound, keysOf } from "./evaluation.js";
import { compileExpression } from "./expression-syntax.js";
import { QueryError, parseQuery, quoted } from "./syntax.js";

/**
 * @typedef {object} Question
 * @property {string} text  the expression or query
 * @property {Kind} kind
 * @property {string[]} added  names that have not been sent before; they get the next numbers
 * @property {number[]} asked  numbers of the names to match
 * @property {ReadonlyMap<string, readonly unknown[]> | null} columns  maps each key that the query
 *   needs to the values for the names in `asked`; null in the first question about a query
 *
 * @typedef {"matches" | "captures" | "runs" | "tags"} Kind  "matches" and "captures": an expression,
 *   with booleans or texts as results; "runs" and "tags": a query
 * @typedef {boolean | string} Result  whether a name matches, or the text that the expression
 *   captures; "" if it does not match
 *
 * @typedef {object} Need  a hyperparameter or tag in a query
 * @property {string} key
 * @property {string} what  its name for messages: `hyperparameter lr`
 * @property {string} name
 * @property {boolean} isHParam
 * @property {boolean} isNumber  whether it is compared with a number
 * @property {string | null} value  the text that a hyperparameter must equal, in lower case;
 *   null if the query has no such comparison with it
 * @property {import("./syntax.js").Range} range
 * @property {string | null} literal  the comparison in quotes, to search for it as a word; null for a tag
 *
 * @typedef {{ results: Result[] } | { error: string, at?: number, offer?: import("./filter.js").Offer } | { keys: string[], needs: Need[] }} Answer
 *   the results; or the mistake, and the character where it is; or what the query needs, if the
 *   question has no columns
 */

/** @type {string[]} */
const names = [];

globalThis.onmessage = ({ data }) => {
  postMessage("started");
  postMessage(answer(data));
};

/** @param {Question} question @returns {Answer} */
function answer({ text, kind, added, asked, columns }) {
  for (const name of added) names.push(name);
  try {
    if (kind === "runs" || kind === "tags") return answerQuery(parseQuery(text, kind), text, asked, columns);
    const expression = compileExpression(text);
    return { results: asked.map((number) => (kind === "captures" ? capture(expression, names[number]) : expression.test(names[number]))) };
  } catch (error) {
    const { at, offer } = error instanceof QueryError ? error : {};
    return { error: error instanceof Error ? error.message : String(error), at, offer };
  }
}

/** @param {import("./syntax.js").Node} query @param {string} text @param {number[]} asked @param {Question["columns"]} columns @returns {Answer} */
function answerQuery(query, text, asked, columns) {
  const keys = keysOf(query);
  if (columns || keys.length === 0) {
    return { results: asked.map((number, i) => isFound(query, names[number], (key) => /** @type {any} */ (columns?.get(key)?.[i]))) };
  }
  const needs = attributesOf(query).map((node) => {
    const { key, attribute: { kind, name }, range } = node;
    const isHParam = kind === "hparam";
    const isNumber = node.kind === "compare" && node.number !== null;
    const value = isHParam && node.kind === "compare" && node.operator === "=" && !node.glob ? node.text : null;
    const what = `${isHParam ? "hyperparameter" : "tag"} ${name}`;
    return { key, what, name, isHParam, isNumber, value, range, literal: isHParam ? quoted(text.slice(range[0], range[2])) : null };
  });
  return { keys, needs };
}

/** The texts of the capture groups, or without any the whole match. @param {RegExp} expression @param {string} name */
function capture(expression, name) {
  const [whole = "", ...captured] = expression.exec(name) ?? [];
  return captured.length === 0 ? whole : captured.filter(Boolean).join(" ");
}
