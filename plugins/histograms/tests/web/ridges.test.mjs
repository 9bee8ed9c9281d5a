// Where ridges lie, how they are drawn, and which of them a pointer means.

import assert from "node:assert/strict";
import { test } from "node:test";
import { baselinesOf, curveAt, placeTicks, ridgeAt, shade, traceRidge } from "../../tbcore_histograms/static/ridges.js";

test("the last histogram stands at the bottom, and the first leaves room for its height", () => {
  const baselines = baselinesOf([0, 50, 100], 100);
  assert.deepEqual(baselines.map(Math.round), [42, 71, 100]);
  assert.deepEqual(baselinesOf([7], 100), [100]);
  assert.deepEqual(baselinesOf([7, 7], 100), [100, 100]);
});

test("labels stand at the baselines of their places", () => {
  const ticks = placeTicks("step", [0, 50, 100], 100);
  assert.deepEqual(ticks.map(({ label }) => label), ["0", "50", "100"]);
  assert.deepEqual(ticks.map(({ share }) => Math.round((1 - share) * 100)), [42, 71, 100]);
  assert.deepEqual(placeTicks("step", [235166], 100), [{ share: 0, label: "235,166" }]);
  assert.deepEqual(placeTicks("relative", [0, 120], 100).map(({ label }) => label), ["0", "1m", "2m"]);
  assert.deepEqual(placeTicks("step", [], 100), []);
});

test("a ridge is drawn as the stairs that its columns are", () => {
  /** @type {number[][]} */
  const points = [];
  const path = { moveTo: (/** @type {number[]} */ ...point) => points.push(point), lineTo: (/** @type {number[]} */ ...point) => points.push(point) };
  traceRidge(path, [0, 3, 3, 1, 0], 2, 10);
  assert.deepEqual(points, [[2, 10], [2, 10], [2, 7], [6, 7], [6, 9], [8, 9], [8, 10]]);
  points.length = 0;
  traceRidge(path, [0, 0], 2, 10);
  assert.deepEqual(points, []);
});

test("a pointer means the front ridge that covers it, else the nearest baseline", () => {
  const heights = [[40, 0], [20, 0], [5, 0]];
  const baselines = [50, 70, 90];
  assert.equal(ridgeAt(heights, baselines, 0, 60), 1);
  assert.equal(ridgeAt(heights, baselines, 0, 20), 0);
  assert.equal(ridgeAt(heights, baselines, 0, 87), 2);
  assert.equal(ridgeAt(heights, baselines, 1, 72), 1);
  assert.equal(ridgeAt([], [], 0, 0), -1);
  assert.equal(curveAt(heights, 0, 18), 1);
});

test("the newest has its run's colour, older ones are paler", () => {
  assert.equal(shade("#2060a0", "#fff", 0), "#2060a0");
  assert.equal(shade("#000000", "#ffffff", 1), "#c7c7c7");
  assert.equal(shade("#000000", "#171b22", 1), "#12151b");
});
