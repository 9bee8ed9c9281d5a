// The options of the text tab, and the step that a text is compared with.

import assert from "node:assert/strict";
import { test } from "node:test";
import { baseOf, options } from "../../tbcore_text/static/options.js";

const before = { from: "before", base: 0 };

test("the previous text is the last of an earlier step, or an earlier one of the same step", () => {
  const { step, nth } = baseOf(before, { step: 40, nth: 0, first_step: 10 });
  assert.equal(step, 39);
  assert.ok(nth > 1e6);
  assert.deepEqual(baseOf(before, { step: 40, nth: 2, first_step: 40 }), { step: 40, nth: 1 });
  assert.equal(baseOf(before, { step: 40, nth: 0, first_step: 40 }), null);
});

test("the base can be the first step or any other", () => {
  assert.deepEqual(baseOf({ from: "first", base: 7 }, { step: 40, nth: 0, first_step: 10 }), { step: 10, nth: 0 });
  assert.deepEqual(baseOf({ from: "run", base: 7 }, { step: 40, nth: 1, first_step: 10 }), { step: 40, nth: 1 });
  assert.deepEqual(baseOf({ from: "step", base: 7.5 }, { step: 40, nth: 0, first_step: 10 }), { step: 7, nth: 0 });
});

test("invalid options in the address are ignored", () => {
  assert.deepEqual(options.parse({ show: "html", from: "x", base: "y" }), { show: "text", from: "before", base: 0 });
  assert.deepEqual(options.parse({ show: "changes", from: "step", base: "-3" }), { show: "changes", from: "step", base: -3 });
});
