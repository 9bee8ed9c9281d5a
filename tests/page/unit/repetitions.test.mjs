// Which runs look like repetitions with different seeds, and how the page says so.

import assert from "node:assert/strict";
import { test } from "node:test";
import { repetitionsOf } from "../../../tbcore/web/shell/state/repetitions.js";

/** Runs `a/seed0`, `a/seed1` and so on. @param {Record<string, number>} counts  number of seeds by folder @param {string} [word] */
function runs(counts, word = "/seed") {
  return Object.entries(counts).flatMap(([name, count]) => Array.from({ length: count }, (_, i) => `${name}${word}${i}`));
}

/** @param {string[]} runs */
const textOf = (runs) => repetitionsOf(runs)?.text ?? null;

test("the words say what is there", () => {
  assert.deepEqual(repetitionsOf(runs({ resnet18: 5, vit_tiny: 5, cnn: 5, mlp: 5 })), { text: "4 models × 5 seeds", noun: "seeds" });
  assert.equal(textOf(runs({ "lr=0.1": 5, "lr=0.2": 5 })), "2 groups × 5 seeds");
  assert.equal(textOf(runs({ resnet18: 5, "lr=0.2": 5 })), "2 groups × 5 seeds");
  assert.equal(textOf(runs({ a: 3, b: 5, c: 4 }, "_s")), "3 groups of 3 to 5 seeds");
  assert.deepEqual(repetitionsOf(runs({ a: 10, b: 10 }, "-fold")), { text: "2 groups × 10 folds", noun: "folds" });
  assert.equal(repetitionsOf(runs({ a: 2, b: 2 }, "/trial_"))?.noun, "trials");
  assert.equal(repetitionsOf(runs({ a: 2, b: 2 }, "/rep"))?.noun, "repetitions");
});

test("training and evaluation of one training count once", () => {
  const trainings = runs({ resnet18: 5, vit: 5 });
  assert.equal(textOf(trainings.flatMap((run) => [`${run}/train`, `${run}/eval`])), "2 models × 5 seeds");
});

test("other runs are not repetitions", () => {
  for (const others of [[], ["."], ["train", "eval"], ["lr0.1_bs16", "lr0.1_bs32"], runs({ a: 5 }), runs({ a: 1, b: 1, c: 1 }), ["a/1", "a/2", "b/1", "b/2"]]) {
    assert.equal(repetitionsOf(others), null, others.join());
  }
});

test("there must be more repetitions than other runs", () => {
  const others = Array.from({ length: 4 }, (_, i) => `run-${i}`);
  assert.equal(textOf([...runs({ a: 2, b: 2 }), ...others]), null);
  assert.equal(textOf([...runs({ a: 2, b: 2 }), ...others.slice(1)]), "2 groups × 2 seeds");
});
