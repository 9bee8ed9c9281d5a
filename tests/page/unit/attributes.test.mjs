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
const valuesOf = (attributes, text) => Object.fromEntries(attributes.valuesOf(text) ?? []);

/** A column of a response. @param {string} text @param {unknown[]} values @param {object} [more] */
const hparam = (text, values, more = {}) => ({ text, kind: "hparam", name: text, stat: null, step: null, values, ...more });

test("attributes are requested together, and after a change only for the runs that changed", async () => {
  const point = (/** @type {unknown[]} */ values, /** @type {unknown[]} */ steps) => ({ text: "loss:at(1000)", kind: "value", name: "loss", stat: "at", step: 1000, values, steps });
  const step = (/** @type {unknown[]} */ values) => ({ text: "step", kind: "fact", name: "step", stat: null, step: null, values });
  const { attributes, state, asked } = open(
    { generation: "g1", is_delta: false, runs: ["a", "b"], columns: [hparam("lr", [0.1, null]), point([0.5, "NaN"], [7, 8]), step([10, null])] },
    { generation: "g2", is_delta: true, runs: ["b"], columns: [hparam("lr", ["fast"]), point([null], [null]), step([3])] },
    { generation: "g3", is_delta: true, runs: [], columns: [hparam("lr", []), point([], []), step([])] },
  );
  const texts = ["lr", "loss:AT(1e3)", "step"];
  assert.equal(attributes.valuesOf("lr"), null);
  const stop = attributes.want(texts);
  await until(() => attributes.valuesOf("step") !== null);
  assert.deepEqual(asked, [{ columns: texts }]);
  assert.deepEqual(texts.map((text) => valuesOf(attributes, text)), [{ a: 0.1 }, { a: 0.5, b: NaN }, { a: 10 }]);
  assert.deepEqual(Object.fromEntries(attributes.column("loss:AT(1e3)").steps.value ?? []), { a: 7, b: 8 });
  assert.deepEqual(attributes.column("loss:AT(1e3)").meaning.value, { text: "loss:at(1000)", attribute: { kind: "value", name: "loss", stat: "at", step: 1000 } });

  state.generations.value = { all: "2", lists: "1" };
  await until(() => attributes.valuesOf("step")?.size === 2);
  assert.equal(asked[1].since, "g1");
  assert.deepEqual(texts.map((text) => valuesOf(attributes, text)), [{ a: 0.1, b: "fast" }, { a: 0.5 }, { a: 10, b: 3 }]);

  const before = attributes.valuesOf("lr");
  state.generations.value = { all: "3", lists: "1" };
  while (asked.length < 3) await nextTask();
  await nextTask();
  assert.equal(attributes.valuesOf("lr"), before, "what did not change is the same");

  stop();
  stop();
  state.generations.value = { all: "4", lists: "1" };
  await nextTask();
  assert.equal(asked.length, 3, "nothing wants them any more");
});

test("what is wanted later is requested alone, and what was wanted before is brought up to date", async () => {
  const answer = (/** @type {string} */ generation, /** @type {string} */ name, /** @type {number} */ value) => ({ generation, is_delta: false, runs: ["a"], columns: [hparam(name, [value])] });
  const { attributes, state, asked } = open(answer("g1", "x", 1), answer("g1", "y", 2), answer("g2", "y", 3), answer("g2", "x", 4));
  const stop = attributes.want(["x"]);
  await until(() => attributes.valuesOf("x") !== null);
  attributes.want(["y"]);
  attributes.want(["y"]);
  await until(() => attributes.valuesOf("y") !== null);
  stop();
  state.generations.value = { all: "2", lists: "1" };
  await until(() => valuesOf(attributes, "y").a === 3);
  attributes.want(["x"]);
  assert.deepEqual(valuesOf(attributes, "x"), { a: 1 });
  await until(() => valuesOf(attributes, "x").a === 4);
  assert.deepEqual(asked.map(({ columns, since }) => [...columns, since]), [["x", undefined], ["y", undefined], ["y", "g1"], ["x", "g1"]]);
});

test("times need no request", async () => {
  const { attributes, state, asked } = open();
  attributes.want(["AGE", "took"]);
  await until(() => attributes.valuesOf("took") !== null);
  assert.deepEqual(["AGE", "took"].map((text) => valuesOf(attributes, text)), [{ a: 10 }, { a: 890 }]);
  // A run whose writer gave its events no time.
  state.runDetails.value = new Map([["c", { start: 0, last: 0, modified: 0, nonfinite: undefined }], ...state.runDetails.value]);
  assert.deepEqual(["AGE", "took"].map((text) => valuesOf(attributes, text)), [{ a: 10 }, { a: 890, c: 0 }]);
  assert.deepEqual(attributes.column("AGE").meaning.value, { text: "age", attribute: { kind: "fact", name: "age", stat: null, step: null } });
  state.now.value = 2000;
  assert.deepEqual(valuesOf(attributes, "AGE"), { a: 1010 });
  assert.deepEqual(asked, []);
});

test("names that no run has are known with close ones, and mistakes with what is wrong", async () => {
  const { attributes } = open({ generation: "g1", is_delta: false, runs: [], columns: [hparam("lrr", [], { unknown: ["lr", '"my lr"'] }), { error: "unknown statistic 'mean'" }, hparam("x", [])] });
  attributes.want(["lrr", "loss:mean", "x"]);
  await until(() => attributes.unknown.value.size > 0);
  assert.deepEqual(Object.fromEntries(attributes.unknown.value), { lrr: ["lr", '"my lr"'] });
  assert.deepEqual(["lrr", "loss:mean", "x"].map((text) => attributes.mistakeIn(text)), [null, "unknown statistic 'mean'", null]);
});

test("a failure has a reason until a request succeeds", async () => {
  const { attributes, state } = open(null, { generation: "g1", is_delta: false, runs: ["a"], columns: [hparam("x", [1])] });
  attributes.want(["x"]);
  await until(() => attributes.error.value !== null);
  assert.equal(attributes.error.value, "no luck");
  state.generations.value = { all: "2", lists: "1" };
  await until(() => attributes.error.value === null);
  assert.deepEqual(valuesOf(attributes, "x"), { a: 1 });
});

test("names are requested once they are wanted, and again when the lists change", async () => {
  const names = (/** @type {string[]} */ tags) => ({ generation: "g", names: { hparams: [], tags } });
  const { attributes, state, asked } = open(names(["a"]), names(["a", "b"]));
  attributes.areNamesWanted.value = true;
  await until(() => attributes.names.value !== null);
  state.generations.value = { all: "2", lists: "1" };
  state.generations.value = { all: "3", lists: "2" };
  await until(() => attributes.names.value?.tags.length === 2);
  assert.deepEqual(asked, [{ names: true }, { names: true }].map((each, i) => (i === 0 ? each : { since: "g", ...each })));
});

test("attributes that the server could not compute in time are requested again, fewer at once", async () => {
  const late = { error: "the request takes too long", is_late: true };
  const answer = (/** @type {any[]} */ ...columns) => ({ generation: "g", is_delta: false, runs: ["a"], columns });
  const { attributes, asked } = open(answer(hparam("lr", [1]), late, late, late), answer(hparam("bs", [2]), late), answer(late), answer(hparam("last", [4])));
  const stop = attributes.want(["lr", "bs", "wd", "last"]);
  await until(() => valuesOf(attributes, "last").a === 4);
  assert.deepEqual(asked, [["lr", "bs", "wd", "last"], ["bs", "wd"], ["wd"], ["last"]].map((columns) => ({ columns })));
  assert.equal(valuesOf(attributes, "lr").a, 1);
  assert.deepEqual(attributes.column("wd").meaning.value, { error: "the request takes too long" });
  stop();
});
