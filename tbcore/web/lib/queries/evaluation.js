/** Query evaluation: whether a query finds a run or a tag. tbcore/queries/evaluation.py is the same for Python. Pure functions, no DOM. */

import { readNumber } from "./syntax.js";

/** @import { Comparison, Glob, Node } from "./syntax.js" */

/** Looks up an attribute of a run by its key; undefined if the run lacks it. @typedef {(key: string) => number | string | boolean | undefined | null} Lookup */

/**
 * Whether a query finds a name.
 * @param {Node} node
 * @param {string} name  of a run or a tag
 * @param {Lookup} lookup  the run's attributes by the keys in the query
 */
export function isFound(node, name, lookup) {
  return finds(node, name, name.toLowerCase(), lookup);
}

/**
 * The keys of the attributes that a query needs.
 * @param {Node} node
 * @returns {string[]}
 */
export function keysOf(node) {
  if ("nodes" in node) return [...new Set(node.nodes.flatMap(keysOf))];
  if ("node" in node) return keysOf(node.node);
  return "key" in node ? [node.key] : [];
}

/**
 * The nodes about hyperparameters and tags, in order.
 * @param {Node} node
 * @returns {(Comparison | Required<Extract<Node, { kind: "is" }>>)[]}
 */
export function attributesOf(node) {
  if ("nodes" in node) return node.nodes.flatMap(attributesOf);
  if ("node" in node) return attributesOf(node.node);
  return "range" in node ? [/** @type {any} */ (node)] : [];
}

/** @param {Node} node @param {string} name @param {string} lower  the name in lower case @param {Lookup} lookup @returns {boolean} */
function finds(node, name, lower, lookup) {
  switch (node.kind) {
    case "all":
      return node.nodes.every((each) => finds(each, name, lower, lookup));
    case "any":
      return node.nodes.some((each) => finds(each, name, lower, lookup));
    case "not":
      return !finds(node.node, name, lower, lookup);
    case "word":
      return lower.includes(node.word);
    case "glob":
      return matchesGlob(node.glob, lower);
    case "expression":
      return node.expression.test(name);
    case "is":
      return lookup(node.key) === true;
    case "compare":
      return holds(node, lookup(node.key) ?? null);
  }
}

/** Whether a comparison is true. @param {Comparison} comparison @param {number | string | boolean | null} value */
function holds({ attribute, operator, number, text, glob }, value) {
  if (value === null) return false;
  const left = typeof value === "string" ? readNumber(value) : value;
  if (typeof left === "number" && number !== null) {
    // Values are logged as float32.
    return attribute.kind === "value" ? compare(Math.fround(left), operator, Math.fround(number)) : compare(left, operator, number);
  }
  if (operator !== "=" && operator !== "!=") return false;
  const lower = String(value).toLowerCase();
  return (glob ? matchesGlob(glob, lower) : lower === text) === (operator === "=");
}

/** Compares numbers; NaN equals NaN. @param {number} left @param {string} operator @param {number} right */
function compare(left, operator, right) {
  switch (operator) {
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
  }
  const isSame = left === right || (Number.isNaN(left) && Number.isNaN(right));
  return isSame === (operator === "=");
}

/** Whether a glob matches the whole of a text. Each part is searched for once, after the part before it. @param {Glob} glob @param {string} text */
function matchesGlob(glob, text) {
  let end = 0;
  for (const part of glob) {
    part.lastIndex = end;
    const found = part.exec(text);
    if (!found) return false;
    end = found.index + found[0].length;
  }
  return true;
}
