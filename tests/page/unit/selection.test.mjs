// Which runs are checked, including runs that do not exist yet.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AUTO, AUTO_LIMIT, checkedRuns, onlyRuns, selectionFromText, selectionToText, setChecked } from "../../../tbcore/web/shell/state/selection.js";

const MANY = Array.from({ length: AUTO_LIMIT + 50 }, (_, i) => `r${i}`);

test("by default all runs are checked, but at most the newest hundred", () => {
  assert.deepEqual([...checkedRuns(AUTO, ["a", "b"])], ["a", "b"]);
  assert.deepEqual([...checkedRuns(AUTO, MANY)], MANY.slice(-AUTO_LIMIT));
});

test("after one run was unchecked, new runs are still checked", () => {
  const selection = setChecked(AUTO, ["b"], false, ["a", "b"]);
  assert.deepEqual([...checkedRuns(selection, ["a", "b", "c"])], ["a", "c"]);
});

test("after only one run was checked, new runs are not checked", () => {
  assert.deepEqual([...checkedRuns(onlyRuns(["b"], ["a", "b"]), ["a", "b", "c"])], ["b"]);
  const two = setChecked(onlyRuns(["b"], ["a", "b"]), ["c"], true, ["a", "b", "c", "d"]);
  assert.deepEqual([...checkedRuns(two, ["a", "b", "c", "d", "e"])], ["b", "c"]);
});

test("with more runs, a change starts from the newest hundred", () => {
  const selection = setChecked(AUTO, ["r0"], true, MANY);
  assert.deepEqual([...checkedRuns(selection, MANY)], ["r0", ...MANY.slice(-AUTO_LIMIT)]);
});

test("checking and unchecking all runs of a filter does not change the others", () => {
  const runs = ["a1", "a2", "b1"];
  const without = setChecked(AUTO, ["a1", "a2"], false, runs);
  assert.deepEqual([...checkedRuns(without, runs)], ["b1"]);
  assert.deepEqual([...checkedRuns(setChecked(without, ["a1", "a2"], true, runs), runs)], runs);
});

test("all and none apply to runs that are added later", () => {
  const none = setChecked(AUTO, ["a", "b"], false, ["a", "b"]);
  assert.deepEqual([...checkedRuns(none, ["a", "b", "c"])], []);
  const all = setChecked(none, ["a", "b"], true, ["a", "b"]);
  assert.deepEqual([...checkedRuns(all, ["a", "b", "c"])], ["a", "b", "c"]);
});

test("with many runs, the text lists either the checked or the unchecked ones, whichever are fewer", () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => `r${i}`);
  const all = setChecked(AUTO, runs, true, runs);
  const few = setChecked(all, runs.slice(3), false, runs);
  assert.equal(selectionToText(few), "r0,r1,r2");
  assert.deepEqual([...checkedRuns(few, [...runs, "new"])], ["r0", "r1", "r2"]);
  assert.equal(selectionToText(setChecked(few, runs.slice(0, -2), true, runs)), "!r9998,r9999");
  assert.equal(selectionToText(onlyRuns(runs.slice(1), runs)), "!r0");
  // A few exceptions keep their base: after unchecking some runs, new ones are still shown.
  const some = setChecked(AUTO, runs.slice(0, 90), false, runs.slice(0, 99));
  assert.equal(some.base, "all");
});

test("parsing a selection reverses formatting it", () => {
  const names = ["a,b", "!x", "~", "~1", "100%", "%2F", "a;b", "plain", "ü/ß", "x=1&y#2"];
  for (const base of /** @type {const} */ (["all", "none"])) {
    for (const except of [[], ["!x"], names]) {
      const text = selectionToText({ base, except: new Set(except) });
      const back = selectionFromText(text);
      assert.deepEqual([back.base, [...back.except]], [base, except]);
    }
  }
  assert.equal(selectionToText(AUTO), null);
  const all = selectionFromText("!");
  assert.deepEqual([0, 1, AUTO_LIMIT, AUTO_LIMIT + 1].map((number) => selectionToText(all, number)), ["!", null, null, "!"]);
  assert.equal(selectionFromText(undefined), AUTO);
});
