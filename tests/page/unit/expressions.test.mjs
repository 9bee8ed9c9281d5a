// Regular expressions of users: their syntax, and the worker that runs them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TOO_LONG, compileExpression } from "../../../tbcore/web/lib/queries/expression-syntax.js";
import { expressionOf } from "../../../tbcore/web/lib/queries/expressions.js";
import { MAX_PATTERN_LENGTH, makeFilter } from "../../../tbcore/web/lib/queries/filter.js";
import { cpuTime, generator, provideWorkers, until } from "./tools.mjs";

provideWorkers();

/**
 * The names that a filter matches, once that is known.
 * @param {string} text
 * @param {readonly string[]} names
 */
async function select(text, names) {
  let filter = makeFilter(text);
  await until(() => {
    filter = makeFilter(text, filter);
    names.filter(filter.matches);
    return filter.error !== null || filter.numAnswers > 0;
  });
  return { error: filter.error, found: names.filter(filter.matches) };
}

test("expressions match, or have an error, as on the server", async () => {
  // tests/server/test_patterns.py has the same test for the server.
  const cases = JSON.parse(readFileSync(new URL("../../expressions.json", import.meta.url), "utf8"));
  for (const { expression, matches = [], rejects = [], error = null } of cases) {
    const selected = await select(expression, [...matches, ...rejects]);
    if (error !== null) assert.equal(selected.error, error, expression);
    else assert.deepEqual(selected, { error: null, found: matches }, expression);
  }
  assert.ok(cases.length > 150);
});

test("random expressions match as they are, where browsers accept them", () => {
  const random = generator(7);
  /** @param {readonly string[]} list */
  const pick = (list) => list[Math.floor(random() * list.length)];
  /** @param {number} depth @returns {string} */
  const pattern = (depth) => {
    const atoms = ["a", "b", "B", ".", "\\d", "\\w", "\\W", "\\s", "\\S", "\\b", "\\B", "^", "$", "[ab]", "[^a]", "[a-c1]", "[\\w-]", "[-/]", "1", "\\.", "\\x41", "é", " ", "/", "{", "]"];
    const atom = depth > 0 && random() < 0.35 ? `(${random() < 0.3 ? "?:" : ""}${pattern(depth - 1)})` : pick(atoms);
    const isAssertion = ["\\b", "\\B", "^", "$"].includes(atom);
    const repeated = isAssertion ? atom : atom + pick(["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?"]);
    const rest = random() < 0.6 ? pattern(depth) : "";
    return repeated + (random() < 0.15 ? "|" : "") + rest;
  };
  let numMatches = 0;
  for (let i = 0; i < 20000; i++) {
    const text = pattern(2).slice(0, 60);
    let native;
    try {
      native = new RegExp(text, "i");
    } catch {
      continue; // the random text is not a valid expression
    }
    const subject = Array.from({ length: Math.floor(random() * 9) }, () => pick(["a", "b", "A", "1", "é", "É", " ", "-", "/"])).join("");
    let ours;
    try {
      ours = compileExpression(text);
    } catch (error) {
      assert.match(String(error), /nothing to repeat|\\ at the end|\\x is/, text);
      continue;
    }
    assert.deepEqual(Array.from(ours.exec(subject) ?? []), Array.from(native.exec(subject) ?? []), `${text} in ${JSON.stringify(subject)}`);
    if (ours.test(subject)) numMatches++;
  }
  assert.ok(numMatches > 3000);
});

test("an expression that takes too long has an error, and the others are matched", async () => {
  const subject = `${"epoch run number ".repeat(40)}!`;
  const others = await Promise.all([
    select("(\\w+\\s?)+$", [subject]),
    select("(a+)+$", [subject, "a".repeat(60) + "!"]),
    select("!$", [subject, "a"]),
    select("(.*.*.*.*.*.*.*x)*y", [subject]),
  ]);
  assert.deepEqual(
    others.map(({ error }) => error),
    [TOO_LONG, TOO_LONG, null, TOO_LONG],
  );
  assert.deepEqual(others[2].found, [subject]);
  assert.deepEqual((await select("number !|x", [subject, "z"])).found, [subject]); // the next worker has all names
});

test("an expression that takes too long matches what was matched before", async () => {
  const names = [`train/${"a".repeat(60)}!`, "train/b", "eval"];
  await select("^train.", names);
  const before = makeFilter("^train.");
  let filter = makeFilter("(a|aa)+$", before);
  assert.equal(filter.error, null);
  await until(() => {
    filter = makeFilter("(a|aa)+$", filter);
    assert.deepEqual(names.filter(filter.matches), names.slice(0, 2));
    return filter.error === TOO_LONG;
  });
  assert.equal(filter.matches, before.matches, "nothing has to be filtered again");
});

test("an expression that takes too long only with later names matches what was matched before it", async () => {
  // As when a link with an expression is opened: the runs are not known yet.
  const text = "(x+x+)+y$";
  let filter = makeFilter(text);
  await until(() => (filter = makeFilter(text, filter)).numAnswers > 0);
  assert.equal(filter.error, null);
  const name = "x".repeat(60);
  assert.equal(filter.matches(name), false);
  await until(() => (filter = makeFilter(text, filter)).error !== null);
  assert.deepEqual([filter.error, filter.matches(name)], [TOO_LONG, true]);
});

test("each name is sent to the worker once, and each is matched once", async () => {
  const posted = /** @type {any[]} */ ([]);
  const { prototype } = globalThis.Worker;
  const { postMessage } = prototype;
  prototype.postMessage = function (/** @type {any} */ question) {
    posted.push(question);
    postMessage.call(this, question);
  };
  const names = Array.from({ length: 50_000 }, (_, i) => `experiment_${i % 17}/lr=0.00${i % 9},batch=${i}/seed${i}/train`);
  const start = cpuTime();
  const { found } = await select("lr=0\\.00[1-4].*seed\\d*7/(train|eval)$", names);
  assert.deepEqual(found, names.filter((name) => /lr=0\.00[1-4].*seed\d*7\/(train|eval)$/.test(name)));
  await select("seed\\d*8/", names);
  prototype.postMessage = postMessage;
  assert.ok(cpuTime() - start < 2000);
  assert.deepEqual(posted.map(({ asked }) => asked.length), Array(20).fill(5000));
  assert.deepEqual(posted[0].added.slice(-50_000), names);
  assert.equal(posted.slice(1).flatMap(({ added }) => added).length, 0);
});

test("plain words start no worker, and match at once", () => {
  const { numStarted } = /** @type {any} */ (globalThis.Worker);
  assert.equal(makeFilter("Loss").matches("train/loss"), true);
  assert.equal(makeFilter("loss").matches("train/LOSS"), true);
  assert.equal(makeFilter("x").matches("y"), false);
  assert.equal(makeFilter("").matches("anything"), true);
  assert.equal(makeFilter("").error, null);
  assert.equal(/** @type {any} */ (globalThis.Worker).numStarted, numStarted);
});

test("a filter matches what was matched before until the worker has answered", async () => {
  assert.equal(makeFilter("l.st").matches("lost"), false); // nothing before
  let filter = makeFilter("l.st$", makeFilter("lost"));
  assert.deepEqual([filter.matches("lost"), filter.matches("lost/2"), filter.matches("last")], [true, true, false]);
  assert.equal(makeFilter("l.st$", filter), filter, "the same filter until there is an answer");
  await until(() => (filter = makeFilter("l.st$", filter)).numAnswers > 0);
  assert.deepEqual([filter.matches("lost"), filter.matches("lost/2"), filter.matches("last")], [true, false, true]);
  assert.equal(filter.matches("list"), false); // not known yet
  const last = filter;
  await until(() => (filter = makeFilter("l.st$", filter)) !== last);
  assert.equal(filter.matches("list"), true);
});

test("a filter with an error matches the same names as the last filter, or all", async () => {
  assert.match(makeFilter("a".repeat(MAX_PATTERN_LENGTH + 1)).error ?? "", /longer than/);
  const { found } = await select("(", ["anything"]);
  assert.deepEqual(found, ["anything"]);
  await select("exp[", ["expa"]);
  await select("exp(", ["expa"]);
  const valid = makeFilter("exp");
  const unfinished = makeFilter("exp(", makeFilter("exp[", valid));
  assert.equal(unfinished.error, "unclosed (");
  assert.equal(unfinished.matches("expa"), true);
  assert.equal(unfinished.matches("other"), false);
  assert.equal(unfinished.matches, valid.matches, "nothing has to be filtered again");
});

test("the texts of capture groups are joined; without groups, the whole match is the text", async () => {
  const table = /** @type {[string, string, string][]} */ ([
    ["(a)(x)?(b)", "ab", "a b"],
    ["a.", "xab", "ab"],
    ["(x*)", "b", ""],
    ["a", "b", ""],
  ]);
  for (const [text, name, captured] of table) {
    const expression = expressionOf(text, true);
    expression.of(name);
    await until(() => expression.numAnswers.value > 0);
    assert.equal(expression.of(name), captured, text);
  }
});
