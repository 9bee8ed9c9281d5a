/**
 * Differences between two texts: by line, and by word within changed lines. Pure functions.
 */

/** Number of unchanged lines shown before and after a change. */
const CONTEXT_LINES = 3;
/**
 * Maximum number of changes to search for. Texts with more changes have little in common, and the
 * time is quadratic in the number of changes.
 */
const MAX_CHANGES = 1000;

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
  if (before === after) return [];
  const blocks = diffLists(before.split("\n"), after.split("\n"));
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
 * The shortest edit script between two lists, by Myers' algorithm, in blocks. Each block
 * begins with items that both lists share; the items after these are removed from `a` or added from
 * `b`.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {{ same: string[], removed: string[], added: string[] }[]}
 */
export function diffLists(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const blocks = [{ same: a.slice(0, start), removed: /** @type {string[]} */ ([]), added: /** @type {string[]} */ ([]) }];
  for (const [kind, item] of edits(a.slice(start, a.length - tail), b.slice(start, b.length - tail))) {
    let block = blocks[blocks.length - 1];
    if (kind === "same" && block.removed.length + block.added.length > 0) blocks.push((block = { same: [], removed: [], added: [] }));
    block[kind].push(item);
  }
  if (tail > 0) {
    const last = blocks[blocks.length - 1];
    const rest = a.slice(a.length - tail);
    if (last.removed.length + last.added.length > 0) blocks.push({ same: rest, removed: [], added: [] });
    else last.same.push(...rest);
  }
  return blocks;
}

/**
 * The edit script as a list of single edits, in order. If the lists differ too much, all of
 * `a` is removed and all of `b` is added.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {["same" | "removed" | "added", string][]}
 */
function edits(a, b) {
  // A point (x, y) of Myers' algorithm stands for the first x elements of `a` and the first y of `b`;
  // diagonal k has the points with x - y = k. Entry d of the trace has the furthest x on each diagonal
  // before round d, at index k + d + 1. The path is followed backwards from its end.
  /** @type {["same" | "removed" | "added", string][]} */
  const path = [];
  const trace = traceOf(a, b);
  if (trace === null) {
    for (const item of a) path.push(["removed", item]);
    for (const item of b) path.push(["added", item]);
    return path;
  }
  let [x, y] = [a.length, b.length];
  for (let d = trace.length - 1; d >= 0; d--) {
    // Round d came to diagonal k from k + 1 by an addition, or from k - 1 by a removal, and then
    // followed equal items. Backwards, the equal items come first.
    const reached = trace[d];
    const k = x - y;
    const isDown = k === -d || (k !== d && reached[k - 1 + d + 1] < reached[k + 1 + d + 1]);
    const from = isDown ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reached[from + d + 1]; // Round 0 starts at (0, 0), without a change.
    const fromY = fromX - from;
    while (x > Math.max(0, fromX) && y > Math.max(0, fromY)) {
      path.push(["same", a[--x]]);
      y--;
    }
    if (d === 0) break;
    if (isDown) path.push(["added", b[--y]]);
    else path.push(["removed", a[--x]]);
  }
  return path.reverse();
}

/**
 * The forward pass of Myers' algorithm. Round d of the algorithm extends all paths to d changes,
 * and entry d of the result is the state before this round: its element `k + d + 1` is the furthest
 * x reached on diagonal k = x - y. `edits` follows the entries backwards.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {Int32Array[] | null} null if there are more than MAX_CHANGES changes
 */
function traceOf(a, b) {
  const maxChanges = Math.min(MAX_CHANGES, a.length + b.length);
  const reached = new Int32Array(2 * maxChanges + 3);
  const middle = maxChanges + 1;
  /** @type {Int32Array[]} */
  const trace = [];
  for (let d = 0; d <= maxChanges; d++) {
    trace.push(reached.slice(middle - d - 1, middle + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const isDown = k === -d || (k !== d && reached[middle + k - 1] < reached[middle + k + 1]);
      let x = isDown ? reached[middle + k + 1] : reached[middle + k - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reached[middle + k] = x;
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return null;
}
