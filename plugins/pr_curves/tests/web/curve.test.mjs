// Curves: responses, axis ranges, paths and hit tests.

import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestIndex, nearest, pathOf, rangesOf, readFound, rowsOf, sortedByArea } from "../../tbcore_pr_curves/static/curve.js";

/** @type {import("../../tbcore_pr_curves/static/curve.js").Box} */
const box = { left: 10, top: 5, width: 100, height: 200, recall: [0, 1], precision: [0, 1] };

test("the top right corner is a precision and a recall of 1", () => {
  assert.equal(pathOf({ recall: [1, 0.5], precision: [1, 0] }, box), "M110.0 5.0L60.0 205.0");
});

test("a path is interrupted at non-finite values", () => {
  assert.equal(pathOf({ recall: [1, NaN, 0, 0], precision: [1, 1, 1, Infinity] }, box), "M110.0 5.0M10.0 5.0");
});

test("the nearest point is found among all curves, even if one has no points", () => {
  const curves = [null, { recall: [0, 1], precision: [1, 0] }, { recall: [0.5, NaN], precision: [0.5, 0.5] }];
  assert.deepEqual(nearest(curves, box, 62, 100), { curve: 2, index: 0 });
  assert.deepEqual(nearest(curves, box, 109, 190), { curve: 1, index: 1 });
  assert.equal(nearest([null, { recall: [NaN], precision: [0] }], box, 0, 0), null);
});

test("if zoomed, the precision axis covers the visible part of the curves, with some padding", () => {
  const curve = { recall: [1, 0.5, 0.5, 0], precision: [0.2, 0.6, NaN, 1] };
  assert.deepEqual(rangesOf([curve, null], null, false), { recall: [0, 1], precision: [0, 1] });
  // The line goes from 0.2 to 0.6, and is at 0.28 at the edge of the view.
  const part = rangesOf([null, curve], [0.4, 0.9], false);
  assert.deepEqual(part.recall, [0.4, 0.9]);
  assert.deepEqual(part.precision.map((one) => one.toFixed(4)), ["0.2608", "0.6192"]);
  // The range stays within 0 to 1, and is never empty.
  assert.deepEqual(rangesOf([{ recall: [1, 0], precision: [1, 1] }], [0.4, 0.6], false).precision, [0.9, 1]);
  assert.deepEqual(rangesOf([{ recall: [NaN], precision: [1] }], [0.4, 0.6], false).precision, [0, 1]);
});

test("if fitted, the precision axis covers the curves without a zoom, too", () => {
  const curve = { recall: [1, 0.5, 0], precision: [0.8, 0.85, 0.9] };
  const { recall, precision } = rangesOf([curve, null], null, true);
  assert.deepEqual(recall, [0, 1]);
  assert.deepEqual(precision.map((one) => one.toFixed(3)), ["0.794", "0.906"]);
  assert.deepEqual(rangesOf([null], null, true), { recall: [0, 1], precision: [0, 1] });
});

test("lines are sorted by the area under their curves, those without one last", () => {
  const lines = [0.5, NaN, 0.9, null, 0.7].map((area, i) => ({ name: i, found: /** @type {any} */ (area === null ? undefined : { curve: { area } }) }));
  const namesIn = (/** @type {"" | "ascending" | "descending"} */ order) => sortedByArea(lines, order).map(({ name }) => name);
  assert.deepEqual([namesIn(""), namesIn("descending"), namesIn("ascending")], [[0, 1, 2, 3, 4], [2, 4, 0, 1, 3], [0, 4, 2, 1, 3]]);
});

test("points outside the view are not hit", () => {
  const part = { ...box, recall: /** @type {[number, number]} */ ([0.5, 1]) };
  const curve = { recall: [0.9, 0.4], precision: [0.1, 0.9] };
  assert.deepEqual(nearest([curve], part, 10, 20), { curve: 0, index: 0 });
  assert.equal(nearest([{ recall: [0.4], precision: [0.9] }], part, 10, 20), null);
});

test("table rows have every threshold", () => {
  const curve = {
    ...{ thresholds: [0, 1], precision: [0.5, 1], recall: [1, 0.5], area: 0.75, display_name: "", description: "" },
    ...{ true_positives: [2, 1], false_positives: [2, 0], true_negatives: [0, 2], false_negatives: [0, 1] },
  };
  assert.deepEqual(rowsOf("a", { first_step: 3, step: 7, nth: 0, curve }), [
    ["a", 7, 0, 0.5, 1, 2, 2, 0, 0],
    ["a", 7, 1, 1, 0.5, 1, 0, 2, 1],
  ]);
});

test("the nearest threshold is found; in a tie, the lower one", () => {
  const thresholds = [0, 0.25, 0.5, 1];
  assert.deepEqual([-1, 0, 0.1, 0.2, 0.375, 0.8, 2].map((one) => nearestIndex(thresholds, one)), [0, 0, 0, 1, 1, 3, 3]);
  assert.equal(nearestIndex([0], 0.7), 0);
});

test("a response may have NaN as text, or no curve", () => {
  const names = ["precision", "recall", "true_positives", "false_positives", "true_negatives", "false_negatives", "thresholds"];
  const sample = { ...Object.fromEntries(names.map((name) => [name, [1, "NaN"]])), area: "-Infinity" };
  const { curve } = readFound({ step: 4, samples: [sample] });
  assert.deepEqual(curve.recall, [1, NaN]);
  assert.equal(curve.area, -Infinity);
  assert.equal(readFound({ first_step: 7, index: null, samples: [] }).curve, null);
});
