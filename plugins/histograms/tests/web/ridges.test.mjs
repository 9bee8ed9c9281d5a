// Positions, outlines, hit tests and colours of ridges.

import assert from "node:assert/strict";
import { test } from "node:test";
import { baselinesOf, curveAt, positionTicks, ridgeAt, fadedColor, traceRidge } from "../../tbcore_histograms/static/ridges.js";

test("the last histogram is at the bottom, and there is space above the first for its height", () => {
  const baselines = baselinesOf([0, 50, 100], 100);
  assert.deepEqual(baselines.map(Math.round), [42, 71, 100]);
  assert.deepEqual(baselinesOf([7], 100), [100]);
  assert.deepEqual(baselinesOf([7, 7], 100), [100, 100]);
});

test("labels are at the baselines of their positions", () => {
  const ticks = positionTicks("step", [0, 50, 100], 100);
  assert.deepEqual(ticks.map(({ label }) => label), ["0", "50", "100"]);
  assert.deepEqual(ticks.map(({ share }) => Math.round((1 - share) * 100)), [42, 71, 100]);
  assert.deepEqual(positionTicks("step", [235166], 100), [{ value: 235166, share: 0, label: "235,166" }]);
  assert.deepEqual(positionTicks("relative", [0, 120], 100).map(({ label }) => label), ["0", "1m", "2m"]);
  assert.deepEqual(positionTicks("step", [], 100), []);
});

test("a ridge is traced as a staircase", () => {
  /** @type {number[][]} */
  const points = [];
  const path = { moveTo: (/** @type {number[]} */ ...point) => points.push(point), lineTo: (/** @type {number[]} */ ...point) => points.push(point) };
  traceRidge(path, [0, 3, 3, 1, 0], 2, 10);
  assert.deepEqual(points, [[2, 10], [2, 10], [2, 7], [6, 7], [6, 9], [8, 9], [8, 10]]);
  points.length = 0;
  traceRidge(path, [0, 0], 2, 10);
  assert.deepEqual(points, []);
});

test("the pointer selects the front ridge that covers it, otherwise the nearest baseline", () => {
  const heights = [[40, 0], [20, 0], [5, 0]];
  const baselines = [50, 70, 90];
  assert.equal(ridgeAt(heights, baselines, 0, 60), 1);
  assert.equal(ridgeAt(heights, baselines, 0, 20), 0);
  assert.equal(ridgeAt(heights, baselines, 0, 87), 2);
  assert.equal(ridgeAt(heights, baselines, 1, 72), 1);
  assert.equal(ridgeAt([], [], 0, 0), -1);
  assert.equal(curveAt(heights, 0, 18), 1);
});

test("the newest histogram has its run's colour, and older ones are paler", () => {
  assert.equal(fadedColor("#2060a0", "#fff", 0), "#2060a0");
  assert.equal(fadedColor("#000000", "#ffffff", 1), "#c7c7c7");
  assert.equal(fadedColor("#000000", "#171b22", 1), "#12151b");
});
