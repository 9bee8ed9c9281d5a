// The rows of the run list: folders, groups, and the splitting of labels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { groupRows } from "../../../tbcore/web/shell/state/grouped.js";
import { commonLengths } from "../../../tbcore/web/lib/format.js";
import { flatRows, treeRows } from "../../../tbcore/web/shell/state/tree.js";
import { cutLabel } from "../../../tbcore/web/lib/text-names.js";

const all = () => true;

/** The rows as indented labels. @param {import("../../../tbcore/web/shell/state/tree.js").Row[]} rows */
const drawn = (rows) => rows.map(({ depth, label, kind }) => `${"  ".repeat(depth)}${label}${kind === "group" ? " (group)" : ""}`);

test("runs are in the folders of their paths, and a folder with one child has no row", () => {
  const runs = ["exp_lr0.01/losses/a", "exp_lr0.01/losses/b", "exp_lr0.1/losses/a", "other"];
  assert.deepEqual(drawn(treeRows(runs, all)), ["exp_lr0.01/losses/", "  a", "  b", "exp_lr0.1/losses/a", "other"]);
});

test("a run whose name is that of a folder is a row of its own", () => {
  assert.deepEqual(drawn(treeRows(["a", "a/b", "a/c", "."], all)), ["a", "a/", "  b", "  c", "."]);
});

test("leading, trailing and double slashes are part of labels", () => {
  for (const name of ["/a", "a/", "a//b", "/", "//", ""]) {
    assert.deepEqual(drawn(treeRows([name], all)), [name]);
  }
  assert.deepEqual(drawn(treeRows(["a/", "a/b", "a/c"], all)), ["a/", "a/", "  b", "  c"]);
  assert.equal(new Set(treeRows(["a/", "a/b", "a/c"], all).map(({ key }) => key)).size, 4);
});

test("a closed folder hides its rows and lists its runs", () => {
  const rows = treeRows(["a/b/1", "a/b/2", "a/c", "d"], (key) => key !== "folder:a/b/");
  assert.deepEqual(drawn(rows), ["a/", "  b/", "  c", "d"]);
  assert.deepEqual(rows[1].runs, ["a/b/1", "a/b/2"]);
  assert.deepEqual(rows[0].runs, ["a/b/1", "a/b/2", "a/c"]);
  assert.equal(rows[1].isOpen, false);
});

test("rows have their position among siblings", () => {
  const rows = treeRows(["a/1", "a/2", "b"], all);
  assert.deepEqual(rows.map(({ position, numSiblings }) => [position, numSiblings]), [[1, 2], [1, 2], [2, 2], [2, 2]]);
});

test("in any order, a folder is at the position of its first run", () => {
  assert.deepEqual(drawn(treeRows(["b/new", "a/new", "b/old", "a/old"], all)), ["b/", "  new", "  old", "a/", "  new", "  old"]);
});

test("a group contains its runs; a group of one is that run, unless others are archived", () => {
  const groups = new Map([["a1", "a"], ["a2", "a"], ["b1", "b"]]);
  assert.deepEqual(drawn(groupRows(["a2", "b1", "a1", "c"], groups, all)), ["a (group)", "  a2", "  a1", "b1", "c"]);
  assert.deepEqual(drawn(groupRows(["a1", "a2"], groups, () => false)), ["a (group)"]);
  const layers = new Map([["r1", "layers=10"], ["r2", "layers=4"], ["r3", "layers=10"], ["r4", "layers=4"], ["r5", "layers=2"], ["r6", "layers=2"]]);
  for (const [isByName, order] of /** @type {const} */ ([[true, [2, 4, 10]], [false, [10, 4, 2]]])) {
    assert.deepEqual(drawn(groupRows([...layers.keys()], layers, () => false, undefined, isByName)), order.map((number) => `layers=${number} (group)`));
  }
  assert.deepEqual(drawn(groupRows(["a1", "b1"], groups, all, new Map([["a", ["a2"]]]))), ["a (group)", "  a1", "b1"]);
});

test("labels of groups and runs leave out common folders", () => {
  const groups = new Map([["x/a/s1/t", "x/a/*/t"], ["x/a/s2/t", "x/a/*/t"], ["x/b/s1", "x/b/*"], ["x/b/s2", "x/b/*"]]);
  assert.deepEqual(drawn(groupRows([...groups.keys(), "y"], groups, all)), ["a/*/t (group)", "  s1/t", "  s2/t", "b/* (group)", "  s1", "  s2", "y"]);
});

test("a flat list has full names", () => {
  assert.deepEqual(drawn(flatRows(["a/b", "c"])), ["a/b", "c"]);
});

test("the part of a label that tells a run from its siblings is known", () => {
  /** @param {import("../../../tbcore/web/shell/state/tree.js").Row[]} rows */
  const parts = (rows) => rows.map(({ label, part }) => label.slice(...part));
  const runs = ["net_base_lr1_final", "net_base_lr2_final", "net_base_lr2_cosine_final"];
  assert.deepEqual(parts(flatRows(runs)), ["lr1", "lr2", "lr2_cosine"]);
  assert.deepEqual(parts(treeRows([...runs.map((run) => `a/${run}`), "b"], all)), ["a/", "lr1", "lr2", "lr2_cosine", "b"]);
  const groups = new Map(runs.map((run) => [run, run === runs[0] ? "mean_of_1" : "mean_of_2"]));
  assert.deepEqual(parts(groupRows(runs, groups, all)), ["net_base_lr1_final", "mean_of_2", "final", "cosine_final"]);
  assert.deepEqual(parts(flatRows([runs[0]])), [runs[0]]);
});

test("common parts end at separators, never inside a number or a word, and leave a part of each label", () => {
  /** @type {[labels: string[], lengths: [start: number, end: number]][]} */
  const cases = [
    [["mnist_lr1e-3_final", "mnist_lr1e-4_final"], [6, 6]],
    [["lr1e-3_bs32_s1", "lr1e-4_bs32_s1"], [0, 8]],
    [["lr=0.001 adam", "lr=0.002 adam"], [0, 5]],
    [["sweep-1e-3", "sweep-2e-3"], [6, 0]], // "-3" is an exponent
    [["model-2024-01-31", "model-2024-02-28"], [11, 0]],
    [["resnet18", "resnet50"], [0, 0]],
    [["base_run", "base_run_2"], [5, 0]],
    [["base_", "base_base_"], [0, 0]],
    [["a_1", "a_2"], [0, 0]], // too short to save space
    [["train/😀", "train/😁"], [6, 0]],
    [["", "a"], [0, 0]],
    [["same_run", "same_run"], [5, 0]],
    [["long/path"], [0, 0]],
    [[], [0, 0]],
  ];
  for (const [labels, lengths] of cases) assert.deepEqual(commonLengths(labels), lengths, labels.join());
});

test("the work per run does not grow with the number of runs", () => {
  /**
   * The number of calls of `isOpen`, and the number of rows that contain each run on average.
   * @param {number} count  number of runs
   */
  const work = (count) => {
    const runs = Array.from({ length: count }, (_, i) => `sweep${i % 40}/lr${i % 7}/run${i}`);
    let numCalls = 0;
    const rows = treeRows(runs, () => ++numCalls > 0);
    assert.equal(rows.filter(({ kind }) => kind === "run").length, count);
    return [numCalls, rows.reduce((sum, row) => sum + row.runs.length, 0) / count];
  };
  assert.deepEqual(work(10_000), [40 + 280, 3]); // each run in two folders and in a row of its own
  assert.deepEqual(work(2_800), [40 + 280, 3]);
});

test("long labels are split between words, and never inside a character", () => {
  assert.deepEqual(cutLabel("train"), ["", "train"]);
  assert.deepEqual(cutLabel("resnet18/seed0"), ["resnet18/", "seed0"], "its end stays, too");
  assert.deepEqual(cutLabel("PPO_HalfCheetah_seed123456"), ["PPO_HalfCheetah_", "seed123456"]);
  assert.deepEqual(cutLabel("rate-too-high"), ["rate-", "too-high"]);
  assert.deepEqual([cutLabel("resnet18/"), cutLabel("a/resnet18")], [["res", "net18/"], ["a/r", "esnet18"]], "no head is narrower than its place");
  assert.deepEqual(cutLabel("a".repeat(30)), ["a".repeat(22), "a".repeat(8)], "a long word");
  const [head, tail] = cutLabel("aaaaaaaaaa😀bbbbbbbbbbb");
  assert.equal(head + tail, "aaaaaaaaaa😀bbbbbbbbbbb");
  assert.ok(head.isWellFormed() && tail.isWellFormed());
});
