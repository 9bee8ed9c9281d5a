/**
 * Regular expressions that match in linear time.
 *
 * A filter may come from a link, and a pattern as short as `(\w+\s?)+$` can make the browser's own
 * RegExp run for minutes. This engine follows all alternatives at once (Thompson's construction),
 * so the time is at most proportional to the length of the text times the size of the pattern. It
 * determines only whether the pattern occurs anywhere in a text, ignoring case. It cannot support
 * look-ahead, look-behind and back-references, which are rejected with an error.
 *
 *     text -> parse -> tree -> emit -> program -> run, or memoizedMatcher -> boolean
 */

/** Maximum number of instructions in a program. */
const MAX_PROGRAM_LENGTH = 4000;

/**
 * @typedef {(code: number) => boolean} CharTest  whether a code point matches
 * @typedef {{ op: "char", test: CharTest }
 *   | { op: "split", a: number, b: number }
 *   | { op: "jump", a: number }
 *   | { op: "assert", kind: "start" | "end" | "word" | "notWord" }
 *   | { op: "save", slot: number }
 *   | { op: "match" }} Instruction  positions `a` and `b` are indexes into the program; `a` has
 *   priority
 * @typedef {{ type: "empty" }
 *   | { type: "char", test: CharTest }
 *   | { type: "assert", kind: "start" | "end" | "word" | "notWord" }
 *   | { type: "sequence", items: Node[] }
 *   | { type: "choice", items: Node[] }
 *   | { type: "capture", item: Node, slot: number }
 *   | { type: "repeat", item: Node, min: number, max: number, lazy: boolean }} Node
 */

/**
 * Compiles a pattern.
 * @param {string} text
 * @returns {(subject: string) => boolean} whether the pattern occurs in the subject
 * @throws {SyntaxError} with a message for the user
 */
export function compilePattern(text) {
  return memoizedMatcher(emit(parse(text), false));
}

/**
 * Compiles a pattern to a program that also saves where its groups begin and end. `matchGroups` of
 * run-groups.js runs the program.
 * @param {string} text
 * @throws {SyntaxError} with a message for the user
 */
export function compileProgram(text) {
  return emit(parse(text), true);
}

// --- parsing ------------------------------------------------------------------------------------

/**
 * Parses a pattern by recursive descent. Each inner function parses the construct that it is named
 * after, starting at `at`.
 * @param {string} text
 * @returns {Node}
 */
function parse(text) {
  const chars = Array.from(text);
  let at = 0;
  let numGroups = 0;

  const tree = choice();
  if (at < chars.length) throw new SyntaxError("unmatched )");
  return tree;

  /** @returns {Node} */
  function choice() {
    const items = [sequence()];
    while (chars[at] === "|") {
      at++;
      items.push(sequence());
    }
    return items.length === 1 ? items[0] : { type: "choice", items };
  }

  /** @returns {Node} */
  function sequence() {
    /** @type {Node[]} */
    const items = [];
    while (at < chars.length && chars[at] !== "|" && chars[at] !== ")") items.push(repeated());
    if (items.length === 0) return { type: "empty" };
    return items.length === 1 ? items[0] : { type: "sequence", items };
  }

  /** @returns {Node} */
  function repeated() {
    const item = atom();
    const bounds = quantifier();
    if (!bounds) return item;
    if (item.type === "assert") throw new SyntaxError("nothing to repeat");
    // Laziness affects only what groups match, not whether the pattern occurs.
    const lazy = chars[at] === "?";
    if (lazy) at++;
    if (quantifier()) throw new SyntaxError("nothing to repeat");
    return { type: "repeat", item, min: bounds[0], max: bounds[1], lazy };
  }

  /** @returns {[min: number, max: number] | null} null if there is no quantifier */
  function quantifier() {
    const char = chars[at];
    if (char === "*" || char === "+" || char === "?") {
      at++;
      return [char === "+" ? 1 : 0, char === "?" ? 1 : Infinity];
    }
    if (char !== "{") return null;
    const match = /^\{(\d+)(,(\d*))?\}/.exec(chars.slice(at, at + 16).join(""));
    if (!match) return null;
    at += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === "" ? Infinity : Number(match[3]);
    if (max < min) throw new SyntaxError("numbers out of order in {}");
    return [min, max];
  }

  /** @returns {Node} */
  function atom() {
    const char = chars[at++];
    switch (char) {
      case "(":
        return group();
      case "[":
        return { type: "char", test: charClass() };
      case ".":
        return { type: "char", test: (code) => code !== 10 && code !== 13 && code !== 0x2028 && code !== 0x2029 };
      case "^":
        return { type: "assert", kind: "start" };
      case "$":
        return { type: "assert", kind: "end" };
      case "*":
      case "+":
      case "?":
        throw new SyntaxError("nothing to repeat");
      case "\\":
        if (chars[at] === "b" || chars[at] === "B") {
          return { type: "assert", kind: chars[at++] === "b" ? "word" : "notWord" };
        }
        return { type: "char", test: asTest(escape()) };
      case "{":
        at--;
        if (quantifier()) throw new SyntaxError("nothing to repeat");
        at++;
        return { type: "char", test: literal("{") };
      default:
        return { type: "char", test: literal(char) };
    }
  }

  /** @returns {Node} */
  function group() {
    let slot = -1;
    if (chars[at] === "?") {
      const rest = chars.slice(at, at + 64).join("");
      const named = /^\?<[A-Za-z_$][\w$]*>/.exec(rest);
      if (rest.startsWith("?:")) at += 2;
      else if (named) {
        at += named[0].length;
        slot = 2 * numGroups++;
      }
      else if (/^\?<?[=!]/.test(rest)) throw new SyntaxError("look-ahead and look-behind are not supported");
      else throw new SyntaxError("invalid group");
    } else slot = 2 * numGroups++;
    const inner = choice();
    if (chars[at] !== ")") throw new SyntaxError("unclosed (");
    at++;
    if (slot >= 0) return { type: "capture", item: inner, slot };
    // `repeated` rejects a bare assertion, but `(?:^)*` is valid, so the assertion is wrapped.
    return inner.type === "assert" ? { type: "sequence", items: [inner] } : inner;
  }

  /**
   * Parses what follows a backslash.
   * @returns {CharTest | number} a class, or the code point of one character
   */
  function escape() {
    const char = chars[at++];
    if (char === undefined) throw new SyntaxError("\\ at end of pattern");
    const builtIn = CLASSES[char];
    if (builtIn) return builtIn;
    if (/[1-9k]/.test(char)) throw new SyntaxError("back-references are not supported");
    if (/[pP]/.test(char)) throw new SyntaxError("\\p{…} is not supported");
    const control = { n: 10, r: 13, t: 9, v: 11, f: 12, 0: 0 }[char];
    if (control !== undefined) return control;
    // `\x41`, `\u0041` or `\u{1f600}`. Without such digits, `\x` and `\u` match the letter.
    if (char === "x" || char === "u") {
      const match = /^(?:\{([0-9a-f]{1,6})\}|([0-9a-f]{2,4}))/i.exec(chars.slice(at, at + 8).join(""));
      const digits = match && (char === "u" ? match[1] ?? (match[2]?.length === 4 ? match[2] : null) : match[2]?.slice(0, 2));
      if (!match || !digits) return codePoint(char);
      at += match[1] !== undefined && char === "u" ? match[0].length : digits.length;
      return parseInt(digits, 16);
    }
    return codePoint(char);
  }

  /** @returns {CharTest} */
  function charClass() {
    const negated = chars[at] === "^";
    if (negated) at++;
    /** @type {CharTest[]} */
    const tests = [];
    /** @type {[number, number][]} */
    const ranges = [];
    while (true) {
      if (at >= chars.length) throw new SyntaxError("unclosed [");
      if (chars[at] === "]") break;
      const low = classMember();
      if (chars[at] === "-" && at + 1 < chars.length && chars[at + 1] !== "]") {
        at++;
        const high = classMember();
        if (typeof low === "number" && typeof high === "number") {
          if (high < low) throw new SyntaxError("range out of order in []");
          ranges.push([low, high]);
          continue;
        }
        // A class is no end of a range: `[\w-x]` matches `\w`, "-" and "x", as with RegExp.
        ranges.push([45, 45]);
        for (const member of [low, high]) add(member);
        continue;
      }
      add(low);
    }
    at++;
    /** @param {CharTest | number} member */
    function add(member) {
      if (typeof member === "number") ranges.push([member, member]);
      else tests.push(member);
    }
    /** @type {CharTest} */
    const inRanges = (code) => ranges.some(([low, high]) => code >= low && code <= high);
    return (code) => {
      const isMember = inRanges(code) || caseVariants(code).some(inRanges) || tests.some((test) => test(code));
      return isMember !== negated;
    };
  }

  /** @returns {CharTest | number} */
  function classMember() {
    const char = chars[at++];
    if (char !== "\\") return codePoint(char);
    if (chars[at] === "b") {
      at++;
      return 8;
    }
    return escape();
  }
}

/** Matches `\d`. @type {CharTest} */
const isDigit = (code) => code >= 48 && code <= 57;
/** @type {CharTest} */
const isWord = (code) => isDigit(code) || code === 95 || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
/** @type {CharTest} */
const isSpace = (code) => /\s/.test(String.fromCodePoint(code));

/** Character classes by the letter after the backslash. @type {Record<string, CharTest>} */
const CLASSES = Object.assign(Object.create(null), {
  d: isDigit,
  D: (/** @type {number} */ code) => !isDigit(code),
  w: isWord,
  W: (/** @type {number} */ code) => !isWord(code),
  s: isSpace,
  S: (/** @type {number} */ code) => !isSpace(code),
});

/**
 * A test for one character, in either case.
 * @param {string} char
 * @returns {CharTest}
 */
function literal(char) {
  return asTest(codePoint(char));
}

/**
 * A test for a class, or for one character in either case.
 * @param {CharTest | number} matched
 * @returns {CharTest}
 */
function asTest(matched) {
  if (typeof matched !== "number") return matched;
  const accepted = [matched, ...caseVariants(matched)];
  return (code) => accepted.includes(code);
}

/** The code point of a character. @param {string} char */
function codePoint(char) {
  return /** @type {number} */ (char.codePointAt(0));
}

/**
 * The upper and lower case of a character; omits the character itself, and longer texts.
 * @param {number} code
 * @returns {number[]}
 */
function caseVariants(code) {
  if (code < 128) {
    if (code >= 65 && code <= 90) return [code + 32];
    if (code >= 97 && code <= 122) return [code - 32];
    return [];
  }
  const char = String.fromCodePoint(code);
  return [char.toLowerCase(), char.toUpperCase()]
    .filter((other) => other !== char && Array.from(other).length === 1)
    .map((other) => /** @type {number} */ (other.codePointAt(0)));
}

// --- program ------------------------------------------------------------------------------------

/**
 * Translates a tree into a program.
 * @param {Node} tree
 * @param {boolean} withGroups  whether the program saves where groups begin and end
 * @returns {Instruction[]}
 */
function emit(tree, withGroups) {
  /** @type {Instruction[]} */
  const program = [];
  write(tree);
  add({ op: "match" });
  return program;

  /**
   * Adds an instruction, and returns it.
   * @template {Instruction} T
   * @param {T} instruction
   * @returns {T}
   */
  function add(instruction) {
    if (program.length >= MAX_PROGRAM_LENGTH) throw new SyntaxError("too many repetitions");
    program.push(instruction);
    return instruction;
  }

  /** Adds the instructions of a node. @param {Node} node */
  function write(node) {
    switch (node.type) {
      case "empty":
        return;
      case "char":
        add({ op: "char", test: node.test });
        return;
      case "assert":
        add({ op: "assert", kind: node.kind });
        return;
      case "sequence":
        node.items.forEach(write);
        return;
      case "capture":
        if (withGroups) add({ op: "save", slot: node.slot });
        write(node.item);
        if (withGroups) add({ op: "save", slot: node.slot + 1 });
        return;
      case "choice": {
        const jumps = [];
        for (const [index, item] of node.items.entries()) {
          if (index === node.items.length - 1) {
            write(item);
            break;
          }
          const split = add({ op: "split", a: program.length + 1, b: 0 });
          write(item);
          jumps.push(add({ op: "jump", a: 0 }));
          split.b = program.length;
        }
        for (const jump of jumps) jump.a = program.length;
        return;
      }
      case "repeat":
        for (let i = 0; i < node.min; i++) {
          const before = program.length;
          write(node.item);
          // An empty item need not be repeated: `(){1000000000}`.
          if (program.length === before) break;
        }
        if (node.max === Infinity) {
          const split = add({ op: "split", a: program.length + 1, b: 0 });
          const start = program.length - 1;
          write(node.item);
          add({ op: "jump", a: start });
          split.b = program.length;
          if (node.lazy) [split.a, split.b] = [split.b, split.a];
        } else {
          const splits = [];
          for (let i = node.min; i < node.max; i++) {
            splits.push(add({ op: "split", a: program.length + 1, b: 0 }));
            write(node.item);
          }
          for (const split of splits) {
            split.b = program.length;
            if (node.lazy) [split.a, split.b] = [split.b, split.a];
          }
        }
    }
  }
}

// --- running ------------------------------------------------------------------------------------

/**
 * Maximum number of states of an automaton. A pattern with more states needs a new state for
 * nearly every character, and then `run` is faster.
 */
const MAX_STATES = 1000;

/**
 * Makes a function with the same results as `run`, but faster for many subjects. It builds a
 * deterministic automaton on demand. A state is a set of program positions; the next state after a
 * character is computed once and then looked up.
 * @param {Instruction[]} program
 * @returns {(subject: string) => boolean}
 */
function memoizedMatcher(program) {
  // Whether there is a word boundary depends on the next character, which a state does not know.
  if (program.some((instruction) => instruction.op === "assert" && /word/i.test(instruction.kind))) {
    return (subject) => run(program, subject);
  }
  /** @typedef {{ positions: number[], next: Map<number, State | true>, endMatches: boolean }} State
   *   `next`: the following state by code point, or true if the program has matched;
   *   `endMatches`: whether the program matches if the subject ends here */
  /** @type {Map<string, State>} */
  const states = new Map();
  const first = stateOf([0], true);
  return (subject) => {
    if (subject === "") return run(program, subject);
    let state = first;
    for (let i = 0; i < subject.length && state !== true; i++) {
      const code = /** @type {number} */ (subject.codePointAt(i));
      if (code > 0xffff) i++;
      let next = state.next.get(code);
      if (next === undefined) {
        if (states.size >= MAX_STATES) return run(program, subject);
        state.next.set(code, (next = step(state, code)));
      }
      state = next;
    }
    return state === true || state.endMatches;
  };

  /** Computes the state after a character. @param {State} state @param {number} code */
  function step({ positions }, code) {
    const reached = positions.filter((position) => {
      const instruction = program[position];
      return instruction.op === "char" && instruction.test(code);
    });
    // Position 0 is always included, because a match may begin at any character.
    return stateOf([0, ...reached.map((position) => position + 1)], false);
  }

  /**
   * The state that is reached from some program positions.
   * @param {number[]} starts
   * @param {boolean} isStart  whether this is the start of the subject
   * @returns {State | true} true if the program has matched
   */
  function stateOf(starts, isStart) {
    const positions = reach(starts, isStart, false);
    if (!positions) return true;
    const key = positions.sort((a, b) => a - b).join();
    let state = states.get(key);
    if (!state) {
      state = { positions, next: new Map(), endMatches: reach(positions, false, true) === null };
      states.set(key, state);
    }
    return state;
  }

  /**
   * The positions that are reached from `starts` without consuming a character, and that need a
   * character or the end of the subject to continue; null if the program matches.
   * @param {number[]} starts
   * @param {boolean} isStart  whether this is the start of the subject
   * @param {boolean} isEnd  whether this is the end of the subject
   */
  function reach(starts, isStart, isEnd) {
    const seen = new Set();
    const reached = [];
    const pending = [...starts];
    for (let position = pending.pop(); position !== undefined; position = pending.pop()) {
      if (seen.has(position)) continue;
      seen.add(position);
      const instruction = program[position];
      if (instruction.op === "match") return null;
      if (instruction.op === "jump") pending.push(instruction.a);
      else if (instruction.op === "split") pending.push(instruction.b, instruction.a);
      else if (instruction.op === "save") pending.push(position + 1);
      else if (instruction.op === "char" || (instruction.kind === "end" && !isEnd)) reached.push(position);
      else if (isEnd ? instruction.kind === "end" : isStart) pending.push(position + 1);
    }
    return reached;
  }
}

/**
 * Whether a program matches anywhere in a subject. `current` and `next` have a program position for
 * each alternative that is being followed. A position is added at most once per character, which
 * bounds the work.
 * @param {Instruction[]} program
 * @param {string} subject
 */
function run(program, subject) {
  const codes = Array.from(subject, (char) => /** @type {number} */ (char.codePointAt(0)));
  const seen = new Int32Array(program.length).fill(-1);
  let current = /** @type {number[]} */ ([]);
  let next = /** @type {number[]} */ ([]);

  for (let at = 0; at <= codes.length; at++) {
    if (follow(0, at, current)) return true; // a match may begin at any character
    const code = codes[at];
    if (code === undefined) return false;
    for (const position of current) {
      const instruction = program[position];
      if (instruction.op === "char" && instruction.test(code) && follow(position + 1, at + 1, next)) return true;
    }
    [current, next] = [next, current];
    next.length = 0;
  }
  return false;

  /**
   * Adds to `reached` the positions that are reached from `start` without consuming a character,
   * and that need a character to continue.
   * @returns {boolean} whether the program matches
   * @param {number} start
   * @param {number} at
   * @param {number[]} reached
   */
  function follow(start, at, reached) {
    const pending = [start];
    for (let position = pending.pop(); position !== undefined; position = pending.pop()) {
      if (seen[position] === at) continue;
      seen[position] = at;
      const instruction = program[position];
      switch (instruction.op) {
        case "match":
          return true;
        case "char":
          reached.push(position);
          break;
        case "jump":
          pending.push(instruction.a);
          break;
        case "split":
          pending.push(instruction.b, instruction.a);
          break;
        case "assert":
          if (assertionHolds(instruction.kind, codes, at)) pending.push(position + 1);
      }
    }
    return false;
  }
}

/**
 * Whether an assertion is true before the character at an index.
 * @param {"start" | "end" | "word" | "notWord"} kind
 * @param {readonly number[]} codes
 * @param {number} at
 */
export function assertionHolds(kind, codes, at) {
  if (kind === "start") return at === 0;
  if (kind === "end") return at === codes.length;
  const boundary = (at > 0 && isWord(codes[at - 1])) !== (at < codes.length && isWord(codes[at]));
  return boundary === (kind === "word");
}
