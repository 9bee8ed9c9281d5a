// Percentiles as columns, bands and texts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bandsOf, percentileName, noteOf, rangeOf, readOutOf, readPercentiles } from "../../tbcore_distributions/static/percentiles.js";

const POINTS = [0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000];
/** @param {number} step @param {number} scale */
const row = (step, scale) => [1e9 + step, step, POINTS.map((point) => [point, (scale * point) / 10000])];
const RUN = { name: "train", label: "baseline", color: "#123456" };

test("rows become columns, and texts for non-finite numbers become numbers", () => {
  const rows = [row(3, 1), row(5, 2)];
  rows[1][2][8][1] = "Infinity";
  const { step, wallTime, basisPoints, values } = readPercentiles(rows);
  assert.deepEqual([...step], [3, 5]);
  assert.deepEqual([...wallTime], [1e9 + 3, 1e9 + 5]);
  assert.deepEqual(basisPoints, POINTS);
  assert.deepEqual([...values[4]], [0.5, 1]);
  assert.deepEqual([...values[8]], [1, Infinity]);
});

test("four bands are nested around the median", () => {
  const percentiles = readPercentiles([row(3, 1), row(5, 2)]);
  const [band] = bandsOf(percentiles, "step", true, RUN);
  assert.deepEqual([...band.x], [3, 5]);
  assert.deepEqual([...band.mean], [0.5, 1]);
  assert.deepEqual([[...band.low], [...band.high]], [[0, 0], [1, 2]]);
  assert.deepEqual(band.inner?.map(([low, high]) => [low[0], high[0]]), [[0.0668, 0.9332], [0.1587, 0.8413], [0.3085, 0.6915]]);
  assert.deepEqual([...bandsOf(percentiles, "relative", true, RUN)[0].x], [0, 2]);
  assert.deepEqual([...bandsOf(percentiles, "wall_time", true, RUN)[0].x], [1e9 + 3, 1e9 + 5]);
});

test("without tails the widest band is the middle 87 %", () => {
  const [band] = bandsOf(readPercentiles([row(3, 1)]), "step", false, RUN);
  assert.deepEqual([band.low[0], band.high[0], band.inner?.length], [0.0668, 0.9332, 2]);
  assert.deepEqual(bandsOf(readPercentiles([]), "step", false, RUN), []);
});

test("the range has what the chart shows, without infinite values", () => {
  const rows = [row(3, 1), row(5, 2)];
  assert.deepEqual(rangeOf(readPercentiles(rows), true), [0, 2]);
  assert.deepEqual(rangeOf(readPercentiles(rows), false), [0.0668, 1.8664]);
  rows[1][2][8][1] = "Infinity";
  assert.deepEqual(rangeOf(readPercentiles(rows), true), [0, 1.8664]);
  assert.equal(rangeOf(readPercentiles([]), true), null);
});

test("the tooltip has all nine values of a step", () => {
  const { rows, spoken } = readOutOf({ ...RUN, percentiles: readPercentiles([row(3, 1), row(1000, 2)]) }, 1);
  assert.deepEqual(rows.map(([what]) => what), ["Step", "Maximum", "93.32 %", "84.13 %", "69.15 %", "Median", "30.85 %", "15.87 %", "6.68 %", "Minimum", "Relative"]);
  assert.deepEqual(rows.slice(0, 3).map(([, value]) => value), ["1,000", "2", "1.8664"]);
  assert.equal(spoken, "step 1,000: median 1, from 0 to 2");
  assert.equal(percentileName(2500), "25 %");
});

test("steps without samples have no values, and a note counts them", () => {
  const empty = [1e9, 1, []];
  const percentiles = readPercentiles([empty, row(3, 1), empty, row(5, NaN)]);
  assert.deepEqual(percentiles.basisPoints, POINTS);
  assert.deepEqual([...percentiles.values[8]], [NaN, 1, NaN, NaN]);
  assert.equal(noteOf(percentiles), "2 steps without samples, 1 step with infinite values or NaN");
  const { rows, spoken } = readOutOf({ ...RUN, percentiles }, 2);
  assert.deepEqual(rows.slice(0, 2), [["Step", "1"], ["Samples", "none"]]);
  assert.equal(spoken, "step 1: no samples");
  assert.equal(noteOf(readPercentiles([row(3, Infinity)])), "1 step with infinite values or NaN");
  assert.equal(noteOf(readPercentiles([row(3, 1)])), "");
  assert.equal(noteOf(readPercentiles([empty, empty])), "no samples");
  assert.deepEqual(bandsOf(readPercentiles([empty, empty]), "step", true, RUN), []);
  assert.equal(noteOf(readPercentiles([])), "");
});
