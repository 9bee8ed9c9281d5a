// The importance of hyperparameters, compared with plain references and with what chance reaches.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isRepetition } from "tbcore/groups.js";
import { explainImportance, formatImportance, importanceOf } from "../../tbcore_hparams/static/importance.js";

/** @param {readonly (number | string)[]} cells @param {string} [name] @returns {any} */
const column = (cells, name = "a") => ({ key: `h.${name}`, kind: "hparam", type: typeof cells[0], label: name, cells });
/** Evenly distributed numbers, the same for each seed (a linear congruential generator). @param {number} seed */
const generator = (seed) => {
  let state = BigInt(seed) * 7919n + 1n;
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
    return Number(state >> 11n) / 2 ** 53;
  };
};
/** @param {number} length @param {() => number} random */
const randoms = (length, random) => Array.from({ length }, random);
/** @param {number} length */
const indices = (length) => Array.from({ length }, (_, i) => i);
/** @param {readonly number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Ranks by counting: 1 + the number of smaller values + half of the other equal ones. @param {readonly number[]} values */
const plainRanks = (values) => values.map((a) => 1 + values.filter((b) => b < a).length + (values.filter((b) => b === a).length - 1) / 2);

/**
 * Omega squared as in a textbook, from the squares between and within groups.
 * @param {readonly unknown[]} labels
 * @param {readonly number[]} ys
 */
function plainOmegaSquared(labels, ys) {
  const groups = [...new Set(labels)].map((label) => ys.filter((_, i) => labels[i] === label));
  const between = groups.reduce((sum, group) => sum + group.length * (mean(group) - mean(ys)) ** 2, 0);
  const within = groups.reduce((sum, group) => sum + group.reduce((part, y) => part + (y - mean(group)) ** 2, 0), 0);
  const error = within / (ys.length - groups.length);
  return Math.max(0, (between - (groups.length - 1) * error) / (between + within + error));
}

/** All orders of some values. @param {readonly number[]} values @returns {number[][]} */
function permutations(values) {
  if (values.length <= 1) return [[...values]];
  return values.flatMap((value, i) => permutations(values.filter((_, k) => k !== i)).map((rest) => [value, ...rest]));
}

test("share and trend equal plain references, with ties and for any number of rows", () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = generator(seed);
    const length = 9 + Math.floor(random() * 60); // three values are not divided into bins
    const numValues = 2 + Math.floor(random() * 2);
    const xs = randoms(length, random).map((value) => Math.floor(value * numValues));
    const ys = xs.map((x) => Math.round((x * random() + random()) * 5));
    const found = importanceOf(column(xs), column(ys), indices(length));
    if (new Set(xs).size < 2 || new Set(ys).size < 2) {
      assert.equal(found, null);
      continue;
    }
    assert.ok(found);
    const [a, b] = [plainRanks(xs), plainRanks(ys)];
    assert.ok(Math.abs(found.share - plainOmegaSquared(xs, b)) < 1e-9);
    const product = mean(a.map((value, i) => (value - mean(a)) * (b[i] - mean(b))));
    const deviations = [a, b].map((values) => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2))));
    assert.ok(Math.abs(found.trend - product / (deviations[0] * deviations[1])) < 1e-9);
    assert.equal(found.numRows, length);
  }
});

test("chance is what 1 of 100 of all orders of the metric reaches", () => {
  const [xs, ys] = [["a", "b", "a", "c", "b", "c", "a", "b"], [3, 1, 4, 6, 5, 9, 2, 8]];
  const shares = permutations(plainRanks(ys)).map((order) => plainOmegaSquared(xs, order)).sort((a, b) => a - b);
  /** @param {number} quantile */
  const exact = (quantile) => shares[Math.ceil(shares.length * quantile) - 1];
  const found = importanceOf(column(xs), column(ys), indices(8));
  // With 500 shuffles, the quantile is known to about half a percent.
  assert.ok(found && found.chance >= exact(0.98) && found.chance <= exact(0.998), `${found?.chance}, ${exact(0.99)}`);
});

test("hardly any unrelated hyperparameter is said to matter, whatever its values", () => {
  const kinds = {
    numbers: (/** @type {() => number} */ random) => randoms(20, random),
    few: (/** @type {() => number} */ random) => randoms(20, random).map((value) => 2 ** Math.floor(value * 4)),
    texts: (/** @type {() => number} */ random) => randoms(20, random).map((value) => `v${Math.floor(value * 6)}`),
  };
  for (const [kind, cellsOf] of Object.entries(kinds)) {
    const claims = indices(400).filter((seed) => {
      const random = generator(seed);
      return importanceOf(column(cellsOf(random)), column(randoms(20, random)), indices(20))?.isClear;
    });
    assert.ok(claims.length <= 12, `${kind}: ${claims.length} of 400`); // 4 are expected
  }
});

test("an optimum in the middle is seen in a noisy sweep of 20", () => {
  let [numSeen, numOthers] = [0, 0];
  for (let seed = 0; seed < 100; seed++) {
    const random = generator(seed);
    const rows = indices(20);
    const logs = randoms(20, random).map((value) => -4 + 3 * value);
    const metric = column(logs.map((log) => Math.abs(log + 2.5) + 0.3 * (random() - 0.5)));
    const lr = importanceOf(column(logs.map((log) => 10 ** log)), metric, rows);
    if (lr?.isClear) {
      numSeen++;
      assert.ok(lr.isNonMonotonic);
    }
    if (importanceOf(column(randoms(20, random)), metric, rows)?.isClear) numOthers++;
  }
  assert.ok(numSeen >= 90 && numOthers <= 5, `${numSeen} and ${numOthers} of 100`);
});

test("what chance reaches is called unclear, with both shares and the number of rows", () => {
  const rows = indices(20);
  const random = generator(3);
  const noise = importanceOf(column(randoms(20, random)), column(randoms(20, random)), rows);
  assert.ok(noise && !noise.isClear);
  assert.equal(formatImportance(noise), "unclear");
  assert.match(explainImportance(noise, "loss"), /^Importance: unclear\. .*n = 20.* a shuffled column reaches \d+ % in 1 of 100 cases\.$/);
  const rising = importanceOf(column(rows), column(rows), rows);
  assert.ok(rising);
  assert.match(formatImportance(rising), /^\d+ % ↗$/);
  assert.match(explainImportance(rising, "loss"), /^Importance: alone, it explains \d+ % .*n = 20.*loss rises with it/);
});

test("a seed is recognized by its name, and its order means nothing", () => {
  for (const name of ["seed", "random_seed", "SEED", "train/seed", "seed2", "randomSeed", "random_state", "trial_id", "fold"]) {
    assert.ok(isRepetition(`h.${name}`), name);
  }
  for (const name of ["lr", "seeded", "seed_weight", "linseed", "folding", "num_trials"]) assert.ok(!isRepetition(`h.${name}`), name);
  const rows = indices(40);
  assert.equal(importanceOf(column(rows, "seed"), column(rows), rows), null); // each its own value
  assert.ok(Number.isNaN(importanceOf(column(rows.map((row) => row % 4), "seed"), column(rows), rows)?.trend));
});
