// The attributes of runs: when they are requested, and what is made of the responses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { signal } from "@preact/signals-core";
import { Attributes } from "../../../tbcore/web/shell/state/attributes.js";
import { until } from "./tools.mjs";

globalThis.document = /** @type {any} */ ({ baseURI: "http://localhost/" });

/**
 * The attributes of a page whose server gives these responses, in turn; null is a failure. `asked`
 * has the requests.
 * @param {...(object | null)} responses
 */
function open(...responses) {
  /** @type {any[]} */
  const asked = [];
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {string} */ url, /** @type {{ body: string }} */ { body }) => {
      assert.equal(url, "http://localhost/data/run_attributes");
      asked.push(JSON.parse(body));
      const response = responses.shift();
      if (response === undefined) throw new Error("a request that nothing needs");
      return response ? Response.json(response) : new Response("no luck\n", { status: 500, headers: { "Content-Type": "text/plain" } });
    }
  );
  const state = /** @type {any} */ ({
    generations: signal({ all: "1", lists: "1" }),
    now: signal(1000),
    runDetails: signal(new Map([["a", { start: 100, last: 990, modified: 999, nonfinite: undefined }], ["b", { start: null, last: null, modified: null, nonfinite: {} }]])),
  });
  return { attributes: new Attributes(state), state, asked };
}

const nextTask = () => new Promise((done) => setTimeout(done));

/** @param {Attributes} attributes @param {string} text */
const valuesOf = (attributes, text) => Object.fromEntries(attributes.columnOf(text).value ?? []);

test("attributes are requested together, and after a change only for the runs that changed", async () => {
  const { attributes, state, asked } = open(
    { generation: "g1", is_delta: false, runs: ["a", "b"], hparams: { lr: [0.1, null] }, values: [[0.5, "NaN"]], steps: [[7, 8]], has: [[true, false]], last_steps: [10, null], unknown: {} },
    { generation: "g2", is_delta: true, runs: ["b"], hparams: { lr: ["fast"] }, values: [[null]], steps: [[null]], has: [[true]], last_steps: [3], unknown: {} },
    { generation: "g3", is_delta: true, runs: [], hparams: { lr: [] }, values: [[]], steps: [[]], has: [[]], last_steps: [], unknown: {} },
  );
  const texts = ["lr", "loss:at(1000)", "has:val*", "step"];
  assert.equal(attributes.columnOf("lr").value, null);
  const stop = attributes.want(texts);
  await until(() => attributes.columnOf("step").value !== null);
  assert.deepEqual(asked, [{ hparams: ["lr"], values: [{ tag: "loss", stat: "at", step: 1000 }], has: ["val*"], last_steps: true }]);
  assert.deepEqual(texts.map((text) => valuesOf(attributes, text)), [{ a: 0.1 }, { a: 0.5, b: NaN }, { a: true }, { a: 10 }]);
  assert.deepEqual(Object.fromEntries(attributes.stepsOf("loss:at(1000)").value ?? []), { a: 7, b: 8 });

  state.generations.value = { all: "2", lists: "1" };
  await until(() => attributes.columnOf("step").value?.size === 2);
  assert.equal(asked[1].since, "g1");
  assert.deepEqual(texts.map((text) => valuesOf(attributes, text)), [{ a: 0.1, b: "fast" }, { a: 0.5 }, { a: true, b: true }, { a: 10, b: 3 }]);

  const before = attributes.columnOf("lr").value;
  state.generations.value = { all: "3", lists: "1" };
  while (asked.length < 3) await nextTask();
  await nextTask();
  assert.equal(attributes.columnOf("lr").value, before, "what did not change is the same");

  stop();
  stop();
  state.generations.value = { all: "4", lists: "1" };
  await nextTask();
  assert.equal(asked.length, 3, "nothing wants them any more");
});

test("what is wanted later is requested alone, and what was wanted before is brought up to date", async () => {
  const answer = (/** @type {string} */ generation, /** @type {object} */ hparams) => ({ generation, is_delta: false, runs: ["a"], hparams, unknown: {} });
  const { attributes, state, asked } = open(answer("g1", { x: [1] }), answer("g1", { y: [2] }), answer("g2", { y: [3] }), answer("g2", { x: [4] }));
  const stop = attributes.want(["x"]);
  await until(() => attributes.columnOf("x").value !== null);
  attributes.want(["y"]);
  attributes.want(["y"]);
  await until(() => attributes.columnOf("y").value !== null);
  stop();
  state.generations.value = { all: "2", lists: "1" };
  await until(() => valuesOf(attributes, "y").a === 3);
  attributes.want(["x"]);
  assert.deepEqual(valuesOf(attributes, "x"), { a: 1 });
  await until(() => valuesOf(attributes, "x").a === 4);
  assert.deepEqual(asked.map(({ hparams, since }) => [...hparams, since]), [["x", undefined], ["y", undefined], ["y", "g1"], ["x", "g1"]]);
});

test("times, NaN and whether a run is live need no request", async () => {
  const { attributes, state, asked } = open();
  attributes.want(["age", "took", "has:nan", "is:live"]);
  await until(() => attributes.columnOf("is:live").value !== null);
  assert.deepEqual(["age", "took", "has:nan", "is:live"].map((text) => valuesOf(attributes, text)), [{ a: 10 }, { a: 890 }, { b: true }, { a: true }]);
  state.now.value = 2000;
  assert.deepEqual(["age", "is:live"].map((text) => valuesOf(attributes, text)), [{ a: 1010 }, {}]);
  assert.deepEqual(asked, []);
});

test("names that no run has are known with close ones, as attributes", async () => {
  const { attributes } = open({
    ...{ generation: "g1", is_delta: false, runs: [], hparams: { lrr: [] }, values: [[]], steps: [[]], has: [[]] },
    unknown: { hparams: { lrr: ["lr", "my lr"] }, tags: { los: ["loss"], "los/x": [] } },
  });
  attributes.want(["lrr", "los:max", "has:LOS/x"]);
  await until(() => attributes.unknown.value.size > 0);
  assert.deepEqual(Object.fromEntries(attributes.unknown.value), { lrr: ["lr", '"my lr"'], "los:max": ["loss:max"], "has:LOS/x": [] });
});

test("a name that the server would refuse, as in a link, leaves the others alone", async () => {
  const { attributes, asked } = open({ generation: "g1", is_delta: false, runs: ["a"], hparams: { lr: [1] }, has: [[true]], unknown: {} });
  attributes.want([`has:${"x".repeat(501)}`, `has:${"😀".repeat(496)}`, "lr"]);
  await until(() => attributes.columnOf("lr").value !== null);
  assert.deepEqual(asked[0].has, ["😀".repeat(496)]);
});

test("a failure has a reason until a request succeeds", async () => {
  const { attributes, state } = open(null, { generation: "g1", is_delta: false, runs: ["a"], hparams: { x: [1] }, unknown: {} });
  attributes.want(["x"]);
  await until(() => attributes.error.value !== null);
  assert.equal(attributes.error.value, "no luck");
  state.generations.value = { all: "2", lists: "1" };
  await until(() => attributes.error.value === null);
  assert.deepEqual(valuesOf(attributes, "x"), { a: 1 });
});

test("names are requested once they are wanted, and again when the lists change", async () => {
  const names = (/** @type {string[]} */ tags) => ({ generation: "g", is_delta: false, runs: [], names: { hparams: [], tags }, unknown: {} });
  const { attributes, state, asked } = open(names(["a"]), names(["a", "b"]));
  attributes.wantNames();
  await until(() => attributes.names.value !== null);
  state.generations.value = { all: "2", lists: "1" };
  state.generations.value = { all: "3", lists: "2" };
  await until(() => attributes.names.value?.tags.length === 2);
  assert.deepEqual(asked.map(({ since }) => since), [undefined, "g"], "the runs are listed once");
});
