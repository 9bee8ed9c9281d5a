// Tasks run a few at a time and can be cancelled.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurn } from "../../../tbcore/web/requests.js";

test("tasks of a tab run in order, and no more than five at once", async () => {
  const host = {};
  const { signal } = new AbortController();
  /** @type {(() => void)[]} */
  const finish = [];
  /** @type {number[]} */
  const started = [];
  const results = [0, 1, 2, 3, 4, 5, 6].map((i) =>
    inTurn(host, () => {
      started.push(i);
      return new Promise((resolve) => finish.push(() => resolve(i)));
    }, signal),
  );
  assert.deepEqual(started, [0, 1, 2, 3, 4]);
  assert.equal(await inTurn({}, async () => "other tab", signal), "other tab");
  finish[1]();
  assert.equal(await results[1], 1);
  await Promise.resolve();
  assert.deepEqual(started, [0, 1, 2, 3, 4, 5]);
  finish[0]();
  finish[2]();
  await results[2];
  await Promise.resolve();
  for (const i of [3, 4, 5, 6]) finish[i]();
  assert.deepEqual(await Promise.all(results), [0, 1, 2, 3, 4, 5, 6]);
});

test("a cancelled task never starts, and after a failed one the next starts", async () => {
  const host = {};
  const canceller = new AbortController();
  const { signal } = new AbortController();
  /** @type {(() => void)[]} */
  const finish = [];
  const others = [1, 2, 3, 4].map(() => inTurn(host, () => new Promise((resolve) => void finish.push(() => resolve(null))), signal));
  const failed = inTurn(host, () => Promise.reject(new Error("no")), signal);
  let hasStarted = false;
  const dropped = inTurn(host, async () => void (hasStarted = true), canceller.signal);
  const last = inTurn(host, async () => "done", signal);
  canceller.abort(new Error("cancelled"));
  await assert.rejects(dropped, /cancelled/);
  await assert.rejects(failed, /no/);
  assert.equal(await last, "done");
  assert.equal(hasStarted, false);
  await assert.rejects(inTurn(host, async () => 1, canceller.signal), /cancelled/);
  for (const end of finish) end();
  await Promise.all(others);
});
