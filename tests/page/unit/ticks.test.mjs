// Ticks are at round numbers, inside the range, and as many as fit.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toAxis } from "../../../tbcore/web/lib/chart/axes.js";
import { axisTicks, durationTicks, formatDurationTicks, formatTicks, formatTimeTicks, logTicks, numberTicks, timeTicks } from "../../../tbcore/web/lib/chart/ticks.js";

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

test("a time axis has at least two ticks, and space for them", () => {
  const start = new Date(2026, 10, 17, 21, 40).getTime() / 1000;
  for (let hours = 0.1; hours < 24 * 3000; hours *= 1.07) {
    for (const maxTicks of [2, 3, 5]) {
      for (const shift of [0, 3600 * 5, 86400 * 2.4]) {
        const { at } = timeTicks(start + shift, start + shift + hours * 3600, maxTicks);
        assert.ok(at.length >= 2 && at.length <= maxTicks + 1, `${at.length} ticks for ${hours} hours, ${maxTicks} expected`);
        assert.ok(at.every((tick) => tick >= start + shift && tick <= start + shift + hours * 3600));
      }
    }
  }
  // A card over three days, with space for three labels.
  const labels = (/** @type {number} */ from) => axisTicks({ kind: "wall_time", log: false, range: [from, from + 3.1 * 86400] }, 3).map(({ label }) => label);
  assert.deepEqual([labels(start), labels(start + 2 * 86400)], [["Nov 19\n2026", "Nov 21"], ["Nov 21\n2026", "Nov 23"]]);
  assert.deepEqual(labels(start - 86400), ["Nov 17\n2026", "Nov 19"]);
});

test("logarithmic ticks are powers of ten, fewer of them or with multiples in between", () => {
  const ticksOf = (/** @type {[number, number, number]} */ ...range) => logTicks(...range).at.map((tick) => +tick.toPrecision(3));
  assert.deepEqual(ticksOf(0.1, 1000, 5), [0.1, 1, 10, 100, 1000]);
  assert.deepEqual(ticksOf(1, 100, 7), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual(ticksOf(0.25, 2.9, 5.8), [0.3, 0.5, 1, 2]); // a card of usual size
  assert.deepEqual(ticksOf(0.25, 2.9, 20), [0.3, 0.4, 0.5, 0.7, 1, 2]); // in full size
  assert.deepEqual(ticksOf(0.12, 0.8, 4), [0.2, 0.4, 0.6, 0.8]); // nearly linear
  assert.ok(logTicks(1e-300, 1e300, 5).at.length <= 6);
  assert.deepEqual(logTicks(5, 5, 4).at, [5]);
});

test("labels of a logarithmic axis do not overlap", () => {
  for (let decades = 0.5; decades < 12; decades *= 1.13) {
    for (const maxTicks of [2, 3.5, 5, 8, 13, 20]) {
      for (const start of [-2.3, 0, 0.61]) {
        const { at } = logTicks(10 ** start, 10 ** (start + decades), maxTicks);
        for (let i = 1; i < at.length; i++) assert.ok(Math.log10(at[i] / at[i - 1]) >= (0.6 * decades) / maxTicks, `${at} over ${decades} decades, ${maxTicks}`);
      }
    }
  }
});

test("a logarithmic axis has minor ticks where there is space", () => {
  const minor = (/** @type {[number, number]} */ range, /** @type {number} */ maxTicks) =>
    axisTicks({ kind: "value", log: true, range }, maxTicks, true).filter(({ label }) => label === "").map(({ value }) => +value.toPrecision(3));
  assert.deepEqual(minor([Math.log10(0.25), Math.log10(2.9)], 5.8), [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2]);
  assert.deepEqual(minor([0, 9], 5), []);
  assert.equal(minor([308, 309], 9).length, 1); // where doubles end
  assert.deepEqual(axisTicks({ kind: "value", log: true, range: [0, 1] }, 6).filter(({ label }) => label === ""), []); // only if asked for
});

test("symmetric-logarithmic ticks are at 0 and on both sides of it", () => {
  const ticksOf = (/** @type {[number, number]} */ values, /** @type {number} */ log, /** @type {number} */ maxTicks, /** @type {"value" | "relative" | "step"} */ kind = "value") => {
    const range = /** @type {[number, number]} */ (values.map((value) => toAxis({ log }, value)));
    return axisTicks({ kind, log, range }, maxTicks).map(({ label }) => label);
  };
  assert.deepEqual(ticksOf([-1000, 1000], 1, 7), ["-1k", "-100", "-10", "0", "10", "100", "1k"]);
  assert.deepEqual(ticksOf([-1000, 1000], 1, 4), ["-100", "0", "100"]);
  assert.deepEqual(ticksOf([-20, 4e5], 1, 14), ["-20", "-10", "0", "10", "100", "1k", "10k", "100k"]);
  assert.deepEqual(ticksOf([0, 1e5], 1, 8, "step"), ["0", "10", "100", "1k", "10k", "100k"]);
  assert.deepEqual(ticksOf([0, 7200], 1, 8, "relative"), ["0", "1s", "10s", "1m", "10m", "1h"]);
  assert.deepEqual(ticksOf([200, 5000], 1, 3), ["1k"]); // a part of the axis without 0
  assert.deepEqual(ticksOf([0.25, 3], 0.1, 5), ["0.5", "1", "2"]);
  assert.deepEqual(ticksOf([-3, 4], 1, 8), ["-3", "-2", "-1", "0", "1", "2", "3", "4"]); // nearly linear
  const minor = axisTicks({ kind: "value", log: 1, range: [-2, 2] }, 12, true).filter(({ label }) => label === "");
  assert.ok(minor.some(({ value }) => value === -20) && minor.some(({ value }) => value === 3));
  assert.ok(minor.every(({ share }) => share >= 0 && share <= 1));
});

test("labels of a symmetric-logarithmic axis do not overlap", () => {
  for (const log of [1e-3, 1, 50]) {
    for (const [low, high] of [[-1e6, 1e6], [0, 1e4], [-3, 1e5], [-1e5, -10], [7, 3000], [-0.5, 20]]) {
      for (const maxTicks of [2, 4, 6, 10, 18]) {
        const range = /** @type {[number, number]} */ ([low, high].map((value) => toAxis({ log }, value)));
        const shares = axisTicks({ kind: "value", log, range }, maxTicks).map(({ share }) => share);
        assert.ok(shares.every((share) => share >= -1e-9 && share <= 1 + 1e-9));
        for (let i = 1; i < shares.length; i++) assert.ok(shares[i] - shares[i - 1] >= 0.28 / maxTicks, `${shares} ${[low, high, log, maxTicks]}`);
      }
    }
  }
});

test("ticks of one axis have the same decimals and unit", () => {
  assert.deepEqual(formatTicks([0, 0.5, 1], 0.5), ["0", "0.5", "1.0"]);
  assert.deepEqual(formatTicks([0, 0.25, 0.5], 0.25), ["0", "0.25", "0.50"]);
  assert.deepEqual(formatTicks([0, 5000, 10000], 5000), ["0", "5k", "10k"]);
  assert.deepEqual(formatTicks([500, 1000, 1500], 500), ["500", "1000", "1500"]);
  assert.deepEqual(formatTicks([500000, 1000000, 1500000], 500000), ["0.5M", "1.0M", "1.5M"]);
  assert.deepEqual(formatTicks([950e9, 1000e9, 1050e9], 50e9), ["0.95T", "1.00T", "1.05T"]);
  assert.deepEqual(formatTicks([0, 500e9, 1000e9], 500e9), ["0", "0.5T", "1.0T"]);
  assert.deepEqual(formatTicks([999e9, 1000e9], 1e9), ["0.999T", "1.000T"]);
  assert.deepEqual(formatTicks([2e6, 4e6], 2e6), ["2M", "4M"]);
  assert.deepEqual(formatTicks([-2e-7, 0, 2e-7], 2e-7), ["-2e-7", "0", "2e-7"]);
});

test("neighbouring ticks never have the same label, however far from zero", () => {
  for (const [start, spacing] of [
    [1000200, 1],
    [123456, 0.1],
    [1e9, 2],
    [0.123456, 1e-6],
    [1e16, 4],
    [1e-9, 1e-13],
  ]) {
    const labels = formatTicks([start, start + spacing, start + 2 * spacing], spacing);
    assert.equal(new Set(labels).size, 3, labels.join(" "));
  }
});

test("ticks of a logarithmic axis are short", () => {
  assert.deepEqual(formatTicks([1e-6, 0.001, 1, 1000, 1e6], 0), ["1e-6", "0.001", "1", "1k", "1M"]);
});

test("duration ticks have the units that are not zero", () => {
  assert.deepEqual(formatDurationTicks([0, 30, 60, 90], 30), ["0", "30s", "1m", "1m30s"]);
  assert.deepEqual(formatDurationTicks([0, 3600, 86400, 90000], 3600), ["0", "1h", "1d", "1d1h"]);
  assert.deepEqual(formatDurationTicks([0, 0.5], 0.5), ["0", "0.5s"]);
});

test("only the first time tick of a day has the date", () => {
  const midnight = new Date(2020, 2, 1).getTime() / 1000;
  assert.deepEqual(formatTimeTicks([midnight, midnight + 3600, midnight + 86400], 3600), [
    "00:00\n2020-03-01",
    "01:00",
    "00:00\n2020-03-02",
  ]);
  assert.deepEqual(formatTimeTicks([midnight, midnight + 86400], 86400), ["Mar 1\n2020", "Mar 2"]);
  const newYear = new Date(2021, 0, 1).getTime() / 1000;
  assert.deepEqual(formatTimeTicks([newYear - 86400, newYear, newYear + 86400], 86400), ["Dec 31\n2020", "Jan 1\n2021", "Jan 2"]);
});

test("an axis of wall time with numbers that are not dates has numbers with an exponent", () => {
  const labels = (/** @type {number} */ min, /** @type {number} */ max) => axisTicks({ kind: "wall_time", log: false, range: [min, max] }, 5).map(({ label }) => label);
  const microseconds = 1.7e15;
  assert.deepEqual(labels(1.7e9, microseconds), ["5e14", "1e15", "1.5e15"]);
  assert.deepEqual(labels(microseconds, microseconds), ["1.7e15"]);
  assert.deepEqual(labels(-microseconds, 1.7e9), ["-1.5e15", "-1e15", "-5e14", "0"]);
  for (const unit of [1, 1e3, 1e6, 1e9]) {
    const texts = labels(1.7e9, 1.7e9 * unit + 60);
    assert.ok(texts.length > 1 && texts.every((text) => !/invalid|nan/i.test(text)), texts.join());
  }
});

test("a year has all its digits", () => {
  const start = new Date(55840, 0, 1).getTime() / 1000;
  assert.deepEqual(formatTimeTicks([start, start + 86400], 86400), ["Jan 1\n55840", "Jan 2"]);
});

test("ticks of logarithmic axes are at round numbers, with the right positions", () => {
  const axis = (/** @type {"step" | "relative"} */ kind, /** @type {[number, number]} */ range) => axisTicks({ kind, log: true, range }, 400 / { step: 52, relative: 58 }[kind]);
  assert.deepEqual(axis("step", [0, 4]).map(({ label, share }) => [label, share]), [["1", 0], ["10", 0.25], ["100", 0.5], ["1k", 0.75], ["10k", 1]]);
  assert.deepEqual(axis("relative", [0, 5]).map(({ label }) => label), ["1s", "10s", "1m", "10m", "1h", "10h"]);
  assert.deepEqual(axis("step", [3, Math.log10(1004)]).map(({ label }) => label), ["1000", "1001", "1002", "1003", "1004"]);
});
