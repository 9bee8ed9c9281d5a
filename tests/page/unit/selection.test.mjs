// Which runs are checked, including runs that do not exist yet.

import assert from "node:assert/strict";
import { test } from "node:test";
import { AUTO, AUTO_LIMIT, checkedRuns, onlyRuns, selectionFromText, selectionToText, setChecked } from "../../../tbcore/web/shell/state/selection.js";
import { newestGroups } from "../../../tbcore/web/shell/state/grouped.js";

const MANY = Array.from({ length: AUTO_LIMIT + 50 }, (_, i) => `r${i}`);
/** A thousand runs, of which each tenth matches `g4`. */
const THOUSAND = Array.from({ length: 1000 }, (_, i) => `g${i % 10}/run${i}`);

/**
 * The candidates if all runs match, or only some.
 * @param {readonly string[]} runs
 * @param {(run: string) => boolean} [matches]
 * @param {ReadonlyMap<string, string> | null} [groupOf]
 */
function of(runs, matches = () => true, groupOf = null) {
  const matching = runs.filter(matches);
  return { runs, matching, newest: groupOf ? newestGroups(matching, groupOf, AUTO_LIMIT) : new Set(matching.slice(-AUTO_LIMIT)) };
}

test("by default all runs are checked, but at most the newest hundred", () => {
  assert.deepEqual([...checkedRuns(AUTO, of(["a", "b"]))], ["a", "b"]);
  assert.deepEqual([...checkedRuns(AUTO, of(MANY))], MANY.slice(-AUTO_LIMIT));
});

test("the default is the newest hundred of the runs that match, and all if at most a hundred match", () => {
  const odd = (/** @type {string} */ run) => Number(run.at(-1)) % 2 === 1;
  assert.deepEqual([...checkedRuns(AUTO, of(THOUSAND, odd))], THOUSAND.filter(odd).slice(-AUTO_LIMIT));
  const ofGroup = (/** @type {string} */ run) => run.startsWith("g4/");
  assert.deepEqual([...checkedRuns(AUTO, of(THOUSAND, ofGroup))], THOUSAND.filter(ofGroup));
  assert.deepEqual([...checkedRuns(AUTO, of(THOUSAND, (run) => run === "g8/run478"))], ["g8/run478"]);
  assert.deepEqual([...checkedRuns(AUTO, of(THOUSAND, () => false))], []);
});

test("the limit counts whole groups, in the order of their newest runs", () => {
  // Seed by seed, so that the newest hundred runs would be two of five seeds.
  const seeds = Array.from({ length: 215 }, (_, i) => `cfg${i % 43}/s${Math.floor(i / 43)}`);
  const groupOf = new Map(seeds.map((run) => [run, run.split("/")[0]]));
  assert.equal(newestGroups(seeds, groupOf, AUTO_LIMIT).size, 215);
  const many = Array.from({ length: 1000 }, (_, i) => `cfg${i % 250}/s${Math.floor(i / 250)}`);
  const groupOfMany = new Map(many.map((run) => [run, run.split("/")[0]]));
  const isNewest = (/** @type {string} */ run) => Number(/\d+/.exec(run)?.[0]) >= 150;
  assert.deepEqual([...newestGroups(many, groupOfMany, AUTO_LIMIT)], many.filter(isNewest));
  // An old seed of a group is in it, and runs without a group count as one each.
  const late = [...MANY, "a/1", "b/1", "a/2"];
  const newest = newestGroups(["a/0", ...late], new Map([["a/0", "a"], ["a/1", "a"], ["a/2", "a"]]), AUTO_LIMIT);
  assert.deepEqual([...newest], ["a/0", ...MANY.slice(-98), "a/1", "b/1", "a/2"]);
  // Of the groups, the runs that match.
  assert.deepEqual([...newestGroups(seeds.filter((run) => run.endsWith("s0")), groupOf, AUTO_LIMIT)], seeds.slice(0, 43));
});

test("after one run was unchecked, new runs are still checked", () => {
  const selection = setChecked(AUTO, ["b"], false, of(["a", "b"]));
  assert.deepEqual([...checkedRuns(selection, of(["a", "b", "c"]))], ["a", "c"]);
});

test("after only one run was checked, new runs are not checked", () => {
  assert.deepEqual([...checkedRuns(onlyRuns(["b"], of(["a", "b"])), of(["a", "b", "c"]))], ["b"]);
  const two = setChecked(onlyRuns(["b"], of(["a", "b"])), ["c"], true, of(["a", "b", "c", "d"]));
  assert.deepEqual([...checkedRuns(two, of(["a", "b", "c", "d", "e"]))], ["b", "c"]);
});

test("a run that was checked or unchecked stays so, while the newest follow new runs and the filter", () => {
  let selection = setChecked(AUTO, ["g0/run0"], true, of(THOUSAND));
  selection = setChecked(selection, ["g9/run999"], false, of(THOUSAND));
  assert.equal(selectionToText(selection), "~newest,g0/run0,!g9/run999");
  const later = [...THOUSAND, ...Array.from({ length: 50 }, (_, i) => `new${i}`)];
  const expected = later.slice(-AUTO_LIMIT).filter((run) => run !== "g9/run999");
  assert.deepEqual([...checkedRuns(selection, of(later))], ["g0/run0", ...expected]);
  // After so many new runs that it would not be one of the newest, too; and with a filter.
  const muchLater = [...later, ...MANY];
  assert.deepEqual([...checkedRuns(selection, of(muchLater))], ["g0/run0", ...MANY.slice(-AUTO_LIMIT)]);
  const ninth = THOUSAND.filter((run) => run.startsWith("g9/"));
  assert.deepEqual([...checkedRuns(selection, of(THOUSAND, (run) => run.startsWith("g9/")))], ["g0/run0", ...ninth.slice(0, -1)]);
  // What undoes it leaves no exception.
  selection = setChecked(setChecked(selection, ["g9/run999"], true, of(THOUSAND)), ["g0/run0"], false, of(THOUSAND));
  assert.equal(selectionToText(selection), null);
});

test("a folder that is checked stays so when its runs are no longer among the newest", () => {
  const folder = MANY.slice(0, 60);
  const selection = setChecked(AUTO, folder, true, of(MANY));
  assert.deepEqual([...checkedRuns(selection, of([...MANY, ...THOUSAND]))], [...folder, ...THOUSAND.slice(-AUTO_LIMIT)]);
});

test("checking and unchecking all runs of a filter does not change the others", () => {
  const runs = ["a1", "a2", "b1"];
  const without = setChecked(AUTO, ["a1", "a2"], false, of(runs));
  assert.deepEqual([...checkedRuns(without, of(runs))], ["b1"]);
  assert.deepEqual([...checkedRuns(setChecked(without, ["a1", "a2"], true, of(runs)), of(runs))], runs);
  // Those that do not match are neither checked nor unchecked.
  const fourth = of(THOUSAND, (run) => run.startsWith("g4/"));
  const hidden = setChecked(AUTO, fourth.matching, false, fourth);
  assert.equal(checkedRuns(hidden, fourth).size, 0);
  assert.equal(checkedRuns(hidden, of(THOUSAND)).size, 90);
  assert.equal(selectionToText(setChecked(hidden, fourth.matching, true, fourth)), null);
});

test("all that match are checked without the limit, and the others are not", () => {
  const half = of(THOUSAND, (run) => Number(run.at(-1)) % 2 === 1);
  const other = setChecked(AUTO, ["g8/run998"], false, of(THOUSAND));
  const all = setChecked(setChecked(other, half.matching, false, half), half.matching, true, half);
  assert.equal(selectionToText(all), "~matching,!g8/run998", "a rule");
  assert.deepEqual([...checkedRuns(all, half)], half.matching);
  // It is that of each other filter, too; without one, the newest are shown.
  const most = of(THOUSAND, (run) => Number(run.at(-1)) > 1);
  assert.deepEqual([...checkedRuns(all, most)], most.matching.filter((run) => run !== "g8/run998"));
  assert.equal(checkedRuns(all, of(THOUSAND)).size, 99);
  const one = setChecked(all, ["g1/run1"], false, half);
  assert.equal(selectionToText(one), "~matching,!g8/run998,!g1/run1");
  assert.equal(selectionToText(setChecked(one, half.matching, true, half)), "~matching,!g8/run998");
  assert.equal(checkedRuns(setChecked(all, half.matching, false, half), half).size, 0);
  assert.equal(selectionToText(setChecked(AUTO, half.matching, true, half)), "~matching");
});

test("all and none apply to runs that are added later", () => {
  const none = setChecked(AUTO, ["a", "b"], false, of(["a", "b"]));
  assert.deepEqual([...checkedRuns(none, of(["a", "b", "c"]))], []);
  const all = setChecked(none, ["a", "b"], true, of(["a", "b"]));
  assert.deepEqual([...checkedRuns(all, of(["a", "b", "c"]))], ["a", "b", "c"]);
  // All of a few runs are the default, whose limit applies once there are more.
  assert.equal(selectionToText(all), null);
  assert.equal(selectionToText(setChecked(AUTO, MANY, true, of(MANY))), "!");
});

test("with many runs, the text lists either the checked or the unchecked ones, whichever are fewer", () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => `r${i}`);
  const all = setChecked(AUTO, runs, true, of(runs));
  const few = setChecked(all, runs.slice(3), false, of(runs));
  assert.equal(selectionToText(few), "r0,r1,r2");
  assert.deepEqual([...checkedRuns(few, of([...runs, "new"]))], ["r0", "r1", "r2"]);
  assert.equal(selectionToText(setChecked(few, runs.slice(0, -2), true, of(runs))), "!r9998,r9999");
  assert.equal(selectionToText(onlyRuns(runs.slice(1), of(runs))), "!r0");
  assert.equal(selectionToText(setChecked(AUTO, runs.slice(1), true, of(runs))), "!r0");
  // A few exceptions keep their base: after unchecking some runs, new ones are still shown.
  const some = setChecked(AUTO, runs.slice(0, 90), false, of(runs.slice(0, 99)));
  assert.equal(some.base, "auto");
});

test("ten thousand runs are selected again in a few milliseconds", () => {
  const runs = Array.from({ length: 10_000 }, (_, i) => `cfg${i % 2000}/s${i}`);
  const groupOf = new Map(runs.map((run) => [run, run.split("/")[0]]));
  const selection = { base: /** @type {const} */ ("auto"), except: new Map(runs.slice(0, 100).map((run) => [run, true])) };
  const times = Array.from({ length: 9 }, () => {
    const start = performance.now();
    assert.equal(checkedRuns(selection, of(runs, () => true, groupOf)).size, 600);
    return performance.now() - start;
  });
  assert.ok(Math.min(...times) < 20, `took ${Math.min(...times)} ms`);
});

test("parsing a selection reverses formatting it", () => {
  const names = ["a,b", "!x", "~", "~1", "~newest", "100%", "%2F", "a;b", "plain", "ü/ß", "x=1&y#2"];
  for (const base of /** @type {const} */ (["all", "none", "auto", "matching"])) {
    for (const except of [[], ["!x"], ["~newest"], names]) {
      for (const isChecked of base === "auto" || base === "matching" ? [true, false] : [base === "none"]) {
        const selection = { base, except: new Map(except.map((name) => [name, isChecked])) };
        assert.deepEqual(selectionFromText(selectionToText(selection)), selection);
      }
    }
  }
  assert.equal(selectionToText(AUTO), null);
  assert.equal(selectionFromText(undefined), AUTO);
});

test("links of before select what they did", () => {
  assert.deepEqual(selectionFromText("!a,b~1"), { base: "all", except: new Map([["a", false], ["b,", false]]) });
  assert.deepEqual(selectionFromText("a,b%2C"), { base: "none", except: new Map([["a", true], ["b%2C", true]]) });
  assert.deepEqual(selectionFromText(""), { base: "none", except: new Map() });
  assert.deepEqual(selectionFromText("!"), { base: "all", except: new Map() });
});
