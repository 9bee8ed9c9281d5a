// Rules that group runs: path patterns, regular expressions, and removing seeds or numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expressionOf } from "../../../tbcore/web/lib/queries/expressions.js";
import { attributesOf, compileRule, groupRuns, suggestRules } from "../../../tbcore/web/shell/state/groups.js";
import { groupsOf } from "../../../tbcore/web/shell/state/tree.js";
import { provideWorkers, until } from "./tools.mjs";

provideWorkers();

/** The attributes of tests that need none. */
const NONE = () => null;

/**
 * Asserts which groups a rule makes.
 * @param {string} rule
 * @param {Record<string, string>} expected  run to group
 */
function check(rule, expected) {
  const group = compileRule(rule);
  for (const [run, name] of Object.entries(expected)) assert.equal(group(run), name, `${rule} of ${run}`);
}

test("in a path pattern, braces match what differs within a group, and stars what differs between groups", () => {
  check("exp/{seed}", { "exp/1": "exp/{seed}", "exp/2": "exp/{seed}", "other/1": "other/1", exp: "exp" });
  check("*/{seed}", { "a/1": "a/{seed}", "b/1": "b/{seed}", "b/2/train": "b/{seed}/train" });
  check("lr*_s{seed}", { "lr0.1_s3": "lr0.1_s{seed}", "lr0.2_s44": "lr0.2_s{seed}", "lr0.2": "lr0.2", "lr_s4": "lr_s4" });
  check("{}/eval", { "1/eval": "{}/eval", "1/train": "1/train" });
  check("{id}_*", { "7_a_b": "{id}_a_b" });
  check("a{x}a", { aba: "a{x}a", aaa: "a{x}a", aa: "aa" });
  check("a*b{}b", { axbyb: "axb{}b" });
});

test("an invalid path pattern is rejected with a reason", () => {
  for (const [rule, message] of [["exp", /braces/], ["{a", /unclosed/], ["a}", /unmatched/], ["{a}{b}", /between/], ["*{b}", /between/]]) {
    assert.throws(() => compileRule(/** @type {string} */ (rule)), { name: "SyntaxError", message });
  }
});

test("the capture groups of a regular expression name the group", async () => {
  /** @type {[string, Record<string, string>][]} */
  const table = [
    ["re:lr=([^_]+)", { "a_lr=0.1_s1": "0.1", "b_lr=0.1_s2": "0.1", none: "none" }],
    ["re:^(.*?)_s\\d+/(.*)$", { "ppo_s1/train": "ppo train", "ppo_s2/eval": "ppo eval" }],
    ["re:(?:a|b)\\d", { xa1y: "a1", b2: "b2" }],
    ["re:x*", { abc: "abc" }],
    ["re:(a)|(b)", { xb: "b", c: "c" }],
  ];
  for (const [rule, expected] of table) {
    /** @type {ReturnType<typeof groupRuns>} */
    let groups = null;
    assert.equal(groupRuns(rule, Object.keys(expected), expressionOf, NONE), null, "it is not known yet");
    await until(() => (groups = groupRuns(rule, Object.keys(expected), expressionOf, NONE)) !== null);
    assert.deepEqual(Object.fromEntries(groups ?? []), expected, rule);
  }
});

test("an invalid regular expression is rejected with a reason", async () => {
  /** @type {unknown} */
  let error = null;
  await until(() => {
    try {
      groupRuns("re:(", ["a"], expressionOf, NONE);
    } catch (caught) {
      error = caught;
    }
    return error !== null;
  });
  assert.equal(String(error), "SyntaxError: unclosed (");
  assert.throws(() => groupRuns("re:", [], expressionOf, NONE), SyntaxError);
});

test("other rules group at once", () => {
  assert.deepEqual(groupRuns("exp/{seed}", ["exp/1", "exp/2", "x"], expressionOf, NONE), new Map([["exp/1", "exp/{seed}"], ["exp/2", "exp/{seed}"], ["x", "x"]]));
  assert.throws(() => groupRuns("exp", [], expressionOf, NONE), SyntaxError);
});

test("runs with equal attributes are a group, apart from training and evaluation", () => {
  const columns = {
    lr: new Map([["a/train", 0.1], ["a/eval", 0.1], ["b/train", 0.1], ["c", 0.2], ["d", 0.2]]),
    optimizer: new Map([["a/train", "adam"], ["a/eval", "adam"], ["b/train", "adam"], ["c", "sgd"]]),
    "a, b": new Map([["c", true]]),
  };
  const columnOf = (/** @type {string} */ text) => columns[/** @type {keyof typeof columns} */ (text.replaceAll('"', ""))] ?? new Map();
  const runs = ["a/train", "a/eval", "b/train", "c", "d", "e"];
  const group = (/** @type {string} */ rule) => Object.fromEntries(groupRuns(rule, runs, expressionOf, columnOf) ?? []);
  assert.deepEqual(group("by:optimizer"), { "a/train": "optimizer=adam/train", "a/eval": "optimizer=adam/eval", "b/train": "optimizer=adam/train", c: "optimizer=sgd", d: "d", e: "e" });
  assert.equal(group("by:lr, optimizer").c, "lr=0.2, optimizer=sgd");
  assert.equal(group("by:lr,optimizer").d, "lr=0.2, no optimizer");
  assert.equal(group('by:"a, b"').c, '"a, b"=true');
  assert.equal(groupRuns("by:lr", runs, expressionOf, NONE), null, "the attribute is being read");
  assert.deepEqual(attributesOf('by: Took,"lr",LOSS:Last,"age", ,x:y'), ["Took", '"lr"', "LOSS:Last", '"age"', "x:y"]);
  for (const rule of ["by:", "by: ,"]) assert.throws(() => groupRuns(rule, runs, expressionOf, columnOf), SyntaxError);
});

test("seeds are removed wherever they are", () => {
  check("seeds", {
    "ppo_seed=3": "ppo", ppo_s3: "ppo", "ppo-seed-3_lr0.1": "ppo_lr0.1", "exp/seed3/train": "exp/*/train", "a.fold2": "a",
    ppo3: "ppo3", "lr0.1_s3": "lr0.1", "bs16": "bs16", "seed_3_x": "x", "a/s1": "a/*", ".": ".",
  });
});

test("integers at the end are removed, parts of other numbers are not", () => {
  check("numbers", {
    run_1: "run", run12: "run", "exp/3": "exp/*", "run-1/train": "run/train", "lr0.1": "lr0.1", "lr=1e-4": "lr=1e-4",
    "lr_0.10": "lr_0.10", "run #7": "run", train: "train", "7": "*",
  });
});

test("groups are in the order of their first runs", () => {
  const groups = groupsOf(["b1", "a1", "b2"], compileRule("numbers"));
  assert.deepEqual([...groups], [["b", ["b1", "b2"]], ["a", ["a1"]]]);
});

test("suggested rules make groups", () => {
  const runs = ["a/seed1/train", "a/seed2/train", "b/seed1/train"];
  const rules = suggestRules(runs);
  assert.equal(rules[0], "seeds");
  for (const rule of rules) assert.ok(groupsOf(runs, compileRule(rule)).size < runs.length, rule);
  assert.deepEqual(suggestRules(["train", "eval"]), []);
  assert.deepEqual(suggestRules([]), []);
});
