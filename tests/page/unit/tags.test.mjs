// The tags of the runs, which are requested again when they change.

import assert from "node:assert/strict";
import { signal } from "@preact/signals-core";
import { test } from "node:test";
import { watchTags } from "../../../tbcore/web/tags.js";

/**
 * A host with slow requests: the test calls `respond[i]` with the response to request i, or an
 * error.
 */
function slowHost() {
  /** @type {((response: any) => void)[]} */
  const respond = [];
  const generations = signal({ lists: "1" });
  const fetchJSON = () =>
    new Promise((resolve, reject) => {
      respond.push((response) => (response instanceof Error ? reject(response) : resolve(response)));
    });
  const onReload = (/** @type {(value: any) => void} */ callback) => {
    let isFirst = true;
    generations.subscribe((value) => {
      if (!isFirst) callback(value);
      isFirst = false;
    });
  };
  return { host: /** @type {any} */ ({ generations, fetchJSON, onReload }), generations, respond };
}

/** Waits until pending promises are settled. */
const settle = () => new Promise((done) => setTimeout(done));

test("of the changes during a request, only the last one is requested next", async () => {
  const { host, generations, respond } = slowHost();
  const watching = watchTags(host);
  respond[0]({ a: ["first"] });
  const tags = await watching;
  assert.deepEqual({ ...tags.value }, { a: ["first"] });
  generations.value = { lists: "2" };
  await settle();
  for (const lists of ["3", "4"]) generations.value = { lists };
  respond[1]({ a: ["second"] });
  await settle();
  respond[2]({ a: ["fourth"] });
  await settle();
  assert.deepEqual({ ...tags.value }, { a: ["fourth"] });
  assert.equal(respond.length, 3);
});

test("tags that change during the first request are requested again", async () => {
  const { host, generations, respond } = slowHost();
  const watching = watchTags(host);
  generations.value = { lists: "2" };
  respond[0]({ a: ["first"] });
  const tags = await watching;
  await settle();
  respond[1]({ a: ["second"] });
  await settle();
  assert.deepEqual({ ...tags.value }, { a: ["second"] });
});

test("a failed request is sent again on the next change", async () => {
  const { host, generations, respond } = slowHost();
  const watching = watchTags(host);
  respond[0]({});
  const tags = await watching;
  generations.value = { lists: "2" };
  await settle();
  respond[1](new Error("away"));
  await settle();
  generations.value = { lists: "2" };
  await settle();
  respond[2]({ a: ["again"] });
  await settle();
  assert.deepEqual({ ...tags.value }, { a: ["again"] });
});

test("runs with the same tags have one array of them", async () => {
  const { host, respond } = slowHost();
  const watching = watchTags(host);
  respond[0](JSON.parse('{"": [["loss"], []], "a": 0, "__proto__": 1, "b": 0}'));
  const { value } = await watching;
  assert.deepEqual(Object.entries(value), [["a", ["loss"]], ["__proto__", []], ["b", ["loss"]]]);
  assert.equal(value.a, value.b);
});

test("converted tags are undefined for every run that is not listed", async () => {
  const { host, respond } = slowHost();
  const watching = watchTags(host, (json) => Object.fromEntries(Object.entries(json).map(([run, tags]) => [run, Object.keys(tags)])));
  respond[0](JSON.parse('{"train": {"loss": 1}, "__proto__": {"rate": 2}}'));
  const { value } = await watching;
  assert.deepEqual([value.train, value["__proto__"]], [["loss"], ["rate"]]);
  assert.equal(value["constructor"], undefined);
});
