// Queries: those for tags, which the page answers, and those for runs, of which it answers the plain ones.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { computed, effect, signal } from "@preact/signals-core";
import { Matcher, makeFilter, plainFilter } from "../../../tbcore/web/lib/queries/filter.js";
import { formatAttribute } from "../../../tbcore/web/lib/queries/names.js";
import { BEGINNINGS } from "../../../tbcore/web/lib/queries/terms.js";
import { keepAsking } from "../../../tbcore/web/shell/state/query-reader.js";
import { answerForTags } from "./query-runner.mjs";
import { provideWorkers, until } from "./tools.mjs";

provideWorkers();
globalThis.document = /** @type {any} */ ({ baseURI: "http://localhost/" });

const CASES = JSON.parse(readFileSync(new URL("../../queries.json", import.meta.url), "utf8"));
/** What only queries for runs have: mistakes in them are words in queries for tags. */
const ONLY_RUNS = new RegExp(`[<>=]|${BEGINNINGS}`, "i");

test("queries find the same tags as on the server", () => {
  for (const { query, finds } of CASES.tagQueries) assert.deepEqual(answerForTags({ query, tags: CASES.tags }), { matches: finds }, query);
});

test("plain queries find the same runs as on the server", () => {
  const names = CASES.runs.map((/** @type {{ name: string }} */ { name }) => name);
  let numPlain = 0;
  for (const { query, finds } of CASES.queries) {
    const filter = plainFilter(query, "runs");
    if (!filter) continue;
    numPlain++;
    assert.deepEqual(names.filter(filter.matches), finds, query);
  }
  assert.ok(numPlain > 15, String(numPlain));
});

test("mistakes have the same messages and places as on the server", () => {
  for (const { query, message, at } of CASES.mistakes) {
    if (ONLY_RUNS.test(query)) continue;
    const expected = message === null ? { matches: [] } : { error: { message, at } };
    assert.deepEqual(answerForTags({ query, tags: [] }), expected, query);
  }
  const long = "😀".repeat(500);
  assert.deepEqual(answerForTags({ query: long, tags: [] }), { matches: [] });
  assert.deepEqual(answerForTags({ query: `${long}a`, tags: [] }), { error: { message: "longer than 500 characters", at: 500 } });
});

test("attributes are written as the server reads them", () => {
  for (const { text, attribute } of CASES.attributes) assert.equal(formatAttribute(attribute), text);
});

// --- filters -------------------------------------------------------------------------------------

const NAMES = ["resnet/1", "resnet/2", "vit/a b", "^x"];

test("plain words and globs are matched at once, in any order and case", () => {
  const { numStarted } = /** @type {any} */ (globalThis.Worker);
  for (const [text, found] of /** @type {[string, string[]][]} */ ([
    ["1 RES", ["resnet/1"]],
    [" \t", NAMES],
    ["a\xa0b vit", ["vit/a b"]],
    ["resnet-1", []],
    ["lively", []],
    ["vit\u3000a", []],
    ["RES*/? 2", ["resnet/2"]],
    ["*", NAMES],
  ])) {
    assert.deepEqual(NAMES.filter(/** @type {any} */ (plainFilter(text, "runs")).matches), found, text);
    assert.deepEqual(NAMES.filter(makeFilter(text, undefined, "tags").matches), found, text);
  }
  assert.equal(/** @type {any} */ (globalThis.Worker).numStarted, numStarted);
  const hostile = /** @type {any} */ (plainFilter("*a".repeat(200) + "b", "runs"));
  assert.equal(hostile.matches("a".repeat(20_000)), false);
});

/**
 * The filter of the run list, with a server that gives these answers in turn; null is a failure.
 * `asked` has the queries.
 * @param {...(object | null)} answers
 */
function open(...answers) {
  /** @type {string[]} */
  const asked = [];
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {string} */ url, /** @type {{ body: string }} */ { body }) => {
      assert.equal(url, "http://localhost/data/run_attributes");
      const { query, query_version: known } = JSON.parse(body);
      asked.push(query);
      const answer = answers.shift();
      const version = JSON.stringify(answer);
      if (answer === undefined) throw new Error("a request that nothing needs");
      return answer ? Response.json({ generation: "g", query_version: version, ...(version !== known && { query: answer }) }) : new Response("no luck\n", { status: 500, headers: { "Content-Type": "text/plain" } });
    }
  );
  const state = /** @type {any} */ ({ runQuery: signal(""), allRuns: signal(NAMES), generations: signal({ all: "1" }), now: signal(0), status: signal({ notes_generation: 1 }) });
  const matcher = new Matcher(async () => {
    // As a module that takes a while.
    await nextTask();
    return keepAsking(state);
  });
  /** @type {import("../../../tbcore/web/lib/queries/filter.js").Filter | undefined} */
  let last;
  const value = computed(() => (last = makeFilter(state.runQuery.value, last, "runs", matcher)));
  effect(() => void value.value);
  return { filter: { text: state.runQuery, value }, state, asked };
}

const nextTask = () => new Promise((done) => setTimeout(done, 2));
const NOTHING = { note: "", offers: [] };
/** @param {{ value: { value: import("../../../tbcore/web/lib/queries/filter.js").Filter } }} filter */
const found = (filter) => NAMES.filter(filter.value.value.matches);

test("the server answers every other query, and until then the runs stay", async () => {
  const { filter, state, asked } = open({ count: 1, found: ["vit/a b"], ...NOTHING }, ...Array(3).fill({ count: 3, others: ["^x"], ...NOTHING }));
  filter.text.value = "resnet";
  assert.deepEqual(found(filter), ["resnet/1", "resnet/2"]);
  filter.text.value = "lr>1";
  assert.deepEqual(found(filter), ["resnet/1", "resnet/2"]);
  await until(() => filter.value.value.note === "Searching…");
  await until(() => filter.value.value.numAnswers === 1);
  assert.deepEqual([found(filter), filter.value.value.note], [["vit/a b"], ""]);
  state.generations.value = { all: "2" };
  await until(() => found(filter).length === 3);
  assert.deepEqual(found(filter), NAMES.slice(0, 3));
  const { value } = filter.value;
  state.now.value = 31;
  await nextTask();
  state.generations.value = { all: "3" };
  while (asked.length < 3) await nextTask();
  await nextTask();
  assert.equal(filter.value.value, value, "the same until something changes");
  assert.equal(filter.value.value.matches("a new run"), false);
  state.allRuns.value = [...NAMES, "a new run"];
  state.generations.value = { all: "4" };
  while (asked.length < 4) await nextTask();
  await until(() => filter.value.value.matches("a new run"));
  filter.text.value = "";
  assert.deepEqual([found(filter), asked], [NAMES, ["lr>1", "lr>1", "lr>1", "lr>1"]]);
});

test("a query for notes is asked again when notes change, and no other one", async () => {
  for (const [text, isNoted] of /** @type {const} */ ([["is:starred", true], ["lr>1 #paper", true], ["-note:bug", true], ["lr>1", false]])) {
    const { filter, state, asked } = open({ count: 1, found: ["^x"], ...NOTHING }, { count: 2, found: ["resnet/1", "resnet/2"], ...NOTHING });
    filter.text.value = text;
    await until(() => found(filter).length === 1);
    state.status.value = { notes_generation: 2 };
    if (isNoted) await until(() => found(filter).length === 2);
    else for (let i = 0; i < 5; i++) await nextTask();
    assert.equal(asked.length, isNoted ? 2 : 1, text);
  }
});

test("before the first query, the server reads what queries need", async () => {
  /** @type {string[]} */
  const bodies = [];
  globalThis.fetch = /** @type {any} */ (async (/** @type {string} */ _, /** @type {{ body: string }} */ { body }) => (bodies.push(body), Response.json({ generation: "g" })));
  keepAsking(/** @type {any} */ ({ runQuery: signal("plain"), allRuns: signal(NAMES), generations: signal({ all: "1" }), now: signal(0), status: signal(null) }));
  await nextTask();
  assert.deepEqual(bodies, ["{}"]);
});

test("of the queries typed while one is asked, only the last one is asked next", async () => {
  const { filter, asked } = open({ count: 0, found: [], ...NOTHING }, { count: 1, found: ["^x"], ...NOTHING });
  filter.text.value = "lr>1";
  for (const text of ["lr>1", "lr>2", "lr>1"]) filter.text.value = text; // while the module is loaded
  while (asked.length < 1) await nextTask();
  for (const text of ["lr>12", "lr>123"]) filter.text.value = text;
  await until(() => found(filter).length === 1);
  assert.deepEqual(asked, ["lr>1", "lr>123"]);
});

test("what was typed while a query failed is asked at once", async () => {
  const { filter, asked } = open(null, { count: 1, found: ["^x"], ...NOTHING });
  filter.text.value = "lr>1";
  while (asked.length < 1) await nextTask();
  filter.text.value = "lr>2";
  await until(() => found(filter).length === 1);
  assert.deepEqual(asked, ["lr>1", "lr>2"]);
});

test("a query that depends on the time is asked again, and one that failed, too", async () => {
  const { filter, state, asked } = open({ count: 1, found: ["^x"], ...NOTHING }, null, { count: 0, found: [], ...NOTHING });
  filter.text.value = "age<1h";
  await until(() => found(filter).length === 1);
  state.now.value = 31;
  while (asked.length < 3) await nextTask(); // the last one by itself, after three seconds
  await until(() => found(filter).length === 0);
  assert.deepEqual(asked, ["age<1h", "age<1h", "age<1h"]);
});

test("a mistake leaves what was found, and has a place; a failure says why", async () => {
  const { filter, state } = open({ error: "nothing after >", at: 2, ...NOTHING }, null, { count: 1, found: ["^x"], ...NOTHING });
  filter.text.value = "vit";
  filter.text.value = "lr>";
  await until(() => filter.value.value.error !== null);
  assert.deepEqual([filter.value.value.error, filter.value.value.at, found(filter)], ["nothing after >", 2, ["vit/a b"]]);
  filter.text.value = "lr>2";
  await until(() => filter.value.value.note === "Cannot search: no luck");
  assert.deepEqual(found(filter), ["vit/a b"]);
  state.generations.value = { all: "2" };
  await until(() => found(filter)[0] === "^x");
  assert.equal(filter.value.value.note, "");
});

test("what is offered without the server is what words and signs may mean", async () => {
  const offer = { label: "lr", text: "lr>3" };
  for (const [text, answer, offers] of /** @type {[string, object, (string | { label: string, text: string })[]][]} */ ([
    ["lrr>3", { count: 0, found: [], note: "No hyperparameter lrr", offers: [offer] }, [offer]],
    ["^vit", { count: 0, found: [], ...NOTHING }, [{ label: "Search as an expression", text: "re:^vit" }]],
    ["^x", { count: 1, found: ["^x"], ...NOTHING }, []],
    ["(a b", { error: "unclosed (", at: 0, ...NOTHING }, [{ label: "Search as text", text: '"(a b"' }]],
    ["re:^zzz", { count: 0, found: [], ...NOTHING }, []],
    ["!^x", { count: 0, found: [], ...NOTHING }, ["-^x"]],
    ["not vit", { count: 0, found: [], ...NOTHING }, ["-vit"]],
    ["(resnet OR vit) and not 1", { count: 0, found: [], ...NOTHING }, ["(resnet | vit) -1"]],
    ['"a and b" and 1', { count: 0, found: [], ...NOTHING }, ['"a and b" 1']],
    ["not", { count: 0, found: [], ...NOTHING }, []],
  ])) {
    const { filter } = open(answer);
    filter.text.value = text;
    await until(() => filter.value.value.numAnswers === 1);
    assert.deepEqual(filter.value.value.offers, offers.map((each) => (typeof each === "string" ? { label: each, text: each } : each)), text);
  }
  const tags = () => (filter = makeFilter("!x or y", filter, "tags"));
  let filter = makeFilter("!x or y", undefined, "tags");
  await until(() => NAMES.filter(tags().matches).length === 0 && Boolean(filter.offers?.length));
  assert.deepEqual(filter.offers, [{ label: "-x | y", text: "-x | y" }]);
});
