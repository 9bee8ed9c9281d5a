// When runs were written, as text and as an order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRun } from "../../../tbcore/web/shell/runs/run-sentences.js";
import { orderRuns, runState, shortAge } from "../../../tbcore/web/shell/state/tree.js";

const NOW = 1_700_000_000;

/** @param {Partial<import("../../../tbcore/web/shell/state/tree.js").RunDetails>} fields */
const details = (fields) => ({ start: null, last: null, modified: null, nonfinite: undefined, ...fields });

/** @param {ReturnType<typeof details>} run @param {number} now */
const isLive = (run, now) => runState(run, now) === "live";

test("a run is live if its file changed a few minutes ago and its last event was new then", () => {
  assert.ok(isLive(details({ last: NOW - 200, modified: NOW - 100 }), NOW));
  assert.ok(isLive(details({ last: NOW - 200 }), NOW)); // the file's time is not known
  assert.ok(isLive(details({ last: NOW - 320, modified: NOW - 200 }), NOW)); // writers buffer events for a while
  assert.ok(!isLive(details({ last: NOW - 5000, modified: NOW - 10 }), NOW)); // a copy of an old log
  assert.ok(!isLive(details({ last: NOW - 301, modified: NOW - 301 }), NOW));
  assert.ok(!isLive(details({ modified: NOW }), NOW));
  assert.ok(!isLive(details({}), NOW));
  assert.ok(isLive(details({ last: NOW + 30, modified: NOW + 5 }), NOW)); // clocks differ a little
  assert.ok(!isLive(details({ last: NOW + 5000, modified: NOW - 301 }), NOW)); // the writer's clock is wrong
  assert.ok(!isLive(details({ last: NOW + 5000 }), NOW));
});

test("what another program says about the end of a run decides whether it is live", () => {
  const stateOf = (/** @type {string} */ state, has_times = true, last = NOW - 1) => runState(details({ last, source: { file: "f", id: "", has_times, state } }), NOW);
  assert.deepEqual(["finished", "failed", "running", ""].map((state) => stateOf(state)), ["finished", "failed", "live", "live"]);
  assert.deepEqual(["finished", "failed", "running", ""].map((state) => stateOf(state, false)), ["finished", "failed", "live", ""]);
  assert.equal(stateOf("running", true, NOW - 301), "quiet");
});

test("sorted by time, the newest run is first, to the minute, and runs without a time are last", () => {
  const all = new Map([
    ["a", details({ start: 5, last: 601 })],
    ["b", details({ start: 9, last: 300 })],
    ["c", details({ start: 7, last: 659 })],
  ]);
  const runs = ["a", "b", "c", "d"];
  assert.deepEqual(orderRuns(runs, "name", { value: all }), runs);
  assert.deepEqual(orderRuns(runs, "start", { value: all }), ["b", "c", "a", "d"]);
  assert.deepEqual(orderRuns(runs, "last", { value: all }), ["a", "c", "b", "d"]);
});

test("ages are short", () => {
  const expected = { "-5": "now", 59: "now", 60: "1m", 3599: "59m", 3600: "1h", 172799: "47h", 172800: "2d", 31536000: "365d", 31622400: "1y", 81500000: "2y", 1e8: "3y" };
  for (const [seconds, text] of Object.entries(expected)) assert.equal(shortAge(Number(seconds)), text);
});

test("the description of a run has a sentence per line", () => {
  const describe = (/** @type {any} */ fields) => describeRun(details(fields), NOW, String).split("\n");
  const quiet = "Not live: no new events in the last 5 minutes.";
  assert.deepEqual(describe({ start: 1, last: 2 }), ["First event 1.", "Last event 2.", quiet]);
  const csv = { file: "a/metrics.csv", has_times: false, state: "" };
  assert.deepEqual(describe({ last: 2, source: csv }), ["File last written 2.", "From a/metrics.csv, which has no times of its own."]);
  const mlflow = (/** @type {string} */ state) => describe({ last: 2, source: { file: "mlflow.db", has_times: true, state } }).slice(1);
  assert.deepEqual(mlflow("failed"), ["From mlflow.db. It failed."]);
  assert.deepEqual(mlflow("finished"), ["From mlflow.db. It finished."]);
  assert.deepEqual(mlflow("running"), [quiet, "From mlflow.db. It has logged no end."]);
});
