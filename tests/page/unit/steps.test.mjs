// Places of a step slider that several series share.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findPlace, formatPlace, formatPlaces, parsePlace, parsePlaces } from "../../../tbcore/web/lib/steps/places.js";

/** Step 10 was logged twice. */
const places = [[-5, 0], [0, 0], [10, 0], [10, 1], [30, 0]].map(([step, nth]) => ({ step, nth }));

test("the text of a place has the index of all items but the first", () => {
  assert.deepEqual(places.map(formatPlace), ["-5", "0", "10", "10~1", "30"]);
});

test("findPlace returns the last place that is not after the given one", () => {
  const at = (/** @type {string} */ text) => findPlace(places, parsePlace(text));
  assert.deepEqual(["-9", "-1", "9", "10", "10~1", "10~5", "29", "30", "99", "last"].map(at), [-1, 0, 1, 2, 3, 3, 3, 4, 4, 4]);
  assert.equal(findPlace([], null), -1);
});

test("parsing places reverses formatting them", () => {
  for (const place of [null, { step: 0, nth: 0 }, { step: -7, nth: 2 }, { step: 2 ** 53, nth: 0 }, { step: 1e21, nth: 0 }]) {
    assert.deepEqual(parsePlace(formatPlace(place)), place);
  }
  const all = new Map([
    ["a:b,c/ü", { step: 4, nth: 0 }],
    ["x", null],
    ["", { step: 1, nth: 1 }],
  ]);
  assert.deepEqual(parsePlaces(formatPlaces(all) ?? ""), all);
  assert.equal(formatPlaces(new Map()), null);
});

test("an invalid text is the latest place, or none", () => {
  assert.equal(parsePlace(undefined), null);
  assert.equal(parsePlace("soon"), null);
  assert.deepEqual(parsePlaces("%zz:1,nothing,,a:3"), new Map([["a", { step: 3, nth: 0 }]]));
});
