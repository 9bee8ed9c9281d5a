/**
 * Differences between two texts: by line, and by word within changed lines. Pure functions.
 */

/** Number of unchanged lines shown before and after a change. */
const CONTEXT_LINES = 3;
/**
 * Maximum number of changes to search for. Texts with more changes have little in common, and the
 * time is quadratic in the number of changes.
 */
const MAX_CHANGES = 500;

/**
 * @typedef {{ kind: "same" | "removed" | "added", text: string }} Part
 * @typedef {{ kind: "same" | "removed" | "added", parts: Part[] } | { kind: "gap", count: number }} Line
 *   `gap` stands for a number of unchanged lines
 */

/**
 * The differences between two texts: the lines of both, in order. Removed lines come before the
 * added lines that replace them.
 * @param {string} before
 * @param {string} after
 * @returns {Line[]} empty if the texts are equal
 */
export function diffTexts(before, after) {
  const blocks = diffLists(linesOf(before), linesOf(after));
  if (blocks.every(({ removed, added }) => removed.length + added.length === 0)) return [];
  /** @type {Line[]} */
  const lines = [];
  blocks.forEach(({ same, removed, added }, i) => {
    lines.push(...shorten(same, i > 0, i < blocks.length - 1 || removed.length + added.length > 0));
    const pairs = removed.map((line, at) => (at < added.length ? diffWords(line, added[at]) : null));
    removed.forEach((text, at) => lines.push({ kind: "removed", parts: pairs[at]?.removed ?? [{ kind: "removed", text }] }));
    added.forEach((text, at) => lines.push({ kind: "added", parts: pairs[at]?.added ?? [{ kind: "added", text }] }));
  });
  return lines;
}

/** Where Python's `splitlines` divides a text. */
const LINE_END = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/u;

/** The lines of a text. An end of line at its end begins no other line. @param {string} text */
function linesOf(text) {
  const lines = text.split(LINE_END);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/**
 * Shortens a stretch of unchanged lines: a gap replaces the lines that are far from any change.
 * @param {readonly string[]} same
 * @param {boolean} hasChangeBefore  whether a change precedes the stretch
 * @param {boolean} hasChangeAfter  whether a change follows the stretch
 * @returns {Line[]}
 */
function shorten(same, hasChangeBefore, hasChangeAfter) {
  const head = hasChangeBefore ? CONTEXT_LINES : 0;
  const tail = hasChangeAfter ? CONTEXT_LINES : 0;
  const toLines = (/** @type {readonly string[]} */ texts) =>
    texts.map((text) => /** @type {Line} */ ({ kind: "same", parts: [{ kind: "same", text }] }));
  const count = same.length - head - tail;
  // A gap takes one line itself, so it must replace at least two.
  if (count <= 1) return toLines(same);
  return [...toLines(same.slice(0, head)), { kind: "gap", count }, ...toLines(same.slice(same.length - tail))];
}

/**
 * The parts of a changed line, in its old and its new form.
 * @param {string} before
 * @param {string} after
 * @returns {{ removed: Part[], added: Part[] } | null} null if the lines have too little in common
 */
function diffWords(before, after) {
  const [a, b] = [wordsOf(before), wordsOf(after)];
  const blocks = diffLists(a, b);
  const common = blocks.reduce((sum, { same }) => sum + same.join("").trim().length, 0);
  // At least a quarter of the shorter line must be common.
  if (common === 0 || common * 4 < Math.min(before.trim().length, after.trim().length)) return null;
  /** @type {Part[]} */
  const removed = [];
  /** @type {Part[]} */
  const added = [];
  for (const block of blocks) {
    if (block.same.length > 0) {
      removed.push({ kind: "same", text: block.same.join("") });
      added.push({ kind: "same", text: block.same.join("") });
    }
    if (block.removed.length > 0) removed.push({ kind: "removed", text: block.removed.join("") });
    if (block.added.length > 0) added.push({ kind: "added", text: block.added.join("") });
  }
  return { removed, added };
}

/**
 * Splits a line into numbers, words, spaces in a row, and other characters one by one.
 * @param {string} line
 * @returns {string[]}
 */
function wordsOf(line) {
  return line.match(/\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\p{L}\p{N}_])|[\p{L}\p{N}_]+|\s+|./gsu) ?? [];
}

/**
 * The fewest changes between two lists, in blocks. Each block begins with items that both lists
 * share; the items after these are removed from `a` or added to `b`.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {{ same: string[], removed: string[], added: string[] }[]}
 */
export function diffLists(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const stretches = [[0, head, 0], ...fewestChanges(a, b, head, tail), [a.length - tail, a.length, a.length - b.length]];
  // What follows the last stretch is nothing, and empty stretches between others are no blocks.
  return stretches.flatMap(([start, end, shift], i) => {
    const [nextStart, , nextShift] = stretches[i + 1] ?? [a.length, 0, a.length - b.length];
    const block = { same: a.slice(start, end), removed: a.slice(end, nextStart), added: b.slice(end - shift, nextStart - nextShift) };
    return i > 0 && block.same.length + block.removed.length + block.added.length === 0 ? [] : [block];
  });
}

/**
 * Myers' algorithm, as in tbcore/values/differences.py: round d extends all paths to d changes. A
 * path is the stretches of equal items on its way: start and end in `a`, and how much later than in
 * `b` they are. On the diagonal k, where x in `a` and x - k in `b` are compared, `best` has the
 * furthest path, after the x that it has reached.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @param {number} head  number of items at the start that are left out
 * @param {number} tail  the same at the end
 * @returns {number[][]} empty if there are more than MAX_CHANGES changes
 */
function fewestChanges(a, b, head, tail) {
  /** @type {Record<number, [x: number, path: number[][]]>} */
  const best = { 1: [head, []] };
  for (let d = 0; d <= MAX_CHANGES; d++) {
    for (let k = -d; k <= d; k += 2) {
      const isAdded = k === -d || (k !== d && best[k - 1][0] < best[k + 1][0]);
      let [x, path] = isAdded ? best[k + 1] : best[k - 1];
      if (!isAdded) x++;
      const start = x;
      while (x < a.length - tail && x - k < b.length - tail && a[x] === b[x - k]) x++;
      if (start < x) path = [...path, [start, x, k]];
      if (x >= a.length - tail && x - k >= b.length - tail) return path;
      best[k] = [x, path];
    }
  }
  return [];
}
