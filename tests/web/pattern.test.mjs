// Regular expressions that match like RegExp, but in linear time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_PATTERN_LENGTH, loadPatterns, makeFilter } from "../../tbcore/web/lib/ui/filter.js";
import { compilePattern } from "../../tbcore/web/lib/ui/pattern.js";
import { cpuTime, generator } from "./tools.mjs";

await loadPatterns();

test("patterns match anywhere, ignoring case", () => {
  /** @type {[string, string, boolean][]} */
  const table = [
    ["loss", "train/Loss_1", true],
    ["^loss", "train/loss", false],
    ["loss$", "train/loss", true],
    ["lr=0\\.1(,|$)", "a/lr=0.1,b", true],
    ["lr=0\\.1(,|$)", "a/lr=0.12,b", false],
    ["(train|eval)/\\d+", "x/EVAL/12", true],
    ["seed(1|3)$", "seed13", false],
    ["[^a-c]x", "ax bx cx", false],
    ["[^a-c]x", "ax dx", true],
    ["É", "é", true],
    ["\\u00e9", "É", true],
    ["a.c", "a\nc", false],
    ["", "anything", true],
    ["a{2,3}b", "caab", true],
    ["^a{2,3}b", "ab", false],
    ["x{", "x{", true],
    ["\\bval\\b", "train/val/1", true],
    ["\\bval\\b", "eval", false],
    ["(?<name>a)|b", "b", true],
    ["😀+", "a😀😀", true],
  ];
  for (const [pattern, subject, expected] of table) {
    assert.equal(compilePattern(pattern)(subject), expected, `${pattern} in ${subject}`);
  }
});

test("random patterns match as with RegExp", () => {
  const random = generator(7);
  /** @param {readonly string[]} list */
  const pick = (list) => list[Math.floor(random() * list.length)];
  /** @param {number} depth @returns {string} */
  const pattern = (depth) => {
    const atoms = ["a", "b", "B", ".", "\\d", "\\w", "\\W", "\\s", "\\b", "\\B", "^", "$", "[ab]", "[^a]", "[a-c1]", "[\\w-]", "1", "\\.", "é", " "];
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
      continue; // the random text is not a valid pattern
    }
    const subject = Array.from({ length: Math.floor(random() * 9) }, () => pick(["a", "b", "A", "1", "é", "É", " ", "-", "/"])).join("");
    let ours;
    try {
      ours = compilePattern(text);
    } catch (error) {
      assert.match(String(error), /not supported|nothing to repeat|too many/, text);
      continue;
    }
    assert.equal(ours(subject), native.test(subject), `${text} in ${JSON.stringify(subject)}`);
    if (ours(subject)) numMatches++;
  }
  assert.ok(numMatches > 3000);
});

test("patterns that make RegExp hang are fast", () => {
  const subject = `${"epoch run number ".repeat(40)}!`;
  const start = cpuTime();
  for (const pattern of ["(\\w+\\s?)+$", "(a+)+$", "(.*)*x", "(.*.*.*.*.*.*.*x)*y", "((a|aa)+)+c", "(e|e)*!!", `${"(a?){50}".repeat(3)}b!`]) {
    assert.equal(compilePattern(pattern)(subject), false, pattern);
  }
  assert.ok(cpuTime() - start < 2000);
});

test("two thousand names are filtered within a frame or two", () => {
  const names = Array.from({ length: 2000 }, (_, i) => `experiment_${i % 17}/lr=0.00${i % 9},batch=${i}/seed${i}/train`);
  const start = cpuTime();
  const matches = compilePattern("lr=0\\.00[1-4].*seed\\d*7/(train|eval)$");
  assert.equal(names.filter(matches).length, names.filter((name) => /lr=0\.00[1-4].*seed\d*7\/(train|eval)$/i.test(name)).length);
  assert.ok(cpuTime() - start < 500);
});

test("patterns that need more states than are cached also match", () => {
  const random = generator(11);
  const names = Array.from({ length: 2000 }, () => Array.from({ length: 200 }, () => "ab1/_"[Math.floor(random() * 5)]).join(""));
  const native = /a.{12}b.{3}[1_]$/i;
  const matches = names.filter((name) => native.test(name));
  assert.ok(matches.length > 20);
  assert.deepEqual(names.filter(compilePattern("a.{12}b.{3}[1_]$")), matches);

  const start = cpuTime();
  assert.equal(names.filter(compilePattern(".*a.{190}z")).length, 0);
  assert.ok(cpuTime() - start < 2000);
});

test("unsupported and invalid patterns are rejected with a reason", () => {
  /** @type {[string, RegExp][]} */
  const table = [
    ["(", /unclosed \(/],
    ["a)", /unmatched \)/],
    ["[a", /unclosed \[/],
    ["*a", /nothing to repeat/],
    ["a**", /nothing to repeat/],
    ["a{3,1}", /out of order/],
    ["[z-a]", /out of order/],
    ["\\", /at end of pattern/],
    ["(?=a)", /look-ahead/],
    ["(?<!a)", /look-behind/],
    ["(a)\\1", /back-references/],
    ["a{5000}", /too many/],
    ["(a{1000}){1000}", /too many/],
    ["a".repeat(MAX_PATTERN_LENGTH + 1), /longer than/],
  ];
  for (const [pattern, message] of table) {
    assert.match(makeFilter(pattern).error ?? "no error", message, pattern);
  }
});

test("an empty group repeated a billion times is compiled at once", () => {
  const start = cpuTime();
  assert.equal(compilePattern("((){1000000000}){1000000000}a")("a"), true);
  assert.ok(cpuTime() - start < 200);
});

test("plain words do not load the module for regular expressions", async () => {
  // Two copies of the module, neither of which has loaded the module for regular expressions.
  const first = await import("../../tbcore/web/lib/ui/filter.js?fresh");
  assert.equal(first.makeFilter("Loss").matches("train/loss"), true);
  assert.equal(first.makeFilter("l.ss").matches("train/loss"), false); // nothing matches until the module is loaded
  await first.loadPatterns();
  assert.equal(first.makeFilter("l.ss").matches("train/loss"), true);
  const second = await import("../../tbcore/web/lib/ui/filter.js?second");
  const pending = second.makeFilter("l[");
  assert.equal(second.makeFilter("l[", second.makeFilter("x")).matches("train/loss"), false);
  await second.loadPatterns();
  assert.equal(second.makeFilter("l[", pending).matches("train/loss"), true);
});

test("a filter with an error matches the same names as the last filter, or all", () => {
  assert.equal(makeFilter("(").matches("anything"), true);
  const valid = makeFilter("exp");
  const unfinished = makeFilter("exp(", makeFilter("exp[", valid));
  assert.equal(unfinished.matches("expa"), true);
  assert.equal(unfinished.matches("other"), false);
  assert.equal(unfinished.matches, valid.matches, "nothing has to be filtered again");
  assert.equal(makeFilter("").matches("anything"), true);
  assert.equal(makeFilter("").error, null);
  assert.equal(makeFilter("x").matches("y"), false);
});
