// Ticks are at round numbers, inside the range, and as many as fit.

import assert from "node:assert/strict";
import { test } from "node:test";
import { durationTicks, logTicks, numberTicks, timeTicks } from "../../tbcore/web/format.js";

test("the spacing of numbers is 1, 2 or 5 times a power of ten", () => {
  assert.deepEqual(numberTicks(0, 10, 5), { at: [0, 2, 4, 6, 8, 10], spacing: 2 });
  assert.deepEqual(numberTicks(-0.13, 0.31, 5).at, [-0.1, 0, 0.1, 0.2, 0.3]);
  assert.deepEqual(numberTicks(0, 2, 5, 1).at, [0, 1, 2]); // no half steps
});

test("ticks are inside the range and not too many, whatever its size", () => {
  for (const [min, max] of [[0, 1e-300], [-1e38, 1e38], [1e15, 1e15 + 8], [0.1 + 0.2, 0.3], [-5, 3], [1e-12, 2e-12], [0, 1.7e308]]) {
    const { at } = numberTicks(Math.min(min, max), Math.max(min, max), 6);
    assert.ok(at.length >= 1 && at.length <= 8, `${at.length} in ${min} to ${max}`);
    const tolerance = (Math.max(min, max) - Math.min(min, max)) * 1e-6;
    for (const tick of at) assert.ok(tick >= Math.min(min, max) - tolerance && tick <= Math.max(min, max) + tolerance);
  }
});

test("an empty range has one tick, an invalid one has none", () => {
  assert.deepEqual(numberTicks(-Number.MAX_VALUE, Number.MAX_VALUE, 4).at, [-1e308, 0, 1e308]);
  assert.deepEqual(numberTicks(3, 3, 5), { at: [3], spacing: 0 });
  assert.deepEqual(numberTicks(NaN, 1, 5), { at: [], spacing: 0 });
});

test("the spacing of durations is in minutes and hours", () => {
  assert.deepEqual(durationTicks(0, 200, 5), { at: [0, 60, 120, 180], spacing: 60 });
  assert.equal(durationTicks(0, 86400, 5).spacing, 21600);
  assert.equal(durationTicks(0, 86400 * 100, 5).spacing, 86400 * 20);
  assert.equal(durationTicks(0, 1, 5).spacing, 0.2);
});

test("time ticks are round in the browser's time zone", () => {
  const start = new Date(2021, 5, 1, 9, 12).getTime() / 1000;
  const { at, spacing } = timeTicks(start, start + 6 * 3600, 4);
  assert.equal(spacing, 7200);
  for (const tick of at) {
    const date = new Date(tick * 1000);
    assert.equal(date.getHours() % 2 + date.getMinutes() + date.getSeconds(), 0);
  }
});

test("logarithmic ticks are powers of ten, fewer of them or with 2 and 5 in between", () => {
  assert.deepEqual(logTicks(0.1, 1000, 5).at.map((tick) => +tick.toPrecision(3)), [0.1, 1, 10, 100, 1000]);
  assert.deepEqual(logTicks(1, 100, 12).at.map((tick) => +tick.toPrecision(3)), [1, 2, 5, 10, 20, 50, 100]);
  assert.ok(logTicks(1e-300, 1e300, 5).at.length <= 6);
  assert.deepEqual(logTicks(5, 5, 4).at, [5]);
});
