/**
 * Queries for tags, which the page answers itself: texts, what they mean as trees, and which names
 * they find. Queries for runs have more, and only the server reads them: docs/queries.md describes
 * both, and tests/queries.json has what both must do. Pure functions, no DOM.
 *
 *     query   := and ("|" and)*
 *     and     := term+
 *     term    := "-" term | "(" query ")" | "re:" expression | word | glob
 *
 * A word or glob has no blank, `|`, `(` or `)` outside of double quotes, except in `:at( )` and
 * `:change( )`, which have a meaning for runs.
 */

import { compileExpression } from "./expression-syntax.js";
import { ANY, ONE, globOf, matchesGlob } from "./globs.js";

/**
 * The meaning of a query. Texts are in lower case.
 * @typedef {{ kind: "all" | "any", nodes: readonly Node[] }
 *   | { kind: "not", node: Node }
 *   | { kind: "word", word: string }
 *   | { kind: "glob", glob: import("./globs.js").Glob }
 *   | { kind: "expression", expression: RegExp }} Node
 */

/** Maximum length of a query, in characters. */
export const MAX_QUERY_LENGTH = 500;
/** Maximum number of parentheses that are open at one place. */
const MAX_DEPTH = 50;

const BLANK = String.raw` \t\n\r\f\v\xa0`;
/** A text in double quotes; its group is what is inside. */
const QUOTED = String.raw`"((?:[^"]|"")*)"(?!")`;
const CHUNK = new RegExp(String.raw`(?:${QUOTED}|:(?:at|change)\([^)]*\)|[^${BLANK}|()"])*`, "iuy");
/** A part of a chunk: what has no wildcards, as it is quoted or the step in `:at( )` or `:change( )`, or a character. */
const PIECE = new RegExp(String.raw`${QUOTED}|(?<=:)(?:at|change)\([^)]*\)|[^]`, "giu");
/** The characters of an expression up to a blank or a parenthesis. */
const EXPRESSION = new RegExp(String.raw`(?:\\[^${BLANK}]|[^${BLANK}()])*`, "uy");

/** A mistake in a query: a message without the position, and the position of the first offending character, in code points from 0. */
export class QueryError extends Error {
  /** @param {string} message @param {string} before  the text before that character */
  constructor(message, before) {
    super(message);
    this.at = [...before].length;
  }
}

/**
 * Parses a query.
 * @param {string} text
 * @returns {Node}
 * @throws {QueryError}
 */
export function parseQuery(text) {
  const parser = new Parser(text);
  const longest = [...text].slice(0, MAX_QUERY_LENGTH).join("");
  if (longest !== text) throw new QueryError(`longer than ${MAX_QUERY_LENGTH} characters`, longest);
  const node = parser.any(-1, 0);
  if (parser.at < text.length) throw parser.error("unmatched )", parser.at);
  return node;
}

/** Whether a query finds a name. @param {Node} node @param {string} name */
export function isFound(node, name) {
  return finds(node, name, name.toLowerCase());
}

/** @param {Node} node @param {string} name @param {string} lower  the name in lower case @returns {boolean} */
function finds(node, name, lower) {
  switch (node.kind) {
    case "all":
      return node.nodes.every((each) => finds(each, name, lower));
    case "any":
      return node.nodes.some((each) => finds(each, name, lower));
    case "not":
      return !finds(node.node, name, lower);
    case "word":
      return lower.includes(node.word);
    case "glob":
      return matchesGlob(node.glob, lower);
    case "expression":
      return node.expression.test(name);
  }
}

/** Parses one query, from left to right. */
class Parser {
  /** Position of the next character, in UTF-16 code units. */
  at = 0;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  /** @param {string} message @param {number} at */
  error(message, at) {
    return new QueryError(message, this.text.slice(0, at));
  }

  /** Parses alternatives, up to the end or a `)`. @param {number} open  position of its `(`; -1 for none @param {number} depth @returns {Node} */
  any(open, depth) {
    /** @type {Node[]} */
    const nodes = [];
    let bar = -1; // position of the last `|`
    for (;;) {
      const terms = this.terms(depth);
      const next = this.text[this.at];
      if (terms.length > 0) nodes.push(terms.length === 1 ? terms[0] : { kind: "all", nodes: terms });
      else if (bar >= 0) throw this.error("nothing after |", bar);
      else if (next === "|") throw this.error("nothing before |", this.at);
      else if (next === ")" && open >= 0) throw this.error("nothing in ( )", open);
      if (next !== "|") break;
      bar = this.at++;
    }
    return nodes.length === 1 ? nodes[0] : { kind: nodes.length === 0 ? "all" : "any", nodes };
  }

  /** Parses terms, up to the end, a `|` or a `)`. @param {number} depth */
  terms(depth) {
    const nodes = [];
    while (this.skipBlanks() && !"|)".includes(this.text[this.at])) nodes.push(this.term(depth));
    return nodes;
  }

  /** Skips blanks; returns whether there is text after them. */
  skipBlanks() {
    while (isBlank(this.text[this.at])) this.at++;
    return this.at < this.text.length;
  }

  /** @param {number} depth @returns {Node} */
  term(depth) {
    let isNegated = false;
    while (this.text[this.at] === "-") {
      isNegated = !isNegated;
      this.at++;
      const next = this.text[this.at] ?? " ";
      if (isBlank(next) || "|)".includes(next)) throw this.error("nothing after -", this.at - 1);
    }
    const node = this.text[this.at] === "(" ? this.group(depth + 1) : this.expression() ?? this.name();
    return isNegated ? { kind: "not", node } : node;
  }

  /** @param {number} depth */
  group(depth) {
    const open = this.at++;
    if (depth > MAX_DEPTH) throw this.error("nested too deeply", open);
    const node = this.any(open, depth);
    if (this.text[this.at++] !== ")") throw this.error("unclosed (", open);
    return node;
  }

  /** Parses `re:`; null for something else. @returns {Node | null} */
  expression() {
    const [prefix] = match(/re:|/iy, this.text, this.at);
    if (prefix === "") return null;
    this.at += prefix.length;
    const isQuoted = this.text[this.at] === '"';
    const start = this.at + Number(isQuoted);
    const expression = isQuoted ? this.quotedExpression() : this.bareExpression();
    try {
      return { kind: "expression", expression: compileExpression(expression) };
    } catch (error) {
      throw this.error(error instanceof Error ? error.message : String(error), start);
    }
  }

  quotedExpression() {
    const [expression = ""] = match(new RegExp(QUOTED, "uy"), this.text, this.at) ?? [];
    if (expression === "") throw this.error("unclosed quote", this.at);
    this.at += expression.length;
    return unquoted(expression);
  }

  /** Reads an expression up to a blank or a `)` that it did not open. */
  bareExpression() {
    const start = this.at;
    for (let depth = 0; ; this.at++) {
      this.at += match(EXPRESSION, this.text, this.at)[0].length;
      const next = this.text[this.at];
      if (next === "(") depth++;
      else if (next === ")" && depth > 0) depth--;
      else return this.text.slice(start, this.at);
    }
  }

  /** Reads a chunk, with its quotes. */
  chunk() {
    const [chunk] = match(CHUNK, this.text, this.at);
    this.at += chunk.length;
    const next = this.text[this.at];
    if (next === '"') throw this.error("unclosed quote", this.at);
    if (next === "(" && /:at$/i.test(chunk.replace(new RegExp(QUOTED, "gu"), ""))) throw this.error("unclosed (", this.at);
    return chunk;
  }

  /** Parses a word or glob. @returns {Node} */
  name() {
    const glob = [...this.chunk().toLowerCase().matchAll(PIECE)].flatMap(([piece]) => (piece.length > 1 ? [...unquoted(piece)] : globOf(piece) ?? piece));
    const isGlob = glob.includes(ANY) || glob.includes(ONE);
    return isGlob ? { kind: "glob", glob } : { kind: "word", word: glob.join("") };
  }
}

/** A text without its quotes. @param {string} text */
function unquoted(text) {
  return text.replace(new RegExp(QUOTED, "gu"), (_, inside) => inside.replaceAll('""', '"'));
}

/** @param {string | undefined} char */
function isBlank(char) {
  return char !== undefined && new RegExp(`[${BLANK}]`).test(char);
}

/** @param {RegExp} pattern  sticky @param {string} text @param {number} at */
function match(pattern, text, at) {
  pattern.lastIndex = at;
  return /** @type {RegExpExecArray} */ (pattern.exec(text));
}
