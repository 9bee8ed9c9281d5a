// The range of values that charts have in common.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedRanges } from "../../../tbcore/web/lib/cards/shared-ranges.js";

test("the cards of a tag share the range of the selected runs", () => {
  const ranges = new SharedRanges();
  ranges.set("w", "a", [0, 1]);
  ranges.set("w", "b", [-2, 0.5]);
  ranges.set("w 5", "c", [0, 9]);
  ranges.set("v", "c", [0, 99]);
  assert.deepEqual(ranges.union("w", [{ name: "a" }, { name: "b" }, { name: "c" }]), [-2, 1]);
  assert.deepEqual(ranges.union("w", [{ name: "a" }]), [0, 1]);
  assert.equal(ranges.union("w", []), null);
  ranges.set("w", "b", null);
  assert.deepEqual(ranges.union("w", [{ name: "a" }, { name: "b" }]), [0, 1]);
});
