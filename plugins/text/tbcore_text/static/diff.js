/**
 * What is different between two texts, in lines, and in the lines in words. Pure.
 */

/** Lines around a change that are shown with it. */
const CONTEXT = 3;
/** Changes that are looked for; texts with more have little in common. The work is its square. */
const MOST_CHANGES = 1000;

/**
 * @typedef {{ kind: "same" | "removed" | "added", text: string }} Part
 * @typedef {{ kind: "same" | "removed" | "added", parts: Part[] } | { kind: "gap", count: number }} Line
 *   `gap`: so many lines that are the same
 */

/**
 * The lines of both texts, those that were removed before those that were added in their place.
 * @param {string} before
 * @param {string} after
 * @returns {Line[]} none when the texts are equal
 */
export function diffTexts(before, after) {
  if (before === after) return [];
  const runs = diffLists(before.split("\n"), after.split("\n"));
  /** @type {Line[]} */
  const lines = [];
  runs.forEach(({ same, removed, added }, i) => {
    lines.push(...shorten(same, i > 0, i < runs.length - 1 || removed.length + added.length > 0));
    const pairs = removed.map((line, at) => (at < added.length ? diffWords(line, added[at]) : null));
    removed.forEach((text, at) => lines.push({ kind: "removed", parts: pairs[at]?.removed ?? [{ kind: "removed", text }] }));
    added.forEach((text, at) => lines.push({ kind: "added", parts: pairs[at]?.added ?? [{ kind: "added", text }] }));
  });
  return lines;
}

/**
 * Lines that are the same: those near a change.
 * @param {readonly string[]} same
 * @param {boolean} isAfter  a change
 * @param {boolean} isBefore  a change
 * @returns {Line[]}
 */
function shorten(same, isAfter, isBefore) {
  const head = isAfter ? CONTEXT : 0;
  const tail = isBefore ? CONTEXT : 0;
  const shown = (/** @type {readonly string[]} */ texts) =>
    texts.map((text) => /** @type {Line} */ ({ kind: "same", parts: [{ kind: "same", text }] }));
  const count = same.length - head - tail;
  // A line that says "1 line" is no shorter than that line.
  if (count <= 1) return shown(same);
  return [...shown(same.slice(0, head)), { kind: "gap", count }, ...shown(same.slice(same.length - tail))];
}

/**
 * @param {string} before
 * @param {string} after
 * @returns {{ removed: Part[], added: Part[] } | null} null: the lines have too little in common
 */
function diffWords(before, after) {
  const [a, b] = [wordsOf(before), wordsOf(after)];
  const runs = diffLists(a, b);
  const common = runs.reduce((sum, { same }) => sum + same.join("").trim().length, 0);
  if (common === 0 || common * 4 < Math.min(before.trim().length, after.trim().length)) return null;
  /** @type {Part[]} */
  const removed = [];
  /** @type {Part[]} */
  const added = [];
  for (const run of runs) {
    if (run.same.length > 0) {
      removed.push({ kind: "same", text: run.same.join("") });
      added.push({ kind: "same", text: run.same.join("") });
    }
    if (run.removed.length > 0) removed.push({ kind: "removed", text: run.removed.join("") });
    if (run.added.length > 0) added.push({ kind: "added", text: run.added.join("") });
  }
  return { removed, added };
}

/** Numbers, words, the space between them, and all other characters one by one. @param {string} line @returns {string[]} */
function wordsOf(line) {
  return line.match(/\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\p{L}\p{N}_])|[\p{L}\p{N}_]+|\s+|./gsu) ?? [];
}

/**
 * Shortest edits, by the algorithm of Myers: runs of what both lists have, and what follows them in one or the other.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {{ same: string[], removed: string[], added: string[] }[]}
 */
export function diffLists(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let tail = 0;
  while (tail < a.length - start && tail < b.length - start && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const runs = [{ same: a.slice(0, start), removed: /** @type {string[]} */ ([]), added: /** @type {string[]} */ ([]) }];
  for (const [kind, item] of edits(a.slice(start, a.length - tail), b.slice(start, b.length - tail))) {
    let run = runs[runs.length - 1];
    if (kind === "same" && run.removed.length + run.added.length > 0) runs.push((run = { same: [], removed: [], added: [] }));
    run[kind].push(item);
  }
  if (tail > 0) {
    const last = runs[runs.length - 1];
    const rest = a.slice(a.length - tail);
    if (last.removed.length + last.added.length > 0) runs.push({ same: rest, removed: [], added: [] });
    else last.same.push(...rest);
  }
  return runs;
}

/**
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {["same" | "removed" | "added", string][]} in order
 */
function edits(a, b) {
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
    const reached = trace[d];
    const k = x - y;
    const isDown = k === -d || (k !== d && reached[k - 1 + d + 1] < reached[k + 1 + d + 1]);
    const from = isDown ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : reached[from + d + 1];
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
 * How far into `a` one gets on each diagonal x - y = k with so many changes as were tried before: element `k + d + 1` of
 * entry d. The way back needs all of them.
 * @param {readonly string[]} a
 * @param {readonly string[]} b
 * @returns {Int32Array[] | null} null: more than MOST_CHANGES
 */
function traceOf(a, b) {
  const most = Math.min(MOST_CHANGES, a.length + b.length);
  const reached = new Int32Array(2 * most + 3);
  const middle = most + 1;
  /** @type {Int32Array[]} */
  const trace = [];
  for (let d = 0; d <= most; d++) {
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
