// The options of a tab, in the URL and in the browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Options } from "../../../tbcore/web/options.js";

const OPTIONS = new Options({ x: "step", trim: 0, tails: true }, { x: ["step", "relative"], trim: [0, 1] });

/** Settings or preferences, as a host has them. @param {Record<string, string>} value */
const settingsWith = (value) => ({
  value,
  subscribe: () => () => {},
  /** @param {string} name @param {string | null} text */
  set(name, text) {
    if (text === null) delete value[name];
    else value[name] = text;
  },
});

test("texts are converted to the type of the default", () => {
  assert.deepEqual(OPTIONS.parse({}), { x: "step", trim: 0, tails: true });
  assert.deepEqual(OPTIONS.parse({ x: "relative", trim: "1", tails: "false", other: "1" }), { x: "relative", trim: 1, tails: false });
});

test("invalid texts are ignored", () => {
  assert.deepEqual(OPTIONS.parse({ x: "sideways", trim: "7" }), { x: "step", trim: 0, tails: true });
  assert.deepEqual(new Options({ size: 3 }).parse({ size: "many" }), { size: 3 });
});

test("numbers are clamped to their limits", () => {
  const options = new Options({ smooth: 0.6 }, {}, { smooth: [0, 0.999] });
  assert.deepEqual(
    ["1", "-3", "0.5", "NaN", "Infinity"].map((smooth) => options.parse({ smooth }).smooth),
    [0.999, 0, 0.5, 0.6, 0.6],
  );
});

test("defaults are not stored, and stored options do not change what a link shows", () => {
  const host = { settings: settingsWith({}), preferences: settingsWith({}) };
  OPTIONS.set(host, "trim", 1);
  assert.deepEqual([host.settings.value, host.preferences.value], [{ trim: "1" }, { trim: "1" }]);
  OPTIONS.set(host, "trim", 0);
  assert.deepEqual([host.settings.value, host.preferences.value], [{}, {}]);

  const fresh = { settings: settingsWith({}), preferences: settingsWith({ tails: "false", unknown: "1" }) };
  OPTIONS.recall(fresh);
  assert.deepEqual(fresh.settings.value, { tails: "false" });
  const linked = { settings: settingsWith({ x: "relative" }), preferences: settingsWith({ tails: "false" }) };
  OPTIONS.recall(linked);
  assert.deepEqual(linked.settings.value, { x: "relative" });
});

test("an option that does not exist cannot be set", () => {
  const options = new Options({ order: "up", log: false });
  const host = /** @type {any} */ ({ settings: { set: () => assert.fail() }, preferences: { set: () => assert.fail() } });
  assert.throws(() => options.set(host, /** @type {any} */ ("lgo"), true), /there is no option lgo; there are order, log/);
});
