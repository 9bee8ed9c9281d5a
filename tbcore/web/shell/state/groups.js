/**
 * Grouping of runs by a rule, which maps the name of a run to the name of its group:
 *
 *     exp/{seed}        path pattern: {...} matches any text, which may differ within a group; *
 *                       matches any text, which is the same within a group. Both match at least
 *                       one character of one path segment. Segments of the run after those of the
 *                       pattern are kept
 *     re:lr=([^_]+)     regular expression: keeps the text that its capture groups match; without
 *                       capture groups, the text that the whole expression matches
 *     seeds             removes seeds, such as `seed=3`, `_s3` or `-fold2`
 *     numbers           removes an integer at the end of each path segment
 *     by:lr,optimizer   attributes: runs with equal values are a group, `lr=0.1, optimizer=adam`.
 *                       Runs for training and evaluation are separate groups
 *     by:lr~            ranges of numbers: runs between two of 1, 2, 5, 10, 20, 50, ... are a group,
 *                       `lr=0.001 to 0.002`. The lower end is in the range
 *
 * A run that does not match, or that has none of the attributes, is a group of its own. Pure
 * functions, no DOM; loaded when runs are grouped.
 */

import { groupText, readNumber } from "../../lib/queries/names.js";
import { groupsOf } from "./tree.js";
import { PART, WORDS } from "../../lib/word-rules.js";

/** @import { AttributeValue } from "./attributes.js" */
/** @import { Grouper } from "../../lib/word-rules.js" */
/** @typedef {(attribute: string) => ReadonlyMap<string, AttributeValue> | null} ColumnOf  the values of an attribute by run; null while they are read */

/**
 * The group of each run.
 * @param {string} rule  not empty
 * @param {readonly string[]} runs
 * @param {typeof import("../../lib/queries/expressions.js").expressionOf} expressionOf
 * @param {ColumnOf} columnOf
 * @param {(attribute: string) => string} [nameOf]  the text that all texts of an attribute have in common
 * @returns {Map<string, string> | null} null while nothing is known of a regular expression, or
 *   while attributes are read
 * @throws {SyntaxError} with a message for the user
 */
export function groupRuns(rule, runs, expressionOf, columnOf, nameOf = (text) => text) {
  if (!rule.startsWith("re:")) {
    const group = rule.startsWith("by:") ? byAttributes(rule, columnOf, nameOf) : compileRule(rule);
    if (!group) return null;
    return new Map(runs.map((run) => [run, group(run)]));
  }
  if (rule === "re:") throw new SyntaxError("a regular expression must follow re:");
  const expression = expressionOf(rule.slice(3), true);
  const isKnown = expression.numAnswers.value > 0;
  if (expression.error !== null) throw new SyntaxError(expression.error);
  const groups = new Map(runs.map((run) => [run, String(expression.of(run) || run)]));
  return isKnown ? groups : null;
}

/** Compiles a rule that needs only the names of runs. @param {string} rule @throws {SyntaxError} with a message for the user */
export function compileRule(rule) {
  return Object.hasOwn(WORDS, rule) ? WORDS[rule].group : byPattern(rule);
}

/**
 * Rules to suggest to the user, most useful first. Each makes fewer groups than there are runs, and
 * no two make the same groups.
 * @param {readonly string[]} runs
 */
export function suggestRules(runs) {
  const depth = Math.max(0, ...runs.slice(0, 1000).map((run) => run.split("/").length - 1));
  const patterns = Array.from({ length: depth > 0 ? Math.min(depth, 3) + 1 : 0 }, (_, i) => [...Array(i).fill("*"), "{}"].join("/"));
  const seen = new Set();
  return ["seeds", "numbers", ...patterns].filter((rule) => {
    const groups = groupsOf(runs, compileRule(rule));
    const key = [...groups.values()].map((members) => members.join("\n")).sort().join("\n\n");
    if (groups.size === runs.length || seen.has(key)) return false;
    return seen.add(key);
  });
}

// --- attributes ----------------------------------------------------------------------------------

/**
 * The texts of attributes in a rule, such as `lr` and `optimizer` of `by:lr~,optimizer`. Commas in
 * double quotes are part of an attribute. Other rules have none.
 * @param {string} rule
 */
export function attributesOf(rule) {
  return termsOf(rule).map(({ text }) => text);
}

/** The attributes in a rule, and whether runs with values in one range are a group. @param {string} rule */
function termsOf(rule) {
  const parts = (rule.startsWith("by:") && rule.slice(3).match(/(?:"[^"]*"?|[^",])+/g)) || [];
  return parts.flatMap((part) => {
    const text = part.trim();
    const isRange = /[^~]~$/.test(text);
    return text ? { text: isRange ? text.slice(0, -1) : text, isRange } : [];
  });
}

/**
 * The range of 1, 2, 5, 10, 20, 50, ... that has a number, with its lower end; the text of any other
 * value.
 * @param {AttributeValue} value
 */
export function rangeText(value) {
  const text = groupText(value);
  const [, sign, digit, exponent] = /^(-?)([1-9])[\d.]*e(.*)$/.exec(Number(readNumber(text) ?? NaN).toExponential()) ?? [];
  if (!digit) return text;
  const ends = Number(digit) < 2 ? [1, 2] : Number(digit) < 5 ? [2, 5] : [5, 10];
  const [first, last] = ends.map((end) => groupText(Number(`${sign}${end}e${exponent}`)));
  return sign ? `${last} to ${first}` : `${first} to ${last}`;
}

/** @param {string} rule @param {ColumnOf} columnOf @param {(attribute: string) => string} nameOf @returns {Grouper | null} null while attributes are read */
function byAttributes(rule, columnOf, nameOf) {
  const terms = termsOf(rule);
  if (terms.length === 0) throw new SyntaxError("name hyperparameters after by:, as in by:lr,optimizer");
  if (terms.map(({ text }) => columnOf(text)).includes(null)) return null;
  const names = [...new Map(terms.map((term) => [nameOf(term.text), term]))];
  const columns = names.map(([, { text }]) => columnOf(text));
  return (run) => {
    const values = columns.map((column) => column?.get(run));
    if (values.every((value) => value === undefined)) return run;
    const texts = values.map((value, i) => (value === undefined ? `no ${names[i][0]}` : `${names[i][0]}=${(names[i][1].isRange ? rangeText : groupText)(value)}`));
    return texts.join(", ") + (PART.exec(run)?.[0] ?? "");
  };
}

// --- path patterns ------------------------------------------------------------------------------

/** Compiles a path pattern. @param {string} text @returns {Grouper} */
function byPattern(text) {
  const patterns = text.split("/").map(parseSegment);
  if (!patterns.some((parts) => parts.some(({ kind }) => kind !== "plain"))) {
    throw new SyntaxError("put what differs within a group in braces: exp/{seed}");
  }
  return (run) => {
    const segments = run.split("/");
    if (segments.length < patterns.length) return run;
    /** @type {string[]} */
    const named = [];
    for (const [index, pattern] of patterns.entries()) {
      const name = matchSegment(pattern, segments[index]);
      if (name === null) return run;
      named.push(name);
    }
    return [...named, ...segments.slice(patterns.length)].join("/");
  };
}

/**
 * Parses the pattern of one path segment.
 * @typedef {{ kind: "plain" | "any" | "braces", text: string }} Part
 * @param {string} text
 * @returns {Part[]}
 */
function parseSegment(text) {
  /** @type {Part[]} */
  const parts = [];
  for (const [token] of text.matchAll(/\{[^{}]*\}|\*+|[^{}*]+|[{}]/g)) {
    if (token === "{" || token === "}") throw new SyntaxError(token === "{" ? "unclosed {" : "unmatched }");
    const kind = token[0] === "{" ? "braces" : token[0] === "*" ? "any" : "plain";
    if (kind !== "plain" && parts.length > 0 && parts[parts.length - 1].kind !== "plain") {
      throw new SyntaxError("{} and * need text between them");
    }
    parts.push({ kind, text: token });
  }
  return parts;
}

/**
 * Matches a path segment. Returns the segment with the braces of the pattern in place of the text
 * that they match, or null if the segment does not match. The last wildcard matches all that
 * remains before the text after it; every other wildcard matches as few characters as possible. So
 * there is no backtracking.
 * @param {Part[]} parts
 * @param {string} subject
 * @returns {string | null}
 */
function matchSegment(parts, subject) {
  let at = 0;
  let name = "";
  for (const [index, { kind, text }] of parts.entries()) {
    if (kind === "plain") {
      if (!subject.startsWith(text, at)) return null;
      name += text;
      at += text.length;
      continue;
    }
    const next = parts[index + 1]?.text;
    // Whether this is the last wildcard: at most a plain text follows.
    const isLast = index + 2 >= parts.length;
    const end = next === undefined ? subject.length : isLast ? subject.length - next.length : subject.indexOf(next, at + 1);
    if (end <= at) return null;
    name += kind === "any" ? subject.slice(at, end) : text;
    at = end;
  }
  return at === subject.length ? name : null;
}
