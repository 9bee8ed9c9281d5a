// Tasks run a few at a time and can be cancelled.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Queue, serialize } from "../../tbcore/web/requests.js";

test("tasks run in order, and no more than the limit at once", async () => {
  const queue = new Queue(2);
  const { signal } = new AbortController();
  /** @type {(() => void)[]} */
  const finish = [];
  /** @type {number[]} */
  const started = [];
  const results = [0, 1, 2, 3].map((i) =>
    queue.add(() => {
      started.push(i);
      return new Promise((resolve) => finish.push(() => resolve(i)));
    }, signal),
  );
  assert.deepEqual(started, [0, 1]);
  finish[1]();
  assert.equal(await results[1], 1);
  await Promise.resolve();
  assert.deepEqual(started, [0, 1, 2]);
  finish[0]();
  finish[2]();
  await results[2];
  await Promise.resolve();
  finish[3]();
  assert.deepEqual(await Promise.all(results), [0, 1, 2, 3]);
});

test("a cancelled task never starts, and after a failed one the next starts", async () => {
  const queue = new Queue(1);
  const canceller = new AbortController();
  const { signal } = new AbortController();
  const failed = queue.add(() => Promise.reject(new Error("no")), signal);
  let hasStarted = false;
  const dropped = queue.add(async () => void (hasStarted = true), canceller.signal);
  const last = queue.add(async () => "done", signal);
  canceller.abort(new Error("cancelled"));
  await assert.rejects(dropped, /cancelled/);
  await assert.rejects(failed, /no/);
  assert.equal(await last, "done");
  assert.equal(hasStarted, false);
  await assert.rejects(queue.add(async () => 1, canceller.signal), /cancelled/);
});

test("a task that is requested while it runs is run once more afterwards", async () => {
  const canceller = new AbortController();
  /** @type {(() => void)[]} */
  const finish = [];
  const run = serialize(canceller.signal, () => new Promise((resolve) => void finish.push(resolve)));
  const first = run();
  run();
  run();
  assert.equal(finish.length, 1);
  finish[0]();
  await Promise.resolve();
  assert.equal(finish.length, 2);
  finish[1]();
  await first;
  assert.equal(finish.length, 2);
  const last = run();
  run();
  canceller.abort();
  finish[2]();
  await last;
  assert.equal(finish.length, 3);
});
