// Buckets, quantiles, columns and table rows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketAt, bucketRows, columnsOf, countBelow, densityOf, rangeOf, readHistogram } from "../../tbcore_histograms/static/buckets.js";

/**
 * @param {number} min
 * @param {number} max
 * @param {unknown[]} limits
 * @param {unknown[]} counts
 * @param {number} step
 */
const histogram = (min, max, limits, counts, step = 0) => readHistogram([1e9 + step, step, [min, max, 8, 0, 0, limits, counts]]);

/** @param {import("../../tbcore_histograms/static/types.js").Buckets} buckets */
const rows = ({ left, right, count }) => Array.from(left, (edge, i) => [edge, right[i], count[i]]);

test("outer edges are clamped to the samples, and empty buckets at both ends are left out", () => {
  const { buckets } = histogram(-0.66, 0.44, [-0.68, -0.62, 0.42, 0.47, 1.7976931348623157e308], [0, 1, 5, 2, 0]);
  assert.deepEqual(rows(buckets), [[-0.66, -0.62, 1], [-0.62, 0.42, 5], [0.42, 0.44, 2]]);
  assert.equal(buckets.total, 8);
});

test("the first non-empty bucket starts at its logged left edge", () => {
  // In the tensor form the minimum is the outer edge, even if the first bucket is empty.
  const { buckets } = histogram(0, 3, [1, 2, 3], [0, 4, 5]);
  assert.deepEqual(rows(buckets), [[1, 2, 4], [2, 3, 5]]);
});

test("of degenerate histograms, only buckets with finite edges are kept", () => {
  assert.deepEqual(rows(histogram(0, 0, [], []).buckets), []);
  assert.deepEqual(rows(histogram(2, 2, [2], [10]).buckets), [[2, 2, 10]]);
  const odd = readHistogram([0, 0, ["NaN", "Infinity", 3, 0, 0, [1, "NaN", "Infinity"], [1, 2, 3]]]);
  assert.equal(odd.buckets.numUnplaced, 6);
  assert.deepEqual(rows(odd.buckets), []);
  assert.deepEqual(rows(histogram(0, 4, [2, 1, 4], [1, 1, 1]).buckets), [[0, 2, 1], [2, 2, 1], [1, 4, 1]]);
});

test("columns integrate the density: no bucket is lost, and every sample is counted once", () => {
  const { buckets } = histogram(0, 10, [4, 4.001, 10], [8, 5, 12]);
  const columns = columnsOf(buckets, [0, 10], 10);
  assert.deepEqual([...columns.slice(0, 4)], [2, 2, 2, 2]);
  assert.ok(Math.abs(columns[4] - (5 + 12 * (0.999 / 5.999))) < 1e-9);
  assert.ok(Math.abs(columns.reduce((a, b) => a + b) - 25) < 1e-9);
});

test("a bucket of no width fills one column, even at the end of the axis", () => {
  const { buckets } = histogram(2, 2, [2], [10]);
  assert.deepEqual([...columnsOf(buckets, [0, 4], 4)], [0, 0, 10, 0]);
  assert.deepEqual([...columnsOf(buckets, [0, 2], 2)], [0, 10]);
  assert.deepEqual([...columnsOf(buckets, [3, 4], 2)], [0, 0]);
});

test("edges near the largest number are handled", () => {
  const { buckets } = histogram(-1.7e308, 1.7e308, [0, 1.7e308], [1, 1]);
  const columns = columnsOf(buckets, [-1.7e308, 1.7e308], 4);
  assert.deepEqual([...columns].map((part) => Math.round(part * 1e9) / 1e9), [0.5, 0.5, 0.5, 0.5]);
  assert.equal(densityOf(buckets, 1), 1 / 1.7e308);
});

test("trimming leaves out that share of all samples at each end", () => {
  const histograms = [histogram(0, 100, [100], [100]), histogram(0, 100, [100], [100], 1)];
  assert.deepEqual(rangeOf(histograms), [0, 100]);
  const [low, high] = /** @type {[number, number]} */ (rangeOf(histograms, 5));
  assert.ok(Math.abs(low - 5) < 1e-6 && Math.abs(high - 95) < 1e-6);
  assert.equal(rangeOf([]), null);
  assert.equal(rangeOf([histogram(0, 0, [], [])], 1), null);
  assert.deepEqual(rangeOf([histogram(3, 3, [3], [7])], 1), [3, 3]);
});

test("samples below a value are counted as if spread evenly within their bucket", () => {
  const { buckets } = histogram(0, 4, [2, 4], [6, 2]);
  assert.deepEqual([-1, 0, 1, 2, 3, 4, 9].map((value) => countBelow(buckets, value)), [0, 0, 3, 6, 7, 8, 8]);
});

test("a value is in the bucket that starts at or before it", () => {
  const { buckets } = histogram(0, 3, [1, 2, 3], [1, 0, 4]);
  assert.deepEqual([-0.5, 0, 0.5, 1, 2.9, 3].map((value) => bucketAt(buckets, value)), [-1, 0, 0, 1, 2, 2]);
  assert.equal(bucketAt(buckets, 3.4, 0.5), 2);
  assert.equal(bucketAt(histogram(2, 2, [2], [1]).buckets, 2.1, 0.2), 0);
});

test("table rows have every bucket of every step", () => {
  assert.deepEqual([...bucketRows([histogram(0, 2, [1, 2], [3, 4], 7)])], [
    [1e9 + 7, 7, 0, 1, 3],
    [1e9 + 7, 7, 1, 2, 4],
  ]);
});
