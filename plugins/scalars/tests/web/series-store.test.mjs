// Series are fetched once, and again when their run has changed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SeriesStore, columnsOf } from "../../tbcore_scalars/static/series-store.js";

const { signal } = new AbortController();

/** @param {string[]} asked  gets what is fetched */
const storeOf = (asked) =>
  new SeriesStore(async (run, tag) => {
    asked.push(`${run} ${tag}`);
    return columnsOf([[1, asked.length, 0.5]]);
  });

test("rows become columns, with the server's names for non-finite numbers", () => {
  const { step, wallTime, value } = columnsOf([
    [1.5, 10, "NaN"],
    [2.5, 20, "-Infinity"],
    [3.5, 30, 0.25],
  ]);
  assert.deepEqual([...step], [10, 20, 30]);
  assert.deepEqual([...wallTime], [1.5, 2.5, 3.5]);
  assert.deepEqual([...value], [NaN, -Infinity, 0.25]);
});

test("only runs that changed are asked for again, and old columns stay until then", async () => {
  /** @type {string[]} */
  const asked = [];
  const store = storeOf(asked);
  /** @type {Record<string, string>} */
  const generations = { a: "1", b: "1" };
  const of = (/** @type {string} */ run) => generations[run];
  await store.load("loss", ["a", "b"], of, signal, () => {});
  await store.load("loss", ["a", "b"], of, signal, () => {});
  assert.deepEqual(asked, ["a loss", "b loss"]);
  generations.b = "2";
  const before = store.get("b", "loss")?.columns;
  let numChanges = 0;
  const loading = store.load("loss", ["a", "b"], of, signal, () => numChanges++);
  assert.equal(store.get("b", "loss")?.columns, before);
  await loading;
  assert.deepEqual(asked, ["a loss", "b loss", "b loss"]);
  assert.equal(numChanges, 1);
  assert.notEqual(store.get("b", "loss")?.columns, before);
});

test("a failure keeps what was there, says why, and is tried again", async () => {
  let fails = false;
  let numAsked = 0;
  const store = new SeriesStore(async () => {
    numAsked++;
    if (fails) throw new Error("503 busy");
    return columnsOf([[1, 1, 1]]);
  });
  await store.load("t", ["r"], () => "1", signal, () => {});
  fails = true;
  await store.load("t", ["r"], () => "2", signal, () => {});
  assert.equal(store.get("r", "t")?.error, "503 busy");
  assert.equal(store.get("r", "t")?.columns?.value.length, 1);
  fails = false;
  await store.load("t", ["r"], () => "2", signal, () => {});
  assert.equal(store.get("r", "t")?.error, null);
  assert.equal(numAsked, 3);
});

test("a card that is scrolled away ends its requests without a trace", async () => {
  const leaving = new AbortController();
  const store = new SeriesStore((run, tag, ending) =>
    new Promise((_, reject) => ending.addEventListener("abort", () => reject(ending.reason))),
  );
  const loading = store.load("t", ["a", "b", "c"], () => "1", leaving.signal, () => assert.fail());
  leaving.abort();
  await loading;
  assert.equal(store.get("a", "t"), undefined);
});

test("a series that the server does not have is remembered as none", async () => {
  const store = new SeriesStore(async () => null);
  await store.load("t", ["r"], () => "1", signal, () => {});
  assert.deepEqual(store.get("r", "t"), { columns: null, generation: "1", error: null });
});
