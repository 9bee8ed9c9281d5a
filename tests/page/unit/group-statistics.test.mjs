// Statistics of groups: the cases that hold for Python too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { statisticsOf } from "../../../tbcore/web/lib/group-statistics.js";

const { cases } = JSON.parse(readFileSync(new URL("../../statistics.json", import.meta.url), "utf8"));

/** @param {number} found @param {number | null} expected @param {string} message */
function assertNear(found, expected, message) {
  if (expected === null) assert.ok(Number.isNaN(found), message);
  else assert.ok(Math.abs(found - expected) <= 1e-14 * Math.abs(expected), `${message}: ${found}, expected ${expected}`);
}

test("statistics are those of the server", () => {
  for (const { values, mean, deviation, count, nonfinite } of cases) {
    const found = statisticsOf(values.map(Number), 2);
    const message = JSON.stringify(values);
    assert.deepEqual([found.count, found.nonfinite, found.live], [count, nonfinite, 2], message);
    assertNear(found.average, mean, message);
    if (Number.isFinite(found.low) && Number.isFinite(found.high)) assertNear((found.high - found.low) / 2, deviation, message);
  }
});
