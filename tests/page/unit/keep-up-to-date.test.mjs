// What keeps something up to date: when it is updated, and again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { effect, signal } from "@preact/signals-core";
import { keepUpToDate } from "../../../tbcore/web/lib/requests.js";

/** An update that ends when the test says so, by calling `ends[i]` with an error or nothing. */
function controlled() {
  /** @type {((error?: Error) => void)[]} */
  const ends = [];
  const update = () => new Promise((resolve, reject) => void ends.push((error) => (error ? reject(error) : resolve(undefined))));
  return { ends, update };
}
const nextTask = () => new Promise((done) => setTimeout(done));

test("calls in one go, or while an update runs, are one update", async () => {
  const { ends, update } = controlled();
  const request = keepUpToDate(update);
  for (let i = 0; i < 3; i++) request();
  await nextTask();
  assert.equal(ends.length, 1);
  for (let i = 0; i < 3; i++) request();
  ends[0]();
  await nextTask();
  assert.equal(ends.length, 2);
  ends[1]();
  await nextTask();
  assert.equal(ends.length, 2, "nothing was asked since");
});

test("a failed update is tried again: at once if it was asked for during it, or else after three seconds", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settled = () => new Promise((done) => setImmediate(done));
  const { ends, update } = controlled();
  /** @type {unknown[]} */
  const errors = [];
  const request = keepUpToDate(update, { onError: (error) => errors.push(error) });
  request();
  await settled();
  request();
  const [first, second] = [new Error("first"), new Error("second")];
  ends[0](first);
  await settled();
  assert.equal(ends.length, 2);
  ends[1](second);
  await settled();
  assert.deepEqual([ends.length, errors], [2, [first, second]]);
  t.mock.timers.tick(3000);
  await settled();
  assert.equal(ends.length, 3);
});

test("an update comes after the interval since the last one, which a later call may shorten", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const settled = () => new Promise((done) => setImmediate(done));
  let [interval, numUpdates] = [60_000, 0];
  const request = keepUpToDate(async () => void numUpdates++, { interval: () => interval });
  request();
  await settled();
  request();
  t.mock.timers.tick(1000);
  await settled();
  assert.equal(numUpdates, 1);
  interval = 0;
  request();
  await settled();
  assert.equal(numUpdates, 2);
  t.mock.timers.tick(100_000);
  await settled();
  assert.equal(numUpdates, 2, "the first one does not come, too");
});

test("an effect that asks does not depend on what the update reads; after an abort nothing starts", async () => {
  const read = signal(0);
  const controller = new AbortController();
  let [numEffects, numUpdates] = [0, 0];
  const request = keepUpToDate(async () => void (numUpdates += 1 + read.value), { signal: controller.signal });
  effect(() => {
    numEffects++;
    request();
  });
  await nextTask();
  read.value = 1;
  await nextTask();
  assert.deepEqual([numEffects, numUpdates], [1, 1]);
  controller.abort();
  request();
  await nextTask();
  assert.equal(numUpdates, 1);
});
