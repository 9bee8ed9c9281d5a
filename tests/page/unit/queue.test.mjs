// Tasks run a few at a time and can be cancelled.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurn, serialize } from "../../../tbcore/web/requests.js";

const nextTask = () => new Promise((done) => setTimeout(done));

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

test("a task that is requested while it runs is run once more afterwards", async () => {
  const canceller = new AbortController();
  /** @type {(() => void)[]} */
  const finish = [];
  const run = serialize(canceller.signal, () => new Promise((resolve) => void finish.push(resolve)));
  const first = run();
  await nextTask();
  run();
  run();
  assert.equal(finish.length, 1);
  finish[0]();
  await nextTask();
  assert.equal(finish.length, 2);
  finish[1]();
  await first;
  assert.equal(finish.length, 2);
  const last = run();
  await nextTask();
  run();
  canceller.abort();
  finish[2]();
  await last;
  assert.equal(finish.length, 3);
});
