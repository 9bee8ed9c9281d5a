// The order of sections that were moved: kept as few names, also of sections that are not shown.

import assert from "node:assert/strict";
import { test } from "node:test";
import { moved } from "../../../tbcore/web/lib/cards/moves.js";
import { arranged } from "../../../tbcore/web/lib/text-names.js";

const groupsOf = (/** @type {string} */ names) => [...names].map((name) => ({ name, tags: [] }));
const namesOf = (/** @type {{ name: string }[]} */ groups) => groups.map(({ name }) => name).join("");

test("a section is moved before another one, or to the end", () => {
  const groups = groupsOf("abcd");
  assert.equal(namesOf(arranged(groups, moved(groups, [], "c", "a"))), "cabd");
  assert.equal(namesOf(arranged(groups, moved(groups, [], "a", "c"))), "bacd");
  assert.equal(namesOf(arranged(groups, moved(groups, [], "b", null))), "acdb");
});

test("only the names that are needed are kept", () => {
  const groups = groupsOf("abcd");
  assert.deepEqual(moved(groups, [], "c", "a"), ["c"]);
  assert.deepEqual(moved(groups, ["c"], "c", "d"), []);
  assert.deepEqual(moved(groups, ["c"], "d", "c"), ["d", "c"]);
});

test("sections that are not shown keep their places", () => {
  const order = moved(groupsOf("acd"), ["b", "d"], "c", "a");
  assert.equal(namesOf(arranged(groupsOf("abcd"), order)), "bdca");
  assert.equal(namesOf(arranged(groupsOf("abcd"), moved(groupsOf("cd"), ["d"], "c", "d"))), "abcd");
});

test("sections that are new follow in their usual order", () => {
  assert.equal(namesOf(arranged(groupsOf("abcdx"), moved(groupsOf("abcd"), [], "d", "b"))), "adbcx");
});
