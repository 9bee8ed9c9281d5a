// Queries for runs and tags: the cases that hold for Python too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { signal } from "@preact/signals-core";
import { QueryError, formatAttribute, parseAttribute, parseQuery } from "../../../tbcore/web/lib/queries/syntax.js";
import { makeFilter } from "../../../tbcore/web/lib/queries/filter.js";
import { answer, answerForTags } from "./query-runner.mjs";
import { provideWorkers, until } from "./tools.mjs";

provideWorkers();

const CASES = JSON.parse(readFileSync(new URL("../../queries.json", import.meta.url), "utf8"));

/** @param {() => unknown} act */
function mistakeOf(act) {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error));
    return { message: error.message, at: error.at };
  }
  return { message: null };
}

test("queries find the same runs as on the server", () => {
  for (const { query, finds } of CASES.queries) {
    assert.deepEqual(answer({ query, runs: CASES.runs, now: CASES.now }), { matches: finds }, query);
  }
  assert.ok(CASES.queries.length > 150);
});

test("queries find the same tags as on the server", () => {
  for (const { query, finds } of CASES.tagQueries) assert.deepEqual(answerForTags({ query, tags: CASES.tags }), { matches: finds }, query);
});

test("mistakes have the same messages and places as on the server", () => {
  for (const { query, message, at } of CASES.mistakes) {
    const expected = message === null ? { message } : { message, at };
    assert.deepEqual(mistakeOf(() => parseQuery(query, "runs")), expected, query);
  }
  const long = "😀".repeat(500);
  assert.deepEqual(mistakeOf(() => parseQuery(long, "tags")), { message: null });
  assert.deepEqual(mistakeOf(() => parseQuery(`${long}a`, "tags")), { message: "longer than 500 characters", at: 500 });
});

test("attributes have the same texts as on the server", () => {
  for (const { text, attribute } of CASES.attributes) {
    assert.deepEqual(parseAttribute(text), attribute, text);
    assert.equal(formatAttribute(attribute), text);
  }
  for (const { text, same } of CASES.otherAttributes) assert.deepEqual(parseAttribute(text), parseAttribute(same), text);
  for (const { text, message, at } of CASES.attributeMistakes) assert.deepEqual(mistakeOf(() => parseAttribute(text)), { message, at }, text);
});

// --- filters -------------------------------------------------------------------------------------

const NAMES = ["resnet/1", "resnet/2", "vit/a b", "^x"];

/** Attributes that are known or not. `asked` are the names that are there when they are wanted. @param {Record<string, Record<string, unknown>>} known @param {Record<string, string[]>} [unknown] @param {{ hparams: string[], tags: string[] } | null} [asked] */
function makeAttributes(known, unknown = {}, asked = null) {
  const names = signal(/** @type {typeof asked} */ (null));
  const wantNames = () => void (names.value = asked);
  const columns = new Map(Object.entries(known).map(([key, values]) => [key, signal(new Map(Object.entries(values)))]));
  const missing = signal(null);
  return { prepare() {}, columnOf: (/** @type {string} */ key) => columns.get(key) ?? missing, columns, unknown: signal(new Map(Object.entries(unknown))), error: signal(/** @type {string | null} */ (null)), names, wantNames };
}

/**
 * A filter that is kept up to date until a condition holds.
 * @param {string} text
 * @param {import("../../../tbcore/web/lib/queries/filter.js").Filter | undefined} last
 * @param {ReturnType<typeof makeAttributes>} attributes
 * @param {(filter: import("../../../tbcore/web/lib/queries/filter.js").Filter) => unknown} isDone
 */
async function filterOf(text, last, attributes, isDone = ({ numAnswers = 0, error }) => numAnswers > 0 || error !== null) {
  let filter = makeFilter(text, last, "runs", attributes);
  await until(() => {
    filter = makeFilter(text, filter, "runs", attributes);
    NAMES.filter(filter.matches);
    return Boolean(isDone(filter));
  });
  return filter;
}

test("plain words are matched at once, in any order and case", () => {
  const { numStarted } = /** @type {any} */ (globalThis.Worker);
  for (const [text, found] of /** @type {[string, string[]][]} */ ([
    ["1 RES", ["resnet/1"]],
    [" \t", NAMES],
    ["a\xa0b vit", ["vit/a b"]],
    ["resnet-1", []],
    ["lively", []],
    ["vit\u3000a", []],
  ])) {
    assert.deepEqual(NAMES.filter(makeFilter(text, undefined, "runs").matches), found, text);
  }
  assert.equal(/** @type {any} */ (globalThis.Worker).numStarted, numStarted);
});

test("a filter waits for what its query needs, and follows it", async () => {
  const attributes = makeAttributes({ lr: { "resnet/1": 1, "vit/a b": 2 } });
  const before = makeFilter("vit", undefined, "runs", attributes);
  const waiting = await filterOf("loss:last<1", before, attributes, ({ note }) => note);
  assert.deepEqual([waiting.note, waiting.needs, NAMES.filter(waiting.matches)], ["Reading values…", ["loss:last"], ["vit/a b"]]);

  let filter = await filterOf("lr>1 | 2", waiting, attributes);
  assert.deepEqual([filter.note, NAMES.filter(filter.matches)], ["", ["resnet/2", "vit/a b"]]);
  assert.equal(makeFilter("lr>1 | 2", filter, "runs", attributes), filter, "the same until something changes");
  /** @type {any} */ (attributes.columns.get("lr")).value = new Map([["resnet/1", 3]]);
  const last = filter;
  filter = await filterOf("lr>1 | 2", filter, attributes, (next) => next !== last);
  assert.deepEqual(NAMES.filter(filter.matches), ["resnet/1", "resnet/2"]);

  /** @type {any} */ (attributes.columns.get("lr")).value = new Map([["resnet/1", 4]]);
  makeFilter("lr>1 | 2", filter, "runs", attributes);
  // The worker answers the newest question first, so after two more this one was answered.
  for (const text of ["a*", "b*"]) await filterOf(text, undefined, attributes);
  assert.equal(makeFilter("lr>1 | 2", filter, "runs", attributes), filter, "the same while the same runs are found");

  attributes.error.value = "no luck";
  const failed = await filterOf("acc:min>0", filter, attributes, ({ note }) => note);
  assert.deepEqual([failed.note, failed.error, NAMES.filter(failed.matches)], ["Cannot read values: no luck", null, ["resnet/1", "resnet/2"]]);
});

test("a mistake leaves what was found, and has a place", async () => {
  const attributes = makeAttributes({});
  const before = makeFilter("vit", undefined, "runs", attributes);
  const filter = await filterOf("vit (😀 lr", before, attributes);
  assert.deepEqual([filter.error, filter.at, NAMES.filter(filter.matches)], ["unclosed (", 4, ["vit/a b"]]);
  assert.equal((await filterOf("x".repeat(501), before, attributes)).error, "longer than 500 characters");
  assert.equal(makeFilter("😀".repeat(300), before, "runs", attributes).error, null);
});

test("other queries that may be meant are offered", async () => {
  const attributes = makeAttributes({ lrr: {}, "los:max": {}, "has:acc": {}, lr: {} }, { lrr: ["lr", '"my lr"'], "los:max": ["loss:max"], "has:acc": [] });
  for (const [text, note, offers] of /** @type {[string, string, [string, string][]][]} */ ([
    ["😀 lrr>=3 | vit", "No hyperparameter lrr", [["lr", "😀 lr>=3 | vit"], ['"my lr"', '😀 "my lr">=3 | vit'], ['Names with "lrr>=3"', '😀 "lrr>=3" | vit']]],
    ["-los:max<1", "No tag los", [["loss:max", "-loss:max<1"]]],
    ["has:acc", "No tag acc", []],
    ["lr>3", "", []],
    ["^vit", "", [["Search as an expression", "re:^vit"]]],
    ["^x", "", []],
    ["(a b", "", [["Search as an expression", 're:"(a b"']]],
    ["re:^zzz", "", []],
  ])) {
    const filter = await filterOf(text, undefined, attributes);
    const done = await filterOf(text, filter, attributes, () => true);
    assert.deepEqual([done.note, done.offers], [note, offers.map(([label, text]) => ({ label, text }))], text);
  }
});

test("first tries that find nothing have offers", async () => {
  const names = { hparams: ["learning_rate", "model", "seed", "x"], tags: ["val/loss", "lr"] };
  const known = { lr: {}, "val/loss": {}, zzz: {}, "zz:last": {}, optimizer: { "vit/a b": "sgd", "resnet/1": "adam", "resnet/2": "Ada Delta" }, seed: { "resnet/1": 1, "resnet/2": 2 } };
  const attributes = makeAttributes(known, { lr: ["learning_rate"], "val/loss": [], zzz: [], "zz:last": [] }, names);
  for (const [text, note, offers] of /** @type {[string, string, (string | [string, string])[]][]} */ ([
    ["a | -val/loss<0.5", "No hyperparameter val/loss, but a tag", [["val/loss:last<0.5", "a | -val/loss:last<0.5"], ["val/loss:min<0.5", "a | -val/loss:min<0.5"], ['Names with "val/loss<0.5"', 'a | -"val/loss<0.5"']]],
    ["lr=fast", "No hyperparameter lr", [["learning_rate", "learning_rate=fast"], ['Names with "lr=fast"', '"lr=fast"']]],
    ["zzz>1", "No hyperparameter zzz; there are learning_rate, model, seed", [['Names with "zzz>1"', '"zzz>1"']]],
    ["zz:last>1", "No tag zz; there are val/loss, lr", []],
    ["vit optimizer=adm", "No run has optimizer=adm", [["optimizer=adam", "vit optimizer=adam"], ["optimizer=sgd", "vit optimizer=sgd"], ['optimizer="Ada Delta"', 'vit optimizer="Ada Delta"']]],
    ["seed=1e0 vit", "", []],
    ["optimizer=q*", "", []],
    ["seed=7", "No run has seed=7", ["seed=1", "seed=2"]],
    ["resnet MODEL:vit", "", [["model=vit", "resnet model=vit"]]],
    ["size:vit", "", []],
    ["!^x", "", ["-^x"]],
    ["not vit", "", ["-vit"]],
    ["(resnet OR vit) and not 1", "", ["(resnet | vit) -1"]],
    ['"a and b" and 1', "", ['"a and b" 1']],
    ["not", "", []],
    ["lr > 3", "", ["lr>3"]],
    ["vit 1<lr<2 | a", "", [["lr>1 lr<2", "vit lr>1 lr<2 | a"]]],
    ["vit lr=>2", "", [["lr>=2", "vit lr>=2"]]],
  ])) {
    await filterOf(text, undefined, attributes);
    const expected = offers.map((offer) => (typeof offer === "string" ? { label: offer, text: offer } : { label: offer[0], text: offer[1] }));
    const done = await filterOf(text, undefined, attributes, () => true);
    assert.deepEqual([done.note, done.offers], [note, expected], text);
  }
  const tags = () => (filter = makeFilter("!x or y", filter, "tags"));
  let filter = makeFilter("!x or y", undefined, "tags");
  await until(() => NAMES.filter(tags().matches).length === 0 && Boolean(filter.offers?.length));
  assert.deepEqual(filter.offers, [{ label: "-x | y", text: "-x | y" }]);
});
