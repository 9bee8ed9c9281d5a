// The index of tags: which runs have which tag.

import assert from "node:assert/strict";
import { test } from "node:test";
import { indexTags } from "../../../tbcore/web/tags.js";
import { groupTags } from "../../../tbcore/web/text-names.js";

const TAGS = { train: ["loss/a", "loss/b", "rate"], eval: ["loss/a"], empty: [] };

/** @param {...string} names */
const runs = (...names) => names.map((name) => ({ name }));

test("each tag has its runs, in the order of the run list", () => {
  const { groups, runsOf } = indexTags(TAGS, runs("train", "eval", "empty"), () => true);
  assert.deepEqual(groups, [
    { name: "loss", tags: ["loss/a", "loss/b"] },
    { name: "", tags: ["rate"] },
  ]);
  assert.deepEqual(runsOf.get("loss/a")?.map(({ name }) => name), ["train", "eval"]);
  assert.deepEqual(runsOf.get("rate")?.map(({ name }) => name), ["train"]);
});

test("tags of hidden runs and tags that do not match are left out", () => {
  const { runsOf } = indexTags(TAGS, runs("eval", "gone"), () => true);
  assert.deepEqual([...runsOf.keys()], ["loss/a"]);
  assert.equal(indexTags(TAGS, runs("train"), (tag) => tag.endsWith("b")).numTags, 1);
  // A tag that does not match can still be shown in the same chart as one that does.
  assert.equal(indexTags(TAGS, runs("train"), (tag) => tag.endsWith("b")).runsOf.size, 3);
});

test("a run without tags has none if it is called like a member of all objects", () => {
  for (const name of ["constructor", "toString", "__proto__", "valueOf"]) {
    assert.deepEqual([...indexTags(TAGS, runs(name), () => true).runsOf.keys()], []);
    const tags = Object.fromEntries([[name, ["loss"]]]);
    assert.deepEqual([...indexTags(tags, runs(name, "train"), () => true).runsOf.keys()], ["loss"]);
  }
});

test("filtered tags are in the groups that they would be in alone", () => {
  const names = ["loss", "loss/a", "loss/b10", "loss/b9", "", "/", "//x", "val", "val/acc", "z", "rate", "rate/x", "acc"];
  const tags = { train: names };
  const shown = runs("train");
  for (let bits = 0; bits < 2 ** names.length; bits += 7) {
    const some = names.filter((_, i) => (bits >> i) & 1);
    assert.deepEqual(indexTags(tags, shown, (tag) => some.includes(tag)).groups, groupTags(some), some.join());
  }
});

test("a group that the filter leaves as it was is the same object", () => {
  const shown = runs("train");
  const [before] = indexTags(TAGS, shown, () => true).groups;
  const [after] = indexTags(TAGS, shown, (tag) => tag.startsWith("loss")).groups;
  assert.equal(after, before);
  assert.notEqual(indexTags(TAGS, shown, (tag) => tag === "loss/a").groups[0], before);
});
