// Smoothing gives the same numbers as TensorBoard, and as the server's tbcore/store/smoothing.py.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as means from "../../../tbcore/web/lib/chart/centred-means.js";
import { smoothed } from "../../../tbcore/web/lib/chart/series.js";

/**
 * Asserts that numbers are equal except for rounding errors.
 * @param {ArrayLike<number>} actual
 * @param {readonly number[]} expected
 */
function assertClose(actual, expected) {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of expected.entries()) {
    if (Number.isFinite(value)) assert.ok(Math.abs(actual[i] - value) <= 1e-12 * Math.max(1, Math.abs(value)), `${i}: ${actual[i]}`);
    else assert.ok(Object.is(actual[i], value));
  }
}

test("smoothed values are those of the debiased recurrence", () => {
  // 0.5 * 1 / 0.5;  (0.5 * 0.5 + 0.5 * 2) / 0.75;  (0.5 * 1.25 + 0.5 * 4) / 0.875
  assertClose(smoothed([1, 2, 4], 0.5), [1, 1.25 / 0.75, 2.625 / 0.875]);
});

test("the numbers are those that the server computed", () => {
  assertClose(smoothed([1, 2, NaN, 4, Infinity, -3, 0.5, 0.25], 0.6), [
    1.0, 1.625, NaN, 2.8367346938775513, Infinity, 0.15441176470588217, 0.3043025676613462, 0.28151852846401715,
  ]);
  const values = Float64Array.from({ length: 500 }, (_, i) => Math.sin(i * 0.37) * i);
  const result = smoothed(values, 0.99);
  assertClose([0, 1, 10, 100, 499].map((i) => result[i]), [
    0, 0.18171629746983003, 1.4331685405564598, -3.856308511603504, 12.003434976243476,
  ]);
});

test("a smoothed value stays as it is while the series grows", () => {
  const values = Float64Array.from({ length: 3000 }, (_, i) => Math.sin(i * 0.37) * i);
  const result = smoothed(values, 0.999);
  assertClose([0, 999, 1000, 1500, 2999].map((i) => result[i]), [0.0, -2.7138026668633968, -3.7373201607227844, 3.375525212719281, 5.752709332197719]);
  for (const length of [1, 999, 1001]) assertClose(smoothed(values.subarray(0, length), 0.999), [...result.subarray(0, length)]);
});

test("segments are smoothed separately", () => {
  const values = [1, 2, 4, 3, 3, 1, 2, 4];
  assertClose(smoothed(values, 0.5, [0, 3, 5]), [1, 1.25 / 0.75, 2.625 / 0.875, 3, 3, 1, 1.25 / 0.75, 2.625 / 0.875]);
  assert.deepEqual(values, [1, 2, 4, 3, 3, 1, 2, 4]);
});

test("a weight of 0, constant series and series without finite values change nothing", () => {
  assertClose(smoothed([1, NaN, 5], 0), [1, NaN, 5]);
  assertClose(smoothed([0.1, 0.1, NaN, 0.1], 0.9), [0.1, 0.1, NaN, 0.1]);
  assertClose(smoothed([NaN, Infinity], 0.9), [NaN, Infinity]);
  assertClose(smoothed([], 0.9), []);
});

test("the page and the server have one table of cases", () => {
  // tests/store/test_smoothing.py has the other half.
  const cases = JSON.parse(readFileSync(new URL("../../smoothing.json", import.meta.url), "utf-8"));
  for (const { kind, weight, starts, values, smoothed: expected } of cases) {
    assertClose(smoothed(values.map(Number), weight, starts, /** @type {any} */ (means)[kind]), expected.map(Number));
  }
  assert.equal(cases.length, 21);
});
