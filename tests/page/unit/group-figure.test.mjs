// The figure of a group of runs as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMean, groupFigure } from "../../../tbcore/web/lib/group-figure.js";

test("a mean has as many decimals as its deviation, which has two digits", () => {
  /** @type {[number, number, string][]} */
  const cases = [
    [0.68412, 0.06449, "0.684 ± 0.064"],
    [0.5, 0.0104, "0.500 ± 0.010"],
    [-12.34, 5.678, "-12.3 ± 5.7"],
    [56789.2, 1234.5, "56789 ± 1235"],
    [0.5, 0, "0.5 ± 0"],
    [0.123456789, 1e-12, "0.123457 ± 1e-12"],
    [1.234e-7, 1.26e-8, "1.234e-7 ± 1.3e-8"],
    [5e12, 1e11, "5e12 ± 1e11"],
    [0, Infinity, "0 ± ∞"],
  ];
  for (const [mean, deviation, text] of cases) assert.equal(formatMean(mean, deviation), text);
});

test("quartiles have as many decimals as the average, which the nearer of them gives", () => {
  /** @type {[number, number, number, string][]} */
  const cases = [
    [0.5169, 0.5083, 0.5333, "0.5169 [0.5083, 0.5333]"],
    [0.37, 0.36, 0.3707, "0.3700 [0.3600, 0.3707]"],
    [0.65, 0.575, 2.775, "0.65 [0.57, 2.77]"],
    [0.75, 0.5, 1, "0.75 [0.50, 1.00]"],
    [2, 2, 2, "2 [2, 2]"],
    [1.5e-7, 1e-7, 3e-7, "1.5e-7 [1e-7, 3e-7]"],
  ];
  for (const [average, low, high, text] of cases) assert.equal(groupFigure({ average, low, high, count: 5, nonfinite: 0, live: 0 }, "median").text, text);
});

test("a group says which of its runs are not in its average", () => {
  const all = { average: 0.5, low: 0.4, high: 0.6, count: 5, nonfinite: 0, live: 0 };
  assert.deepEqual(groupFigure(all), { text: "0.50 ± 0.10", title: "mean of the last values of 5 runs: 0.5, ± standard deviation (n − 1) 0.1" });
  const some = groupFigure({ ...all, count: 3, nonfinite: 2, live: 1 });
  assert.equal(some.text, "0.50 ± 0.10 (3 of 5, 2 not finite, 1 live)");
  assert.match(some.title, /3 runs: 0.5, .*, 2 runs NaN or infinite, not in it, 1 run still being written$/);
  assert.equal(groupFigure({ ...all, count: 1, nonfinite: 4 }).text, "0.5 (1 of 5, 4 not finite)", "one value has no deviation");
  const none = { average: NaN, low: NaN, high: NaN, count: 0, nonfinite: 5, live: 0 };
  assert.deepEqual(groupFigure(none), { text: "not finite (5 of 5)", title: "no finite last values, 5 runs NaN or infinite, not in it" });
  const infinite = groupFigure({ ...none, common: -Infinity, missing: 1 });
  assert.deepEqual(infinite, { text: "−∞ (5 of 6, 1 without the tag)", title: "no finite last values, 5 runs −∞, not in it, 1 run without the tag" });
  const best = groupFigure({ ...all, diverged: 2 }, "mean", "lowest values");
  assert.equal(best.text, "0.50 ± 0.10 (2 diverged)");
  assert.match(best.title, /, 2 runs in it end with NaN or infinity$/);
  assert.equal(groupFigure(all, "median").text, "0.50 [0.40, 0.60]");
  assert.match(groupFigure(all, "median", "minima").title, /^median of the minima of 5 runs: 0.5, quartiles 0.4 and 0.6$/);
});
