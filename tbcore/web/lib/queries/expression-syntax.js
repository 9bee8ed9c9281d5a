/**
 * The syntax of regular expressions: what RE2, Python and browsers understand alike. All else is
 * rejected. tbcore/patterns.py is the same for the server; tests/expressions.json holds for both.
 *
 * `\d`, `\w`, `\s` and `\b` are about ASCII characters only. `.` matches all but a line feed.
 */

/** Maximum number of repetitions; those of nested groups are multiplied. RE2 has the same limit. */
const MAX_REPETITIONS = 1000;
/** The error of an expression that takes longer than its deadline. */
export const TOO_LONG = "takes too long";

/** A character, as itself or with a backslash. */
const CHAR = String.raw`\\x[\dA-Fa-f]{2}|\\[nrtfv]|\\[^\w\x80-\u{10ffff}]|[^\\[\]]`;
/** A part of an expression. */
const TOKEN = new RegExp(
  String.raw`(?<repeat>(?:[*+?]|\{(?<min>\d+)(?:,(?<max>\d*))?\})\??)|(?<open>\((?!\?)|\(\?:)|(?<close>\))|(?<or>\|)` +
    String.raw`|(?<edge>[$^]|\\[Bb])|(?<list>\[\^?)|\.|\\[DSWdsw]|(?<char>(?!\(|\{,\d*\})(?:${CHAR}|\]))`,
  "suy",
);
/** A member of a list in brackets. */
const MEMBER = new RegExp(
  String.raw`(?<set>\\[DSWdsw])|(?<low>(?!-)(?:${CHAR}))(?:-(?<high>(?!-)(?:${CHAR})))?|-(?=\])`,
  "suy",
);
/** Syntax that is not supported, and the error for it. */
const FAULTS = /** @type {[RegExp, string][]} */ ([
  [/\(\?[=!]/y, "lookahead is not supported"],
  [/\(\?<[=!]/y, "lookbehind is not supported"],
  [/\(\?P?</y, "named groups are not supported"],
  [/\(\?/y, "(? is supported only in (?: and, at the start, in (?i)"],
  [/\\$/y, "\\ at the end"],
  [/\\[1-9gk]/y, "backreferences are not supported"],
  [/\\./suy, "$& is not supported"],
  [/\{/y, "a number must follow {"],
  [/\[/y, "write \\[ for [ inside of []"],
  [/-/y, "write \\- for - inside of []"],
]);
/** Sets that browsers and RE2 define differently, as contents of lists. */
const SETS = new Map([
  [".", String.raw`\0-\t\v-\u{10ffff}`],
  ["\\s", String.raw`\t\n\f\r\x20`],
  ["\\S", String.raw`\0-\x08\v\x0e-\x1f\x21-\u{10ffff}`],
]);

/**
 * Compiles an expression, which ignores case.
 * @param {string} text
 * @returns {RegExp}
 * @throws {SyntaxError} with a message for the user
 */
export function compileExpression(text) {
  let source = "";
  /** For each open group, the most repetitions of anything before it in the surrounding group. */
  const outer = [];
  /** The most repetitions of anything in the current group. */
  let most = 1;
  /** The same for what a following `*` would repeat; 0 if there is nothing to repeat. */
  let last = 0;
  for (let at = text.startsWith("(?i)") ? 4 : 0; at < text.length; ) {
    const [part, token] = read(TOKEN, text, at);
    at += part.length;
    if (token.repeat) {
      if (last === 0) throw new SyntaxError(`nothing to repeat before ${part[0]}`);
      if (token.max && Number(token.max) < Number(token.min)) throw new SyntaxError("numbers out of order in {}");
      most = Math.max(most, last * Number(token.max || token.min || 1));
      if (most > MAX_REPETITIONS) throw new SyntaxError(`more than ${MAX_REPETITIONS} repetitions`);
      last = 0;
    } else if (token.open) {
      outer.push(most);
      [most, last] = [1, 0];
    } else if (token.close) {
      const before = outer.pop();
      if (before === undefined) throw new SyntaxError("unmatched )");
      [most, last] = [Math.max(before, most), most];
    } else last = token.or || token.edge ? 0 : 1;
    source += SETS.has(part) ? `[${SETS.get(part)}]` : token.char ? quote(part) : part;
    if (token.list) {
      const list = compileList(text, at);
      source += list.source;
      at = list.end;
    }
  }
  if (outer.length > 0) throw new SyntaxError("unclosed (");
  try {
    return new RegExp(source, "iu");
  } catch {
    throw new SyntaxError("range out of order in []");
  }
}

/** Compiles what follows `[` or `[^`, including the `]`. @param {string} text @param {number} start */
function compileList(text, start) {
  let at = text[start] === "-" ? start + 1 : start;
  let source = at > start ? quote("-") : "";
  while (text[at] !== "]") {
    if (at >= text.length) throw new SyntaxError("unclosed [");
    const [part, { set, low, high }] = read(MEMBER, text, at);
    source += set ? (SETS.get(part) ?? part) : high ? `${quote(low)}-${quote(high)}` : quote(part);
    at += part.length;
  }
  if (at === start) throw new SyntaxError("nothing in []");
  return { source: `${source}]`, end: at + 1 };
}

/**
 * The token or member at a position, and its named groups.
 * @param {RegExp} pattern
 * @param {string} text
 * @param {number} at
 * @returns {[part: string, groups: Record<string, string>]}
 */
function read(pattern, text, at) {
  pattern.lastIndex = at;
  const found = pattern.exec(text);
  if (found) return [found[0], found.groups ?? {}];
  for (const [fault, message] of FAULTS) {
    fault.lastIndex = at;
    const part = fault.exec(text)?.[0];
    if (part) throw new SyntaxError(message.replace("$&", () => part));
  }
  throw new SyntaxError(`${text[at]} is not supported`);
}

/**
 * A character as a browser's expression must have it, also inside brackets.
 * @param {string} part  as the user wrote it: `a`, `-`, `\-` or `\x2d`
 */
function quote(part) {
  const char = /^\\?([^\w\x80-\u{10ffff}])$/su.exec(part)?.[1];
  return char ? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}` : part;
}
