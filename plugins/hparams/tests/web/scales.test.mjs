// Scales, colours, importance and hit tests.

import assert from "node:assert/strict";
import { test } from "node:test";
import { explainImportance, formatImportance, importanceOf, ranks } from "../../tbcore_hparams/static/importance.js";
import { geometryOf, hitRow, shareAt, yOf } from "../../tbcore_hparams/static/parallel-paint.js";
import { gradesOf, NUM_COLORS, rampOf } from "../../tbcore_hparams/static/color-ramp.js";
import { isLogByDefault, makeScale } from "../../tbcore_hparams/static/scales.js";

/** @typedef {import("../../tbcore_hparams/static/types.js").Cell} Cell */

/**
 * @param {readonly Cell[]} cells
 * @returns {import("../../tbcore_hparams/static/types.js").Column}
 */
const column = (cells, type = "number", kind = "hparam") => /** @type {any} */ ({ key: "h.a", kind, type, label: "a", cells });
/** @param {readonly number[]} values */
const rounded = (values) => values.map((value) => Number(value.toFixed(6)));

test("finite numbers have a position between the smallest and the largest, and other cells have none", () => {
  const scale = makeScale(column([1, 2, 3, NaN, null, Infinity]), false);
  assert.deepEqual([1, 2, 3].map(scale.position), [0, 0.5, 1]);
  assert.deepEqual([NaN, null, Infinity, "2"].map(scale.position), [NaN, NaN, NaN, NaN]);
  assert.equal(scale.unplacedLabel, "— NaN ∞");
});

test("the largest possible numbers have positions, too", () => {
  const scale = makeScale(column([-1.7e308, 0, 1.7e308]), false);
  assert.deepEqual([-1.7e308, 0, 1.7e308].map(scale.position), [0, 0.5, 1]);
});

test("zero has no position on a logarithmic axis, and is labelled so", () => {
  const scale = makeScale(column([0, 0.001, 0.1, 10]), true);
  assert.deepEqual(rounded([0.001, 0.1, 10].map(scale.position)), [0, 0.5, 1]);
  assert.ok(Number.isNaN(scale.position(0)));
  assert.equal(scale.unplacedLabel, "≤ 0");
});

test("by default, hyperparameters over two powers of ten are logarithmic, and metrics over three", () => {
  assert.equal(isLogByDefault(column([0.001, 0.1])), true);
  assert.equal(isLogByDefault(column([0.002, 0.1])), false);
  assert.equal(isLogByDefault(column([0, 0.1])), false);
  assert.equal(isLogByDefault(column([0.001, 0.25, 0.5, 0.75, 1])), false); // spread evenly
  assert.equal(isLogByDefault(column([0.001, 0.1], "number", "metric")), false);
  assert.equal(isLogByDefault(column([1, 1000], "number", "metric")), true);
});

test("a single value is in the middle", () => {
  assert.equal(makeScale(column([5, 5]), false).position(5), 0.5);
  assert.equal(makeScale(column(["x"], "string"), false).position("x"), 0.5);
});

test("beside a single finite value, NaN and infinities have no position, nor has zero on a logarithmic axis", () => {
  const scale = makeScale(column([1.5, NaN, Infinity, -Infinity, null]), false);
  assert.deepEqual([1.5, NaN, Infinity, -Infinity, null].map(scale.position), [0.5, NaN, NaN, NaN, NaN]);
  assert.equal(scale.unplacedLabel, "— NaN ∞");
  assert.deepEqual(makeScale(column([0.1, 0, -1, 0.1, NaN]), true).position(0.1), 0.5);
  assert.deepEqual([0, -1, NaN].map(makeScale(column([0.1, 0, -1, NaN]), true).position), [NaN, NaN, NaN]);
  // A range above or below the value does not cover it.
  assert.deepEqual(scale.intervalOf({ key: "h.a", min: 2, max: null }), [1, 1]);
  assert.deepEqual(scale.intervalOf({ key: "h.a", min: null, max: 1 }), [0, 0]);
  assert.deepEqual(scale.intervalOf({ key: "h.a", min: 1, max: 2 }), [0, 1]);
});

test("no number has a position where none is finite", () => {
  const scale = makeScale(column([NaN, Infinity, -Infinity]), false);
  assert.deepEqual([NaN, Infinity, -Infinity].map(scale.position), [NaN, NaN, NaN]);
});

test("ticks of a hyperparameter with few values are those values", () => {
  const { ticks } = makeScale(column([64, 16, 32, 16]), false);
  assert.deepEqual(ticks(8).map(({ label }) => label), ["16", "32", "64"]);
  assert.deepEqual(ticks(2).map(({ label }) => label), ["16", "64"]); // if there is space for two
});

test("ticks of a metric are round numbers, even with few values", () => {
  const { ticks } = makeScale(column([0.08333, 0.04166, 0.02777], "number", "metric"), false);
  assert.deepEqual(ticks(4).map(({ label }) => label), ["0.04", "0.06", "0.08"]);
  assert.equal(makeScale(column([0.08333], "number", "metric"), false).ticks(4).length, 1);
});

test("a range of an axis becomes a filter, without a bound at an end of the axis", () => {
  const scale = makeScale(column([0, 100]), false);
  assert.deepEqual(scale.filterBetween(0.6, 0.25), { min: 25, max: 60 });
  assert.deepEqual(scale.filterBetween(0.5, 1), { min: 50, max: null });
  assert.equal(scale.filterBetween(0, 1), null);
});

test("bounds are rounded outwards, so that everything in the range passes", () => {
  const { filterBetween } = makeScale(column([0.000123456, 0.98765]), true);
  const bounds = /** @type {{ min: number, max: number }} */ (filterBetween(0.31, 0.62));
  const exact = (/** @type {number} */ share) => 0.000123456 * (0.98765 / 0.000123456) ** share;
  assert.ok(bounds.min <= exact(0.31) && bounds.min > exact(0.31) * 0.999);
  assert.ok(bounds.max >= exact(0.62) && bounds.max < exact(0.62) * 1.001);
});

test("a filter becomes a range of the axis", () => {
  const scale = makeScale(column([0, 100]), false);
  assert.deepEqual(scale.intervalOf({ key: "h.a", min: 25, max: null }), [0.25, 1]);
  assert.deepEqual(scale.intervalOf({ key: "h.a", min: -5, max: 500 }), [0, 1]);
  assert.equal(scale.intervalOf({ key: "h.a", values: [1] }), null);
});

test("values that are not numbers have one position each, in order", () => {
  const scale = makeScale(column(["sgd", "adam", null, "lion"], "string"), false);
  assert.deepEqual(scale.categories, ["adam", "lion", "sgd"]);
  assert.deepEqual(["adam", "lion", "sgd"].map(scale.position), [0, 0.5, 1]);
  assert.deepEqual(scale.filterBetween(0.4, 1), { values: ["lion", "sgd"] });
  assert.deepEqual(scale.filterBetween(0.55, 0.7), { values: ["lion"] }); // between two values: the nearest
  assert.deepEqual(scale.filterBetween(0, 1), { values: ["adam", "lion", "sgd"] }); // excludes missing cells
  assert.deepEqual(scale.intervalOf({ key: "h.a", values: ["sgd", "lion"] }), [0.25, 1]);
  assert.equal(scale.intervalOf({ key: "h.a", values: ["sgd", "adam"] }), null); // not adjacent
});

test("grades depend on ranks, so that an outlier does not affect others", () => {
  const grades = gradesOf([1, 2, 3, 1e9, NaN, null], "max");
  assert.deepEqual(rounded([1, 2, 3, 1e9].map((value) => Number(grades.get(value)))), [0, 0.333333, 0.666667, 1]);
  assert.equal(grades.has(NaN), false);
  assert.deepEqual([...gradesOf([-Infinity, 2, 1, Infinity], "min")].sort(), [[1, 1], [2, 0]]); // infinities have none
  assert.equal(gradesOf([1, 2], "min").get(1), 1);
  assert.equal(gradesOf([3, 3], "min").size, 0); // equal values have no grade
});

test("better colours are darker in the light theme and brighter in the dark theme", () => {
  const light = (/** @type {string} */ color) => Number(color.slice("oklch(".length).split(" ")[0]);
  for (const [theme, sign] of /** @type {const} */ ([["light", -1], ["dark", 1]])) {
    const ramp = rampOf(theme).map(light);
    assert.equal(ramp.length, NUM_COLORS);
    assert.ok(sign * (ramp[NUM_COLORS - 1] - ramp[0]) > 0.5);
  }
});

test("equal values share their mean rank", () => {
  assert.deepEqual([...ranks([10, 20, 10, 30])], [1.5, 3, 1.5, 4]);
});

test("a hyperparameter that determines the metric has full importance, even with its optimum in the middle", () => {
  const xs = Array.from({ length: 60 }, (_, i) => i);
  const metric = column(xs, "number", "metric");
  const rising = importanceOf(column(xs), metric, xs);
  assert.ok(rising && rising.share > 0.9 && rising.trend === 1);
  const peaked = importanceOf(column(xs), column(xs.map((x) => -((x - 30) ** 2)), "number", "metric"), xs);
  assert.ok(peaked && peaked.share > 0.6 && Math.abs(peaked.trend) < 0.1);
  // Bad at the left, best next to it, and worse from there on: lower is not always better.
  const ys = xs.map((x) => (x < 10 ? 10 + x / 10 : 60 - x));
  const humped = importanceOf(column(xs), column(ys, "number", "metric"), xs);
  assert.ok(humped && humped.trend < -0.3 && humped.isNonMonotonic);
  assert.doesNotMatch(formatImportance(humped), /[↗↘]/);
  assert.match(explainImportance(humped, "loss"), /rises and falls/);
  // With few rows, a single bad value at the end counts.
  const few = xs.slice(0, 16);
  const ended = importanceOf(column(few), column(few.map((x) => (x === 0 ? -20 : -x)), "number", "metric"), few);
  assert.ok(ended && ended.trend < -0.3 && ended.isNonMonotonic);
  // A rise with noise is monotonic.
  const noisy = importanceOf(column(xs), column(xs.map((x) => x + 40 * ((Math.imul(x + 1, 2654435761) >>> 0) / 2 ** 32)), "number", "metric"), xs);
  assert.ok(noisy && !noisy.isNonMonotonic);
  assert.match(formatImportance(noisy), /↗/);
  const opt = importanceOf(column(xs.map((x) => (x < 30 ? "a" : "b")), "string"), metric, xs);
  assert.ok(opt && opt.share > 0.7 && Number.isNaN(opt.trend));
});

test("an unrelated hyperparameter has almost no importance, however many values it has", () => {
  const rows = Array.from({ length: 90 }, (_, i) => i);
  const noise = rows.map((row) => (Math.imul(row + 1, 2654435761) >>> 0) / 2 ** 32);
  for (const cells of [rows, rows.map((row) => `v${row % 30}`)]) {
    const found = importanceOf(column(cells, typeof cells[0]), column(noise, "number", "metric"), rows);
    assert.ok(found && found.share < 0.15, String(found?.share));
  }
});

test("there is no importance for few rows or constant values", () => {
  const rows = Array.from({ length: 20 }, (_, i) => i);
  assert.equal(importanceOf(column(rows), column(rows), rows.slice(0, 5)), null);
  assert.equal(importanceOf(column(rows.map(() => 1)), column(rows), rows), null);
});

test("the line under the pointer is found between all axes", () => {
  const geometry = geometryOf(400, 200, 3, false);
  const positions = [Float64Array.of(0, 1), Float64Array.of(1, 0), Float64Array.of(NaN, 0.5)];
  const [a, b, c] = geometry.xs;
  assert.equal(hitRow(geometry, positions, [0, 1], a, yOf(geometry, 0)), 0);
  assert.equal(hitRow(geometry, positions, [0, 1], a + 0.25 * (b - a), yOf(geometry, 0.75)), 1);
  assert.equal(hitRow(geometry, positions, [0], a + 0.25 * (b - a), yOf(geometry, 0.75)), null);
  assert.equal(hitRow(geometry, positions, [0, 1], c, yOf(geometry, NaN)), 0); // no position on the last axis
  assert.equal(hitRow(geometry, positions, [0, 1], 2, 100), null);
  assert.equal(shareAt(geometry, yOf(geometry, 0.25)), 0.25);
});

test("a text that looks like a number or boolean of the axis is in quotes", () => {
  const cells = /** @type {Cell[]} */ ([1, "1", 2, "x", true, "true", "", NaN, "NaN"]);
  const labels = makeScale(column(cells, "mixed"), false).ticks(100).map(({ label }) => label);
  assert.deepEqual(new Set(labels), new Set(["1", "“1”", "2", "x", "true", "“true”", "“”", "NaN", "“NaN”"]));
});
