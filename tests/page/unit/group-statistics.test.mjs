// Statistics of groups: the cases that hold for Python too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deviationOf } from "../../../tbcore/web/lib/group-figure.js";
import { statisticsOf } from "../../../tbcore/web/lib/group-statistics.js";

const { cases } = JSON.parse(readFileSync(new URL("../../statistics.json", import.meta.url), "utf8"));

/** @param {number} found @param {number | null} expected @param {string} message */
function assertNear(found, expected, message) {
  if (expected === null) assert.ok(Number.isNaN(found), message);
  else assert.ok(Math.abs(found - expected) <= 1e-14 * Math.abs(expected), `${message}: ${found}, expected ${expected}`);
}

test("statistics are those of the server", () => {
  for (const { values, mean, deviation, count, nonfinite } of cases) {
    const found = statisticsOf(values.map(Number), "mean", 2);
    const message = JSON.stringify(values);
    assert.deepEqual([found.count, found.nonfinite, found.live], [count, nonfinite, 2], message);
    assertNear(found.average, mean, message);
    if (Number.isFinite(found.low) && Number.isFinite(found.high)) assertNear(deviationOf(found), deviation, message);
  }
});

test("a median and an interquartile mean have the quartiles, as on the server", () => {
  for (const { values, median, iqm, quartiles, count, nonfinite } of cases) {
    const message = JSON.stringify(values);
    for (const [average, expected] of /** @type {const} */ ([["median", median], ["iqm", iqm]])) {
      const given = values.map(Number);
      const found = statisticsOf(given, average, 1);
      assert.deepEqual(given, values.map(Number), "the values keep their order");
      assert.deepEqual([found.count, found.nonfinite, found.live], [count, nonfinite, 1], message);
      assertNear(found.average, expected, `${average} of ${message}`);
      assertNear(found.low, quartiles?.[0] ?? null, message);
      assertNear(found.high, quartiles?.[1] ?? null, message);
    }
  }
});
