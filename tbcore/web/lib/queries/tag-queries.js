/**
 * Queries for tags, which the page answers itself: which names a text finds. Queries for runs have
 * more, and only the server reads them: docs/queries.md describes both, and tests/queries.json has
 * what both must do. Pure functions, no DOM.
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

/** Whether a query finds a name, which it gets as it is and in lower case. @typedef {(name: string, lower: string) => boolean} Finds */

/** Maximum length of a query, in characters. */
export const MAX_QUERY_LENGTH = 500;
/** Maximum number of parentheses that are open at one place. */
const MAX_DEPTH = 50;

const BLANK = String.raw` \t\n\r\f\v\xa0`;
const BLANKS = new RegExp(`[${BLANK}]*`, "uy");
/** What ends a term. */
const END = new RegExp(`[${BLANK}|)]`);
/** A text in double quotes; its group is what is inside. */
const QUOTED = String.raw`"((?:[^"]|"")*)"(?!")`;
const QUOTES = new RegExp(QUOTED, "gu");
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
 * @returns {(name: string) => boolean} whether it finds a name
 * @throws {QueryError}
 */
export function parseQuery(text) {
  const parser = new Parser(text);
  const longest = [...text].slice(0, MAX_QUERY_LENGTH).join("");
  if (longest !== text) throw new QueryError(`longer than ${MAX_QUERY_LENGTH} characters`, longest);
  const finds = parser.any(-1, 0);
  if (parser.at < text.length) throw parser.error("unmatched )", parser.at);
  return (name) => finds(name, name.toLowerCase());
}

/** Parses one query, from left to right. */
class Parser {
  /** Position of the next character, in UTF-16 code units. */
  at = 0;

  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  get next() {
    return this.text[this.at];
  }

  /** @param {string} message @param {number} at */
  error(message, at) {
    return new QueryError(message, this.text.slice(0, at));
  }

  /** Reads what a sticky pattern matches; "" if it does not match. @param {RegExp} pattern */
  read(pattern) {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text) ?? [""];
    this.at += found.length;
    return found;
  }

  /** Parses alternatives, up to the end or a `)`. @param {number} open  position of its `(`; -1 for none @param {number} depth @returns {Finds} */
  any(open, depth) {
    /** @type {Finds[][]} */
    const parts = [];
    // `bar` is the position of the last `|`.
    for (let bar = -1; ; bar = this.at++) {
      const terms = this.terms(depth);
      if (terms.length > 0) parts.push(terms);
      else if (bar >= 0) throw this.error("nothing after |", bar);
      else if (this.next === "|") throw this.error("nothing before |", this.at);
      else if (this.next === ")" && open >= 0) throw this.error("nothing in ( )", open);
      if (this.next !== "|") break;
    }
    return (name, lower) => parts.length === 0 || parts.some((terms) => terms.every((finds) => finds(name, lower)));
  }

  /** Parses terms, up to the end, a `|` or a `)`. @param {number} depth */
  terms(depth) {
    const terms = [];
    for (this.read(BLANKS); this.next && !"|)".includes(this.next); this.read(BLANKS)) terms.push(this.term(depth));
    return terms;
  }

  /** @param {number} depth @returns {Finds} */
  term(depth) {
    let isNegated = false;
    for (; this.next === "-"; isNegated = !isNegated) {
      this.at++;
      if (END.test(this.next ?? " ")) throw this.error("nothing after -", this.at - 1);
    }
    const finds = this.next === "(" ? this.group(depth + 1) : this.read(/re:/iy) ? this.expression() : this.name();
    return isNegated ? (name, lower) => !finds(name, lower) : finds;
  }

  /** @param {number} depth */
  group(depth) {
    const open = this.at++;
    if (depth > MAX_DEPTH) throw this.error("nested too deeply", open);
    const finds = this.any(open, depth);
    if (this.text[this.at++] !== ")") throw this.error("unclosed (", open);
    return finds;
  }

  /** Parses what follows `re:`: a quoted text, or all up to a blank or a `)` that it did not open. @returns {Finds} */
  expression() {
    const start = this.at;
    const isQuoted = this.next === '"';
    if (isQuoted && !this.read(new RegExp(QUOTED, "uy"))) throw this.error("unclosed quote", start);
    for (let depth = 0; !isQuoted; this.at++) {
      this.read(EXPRESSION);
      if (this.next === "(") depth++;
      else if (this.next !== ")" || depth-- === 0) break;
    }
    const text = this.text.slice(start, this.at);
    try {
      const expression = compileExpression(isQuoted ? unquoted(text) : text);
      return (name) => expression.test(name);
    } catch (error) {
      throw this.error(error instanceof Error ? error.message : String(error), start + Number(isQuoted));
    }
  }

  /** Parses a word or glob. @returns {Finds} */
  name() {
    const chunk = this.read(CHUNK).toLowerCase();
    if (this.next === '"') throw this.error("unclosed quote", this.at);
    if (this.next === "(" && chunk.replace(QUOTES, "").endsWith(":at")) throw this.error("unclosed (", this.at);
    const glob = [...chunk.matchAll(PIECE)].flatMap(([piece]) => (piece.length > 1 ? [...unquoted(piece)] : globOf(piece) ?? piece));
    const word = glob.join("");
    return glob.includes(ANY) || glob.includes(ONE) ? (_, lower) => matchesGlob(glob, lower) : (_, lower) => lower.includes(word);
  }
}

/** A text without its quotes. @param {string} text */
function unquoted(text) {
  return text.replace(QUOTES, (_, inside) => inside.replaceAll('""', '"'));
}
