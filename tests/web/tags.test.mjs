// The tags are those of the last request, in whatever order the responses arrive.

import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals-core";
import { watchTags } from "../../tbcore/web/lib/tags.js";

/** A host whose responses are sent by the test. */
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

test("a late response does not replace a newer one", async () => {
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

test("tags that change during the first request are requested again", async () => {
  const { host, generations, waiting } = slowHost();
  const watching = watchTags(host);
  generations.value = { lists: "2" };
  waiting[0]({ a: ["first"] });
  const tags = await watching;
  waiting[1]({ a: ["second"] });
  await settle();
  assert.deepEqual(tags.value, { a: ["second"] });
});

test("a failed request is sent again on the next reload", async () => {
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
