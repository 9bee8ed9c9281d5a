// Colours that say something: families have a hue each, and values a colour or a place on a scale.

import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_VALUE_COLOR, familyColors, oklchToHex, valueColors } from "../../../tbcore/web/lib/ui/rule-colors.js";
import { colorsByRule, familiesOf } from "../../../tbcore/web/shell/state/color-rules.js";
import { groupsOf } from "../../../tbcore/web/shell/state/tree.js";
import { contrast, minDistance, oklab } from "./tools.mjs";

const THEMES = /** @type {const} */ (["light", "dark"]);
const GROUNDS = { light: "#ffffff", dark: "#171b22" };
const INKS = { light: "#1b212c", dark: "#e7eaf0" };

/** Families `m0`, `m1` and so on, with members `m0/0`, `m0/1` and so on. @param {number} numFamilies @param {number} numMembers */
function makeFamilies(numFamilies, numMembers) {
  return new Map(Array.from({ length: numFamilies }, (_, i) => [`m${i}`, Array.from({ length: numMembers }, (_, k) => `m${i}/${k}`)]));
}

/** Columns of attributes by name. @param {Record<string, Record<string, number | string | boolean>>} columns */
function columns(columns) {
  return (/** @type {string} */ name) => (columns[name] ? new Map(Object.entries(columns[name])) : null);
}

test("the members of four families are distinguishable, and families more than members", () => {
  for (const theme of THEMES) {
    const colors = familyColors(makeFamilies(4, 5), theme);
    const labs = new Map(Array.from(colors, ([member, color]) => [member, oklab(color)]));
    const families = groupsOf([...labs], ([member]) => member.split("/")[0]);
    for (const members of families.values()) assert.ok(minDistance(members.map(([, lab]) => lab)) > 0.045, theme);
    for (const [family, members] of families) {
      for (const [other, others] of families) {
        if (family === other) continue;
        for (const [, lab] of members) for (const [, lab2] of others) assert.ok(minDistance([lab, lab2]) > 0.055, `${family}, ${other}, ${theme}`);
      }
    }
  }
});

test("a run keeps its colour when runs and families are added after it", () => {
  const all = familyColors(makeFamilies(12, 30), "dark");
  for (const [member, color] of familyColors(makeFamilies(5, 7), "dark")) assert.equal(all.get(member), color, member);
});

test("sixteen families have different colours", () => {
  for (let first = 0; first < 20; first++) {
    const families = new Map(Array.from({ length: 16 }, (_, i) => [`family${first + 7 * i}`, [`family${first + 7 * i}/run`]]));
    for (const theme of THEMES) assert.equal(new Set(familyColors(families, theme).values()).size, 16);
  }
});

test("shades are visible on cards and do not look like text", () => {
  for (const theme of THEMES) {
    for (const color of familyColors(makeFamilies(20, 40), theme).values()) {
      assert.ok(contrast(color, GROUNDS[theme]) >= 2.3, `${color} on ${theme}`);
      assert.ok(minDistance([oklab(color), oklab(INKS[theme])]) > 0.12, `${color} on ${theme}`);
    }
  }
});

test("few values have a colour each, which does not depend on the others", () => {
  const { colors, legend } = valueColors(["a", "b", "c", "d"], new Map([["a", "adam"], ["b", "sgd"], ["c", "adam"]]), "light");
  assert.equal(colors.get("a"), colors.get("c"));
  assert.notEqual(colors.get("a"), colors.get("b"));
  assert.equal(colors.get("d"), NO_VALUE_COLOR);
  assert.deepEqual(legend, { values: [["adam", colors.get("a")], ["sgd", colors.get("b")]], isScale: false, hasMissing: true });
  assert.equal(valueColors(["a"], new Map([["a", "adam"]]), "light").colors.get("a"), colors.get("a"));
  assert.equal(valueColors(["a", "b"], new Map([["a", ""]]), "light").colors.get("b"), NO_VALUE_COLOR);
});

test("a dozen numbers have a colour each, listed by value", () => {
  const values = new Map([10, 9, 2, 0.5, 1e-3].map((value, i) => [String(i), value]));
  const { legend } = valueColors([...values.keys()], values, "light");
  assert.deepEqual(legend.values.map(([value]) => value), [1e-3, 0.5, 2, 9, 10]);
  assert.equal(new Set(legend.values.map(([, color]) => color)).size, 5);
});

test("many numbers are on a scale by rank, whose steps look equal with all kinds of colour vision", () => {
  const values = new Map(Array.from({ length: 21 }, (_, i) => [`r${i}`, i === 20 ? 1e9 : i]));
  for (const theme of THEMES) {
    const { colors, legend } = valueColors([...values.keys()], values, theme);
    assert.deepEqual(legend.values.map(([value]) => value), [0, 3, 7, 10, 13, 17, 1e9]);
    assert.ok(legend.isScale);
    const list = [...colors.values()];
    for (const vision of /** @type {const} */ (["normal", "protan", "deutan"])) {
      const labs = list.map((color) => oklab(color, vision));
      const steps = labs.slice(1).map((lab, i) => minDistance([lab, labs[i]]));
      assert.ok(Math.min(...steps) > 0.012, `${theme} ${vision}: ${Math.min(...steps)}`);
      const lightness = labs.map(([l]) => (theme === "light" ? -l : l));
      assert.deepEqual(lightness, [...lightness].sort((a, b) => a - b), `${theme} ${vision}`);
    }
    for (const color of list) assert.ok(contrast(color, GROUNDS[theme]) >= 2.3, `${color} on ${theme}`);
  }
});

test("NaN has no place on the scale", () => {
  const values = new Map(Array.from({ length: 20 }, (_, i) => [`r${i}`, i === 3 ? NaN : i]));
  assert.equal(valueColors([...values.keys()], values, "light").colors.get("r3"), NO_VALUE_COLOR);
});

test("a family is a folder without its seeds", () => {
  /** @type {[string[], string[]][]} */
  const table = [
    [["cnn/seed0", "cnn/seed1", "vit/seed0"], ["cnn", "cnn", "vit"]],
    [["cnn_s0/train", "cnn_s0/eval", "cnn_s1/train", "vit_s0/train"], ["cnn", "cnn", "cnn", "vit"]],
    [["cnn_s0", "cnn_s1", "vit_s0"], ["cnn", "cnn", "vit"]],
    [["exp/cnn/0", "exp/cnn/1", "exp/vit/0", "exp/vit/1"], ["exp/cnn", "exp/cnn", "exp/vit", "exp/vit"]],
    [["exp/a", "exp/b", "exp/c", "exp/d", "old"], ["exp", "exp", "exp", "exp", "old"]],
    [["old", "m/cnn/seed0", "m/cnn/seed1/eval", "m/vit_s0", "m/vit_s1"], ["old", "m/cnn", "m/cnn", "m/vit", "m/vit"]],
    [["old/1", "old/2", "m/cnn/s0", "m/cnn/s1", "m/vit/s0", "m/vit/s1"], ["old", "old", "m/cnn/*", "m/cnn/*", "m/vit/*", "m/vit/*"]],
    [["a", "b"], ["a", "b"]],
    [["m/seed0", "m/seed1"], ["m/seed0", "m/seed1"]],
    [["."], ["."]],
    [[], []],
  ];
  for (const [runs, families] of table) assert.deepEqual([...familiesOf(runs).values()].sort(), [...families].sort(), runs.join());
  assert.equal(familiesOf(Array.from({ length: 200_000 }, (_, i) => `sweep/${i}`)).size, 200_000);
});

test("a group has the colour of its family, or of the value that its runs have in common", () => {
  const runs = ["cnn/s0", "cnn/s1", "vit/s0", "vit/s1"];
  const groupOf = new Map(runs.map((run) => [run, run.split("/")[0]]));
  const byFamily = colorsByRule("family", runs, groupOf, "light", columns({}));
  assert.deepEqual([...(byFamily?.colors.keys() ?? [])], ["cnn", "vit"]);
  assert.equal(byFamily?.colors.get("cnn"), colorsByRule("family", runs, null, "light", columns({}))?.colors.get("cnn/s0"));

  const column = columns({ lr: { "cnn/s0": 1, "cnn/s1": 1, "vit/s0": 1, "vit/s1": 3 }, optimizer: { "cnn/s0": "sgd", "vit/s0": "adam", "vit/s1": "sgd" } });
  assert.deepEqual(colorsByRule("by:lr", runs, groupOf, "light", column)?.legend?.values.map(([value]) => value), [1, 2]);
  const byOptimizer = colorsByRule("by:optimizer", runs, groupOf, "light", column);
  assert.deepEqual(byOptimizer?.legend?.values.map(([value]) => value), ["sgd"]);
  assert.equal(byOptimizer?.colors.get("vit"), NO_VALUE_COLOR);

  const losses = columns({ "loss:last": { "cnn/s0": 1.5e308, "cnn/s1": 1.7e308, "vit/s0": NaN, "vit/s1": 3 } });
  assert.deepEqual(colorsByRule("by:loss:last", runs, groupOf, "light", losses)?.legend?.values.map(([value]) => value), [3, 1.6e308], "the mean that groups show");
  const same = new Map(runs.map((run) => [run, "all"]));
  const skewed = columns({ x: { "cnn/s0": 1, "cnn/s1": 2, "vit/s0": 9 } });
  assert.deepEqual(colorsByRule("by:x", runs, same, "light", skewed, "median")?.legend?.values.map(([value]) => value), [2], "or the median");
});

test("without an archived run, others have the colours of before, and the legend has only their values", () => {
  const runs = ["cnn/s0", "cnn/s1", "vit/s0", "vit/s1", "mlp/s0", "mlp/s1"];
  const kept = runs.filter((run) => !run.startsWith("cnn"));
  const optimizer = columns({ optimizer: { "cnn/s0": "sgd", "cnn/s1": "sgd", "vit/s0": "adam", "vit/s1": "rms", "mlp/s0": "rms", "mlp/s1": "lion" } });
  for (const groupOf of [null, new Map(runs.map((run) => [run, run.split("/")[0]]))]) {
    for (const rule of ["family", "by:optimizer"]) {
      const [all, others] = [runs, kept].map((names) => colorsByRule(rule, names, groupOf, "light", optimizer, "mean", runs));
      for (const name of groupOf ? ["vit", "mlp"] : kept) assert.equal(others?.colors.get(name), all?.colors.get(name), `${rule} ${name}`);
      assert.ok(!others?.legend?.values.some(([value]) => value === "sgd"));
    }
  }
});

test("there are no colours while the attribute is read", () => {
  assert.equal(colorsByRule("by:lr", ["a"], null, "light", () => null), null);
  assert.equal(colorsByRule("by:", ["a"], null, "light", () => null), null);
});

test("OKLCH converts to the corners of sRGB", () => {
  assert.equal(oklchToHex(0, 0, 0), "#000000");
  assert.equal(oklchToHex(1, 0, 0), "#ffffff");
  assert.equal(oklchToHex(0.627955, 0.257683, 29.2339), "#ff0000"); // CSS Color 4, red
  assert.equal(oklchToHex(0.5, 0.4, 140), oklchToHex(0.5, 0.2, 140)); // outside sRGB: the highest chroma that fits
});
