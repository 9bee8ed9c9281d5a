// Groups that cannot be told from the best: the cases that hold for Python too, and what the page says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { differencesFromBest, marksOfBest, tPValue, tQuantile } from "../../../tbcore/web/lib/comparisons.js";
import { guessGoal } from "../../../tbcore/web/lib/goals.js";

const GOALS = JSON.parse(readFileSync(new URL("../../goals.json", import.meta.url), "utf8"));
const { cases, pairs, tails, quantiles } = JSON.parse(readFileSync(new URL("../../comparisons.json", import.meta.url), "utf8"));

/** @param {number} found @param {number | null} expected @param {string} message @param {number} [tolerance] */
function assertNear(found, expected, message, tolerance = 1e-9) {
  if (expected === null) assert.ok(Number.isNaN(found), message);
  else assert.ok(Math.abs(found - expected) <= tolerance * Math.abs(expected) + 1e-12, `${message}: ${found}, expected ${expected}`);
}

test("corrected p values are those of scipy, as in Python", () => {
  for (const { about, goal, groups, p } of cases) {
    const finite = groups.map((/** @type {Record<string, any>} */ group) => new Map(Object.entries(group).map(([seed, value]) => [seed, Number(value)]).filter(([, value]) => Number.isFinite(value))));
    differencesFromBest(finite, goal).forEach((found, i) => assertNear(found.p, p[i], `${about} ${i}`));
  }
});

test("tails and quantiles of Student's t are those of scipy", () => {
  for (const [t, freedom, expected] of tails) assertNear(tPValue(t, freedom), expected, `${t} ${freedom}`, 1e-8);
  for (const [freedom, expected] of quantiles) assertNear(tQuantile(freedom), expected, String(freedom));
  assert.equal(tQuantile(2), tQuantile(2), "it is kept");
});

/** @param {string} prefix @param {readonly number[]} values */
const runs = (prefix, ...values) => new Map(values.map((value, i) => [prefix.replace("#", String(i)), value]));

test("the best is marked together with what cannot be told from it", () => {
  const marks = marksOfBest([runs("a/s#", 1, 2, 3), runs("b/s#", 1.1, 2.2, 3), runs("c/s#/train", 5, 6.1, 7), runs("d/s#", 4, NaN, 5), null], "min");
  assert.deepEqual(marks.map(({ mark }) => mark), ["best", "≈ best", "", "n too small", ""]);
  assert.equal(marks[0].title, "The best mean of at least 3 values");
  assert.match(marks[1].title, /^Cannot be told from the best, p = 0\.225: t-test, paired over 3 equal seeds, corrected by Holm for 2 comparisons with the best; 2 groups of fewer than 3 values are not compared$/);
  assert.match(marks[2].title, /^Differs from the best, p < 0\.001: t-test, paired over 3 equal seeds, /);
  const [, alone] = marksOfBest([runs("a/s#", 1, 2, 3), runs("b/s#", 1.1, 2.2, 3), runs("c/s#", 9)], "min");
  assert.match(alone.title, /paired over 3 equal seeds; 1 group of fewer than 3 values is not compared$/);
  const [, part] = marksOfBest([runs("a/s#", 1, 2, 3), runs("b/s#", 1.1, 2.2, 3, 4)], "min");
  assert.match(part.title, /paired over 3 equal seeds without 1 value of other seeds$/);
  const numbered = marksOfBest([runs("x/run1#", 1, 2, 3), runs("y/run2#", 1.1, 2.2, 2.8)], "max");
  assert.match(numbered[1].title + numbered[0].title, /Welch’s t-test/, "runs without equal numbers are not paired");
  const [, , third] = marksOfBest([runs("a/s#", 2, 2, 2), runs("b/run9#", 1, 2, 3), runs("c/s#", 2.5, 2.5, 2.6)], "min");
  assert.match(third.title, /^Cannot be told from the best, p = 0\.\d+: Welch’s t-test$/, "of two best, the one that is closer");
});

test("runs with equal values of a hyperparameter such as seed are pairs, as in the shell", () => {
  for (const { about, groups, hparams, paired } of pairs) {
    const columns = Object.entries(hparams).map(([name, values]) => /** @type {const} */ ([name, new Map(Object.entries(values))]));
    const [, ...others] = marksOfBest(groups.map((/** @type {object} */ group) => new Map(Object.entries(group))), "min", columns);
    assert.deepEqual(others.map(({ title }) => /paired over 3 equal seeds/.test(title)), paired, about);
    assert.deepEqual(others.map(({ mark }) => mark), paired.map((/** @type {boolean} */ isPair) => (isPair ? "" : "≈ best")), about);
  }
});

test("the goal is guessed from names, and the last known word decides", () => {
  for (const goal of ["min", "max", ""]) for (const name of GOALS[goal]) assert.equal(guessGoal(name) ?? "", goal, name);
});

test("nothing is marked for a single group, and the best one has three values, unless none has", () => {
  const textsOf = (/** @type {readonly (Map<string, number>)[]} */ ...groups) => marksOfBest(groups, "min").map(({ mark }) => mark);
  assert.deepEqual(textsOf(runs("a/s#", 1, 2, 3), runs("b/s#", NaN)), ["", ""]);
  assert.deepEqual(textsOf(runs("a/s#", 1, 2), runs("b/s#", 3, 4, 5), runs("c/s#", 3, 4, 5)), ["n too small", "best", "best"], "both of equal means");
  assert.deepEqual(textsOf(runs("a/s#", 1, 2), runs("b/s#", 3), runs("c/s#", 1.5)), ["best, n too small", "n too small", "best, n too small"]);
  const [, collapsed] = marksOfBest([runs("a/s#", 1, 2, 3), runs("b/s#", 1.1, NaN, 2.2, 3.5)], "min");
  assert.match(collapsed.title, /; without 1 value not finite$/);
});
