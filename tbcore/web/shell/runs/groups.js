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
 *
 * A run that does not match is a group of its own. Pure functions, no DOM; loaded when runs are
 * grouped.
 */

import { assertionHolds, compileProgram } from "../../lib/ui/pattern.js";

/**
 * @typedef {(run: string) => string} Grouper  run to name of its group
 * @typedef {import("../../lib/ui/pattern.js").Instruction} Instruction
 */

/** A word for the repetitions of an experiment, with a number: `seed=3`, `_s3`, `-fold2`. */
const SEED = /(^|[_\-. ,+])(?:seed|s|fold|trial|rep|repeat|replica|try)[=_\-:]?\d+(?=$|[_\-. ,+])/gi;
/**
 * An integer at the end, but not the end of a decimal number: neither the 1 of `0.1` nor the 4 of
 * `1e-4`.
 */
const NUMBER = /(?<![\d.]|\d[eE])[_\-. #=:]?(?<!\d[eE]-)\d+$/;

/** Maps one-word rules to their titles and groupers. @type {Record<string, { title: string, group: Grouper }>} */
export const WORDS = {
  seeds: { title: "Ignore seeds", group: (run) => stripSegments(run, (segment) => segment.replace(SEED, "")) },
  numbers: { title: "Ignore trailing numbers", group: (run) => stripSegments(run, (segment) => segment.replace(NUMBER, "")) },
};

/**
 * Compiles a rule.
 * @param {string} rule  not empty
 * @returns {Grouper}
 * @throws {SyntaxError} with a message for the user
 */
export function compileRule(rule) {
  if (Object.hasOwn(WORDS, rule)) return WORDS[rule].group;
  if (rule.startsWith("re:")) return byExpression(rule.slice(3));
  return byPattern(rule);
}

/**
 * The runs of each group; groups are in the order of their first runs.
 * @param {readonly string[]} runs
 * @param {Grouper} group
 * @returns {Map<string, string[]>}
 */
export function groupsOf(runs, group) {
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const run of runs) {
    const name = group(run);
    const members = groups.get(name);
    if (members) members.push(run);
    else groups.set(name, [run]);
  }
  return groups;
}

/**
 * Rules to suggest to the user, most useful first. Each makes fewer groups than there are runs, and
 * no two make the same groups.
 * @param {readonly string[]} runs
 * @returns {string[]}
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

/**
 * Strips each path segment of a run. Separators that remain at the ends are removed; an empty
 * segment becomes `*`.
 * @param {string} run
 * @param {(segment: string) => string} strip
 */
function stripSegments(run, strip) {
  return run
    .split("/")
    .map((segment) => {
      const rest = strip(segment);
      return rest === segment ? segment : rest.replace(/^[_\-. ,+]+|[_\-. ,+=:#]+$/g, "") || "*";
    })
    .join("/");
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

// --- regular expressions ------------------------------------------------------------------------

/** Compiles a regular expression. @param {string} text  without `re:` @returns {Grouper} */
function byExpression(text) {
  if (text === "") throw new SyntaxError("a regular expression must follow re:");
  const program = compileProgram(`(${text})`);
  return (run) => {
    const texts = matchGroups(program, run);
    if (!texts || texts[0] === "") return run;
    const [whole, ...captured] = texts;
    return captured.length === 0 ? whole : captured.filter((part) => part !== "").join(" ") || run;
  };
}

/**
 * The texts of the capture groups in the first match; null if there is no match. Like the
 * function `run` of pattern.js, this function follows all alternatives at once, but it keeps the
 * alternatives in order of priority, each with the positions of its capture groups (Pike's
 * construction).
 * @param {Instruction[]} program
 * @param {string} subject
 * @returns {string[] | null}
 */
export function matchGroups(program, subject) {
  const chars = Array.from(subject);
  const codes = chars.map((char) => /** @type {number} */ (char.codePointAt(0)));
  const numSlots = program.reduce((max, { op, ...rest }) => Math.max(max, "slot" in rest ? rest.slot + 1 : 0), 0);
  const seen = new Int32Array(program.length).fill(-1);
  /**
   * An alternative that is being followed: its position in the program, and where its capture
   * groups begin and end; -1 for a beginning or end that was not reached yet.
   * @typedef {{ position: number, saves: readonly number[] }} Thread
   */
  /** @type {Thread[]} */
  let threads = [];
  /** @type {readonly number[] | null} the positions of capture groups in the best match so far */
  let best = null;
  for (let at = 0; at <= codes.length; at++) {
    /** @type {Thread[]} */
    const ready = [];
    for (const thread of threads) follow(thread, at, ready);
    // A match may begin at any character.
    if (!best) follow({ position: 0, saves: Array(numSlots).fill(-1) }, at, ready);
    threads = [];
    for (const { position, saves } of ready) {
      const instruction = program[position];
      if (instruction.op === "match") {
        best = saves; // the remaining threads have lower priority
        break;
      }
      if (instruction.op === "char" && at < codes.length && instruction.test(codes[at])) {
        threads.push({ position: position + 1, saves });
      }
    }
    if (best && threads.length === 0) break;
  }
  if (!best) return null;
  const positions = best;
  return Array.from({ length: numSlots / 2 }, (_, i) => {
    const [from, to] = [positions[2 * i], positions[2 * i + 1]];
    return from < 0 || to < 0 ? "" : chars.slice(from, to).join("");
  });

  /**
   * Adds to `ready` all threads that `start` leads to without consuming a character, in order of
   * priority.
   * @param {Thread} start
   * @param {number} at
   * @param {Thread[]} ready
   */
  function follow(start, at, ready) {
    const pending = [start];
    for (let thread = pending.pop(); thread; thread = pending.pop()) {
      const { position, saves } = thread;
      if (seen[position] === at) continue;
      seen[position] = at;
      const instruction = program[position];
      if (instruction.op === "jump") pending.push({ position: instruction.a, saves });
      else if (instruction.op === "split") {
        pending.push({ position: instruction.b, saves }, { position: instruction.a, saves });
      } else if (instruction.op === "save") pending.push({ position: position + 1, saves: saves.with(instruction.slot, at) });
      else if (instruction.op !== "assert") ready.push(thread);
      else if (assertionHolds(instruction.kind, codes, at)) pending.push({ position: position + 1, saves });
    }
  }
}
