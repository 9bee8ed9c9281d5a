/**
 * Which runs belong together: those that a rule gives the same name. Pure; loaded when runs are grouped.
 *
 *     exp/{seed}        path pattern: what stands in braces differs within a group, `*` between groups
 *     re:lr=([^_]+)     regular expression: what its groups match, else all it matches, names the group
 *     seeds             names without parts such as `seed=3`, `_s3`, `-fold2`
 *     numbers           names without a whole number at the end of any part of the path
 *
 * A run that a rule says nothing about is a group of its own.
 */

import { compileProgram, holds } from "./pattern.js";

/**
 * @typedef {(run: string) => string} Grouper  run to name of its group
 * @typedef {import("./pattern.js").Instruction} Instruction
 */

/** Words that number repetitions of one experiment. */
const SEED = /(^|[_\-. ,+])(?:seed|s|fold|trial|rep|repeat|replica|try)[=_\-:]?\d+(?=$|[_\-. ,+])/gi;
/** Not the 1 of `0.1`, the 4 of `1e-4` or the 10 of `0.10`. */
const NUMBER = /(?<![\d.]|\d[eE])[_\-. #=:]?(?<!\d[eE]-)\d+$/;

/** Rules that need no argument, with their title. @type {Record<string, { title: string, group: Grouper }>} */
export const WORDS = {
  seeds: { title: "Ignore seeds", group: (run) => eachPart(run, (part) => part.replace(SEED, "")) },
  numbers: { title: "Ignore trailing numbers", group: (run) => eachPart(run, (part) => part.replace(NUMBER, "")) },
};

/**
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
 * Groups with all their runs, in order of their first runs.
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
 * Rules that would make fewer groups than there are runs, the most useful first: for a reader who does not know yet.
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
 * @param {string} run
 * @param {(part: string) => string} strip
 */
function eachPart(run, strip) {
  return run
    .split("/")
    .map((part) => {
      const rest = strip(part);
      return rest === part ? part : rest.replace(/^[_\-. ,+]+|[_\-. ,+=:#]+$/g, "") || "*";
    })
    .join("/");
}

// --- path patterns -------------------------------------------------------------------------------------------------

/** @param {string} text @returns {Grouper} */
function byPattern(text) {
  const segments = text.split("/").map(parseSegment);
  if (!segments.some((parts) => parts.some(({ kind }) => kind !== "plain"))) {
    throw new SyntaxError("put in braces what differs within a group: exp/{seed}");
  }
  return (run) => {
    const parts = run.split("/");
    if (parts.length < segments.length) return run;
    /** @type {string[]} */
    const named = [];
    for (const [index, segment] of segments.entries()) {
      const name = matchSegment(segment, parts[index]);
      if (name === null) return run;
      named.push(name);
    }
    return [...named, ...parts.slice(segments.length)].join("/");
  };
}

/**
 * @typedef {{ kind: "plain" | "any" | "braces", text: string }} Part
 * @param {string} text
 * @returns {Part[]}
 */
function parseSegment(text) {
  /** @type {Part[]} */
  const parts = [];
  for (const [found] of text.matchAll(/\{[^{}]*\}|\*+|[^{}*]+|[{}]/g)) {
    if (found === "{" || found === "}") throw new SyntaxError(found === "{" ? "unclosed {" : "unmatched }");
    const kind = found[0] === "{" ? "braces" : found[0] === "*" ? "any" : "plain";
    if (kind !== "plain" && parts.length > 0 && parts[parts.length - 1].kind !== "plain") {
      throw new SyntaxError("text is needed between two of {} and *");
    }
    parts.push({ kind, text: found === "{}" ? "{}" : found });
  }
  return parts;
}

/**
 * The name with what is in braces left out; null when it does not match. Each wildcard takes as little as it can, the
 * last one the rest, so there is nothing to try twice.
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
    const isLast = index + 2 >= parts.length;
    const end = next === undefined ? subject.length : isLast ? subject.length - next.length : subject.indexOf(next, at + 1);
    if (end <= at) return null;
    name += kind === "any" ? subject.slice(at, end) : text;
    at = end;
  }
  return at === subject.length ? name : null;
}

// --- regular expressions -------------------------------------------------------------------------------------------

/** @param {string} text @returns {Grouper} */
function byExpression(text) {
  if (text === "") throw new SyntaxError("a regular expression is needed");
  const program = compileProgram(`(${text})`);
  return (run) => {
    const groups = matchGroups(program, run);
    if (!groups || groups[0] === "") return run;
    const [whole, ...captured] = groups;
    return captured.length === 0 ? whole : captured.filter((part) => part !== "").join(" ") || run;
  };
}

/**
 * What the groups of the first match hold; null without a match. As `run` of pattern.js follows all alternatives at
 * once, with the positions of groups carried along; those tried first come first (Pike's construction).
 * @param {Instruction[]} program
 * @param {string} subject
 * @returns {string[] | null}
 */
export function matchGroups(program, subject) {
  const chars = Array.from(subject);
  const codes = chars.map((char) => /** @type {number} */ (char.codePointAt(0)));
  const numSlots = program.reduce((most, { op, ...rest }) => Math.max(most, "slot" in rest ? rest.slot + 1 : 0), 0);
  const seen = new Int32Array(program.length).fill(-1);
  /** @typedef {{ position: number, saves: readonly number[] }} Thread */
  /** @type {Thread[]} */
  let threads = [];
  /** @type {readonly number[] | null} */
  let found = null;
  for (let at = 0; at <= codes.length; at++) {
    /** @type {Thread[]} */
    const ready = [];
    for (const thread of threads) follow(thread, at, ready);
    if (!found) follow({ position: 0, saves: Array(numSlots).fill(-1) }, at, ready); // may begin at any character
    threads = [];
    for (const { position, saves } of ready) {
      const instruction = program[position];
      if (instruction.op === "match") {
        found = saves; // what comes later was to be tried later
        break;
      }
      if (instruction.op === "char" && at < codes.length && instruction.test(codes[at])) {
        threads.push({ position: position + 1, saves });
      }
    }
    if (found && threads.length === 0) break;
  }
  if (!found) return null;
  const slots = found;
  return Array.from({ length: numSlots / 2 }, (_, i) => {
    const [from, to] = [slots[2 * i], slots[2 * i + 1]];
    return from < 0 || to < 0 ? "" : chars.slice(from, to).join("");
  });

  /**
   * Adds all positions that are reached without reading, in the order in which they are tried.
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
      else if (holds(instruction.kind, codes, at)) pending.push({ position: position + 1, saves });
    }
  }
}
