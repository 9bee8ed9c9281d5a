// Colours of runs are stable, distinguishable, and visible in both themes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { colorsOf, oklchToHex } from "../../../tbcore/web/lib/ui/colors.js";
import { contrast, minDistance, oklab } from "./tools.mjs";

const THEMES = /** @type {const} */ (["light", "dark"]);
const RUNS = Array.from({ length: 36 }, (_, i) => `experiment/${i}/train`);

test("a run keeps its colour when others are added", () => {
  const all = colorsOf(RUNS, "light");
  for (let count = 1; count <= RUNS.length; count++) {
    for (const [run, color] of colorsOf(RUNS.slice(0, count), "light")) assert.equal(color, all.get(run));
  }
});

test("the first two dozen runs have different colours, in both themes", () => {
  for (const theme of THEMES) {
    assert.equal(new Set(colorsOf(RUNS.slice(0, 24), theme).values()).size, 24);
  }
});

test("the first seven colours are far apart, also with red-green colour blindness", () => {
  for (const names of [RUNS, ["a", "b", "c/d"], ["large/train", "large/eval", "small/train", "small/eval"]]) {
    for (const theme of THEMES) {
      const colors = [...colorsOf(names.slice(0, 7), theme).values()];
      for (const [vision, min] of /** @type {const} */ ([["normal", 0.17], ["protan", 0.1], ["deutan", 0.1]])) {
        assert.ok(minDistance(colors.map((color) => oklab(color, vision))) >= min, `${theme}, ${vision}`);
      }
    }
  }
});

test("a dozen colours are distinguishable with all kinds of colour vision, and have a contrast of 3 to 1 on cards", () => {
  for (const [theme, ground] of /** @type {const} */ ([["light", "#ffffff"], ["dark", "#171b22"]])) {
    const colors = [...colorsOf(RUNS.slice(0, 12), theme).values()];
    for (const [vision, min] of /** @type {const} */ ([["normal", 0.085], ["protan", 0.06], ["deutan", 0.06], ["tritan", 0.06]])) {
      assert.ok(minDistance(colors.map((color) => oklab(color, vision))) >= min, `${theme}, ${vision}`);
    }
    for (const color of colors) assert.ok(contrast(color, ground) >= 3, `${color} on ${theme}`);
  }
});

test("colours are handed out in order before they repeat", () => {
  const many = Array.from({ length: 100 }, (_, i) => `models/${i}`);
  const colors = [...colorsOf(many, "light").values()];
  for (let num = 1; num <= many.length; num++) {
    const uses = new Map();
    for (const color of colors.slice(0, num)) uses.set(color, (uses.get(color) ?? 0) + 1);
    assert.equal(Math.max(...uses.values()), Math.ceil(num / 24), String(num));
  }
});

test("among thousands of runs, neighbours have different colours", () => {
  const many = Array.from({ length: 3000 }, (_, i) => `sweep/${i}`);
  const colors = [...colorsOf(many, "dark").values()];
  assert.equal(colors.length, 3000);
  const labs = colors.map((color) => oklab(color));
  for (let i = 4; i < many.length; i++) {
    for (let j = i - 4; j < i; j++) {
      assert.ok(Math.hypot(...labs[i].map((part, k) => part - labs[j][k])) > 0.04, `${i} and ${j}`);
    }
  }
});

test("a name gets the same colour among any other names, while that colour is unused", () => {
  const alone = colorsOf(["train"], "light").get("train");
  assert.equal(colorsOf(["train", "a", "b", "c"], "light").get("train"), alone);
  const numSame = RUNS.filter((run) => colorsOf(["train", run], "light").get(run) === colorsOf([run], "light").get(run)).length;
  assert.ok(numSame >= 28); // all but those that prefer the colour of "train"
});

test("colours have a contrast of at least 2.4 to 1 on cards", () => {
  const many = Array.from({ length: 400 }, (_, i) => `r${i}`);
  for (const [theme, ground] of /** @type {const} */ ([["light", "#ffffff"], ["dark", "#171b22"]])) {
    for (const color of colorsOf(many, theme).values()) {
      assert.ok(contrast(color, ground) >= 2.4, `${color} on ${theme}`);
    }
  }
});

test("no colour looks like text, in either theme", () => {
  const styles = readFileSync(new URL("../../../tbcore/web/shell/shell.css", import.meta.url), "utf8");
  const inks = [...styles.matchAll(/--tb-ink: (#\w{6})/g)].map((found) => found[1]);
  assert.equal(inks.length, 2);
  THEMES.forEach((theme, i) => {
    for (const [run, color] of colorsOf(RUNS.slice(0, 24), theme)) {
      const distance = minDistance([oklab(color), oklab(inks[i])]);
      assert.ok(distance > 0.15, `${run} is ${color} on ${theme}: ${distance.toFixed(2)} from ${inks[i]}`);
    }
  });
});

test("OKLCH converts to the corners of sRGB", () => {
  assert.equal(oklchToHex(0, 0, 0), "#000000");
  assert.equal(oklchToHex(1, 0, 0), "#ffffff");
  assert.equal(oklchToHex(0.627955, 0.257683, 29.2339), "#ff0000"); // CSS Color 4, red
  assert.equal(oklchToHex(0.5, 0.4, 140), oklchToHex(0.5, 0.2, 140)); // outside sRGB: the highest chroma that fits
});
