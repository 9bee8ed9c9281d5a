// Where a curve is on the screen, and which of its points is read.

import assert from "node:assert/strict";
import { test } from "node:test";
import { indexOf, nearest, pathOf, rangesOf, readFound, rowsOf } from "../../tbcore_pr_curves/static/curve.js";

/** @type {import("../../tbcore_pr_curves/static/curve.js").Box} */
const box = { left: 10, top: 5, width: 100, height: 200, recall: [0, 1], precision: [0, 1] };

test("the top right corner is a precision and a recall of 1", () => {
  assert.equal(pathOf({ recall: [1, 0.5], precision: [1, 0] }, box), "M110.0 5.0L60.0 205.0");
});

test("a line is interrupted by what is no number", () => {
  assert.equal(pathOf({ recall: [1, NaN, 0, 0], precision: [1, 1, 1, Infinity] }, box), "M110.0 5.0M10.0 5.0");
});

test("the nearest point of all curves, also where one has none", () => {
  const curves = [null, { recall: [0, 1], precision: [1, 0] }, { recall: [0.5, NaN], precision: [0.5, 0.5] }];
  assert.deepEqual(nearest(curves, box, 62, 100), { curve: 2, index: 0 });
  assert.deepEqual(nearest(curves, box, 109, 190), { curve: 1, index: 1 });
  assert.equal(nearest([null, { recall: [NaN], precision: [0] }], box, 0, 0), null);
});

test("a part of the recalls has the precisions that the lines have there, with some air", () => {
  const curve = { recall: [1, 0.5, 0.5, 0], precision: [0.2, 0.6, NaN, 1] };
  assert.deepEqual(rangesOf([curve, null], null), { recall: [0, 1], precision: [0, 1] });
  // The line goes from 0.2 to 0.6, and is at 0.28 where the part ends.
  const part = rangesOf([null, curve], [0.4, 0.9]);
  assert.deepEqual(part.recall, [0.4, 0.9]);
  assert.deepEqual(part.precision.map((one) => one.toFixed(4)), ["0.2608", "0.6192"]);
  // Never beyond what there can be, and never nothing.
  assert.deepEqual(rangesOf([{ recall: [1, 0], precision: [1, 1] }], [0.4, 0.6]).precision, [0.9, 1]);
  assert.deepEqual(rangesOf([{ recall: [NaN], precision: [1] }], [0.4, 0.6]).precision, [0, 1]);
});

test("what is beside the part that is shown is not read", () => {
  const part = { ...box, recall: /** @type {[number, number]} */ ([0.5, 1]) };
  const curve = { recall: [0.9, 0.4], precision: [0.1, 0.9] };
  assert.deepEqual(nearest([curve], part, 10, 20), { curve: 0, index: 0 });
  assert.equal(nearest([{ recall: [0.4], precision: [0.9] }], part, 10, 20), null);
});

test("every threshold is a row", () => {
  const curve = {
    ...{ thresholds: [0, 1], precision: [0.5, 1], recall: [1, 0.5], area: 0.75, display_name: "", description: "" },
    ...{ true_positives: [2, 1], false_positives: [2, 0], true_negatives: [0, 2], false_negatives: [0, 1] },
  };
  assert.deepEqual(rowsOf("a", { first_step: 3, step: 7, nth: 0, curve }), [
    ["a", 7, 0, 0.5, 1, 2, 2, 0, 0],
    ["a", 7, 1, 1, 0.5, 1, 0, 2, 1],
  ]);
});

test("the nearest threshold, of two as near the lower", () => {
  const thresholds = [0, 0.25, 0.5, 1];
  assert.deepEqual([-1, 0, 0.1, 0.2, 0.375, 0.8, 2].map((one) => indexOf(thresholds, one)), [0, 0, 0, 1, 1, 3, 3]);
  assert.equal(indexOf([0], 0.7), 0);
});

test("an answer with NaN in words, and one without a curve", () => {
  const names = ["precision", "recall", "true_positives", "false_positives", "true_negatives", "false_negatives", "thresholds"];
  const sample = { ...Object.fromEntries(names.map((name) => [name, [1, "NaN"]])), area: "-Infinity" };
  const { curve } = readFound({ step: 4, samples: [sample] });
  assert.deepEqual(curve.recall, [1, NaN]);
  assert.equal(curve.area, -Infinity);
  assert.equal(readFound({ first_step: 7, index: null, samples: [] }).curve, null);
});
