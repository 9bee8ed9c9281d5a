// Rules that group runs: path patterns, regular expressions, and removing seeds or numbers.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { expressionOf } from "../../../tbcore/web/lib/queries/expressions.js";
import { attributesOf, compileRule, groupRuns, rangeText, suggestRules } from "../../../tbcore/web/shell/state/groups.js";
import { groupsOf } from "../../../tbcore/web/shell/state/tree.js";
import { provideWorkers, until } from "./tools.mjs";

provideWorkers();

/** The attributes of tests that need none. */
const NONE = () => null;

/** @typedef {{ rule: string, groups: Record<string, string> }} Case */

/** What the rules do in the page and in Python. @type {{ names: Case[], hparams: Record<string, Record<string, string | number | boolean>>, attributes: Case[], mistakes: { rule: string, message: string }[] }} */
const CASES = JSON.parse(readFileSync(new URL("../../groups.json", import.meta.url), "utf8"));

test("rules that look at names make the same groups as in Python", async () => {
  for (const { rule, groups } of CASES.names) {
    /** @type {ReturnType<typeof groupRuns>} */
    let found = null;
    if (rule.startsWith("re:")) assert.equal(groupRuns(rule, Object.keys(groups), expressionOf, NONE), null, "it is not known yet");
    await until(() => (found = groupRuns(rule, Object.keys(groups), expressionOf, NONE)) !== null);
    assert.deepEqual(Object.fromEntries(found ?? []), groups, rule);
  }
});

test("invalid rules are rejected with the same reasons as in Python", async () => {
  for (const { rule, message } of CASES.mistakes) {
    /** @type {unknown} */
    let error = null;
    await until(() => {
      try {
        groupRuns(rule, ["a"], expressionOf, NONE);
      } catch (caught) {
        error = caught;
      }
      return error !== null;
    });
    assert.equal(String(error), `SyntaxError: ${message}`, rule);
  }
  assert.throws(() => compileRule("exp"), { name: "SyntaxError", message: /braces/ });
});

test("other rules group at once", () => {
  assert.deepEqual(groupRuns("exp/{seed}", ["exp/1", "exp/2", "x"], expressionOf, NONE), new Map([["exp/1", "exp/{seed}"], ["exp/2", "exp/{seed}"], ["x", "x"]]));
  assert.throws(() => groupRuns("exp", [], expressionOf, NONE), SyntaxError);
});

test("runs with equal attributes are a group, apart from training and evaluation", () => {
  const runs = Object.keys(CASES.hparams);
  const unquoted = (/** @type {string} */ text) => text.replaceAll('"', "");
  const columnOf = (/** @type {string} */ text) => new Map(runs.flatMap((run) => (unquoted(text) in CASES.hparams[run] ? [[run, CASES.hparams[run][unquoted(text)]]] : [])));
  for (const { rule, groups } of CASES.attributes) {
    const found = groupRuns(rule, runs, expressionOf, columnOf);
    for (const [run, group] of Object.entries(groups)) assert.equal(found?.get(run), group, `${rule} of ${run}`);
  }
  assert.equal(groupRuns("by:lr", runs, expressionOf, NONE), null, "the attribute is being read");
  assert.deepEqual(attributesOf('by: Took,"lr",LOSS:Last,"age", ,x:y'), ["Took", '"lr"', "LOSS:Last", '"age"', "x:y"]);
});

test("ranges of numbers have their lower ends, also those of very small and negative numbers", () => {
  for (const [value, text] of /** @type {[number | string | boolean, string][]} */ (CASES.ranges)) assert.equal(rangeText(value), text, String(value));
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
