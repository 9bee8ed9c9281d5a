/**
 * The query language for runs and tags: texts, and what they mean as trees. docs/queries.md describes
 * the language, tbcore/queries/syntax.py is the same for Python, and tests/queries.json holds for both.
 * Pure functions, no DOM.
 *
 *     query   := and ("|" and)*
 *     and     := term+
 *     term    := "-" term | "(" query ")" | "re:" expression | chunk
 *     chunk   := word | glob | comparison | "has:" name | "live" | "quiet"
 *
 * A chunk has no blank, `|`, `(` or `)` outside of double quotes, except in `:at( )`. Its mask is the
 * chunk with `"` in place of each character that is quoted or in `at( )`; a sign that is still in the
 * mask has its special meaning. In queries for tags, a chunk is a word or a glob.
 */

import { compileExpression } from "./expression-syntax.js";

/**
 * A hyperparameter, a value of a tag, or a fact about a run: one of `FACTS`.
 * @typedef {{ kind: "hparam" | "value" | "fact", name: string, stat: string | null, step: number | null }} Attribute
 *
 * The meaning of a query. Texts are in lower case. `key` is what to look up for each run: an
 * attribute, `has:NAME` or `is:live`.
 * @typedef {{ kind: "all" | "any", nodes: readonly Node[] }
 *   | { kind: "not", node: Node }
 *   | { kind: "word", word: string }
 *   | { kind: "glob", glob: Glob }
 *   | { kind: "expression", expression: RegExp }
 *   | { kind: "is", key: string, attribute?: { kind: "has", name: string }, range?: Range }
 *   | Comparison} Node
 *
 * @typedef {object} Comparison
 * @property {"compare"} kind
 * @property {string} key
 * @property {Attribute} attribute
 * @property {string} operator  "=" also for "=="
 * @property {number | null} number  the value, for durations in seconds; null if it is not a number
 * @property {string} text  the value as a text
 * @property {Glob | null} glob  the value as a glob, if it is one
 * @property {Range} range
 *
 * @typedef {[start: number, nameEnd: number, end: number]} Range  where it is in the query, in UTF-16 code units
 * @typedef {readonly RegExp[]} Glob  the parts between the asterisks; each matches a text of fixed length
 * @typedef {"runs" | "tags"} Subject  what a query is for
 */

/** The last step of a run, the time since its last event, and the time from its first event to its last. */
const FACTS = ["step", "age", "took"];
/** Maximum length of a query, in characters. */
export const MAX_QUERY_LENGTH = 500;
/** Maximum number of parentheses that are open at one place. */
const MAX_DEPTH = 50;
/** Seconds of each unit of a duration. */
const SECONDS = new Map([["s", 1], ["m", 60], ["h", 3600], ["d", 86_400], ["w", 604_800]]);

const BLANK = String.raw` \t\n\r\f\v\xa0`;
const QUOTED = String.raw`"((?:[^"]|"")*)"(?!")`;
const CHUNK = new RegExp(String.raw`(?:${QUOTED}|:at\([^)]*\)|[^${BLANK}|()"])*`, "iuy");
/** What a mask replaces. */
const HIDDEN = String.raw`${QUOTED}|(?<=:)at\([^)]*\)`;
/** The characters of an expression up to a blank or a parenthesis. */
const EXPRESSION = new RegExp(String.raw`(?:\\[^${BLANK}]|[^${BLANK}()])*`, "uy");
/** Matches a name that must be in quotes. */
const NEEDS_QUOTES = /[\s|()":=!<>*?]|^-|^$/u;
/** A name or value beside an operator that has blanks around it. */
const OPERAND = String.raw`[^${BLANK}|()"=<>!]+`;
const OPERATOR = /[<>]=?|!=|==?/;
/** Maps an operator to the one with the same meaning when the operands are swapped. */
const TURNED = new Map([["<", ">"], ["<=", ">="], [">", "<"], [">=", "<="]]);
const DECIMAL = String.raw`[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?`;
const NUMBER = new RegExp(`^(?:${DECIMAL}|([+-]?inf)(?:inity)?|nan)$`, "i");
const DURATION = new RegExp(`^(${DECIMAL})([smhdw])$`, "i");

/** A mistake in a query: a message without the position, and the position of the first offending character, in code points from 0. */
export class QueryError extends Error {
  /** The query that was probably meant, if that is clear. @type {import("./filter.js").Offer | undefined} */
  offer;
  /** @param {string} message @param {string} before  the text before that character */
  constructor(message, before) {
    super(message);
    this.at = [...before].length;
  }
}

/**
 * Parses a query.
 * @param {string} text
 * @param {Subject} subject
 * @returns {Node}
 * @throws {QueryError}
 */
export function parseQuery(text, subject) {
  const parser = new Parser(text, subject);
  const longest = [...text].slice(0, MAX_QUERY_LENGTH).join("");
  if (longest !== text) throw new QueryError(`longer than ${MAX_QUERY_LENGTH} characters`, longest);
  const node = parser.any(-1, 0);
  if (parser.at < text.length) throw parser.error("unmatched )", parser.at);
  return node;
}

/**
 * Parses the name of an attribute: the left side of a comparison.
 * @param {string} text
 * @throws {QueryError}
 */
export function parseAttribute(text) {
  const parser = new Parser(text, "runs");
  const chunk = parser.chunk();
  const length = chunk === "" || chunk.startsWith(":") ? 0 : operatorOf(chunk)?.index ?? chunk.length;
  if (length < text.length || length === 0) throw parser.error("expected a name such as lr or val/loss:last", length);
  return parser.attribute(chunk, 0);
}

/** Formats an attribute for `parseAttribute`, with quotes where it needs them. @param {Pick<Attribute, "kind" | "name"> & Partial<Attribute>} attribute */
export function formatAttribute({ kind, name, stat, step }) {
  const isLikeOther = kind === "hparam" ? FACTS.includes(name.toLowerCase()) : kind === "value" && name.toLowerCase() === "re";
  const text = isLikeOther ? quoted(name) : formatName(name);
  return text + (stat ? `:${stat}` : "") + (stat === "at" ? `(${step})` : "");
}

/** A text in which `*` and `?` outside of double quotes match anything. @param {string} chunk @returns {Extract<Node, { kind: "word" | "glob" }>} */
export function nameOrGlob(chunk) {
  const glob = globOf(chunk);
  return glob ? { kind: "glob", glob } : { kind: "word", word: unquoted(chunk).toLowerCase() };
}

/** A name as a text that `nameOrGlob` reads: in quotes where it needs them. @param {string} name */
export function formatName(name) {
  return NEEDS_QUOTES.test(name) ? quoted(name) : name;
}

/** A text in quotes. @param {string} text */
export function quoted(text) {
  return `"${text.replaceAll('"', '""')}"`;
}

/** Parses one query, from left to right. */
class Parser {
  /** Position of the next character, in UTF-16 code units. */
  at = 0;

  /** @param {string} text @param {Subject} subject */
  constructor(text, subject) {
    this.text = text;
    this.subject = subject;
  }

  /** @param {string} message @param {number} at */
  error(message, at) {
    return new QueryError(message, this.text.slice(0, at));
  }

  /** An error that offers the query with a part replaced by what was probably meant. @param {string} message @param {number} at @param {[start: number, end: number]} part @param {string} meant */
  mistake(message, at, [start, end], meant) {
    return Object.assign(this.error(message, at), { offer: { label: meant, text: this.text.slice(0, start) + meant + this.text.slice(end) } });
  }

  /** The error for an operator with a blank beside it; null without a name before it and a value after it. @param {string} sign @param {number} at */
  blanksAround(sign, at) {
    const end = at + sign.length;
    const name = new RegExp(`(${OPERAND})[${BLANK}]*$`, "u").exec(this.text.slice(0, at));
    const value = new RegExp(`^[${BLANK}]*(${OPERAND})`, "u").exec(this.text.slice(end));
    if (!name || !value) return null;
    const meant = name[1] + sign + value[1];
    return this.mistake(`write it without blanks: ${meant}`, at, [name.index, end + value[0].length], meant);
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
    const node = this.text[this.at] === "(" ? this.group(depth + 1) : this.expression() ?? this.simple();
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
    if (next === "(" && /:at$/i.test(maskOf(chunk))) throw this.error("unclosed (", this.at);
    return chunk;
  }

  /** Parses a chunk. @returns {Node} */
  simple() {
    const start = this.at;
    const chunk = this.chunk();
    if (this.subject === "runs") {
      if (operatorOf(chunk)) return this.comparison(chunk, start);
      const word = chunk.toLowerCase();
      if (word === "live") return { kind: "is", key: "is:live" };
      if (word === "quiet") return { kind: "not", node: { kind: "is", key: "is:live" } };
      if (word === "has:") throw this.error("nothing after has:", start);
      if (word === "has:nan") return { kind: "is", key: word };
      if (word.startsWith("has:")) {
        const name = chunk.slice(4);
        return { kind: "is", key: `has:${name}`, attribute: { kind: "has", name: unquoted(name) }, range: [start, this.at, this.at] };
      }
    }
    return nameOrGlob(chunk);
  }

  /** @param {string} chunk  with an operator @param {number} start  its position @returns {Comparison} */
  comparison(chunk, start) {
    const { index, 0: sign } = /** @type {RegExpExecArray} */ (operatorOf(chunk));
    const [at, end] = [start + index, start + chunk.length];
    const value = chunk.slice(index + sign.length);
    if (index === 0 || chunk.startsWith(":")) throw (index === 0 && this.blanksAround(sign, at)) || this.error(`nothing before ${sign}`, start);
    if (value === "") throw this.blanksAround(sign, at) || this.error(`nothing after ${sign}`, at);
    const name = chunk.slice(0, index);
    if (sign[0] === "=" && "<>".includes(value[0])) {
      throw this.mistake(`write ${value[0]}= instead of ${sign}${value[0]}`, at, [start, end], `${name}${value[0]}=${value.slice(1)}`);
    }
    const meant = this.text[start - 1] === "-" ? null : nameFirst(name, sign, value);
    if (meant !== null) throw this.mistake(`write ${meant}`, start, [start, end], meant);
    const attribute = this.attribute(name, start);
    const operator = sign === "==" ? "=" : sign;
    const isDuration = attribute.kind === "fact" && attribute.name !== "step";
    const number = isDuration ? readDuration(value) : readNumber(value);
    const canBeText = attribute.kind === "hparam" && (operator === "=" || operator === "!=");
    if (number === null && !canBeText) {
      throw this.error(`expected a ${isDuration ? "duration such as 2h" : "number"} after ${sign}`, end - value.length);
    }
    return { kind: "compare", key: formatAttribute(attribute), attribute, operator, number, text: unquoted(value).toLowerCase(), glob: globOf(value), range: [start, at, end] };
  }

  /** Parses a chunk without operator as an attribute. @param {string} chunk @param {number} start  its position @returns {Attribute} */
  attribute(chunk, start) {
    const colon = maskOf(chunk).lastIndexOf(":");
    if (colon < 0) {
      const fact = FACTS.find((fact) => fact === chunk.toLowerCase());
      return { kind: fact ? "fact" : "hparam", name: fact ?? unquoted(chunk), stat: null, step: null };
    }
    const text = chunk.slice(colon + 1);
    const [, stat, step] = /^(last|min|max|at\(([^)]*)\))$/i.exec(text) ?? [];
    if (!stat) throw this.error(`unknown statistic '${text}'; expected last, min, max or at(STEP)`, start + colon + 1);
    const name = unquoted(chunk.slice(0, colon));
    if (step === undefined) return { kind: "value", name, stat: stat.toLowerCase(), step: null };
    const number = readNumber(trimmed(step));
    if (!Number.isSafeInteger(number)) throw this.error("expected a step in at( )", start + colon + 1);
    return { kind: "value", name, stat: "at", step: Number(number) + 0 }; // not -0
  }
}

/** `3<lr<4` or `3<lr` with the name first: `lr>3 lr<4`; null if the first operand is not a number, or the next one is not a name. @param {string} first @param {string} sign @param {string} rest */
function nameFirst(first, sign, rest) {
  if (!TURNED.has(sign) || (readNumber(first) ?? readDuration(first)) === null) return null;
  const second = operatorOf(rest);
  const name = rest.slice(0, second?.index);
  const last = second ? rest.slice(second.index + second[0].length) : "";
  if (name === "" || readNumber(name) !== null || (second && (!TURNED.has(second[0]) || last === "" || operatorOf(last)))) return null;
  return name + TURNED.get(sign) + first + (second ? ` ${name}${second[0]}${last}` : "");
}

/**
 * Parses a number, such as `1`, `.9`, `1e-3`, `inf` or `nan`; null if the text is not a number.
 * @param {string} text
 */
export function readNumber(text) {
  const found = NUMBER.exec(text);
  if (!found) return null;
  if (!found[1]) return Number(text);
  return found[1][0] === "-" ? -Infinity : Infinity;
}

/** Parses a duration, in seconds; null if the text is not a duration. @param {string} text */
function readDuration(text) {
  const [, number, unit] = DURATION.exec(text) ?? [];
  return number ? Number(number) * Number(SECONDS.get(unit.toLowerCase())) : null;
}

/** A text as a glob; null if it has no wildcards outside of quotes. @param {string} chunk @returns {Glob | null} */
function globOf(chunk) {
  if (!/[*?]/.test(maskOf(chunk))) return null;
  const parts = [""];
  for (const [piece] of chunk.toLowerCase().matchAll(new RegExp(String.raw`${HIDDEN}|\*+|[^]`, "giu"))) {
    if (piece[0] === "*") parts.push("");
    else parts[parts.length - 1] += piece === "?" ? "." : literal(unquoted(piece));
  }
  const last = parts.length - 1;
  if (last === 0) return [new RegExp(`^${parts[0]}$`, "su")];
  return parts.map((part, i) => new RegExp(i === 0 ? `^${part}` : i === last ? `${part}$` : part, "gsu"));
}

/** The source of an expression that matches a text. @param {string} text */
function literal(text) {
  return Array.from(text, (char) => `\\u{${/** @type {number} */ (char.codePointAt(0)).toString(16)}}`).join("");
}

/** The first operator in a chunk; null if there is none. @param {string} chunk */
function operatorOf(chunk) {
  return OPERATOR.exec(maskOf(chunk));
}

/** The mask of a chunk. @param {string} chunk */
function maskOf(chunk) {
  return chunk.replace(new RegExp(HIDDEN, "giu"), (hidden) => '"'.repeat(hidden.length));
}

/** A chunk without its quotes. @param {string} chunk */
function unquoted(chunk) {
  return chunk.replace(new RegExp(QUOTED, "gu"), (_, text) => text.replaceAll('""', '"'));
}

/** @param {string | undefined} char */
function isBlank(char) {
  return char !== undefined && new RegExp(`[${BLANK}]`).test(char);
}

/** @param {string} text */
function trimmed(text) {
  return text.replace(new RegExp(`^[${BLANK}]+|[${BLANK}]+$`, "g"), "");
}

/** @param {RegExp} pattern  sticky @param {string} text @param {number} at */
function match(pattern, text, at) {
  pattern.lastIndex = at;
  return /** @type {RegExpExecArray} */ (pattern.exec(text));
}
