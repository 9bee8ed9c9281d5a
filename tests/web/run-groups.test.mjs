// Rules that group runs: path patterns, regular expressions, and removing seeds or numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileProgram } from "../../tbcore/web/lib/ui/pattern.js";
import { compileRule, groupsOf, matchGroups, suggestRules } from "../../tbcore/web/shell/runs/groups.js";
import { cpuTime, generator } from "./tools.mjs";

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

test("the capture groups of a regular expression name the group", () => {
  check("re:lr=([^_]+)", { "a_lr=0.1_s1": "0.1", "b_lr=0.1_s2": "0.1", none: "none" });
  check("re:^(.*?)_s\\d+/(.*)$", { "ppo_s1/train": "ppo train", "ppo_s2/eval": "ppo eval" });
  check("re:(?:a|b)\\d", { xa1y: "a1", b2: "b2" });
  check("re:x*", { abc: "abc" });
  assert.throws(() => compileRule("re:("), { name: "SyntaxError", message: /unclosed/ });
  assert.throws(() => compileRule("re:"), SyntaxError);
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

test("capture groups match as with RegExp", () => {
  const random = generator(3);
  /** @param {readonly string[]} list */
  const pick = (list) => list[Math.floor(random() * list.length)];
  /** @param {number} depth @returns {string} */
  const pattern = (depth) => {
    const atom = depth > 0 && random() < 0.5 ? `(${pattern(depth - 1)})` : pick(["a", "b", ".", "[ab]", "\\d", "\\b"]);
    const repeated = atom + (atom.length > 1 && atom[0] === "\\" && atom[1] === "b" ? "" : pick(["", "", "", "*", "+", "?", "*?", "+?", "{1,2}"]));
    return repeated + (random() < 0.6 ? pattern(depth) : "") + (random() < 0.15 ? "|b" : "");
  };
  let numCompared = 0;
  for (let i = 0; i < 20000; i++) {
    const text = pattern(1);
    if (/\)[*+?{]/.test(text)) continue; // RegExp handles empty repetitions differently
    const subject = Array.from({ length: Math.floor(random() * 7) }, () => pick(["a", "b", "1", "/"])).join("");
    const native = new RegExp(`(${text})`, "i").exec(subject);
    const ours = matchGroups(compileProgram(`(${text})`), subject);
    assert.deepEqual(ours, native && native.slice(1).map((part) => part ?? ""), `${text} in ${subject}`);
    numCompared++;
  }
  assert.ok(numCompared > 5000);
});

test("an expression that makes RegExp hang takes linear time", () => {
  const group = compileRule("re:(\\w+\\s?)+$");
  const start = cpuTime();
  group(`${"a".repeat(2000)}!`);
  assert.ok(cpuTime() - start < 2000);
});
