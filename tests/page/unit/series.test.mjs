// Computations on the columns of a line.

import assert from "node:assert/strict";
import { test } from "node:test";
import { traceBand } from "../../../tbcore/web/lib/chart/bands.js";
import {
  countFinite,
  extent,
  farLines,
  isRising,
  nonFinitePoints,
  risingStretches,
  segmentsOf,
  tracePath,
  visibleExtent,
  windowOf,
  xColumn,
} from "../../../tbcore/web/lib/chart/series.js";
import { clipRange } from "../../../tbcore/web/lib/chart/left-out.js";
import { padded } from "../../../tbcore/web/lib/chart/axes.js";
import { nearestIndex } from "../../../tbcore/web/lib/chart/hover.js";

/** A path that records its calls. */
class Path {
  /** @type {[string, number, number][]} */ calls = [];
  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.calls.push(["M", x, y]);
  }
  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.calls.push(["L", x, y]);
  }
}

/** A scale in which values are pixels. @param {number} x */
const identity = (x) => x;

test("a line skips values that cannot be drawn, and is not broken by them", () => {
  const path = new Path();
  const count = tracePath(path, [0, 10, 20, 30, 40], [1, NaN, 2, Infinity, 3], identity, identity);
  assert.equal(count, 3);
  assert.deepEqual(path.calls, [["M", 0, 1], ["L", 20, 2], ["L", 40, 3]]);
});

test("many points in one pixel column are drawn as their extremes", () => {
  const path = new Path();
  const xs = Float64Array.from({ length: 100000 }, (_, i) => i / 1000);
  const values = xs.map((_, i) => (i === 50500 ? 1000 : i === 50600 ? -1000 : Math.sin(i)));
  assert.equal(tracePath(path, xs, values, identity, identity), path.calls.length);
  assert.ok(path.calls.length <= 4 * 102);
  const ys = path.calls.map(([, , y]) => y);
  assert.equal(Math.max(...ys), 1000);
  assert.equal(Math.min(...ys), -1000);
});

test("a path never has more points than the line", () => {
  for (const values of [[1, 2], [1, 3, 2], [1, 0, 4, 2], [2, 2, 2], [1, 3, 3], [3, 1, 3]]) {
    const path = new Path();
    tracePath(path, values.map((_, i) => i / 10), values, identity, identity);
    assert.deepEqual(path.calls.map(([, , y]) => y).slice(0, 1), values.slice(0, 1));
    assert.ok(path.calls.length <= values.length);
    assert.equal(path.calls.at(-1)?.[2], values.at(-1));
  }
});

test("a path keeps the order of its points, even if x decreases", () => {
  const path = new Path();
  tracePath(path, [5, 3, 8], [1, 2, 3], identity, identity);
  assert.deepEqual(path.calls.map(([, x]) => x), [5, 3, 8]);
});

test("the nearest point is found in sorted and unsorted columns", () => {
  const rising = [0, 1, 1, 4, 10];
  assert.ok(isRising(rising));
  for (const x of [-5, 0, 0.4, 0.6, 2.4, 2.6, 7, 7.1, 99]) {
    const best = Math.min(...rising.map((value) => Math.abs(value - x)));
    const shuffled = [4, 0, 10, 1, 1];
    assert.equal(Math.abs(rising[nearestIndex(rising, x)] - x), best);
    assert.equal(Math.abs(shuffled[nearestIndex(shuffled, x)] - x), best);
  }
  assert.equal(nearestIndex([], 1), -1);
  assert.equal(nearestIndex([NaN], 1), -1);
  assert.ok(!isRising([1, NaN, 2]));
  assert.ok(!isRising([2, 1]));
});

test("ranges ignore non-finite numbers", () => {
  assert.deepEqual(extent([3, NaN, -Infinity, 1, Infinity]), [1, 3]);
  assert.equal(extent([NaN, Infinity]), null);
  assert.equal(extent([]), null);
  assert.equal(countFinite([1, NaN, 2, 3], 2), 2);
  assert.equal(countFinite([NaN], 2), 0);
});

test("the visible range includes lines that only pass through", () => {
  const xs = [0, 10, 20, 30];
  const values = [5, 1, 9, 100];
  assert.deepEqual(visibleExtent(xs, values, 9, 21), [1, 100]);
  assert.deepEqual(visibleExtent(xs, values, 12, 18), [1, 9]);
  assert.deepEqual(visibleExtent(xs, values, -5, 2), [1, 5]);
  assert.deepEqual(visibleExtent(xs, values, -Infinity, Infinity), [1, 100]);
  assert.deepEqual(visibleExtent(xs, [5, NaN, -Infinity, 7], 12, 18), [5, 7]);
  assert.equal(visibleExtent(xs, [NaN, NaN, NaN, Infinity], -1, 50), null);
});

test("every range has a margin, even that of a single value", () => {
  assert.deepEqual(padded([0, 10], 0.1), [-1, 11]);
  assert.deepEqual(padded([5, 5], 0.1), [4.5, 5.5]);
  assert.deepEqual(padded([0, 0], 0.1), [-1, 1]);
  assert.deepEqual(padded(null, 0.1), [0, 1]);
  for (const range of /** @type {[number, number][]} */ ([[-1.7e308, 1.7e308], [5e-324, 5e-324], [1e-300, 1e-300], [-1e308, -1e308]])) {
    const [min, max] = padded(range, 0.06);
    assert.ok(Number.isFinite(min) && Number.isFinite(max) && min < max && min <= range[0] && max >= range[1], `${range}`);
  }
});

test("segments are found, searched and windowed separately", () => {
  const xs = [0, 1, 2, 3, 1, 2, 3, 4];
  const segments = segmentsOf(xs, [0, 4]);
  assert.deepEqual(segments, [
    { from: 0, to: 4, rising: true },
    { from: 4, to: 8, rising: true },
  ]);
  assert.equal(nearestIndex(xs, 2.1, segments), 5); // if two segments are equally near, the later one
  assert.equal(nearestIndex(xs, 0, segments), 0);
  assert.deepEqual(segments.map((segment) => windowOf(xs, segment, 1.5, 2.5)), [[1, 4], [4, 7]]);
  assert.deepEqual(windowOf(xs, segments[0], 2, 2), [1, 4]);
  assert.deepEqual(windowOf(xs, segments[0], 9, 10), [3, 4]);
  assert.deepEqual(segmentsOf(xs).map(({ rising }) => rising), [false]);
  assert.deepEqual(segmentsOf([]), []);
});

test("a column is split into stretches that never decrease", () => {
  assert.deepEqual(risingStretches([0, 1, 1, 0, NaN, 2, 3], 0, 7), [[0, 3], [3, 4], [4, 5], [5, 7]]);
  assert.deepEqual(risingStretches([5, 6, 1], 1, 3), [[1, 2], [2, 3]]);
  assert.deepEqual(risingStretches([], 0, 0), []);
});

test("a band is one outline", () => {
  const path = new Path();
  traceBand(path, Float64Array.of(0, 9), Float64Array.of(1, 2), Float64Array.of(5, 6), identity, identity);
  assert.deepEqual(path.calls, [["M", 0, 5], ["L", 9, 6], ["L", 9, 2], ["L", 0, 1]]);
});

test("a band with a restart has an outline for each stretch", () => {
  const path = new Path();
  traceBand(path, Float64Array.of(0, 50, 100, 0, 50), Float64Array.of(1, 1, 1, 3, 3), Float64Array.of(2, 2, 2, 4, 4), identity, identity);
  const outlines = path.calls.map(([what, x, y]) => `${what}${x},${y}`).join("");
  assert.equal(outlines, "M0,2L50,2L100,2L100,1L50,1L0,1M0,4L50,4L50,3L0,3");
});

test("a range leaves out outliers, and nothing else", () => {
  const values = Float64Array.from({ length: 100 }, (_, i) => i);
  values[50] = 1e9;
  values[51] = NaN;
  const [low, high] = /** @type {[number, number]} */ (clipRange([[values]]));
  assert.equal(low, 0); // not below the lowest value
  assert.ok(high > 99 && high < 200);
  assert.deepEqual(clipRange([[Float64Array.of(3, 3, 3)]]), [3, 3]);
  assert.equal(clipRange([[Float64Array.of(NaN)], []]), null);
});

test("all lines count alike in a range without outliers, however many points they have", () => {
  const at = (/** @type {number} */ value, /** @type {number} */ length) => [Float64Array.from({ length }, (_, i) => value + i / length)];
  const [low, high] = /** @type {[number, number]} */ (clipRange([...Array.from({ length: 30 }, () => at(0, 20)), at(9, 100_000)]));
  assert.ok(low === 0 && high < 2, `${low} to ${high}`);
});

test("lines that reach far out of the range of most lines are found, at both ends", () => {
  assert.deepEqual(farLines([[0, 1], [0, 2], [0, 1000], [0.5, 2], [-900, 1], null]).isFar, [false, false, true, false, true, false]);
  assert.deepEqual(farLines([[0, 1], [0, 1], [0, 10]]).isFar, [false, false, false]); // it can be read
  assert.deepEqual(farLines([[0.3, 2.5], [0.3, 2.6], [0.25, 33]]).isFar, [false, false, true]);
  assert.deepEqual(farLines([[0, 1], [0, 1000]]).isFar, [false, false]); // none of two is the usual one
  assert.deepEqual(farLines([[0.01, 0.01], [0.01, 0.01], [1, 1]]).isFar, [false, false, true]);
  assert.deepEqual(farLines([[0, 1e308], [-1e308, 1e308], [-1e308, 0]]).isFar, [false, false, false]);
  assert.deepEqual(farLines([[8, 8.001], [10, 10], [7, 7]]).isFar, [false, false, false]); // two are not most of three
  assert.deepEqual(farLines([]).isFar, []);
});

test("non-finite values are found", () => {
  assert.deepEqual(nonFinitePoints([NaN, 1, Infinity, 2]), [0, 2]);
  assert.deepEqual(nonFinitePoints([1, 2]), []);
});

test("relative time starts with the line's own first point", () => {
  const columns = { step: Float64Array.of(0, 5), wallTime: Float64Array.of(100, 130), value: Float64Array.of(1, 2) };
  assert.deepEqual([...xColumn(columns, "relative")], [0, 30]);
  assert.equal(xColumn(columns, "step"), columns.step);
  assert.equal(xColumn(columns, "wall_time"), columns.wallTime);
});
