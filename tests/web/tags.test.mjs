// The tags of a tab are those of the last request, in whatever order the answers come.

import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals-core";
import { watchTags } from "../../tbcore/web/lib/tags.js";

/** A host whose answers come when the test says so. */
function slowHost() {
  /** @type {((answer: any) => void)[]} */
  const waiting = [];
  const generations = signal({ lists: "1" });
  const fetchJSON = () => new Promise((resolve, reject) => waiting.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer))));
  const onReload = (/** @type {(value: any) => void} */ callback) => {
    let isFirst = true;
    generations.subscribe((value) => {
      if (!isFirst) callback(value);
      isFirst = false;
    });
  };
  return { host: /** @type {any} */ ({ generations, fetchJSON, onReload }), generations, waiting };
}

const settle = () => new Promise((done) => setTimeout(done));

test("a late answer does not replace a newer one", async () => {
  const { host, generations, waiting } = slowHost();
  const watching = watchTags(host);
  waiting[0]({ a: ["first"] });
  const tags = await watching;
  assert.deepEqual(tags.value, { a: ["first"] });
  generations.value = { lists: "2" };
  generations.value = { lists: "3" };
  assert.equal(waiting.length, 3);
  waiting[2]({ a: ["third"] });
  await settle();
  waiting[1]({ a: ["second"] });
  await settle();
  assert.deepEqual(tags.value, { a: ["third"] });
});

test("what is new while the first answer is on its way is asked for behind it", async () => {
  const { host, generations, waiting } = slowHost();
  const watching = watchTags(host);
  generations.value = { lists: "2" };
  waiting[0]({ a: ["first"] });
  const tags = await watching;
  waiting[1]({ a: ["second"] });
  await settle();
  assert.deepEqual(tags.value, { a: ["second"] });
});

test("a request that failed is made again with the next reload", async () => {
  const { host, generations, waiting } = slowHost();
  const watching = watchTags(host);
  waiting[0]({});
  const tags = await watching;
  generations.value = { lists: "2" };
  waiting[1](new Error("away"));
  await settle();
  generations.value = { lists: "2" };
  waiting[2]({ a: ["again"] });
  await settle();
  assert.deepEqual(tags.value, { a: ["again"] });
});
