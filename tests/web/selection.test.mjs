// Which runs are checked, as a rule that has an answer for runs to come.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AUTO,
  AUTO_LIMIT,
  checkedRuns,
  onlyRuns,
  selectionFromText,
  selectionToText,
  setChecked,
} from "../../tbcore/web/lib/selection.js";

const MANY = Array.from({ length: AUTO_LIMIT + 50 }, (_, i) => `r${i}`);

test("all runs are checked until somebody chooses, but not more than the newest hundred", () => {
  assert.deepEqual([...checkedRuns(AUTO, ["a", "b"])], ["a", "b"]);
  assert.deepEqual([...checkedRuns(AUTO, MANY)], MANY.slice(-AUTO_LIMIT));
});

test("after one run was unchecked, new ones are still checked as they come", () => {
  const selection = setChecked(AUTO, ["b"], false, ["a", "b"]);
  assert.deepEqual([...checkedRuns(selection, ["a", "b", "c"])], ["a", "c"]);
});

test("after one run was chosen alone, new ones are not", () => {
  assert.deepEqual([...checkedRuns(onlyRuns(["b"], ["a", "b"]), ["a", "b", "c"])], ["b"]);
  const two = setChecked(onlyRuns(["b"], ["a", "b"]), ["c"], true, ["a", "b", "c", "d"]);
  assert.deepEqual([...checkedRuns(two, ["a", "b", "c", "d", "e"])], ["b", "c"]);
});

test("among very many runs a change starts from the newest hundred", () => {
  const selection = setChecked(AUTO, ["r0"], true, MANY);
  assert.deepEqual([...checkedRuns(selection, MANY)], ["r0", ...MANY.slice(-AUTO_LIMIT)]);
});

test("checking all of a filter and unchecking them again leaves the others alone", () => {
  const runs = ["a1", "a2", "b1"];
  const without = setChecked(AUTO, ["a1", "a2"], false, runs);
  assert.deepEqual([...checkedRuns(without, runs)], ["b1"]);
  assert.deepEqual([...checkedRuns(setChecked(without, ["a1", "a2"], true, runs), runs)], runs);
});

test("all and none are rules for runs to come", () => {
  const none = setChecked(AUTO, ["a", "b"], false, ["a", "b"]);
  assert.deepEqual([...checkedRuns(none, ["a", "b", "c"])], []);
  const all = setChecked(none, ["a", "b"], true, ["a", "b"]);
  assert.deepEqual([...checkedRuns(all, ["a", "b", "c"])], ["a", "b", "c"]);
});

test("of very many runs the shorter list is kept, of checked or of unchecked ones", () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => `r${i}`);
  const all = setChecked(AUTO, runs, true, runs);
  const few = setChecked(all, runs.slice(3), false, runs);
  assert.equal(selectionToText(few), "r0,r1,r2");
  assert.deepEqual([...checkedRuns(few, [...runs, "new"])], ["r0", "r1", "r2"]);
  assert.equal(selectionToText(setChecked(few, runs.slice(0, -2), true, runs)), "!r9998,r9999");
  assert.equal(selectionToText(onlyRuns(runs.slice(1), runs)), "!r0");
  // Where there are few, the rule stays: whoever unchecks runs wants to see those to come.
  const some = setChecked(AUTO, runs.slice(0, 90), false, runs.slice(0, 99));
  assert.equal(some.base, "all");
});

test("a selection survives the address", () => {
  const names = ["a,b", "!x", "~", "~1", "100%", "%2F", "a;b", "plain", "ü/ß", "x=1&y#2"];
  for (const base of /** @type {const} */ (["all", "none"])) {
    for (const except of [[], ["!x"], names]) {
      const text = selectionToText({ base, except: new Set(except) });
      const back = selectionFromText(text);
      assert.deepEqual([back.base, [...back.except]], [base, except]);
    }
  }
  assert.equal(selectionToText(AUTO), null);
  assert.equal(selectionFromText(undefined), AUTO);
});
