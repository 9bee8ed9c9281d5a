// Order, grouping and shortening of names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commonPrefixLength, compareNames, groupTags, splitName } from "../../tbcore/web/lib/names.js";

test("numbers in names compare as numbers", () => {
  const names = ["run10", "run9", "run1", "run01", "a/10/b", "a/9/b", "run", "run1a", "B", "a"];
  assert.deepEqual([...names].sort(compareNames), ["B", "a", "a/9/b", "a/10/b", "run", "run01", "run1", "run1a", "run9", "run10"]);
});

test("numbers of any length compare", () => {
  assert.ok(compareNames("x99999999999999999999998", "x99999999999999999999999") < 0);
  assert.ok(compareNames("x20200216-200144", "x20200412-184741") < 0);
});

test("members of a group stay together", () => {
  assert.deepEqual(["a-b", "a/z", "a", "a b", "a/b"].sort(compareNames), ["a", "a/b", "a/z", "a b", "a-b"]);
});

test("the order is total and the same both ways", () => {
  const names = ["", "a", "a/", "/a", "0", "00", "a0", "a00", "a00/1", "é", "z", "A", "_", "😀", "1e3", "1e10"];
  for (const a of names) {
    for (const b of names) {
      const there = Math.sign(compareNames(a, b));
      assert.equal(there, -Math.sign(compareNames(b, a)) + 0, `${a} and ${b}`);
      assert.equal(there === 0, a === b, `${a} and ${b}`);
    }
  }
});

test("tags are grouped by their first segment, in natural order", () => {
  assert.deepEqual(groupTags(["loss/b10", "loss/b9", "acc/x", "loss/b9"]), [
    { name: "acc", tags: ["acc/x"] },
    { name: "loss", tags: ["loss/b9", "loss/b10"] },
  ]);
});

test("tags that are alone in their group come first, together", () => {
  assert.deepEqual(groupTags(["loss", "loss/train", "z", "a"]), [
    { name: "", tags: ["a", "z"] },
    { name: "loss", tags: ["loss", "loss/train"] },
  ]);
});

test("a leading slash and an empty tag have a place", () => {
  assert.deepEqual(groupTags(["/a/b", "", "//"]), [
    { name: "", tags: [""] },
    { name: "/", tags: ["//"] },
    { name: "/a", tags: ["/a/b"] },
  ]);
  assert.deepEqual(groupTags([]), []);
});

test("what neighbours have in common ends at a slash and is never all of a name", () => {
  /** @type {[string, string, number][]} */
  const table = [
    ["a/b/c", "a/b/d", 4],
    ["a/b/c", "a/bb/c", 2],
    ["abc", "abd", 0],
    ["a/b", "a/b", 2],
    ["a/b", "a/b/c", 2],
    ["a/b/c", "a/b", 2],
    ["a", "", 0],
    ["", "", 0],
  ];
  for (const [name, neighbour, expected] of table) {
    assert.equal(commonPrefixLength(name, neighbour), expected, `${name} after ${neighbour}`);
  }
});

test("a name is cut before its last segment", () => {
  assert.deepEqual(splitName("a/b/c"), ["a/b/", "c"]);
  assert.deepEqual(splitName("a"), ["", "a"]);
  assert.deepEqual(splitName("a/b/"), ["a/", "b/"]);
  assert.deepEqual(splitName("."), ["", "."]);
  assert.deepEqual(splitName(""), ["", ""]);
});
