// Steps of series, and places that several share.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findPlace, formatPlace, formatPlaces, orderSteps, parsePlace, parsePlaces, unitePlaces } from "../../tbcore/web/lib/steps.js";

/** @param {...number} steps */
const series = (...steps) => orderSteps({ index: steps.map((_, k) => k), step: steps, wall_time: steps.map(() => 1) });

test("items stand in the order of their steps, those of one step as they were logged", () => {
  const items = series(10, 0, 10, -5);
  assert.deepEqual(
    items.map(({ step, nth, index }) => [step, nth, index]),
    [
      [-5, 0, 3],
      [0, 0, 1],
      [10, 0, 0],
      [10, 1, 2],
    ],
  );
});

test("wall times that are no numbers arrive as texts", () => {
  const [item] = orderSteps({ index: [0], step: [3], wall_time: ["NaN"] });
  assert.equal(item.step, 3);
  assert.ok(Number.isNaN(item.wallTime));
});

test("a shared control has every item of every series as a place", () => {
  assert.deepEqual(unitePlaces([series(0, 10, 10), series(5, 10), series()]).map(formatPlace), ["0", "5", "10", "10~1"]);
  assert.deepEqual(unitePlaces([]), []);
});

test("a series shows what it had last at a place", () => {
  const items = series(0, 10, 10, 30);
  const at = (/** @type {string} */ text) => findPlace(items, parsePlace(text));
  assert.deepEqual(["-1", "0", "9", "10", "10~1", "10~5", "29", "30", "99", "last"].map(at), [-1, 0, 0, 1, 2, 2, 2, 3, 3, 3]);
  assert.equal(findPlace([], null), -1);
});

test("places come back from the address as they went in", () => {
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

test("nonsense in the address is the end, or nothing", () => {
  assert.equal(parsePlace(undefined), null);
  assert.equal(parsePlace("soon"), null);
  assert.deepEqual(parsePlaces("%zz:1,nothing,,a:3"), new Map([["a", { step: 3, nth: 0 }]]));
});
