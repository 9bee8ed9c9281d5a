// Buckets, quantiles, columns and table rows.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  binWidthOf,
  bucketAt,
  bucketRows,
  columnsOf,
  countBelow,
  densityOf,
  percentileOf,
  rangeOf,
  readHistogram,
  rebin,
} from "../../tbcore_histograms/static/buckets.js";
import { readOutOf } from "../../tbcore_histograms/static/descriptions.js";

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

test("rows with gaps and overlaps are drawn where they were logged", () => {
  /** @param {number} max @param {number[]} lefts @param {number[]} limits */
  const drawn = (max, lefts, limits) => {
    const one = readHistogram([0, 0, [0, max, 10, 0, 0, limits, limits.map(() => 5), lefts]]);
    return [rangeOf([one]), ...[one.buckets, rebin(one.buckets, [0, 40])].map((buckets) => [...columnsOf(buckets, [0, max], max)])];
  };
  assert.deepEqual(drawn(4, [0, 3], [1, 4]), [[0, 4], [5, 0, 0, 5], [5, 0, 0, 5]]);
  assert.deepEqual(drawn(3, [0, 1], [2, 3]), [[0, 3], [2.5, 5, 2.5], [2.5, 5, 2.5]]);
  assert.deepEqual(drawn(5, [0, 1], [5, 3]), [[0, 5], [1, 3.5, 3.5, 1, 1], [1, 3.5, 3.5, 1, 1]]);
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

/** Buckets as tensorboardX logs them, each 10 % wider than the one before. @param {number[]} samples */
function exponential(samples) {
  const positive = Array.from({ length: 774 }, (_, k) => 1e-12 * 1.1 ** k);
  const limits = [...positive.map((edge) => -edge).reverse(), 0, ...positive];
  const counts = limits.map(() => 0);
  for (const sample of samples) counts[limits.findIndex((limit) => sample <= limit)]++;
  return histogram(Math.min(...samples), Math.max(...samples), limits, counts);
}

test("bins have a round width, and an axis has about fifty", () => {
  for (const [range, width] of /** @type {[[number, number], number][]} */ ([[[0, 1], 0.02], [[-3, 3], 0.1], [[0, 31.2], 0.5], [[1e9, 1e9 + 4], 0.1], [[-1e308, 1e308], 5e306]])) {
    assert.ok(Math.abs(binWidthOf(range) / width - 1) < 1e-12, `${range}: ${binWidthOf(range)}`);
  }
  for (let size = 1e-300; size < 1e300; size *= 3.7) {
    const num = size / binWidthOf([0, size]);
    assert.ok(num > 31 && num < 80, String(num));
  }
});

test("narrow buckets are combined into bins of equal width, without losing a sample", () => {
  const samples = Array.from({ length: 500 }, (_, k) => Math.tan(3 * ((k + 0.5) / 500 - 0.5)) / 4);
  const { buckets } = exponential(samples);
  const view = /** @type {[number, number]} */ ([buckets.left[0], buckets.right[buckets.right.length - 1]]);
  const bins = rebin(buckets, view);
  assert.ok(bins.left.length >= 32 && bins.left.length <= 82, String(bins.left.length));
  assert.ok(Math.abs(bins.count.reduce((a, b) => a + b) - 500) < 1e-6);
  const widths = bins.left.map((edge, i) => bins.right[i] - edge);
  assert.ok(widths.every((width) => Math.abs(width / binWidthOf(view) - 1) < 1e-9));
  // A bucket near 0 has a density of more than 1,000; no bin has.
  const densest = (/** @type {import("../../tbcore_histograms/static/types.js").Buckets} */ of) => Math.max(...of.left.map((_, i) => (of.count[i] > 0 ? densityOf(of, i) : 0)));
  assert.ok(densest(buckets) > 1000 && densest(bins) < 1000, `${densest(buckets)} ${densest(bins)}`);
});

test("buckets that are wider than bins, and histograms without samples, stay as logged", () => {
  const { buckets } = histogram(0, 4, [1, 2, 3, 4], [1, 5, 0, 2]);
  assert.equal(rebin(buckets, [0, 4]), buckets);
  assert.notEqual(rebin(buckets, [0, 400]), buckets);
  const { buckets: empty } = histogram(0, 0, [], []);
  assert.equal(rebin(empty, [0, 1]), empty);
  // A single value has a bin around it, and values outside the view are left out.
  const { buckets: single } = histogram(2, 2, [2], [10]);
  const bins = rebin(single, [1, 3]);
  assert.deepEqual([...bins.count], [10]);
  assert.ok(bins.left[0] <= 2 && bins.right[0] >= 2 && bins.right[0] > bins.left[0]);
  assert.equal(rebin(single, [5, 6]).count.reduce((a, b) => a + b, 0), 0);
  const { buckets: large } = histogram(1e15, 1e15 + 0.25, [1e15 + 0.125, 1e15 + 0.25], [1, 1]);
  assert.ok(rebin(large, [1e15, 1e15 + 0.25]).left.length <= 200);
});

test("percentiles are those of the samples", () => {
  const uniform = exponential(Array.from({ length: 1000 }, (_, k) => (k + 0.5) / 1000));
  for (const share of [0.05, 0.5, 0.95]) assert.ok(Math.abs(percentileOf(uniform, share) - share) < 0.01, `${percentileOf(uniform, share)}`);
  assert.ok(Number.isNaN(percentileOf(histogram(0, 0, [], []), 0.5)));
});

test("the tooltip says which share is below, the median, and the middle nine tenths", () => {
  const one = histogram(0, 4, [1, 2, 3, 4], [1, 1, 1, 1]);
  const run = { name: "train", color: "#123456" };
  const { rows } = readOutOf({ ridge: 0, bucket: 1, value: 1.5 }, [one], one.buckets, run);
  const texts = new Map(rows.map(([what, text]) => [what, text]));
  assert.equal(texts.get("Bucket"), "1 to 2");
  assert.equal(texts.get("Below 1.5"), "37.5 %");
  assert.equal(texts.get("Median"), "2");
  assert.equal(texts.get("5 % to 95 %"), "0.2 to 3.8");
  const none = histogram(0, 0, [], []);
  assert.ok(!readOutOf({ ridge: 0, bucket: -1, value: 0 }, [none], none.buckets, run).rows.some(([what]) => what === "Median"));
});
