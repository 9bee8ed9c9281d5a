// Differences between two texts.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { diffLists, diffTexts } from "../../tbcore_text/static/diff.js";

/** A line as text: its sign, with changed parts in brackets. */
function written(line) {
  if (line.kind === "gap") return `... ${line.count}`;
  const sign = { same: " ", removed: "-", added: "+" }[line.kind];
  return sign + line.parts.map(({ kind, text }) => (kind === "same" ? text : `[${text}]`)).join("");
}

const diff = (a, b) => diffTexts(a.join("\n"), b.join("\n")).map(written);
const lines = (count, from = 0) => Array.from({ length: count }, (_, i) => `line ${from + i}`);

const { cases } = JSON.parse(readFileSync(new URL("../../../../tests/differences.json", import.meta.url), "utf8"));
for (const { what, before, after, lines } of cases) {
  test(`lines are those of Python: ${what}`, () => {
    const found = diffTexts(before, after).map((line) =>
      line.kind === "gap" ? ["gap", line.count] : [line.kind, line.parts.map(({ text }) => text).join("")],
    );
    assert.deepEqual(found, lines);
  });
}

test("a word that changed is marked in its line", () => {
  assert.deepEqual(diff(["a", "the loss is 0.25", "z"], ["a", "the loss is 0.125!", "z"]), [
    " a",
    "-the loss is [0.25]",
    "+the loss is [0.125!]",
    " z",
  ]);
});

test("lines with little in common are marked as a whole", () => {
  assert.deepEqual(diff(["one two three"], ["completely different words"]), ["-[one two three]", "+[completely different words]"]);
});

test("added and removed lines", () => {
  assert.deepEqual(diff(["a", "b", "c"], ["a", "c", "d"]), [" a", "-[b]", " c", "+[d]"]);
});

test("unchanged lines are shown only near a change", () => {
  const before = lines(20);
  const after = [...lines(10), "new", ...lines(10, 10)];
  assert.deepEqual(diff(before, after), ["... 7", " line 7", " line 8", " line 9", "+[new]", " line 10", " line 11", " line 12", "... 7"]);
});

test("the edit script turns one list into the other, with as few changes as possible", () => {
  // All pairs of words of up to 4 letters from an alphabet of 2. The longest common subsequence has
  // as many letters as the script leaves unchanged.
  const words = [""];
  for (const word of words) if (word.length < 4) words.push(`${word}a`, `${word}b`);
  for (const a of words) {
    for (const b of words) {
      const runs = diffLists([...a], [...b]);
      const joined = (kinds) => runs.map((run) => kinds.map((kind) => run[kind].join("")).join("")).join("");
      assert.equal(joined(["same", "removed"]), a);
      assert.equal(joined(["same", "added"]), b);
      assert.equal(joined(["same"]).length, common(a, b), `${a} ${b}`);
    }
  }
});

function common(a, b) {
  if (a === "" || b === "") return 0;
  if (a[0] === b[0]) return 1 + common(a.slice(1), b.slice(1));
  return Math.max(common(a.slice(1), b), common(a, b.slice(1)));
}

test("comparing texts without anything in common ends early", () => {
  const runs = diffLists(lines(5000), lines(5000, 5000));
  assert.equal(runs.length, 1);
  assert.equal(runs[0].removed.length, 5000);
  assert.equal(runs[0].added.length, 5000);
  const found = (more) => diffLists([...lines(250), ...more, "same"], ["same", ...lines(250, 500)]).some(({ same }) => same.length > 0);
  assert.equal(found([]), true);
  assert.equal(found(["more"]), false);
});
