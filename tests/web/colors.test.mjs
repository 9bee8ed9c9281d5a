// Colours of runs: stable, told apart, readable on both grounds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { colorsOf, oklchToHex } from "../../tbcore/web/lib/colors.js";

const RUNS = Array.from({ length: 36 }, (_, i) => `experiment/${i}/train`);

test("a run keeps its colour while others arrive", () => {
  const all = colorsOf(RUNS, "light");
  for (let count = 1; count <= RUNS.length; count++) {
    for (const [run, color] of colorsOf(RUNS.slice(0, count), "light")) assert.equal(color, all.get(run));
  }
});

test("the first three dozen runs have different colours, in both themes", () => {
  for (const theme of /** @type {const} */ (["light", "dark"])) {
    assert.equal(new Set(colorsOf(RUNS, theme).values()).size, 36);
  }
});

test("a dozen runs are far apart", () => {
  for (const theme of /** @type {const} */ (["light", "dark"])) {
    const colors = [...colorsOf(RUNS.slice(0, 12), theme).values()].map(oklab);
    for (const [i, a] of colors.entries()) {
      for (const b of colors.slice(i + 1)) {
        assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) > 0.075);
      }
    }
  }
});

test("among thousands of runs, those near each other look different", () => {
  const many = Array.from({ length: 3000 }, (_, i) => `sweep/${i}`);
  const colors = [...colorsOf(many, "dark").values()];
  assert.equal(colors.length, 3000);
  const labs = colors.map(oklab);
  for (let i = 4; i < many.length; i++) {
    for (let j = i - 4; j < i; j++) {
      assert.ok(Math.hypot(...labs[i].map((part, k) => part - labs[j][k])) > 0.04, `${i} and ${j}`);
    }
  }
});

test("the name decides, in any order and company, while its colour is free", () => {
  const alone = colorsOf(["train"], "light").get("train");
  assert.equal(colorsOf(["train", "a", "b", "c"], "light").get("train"), alone);
  const numSame = RUNS.filter((run) => colorsOf(["train", run], "light").get(run) === colorsOf([run], "light").get(run)).length;
  assert.ok(numSame >= 30); // all but those that want the same one
});

test("colours stand out from the ground: contrast of at least 2.4 to 1 on cards", () => {
  const many = Array.from({ length: 400 }, (_, i) => `r${i}`);
  for (const [theme, ground] of /** @type {const} */ ([["light", "#ffffff"], ["dark", "#171b22"]])) {
    for (const color of colorsOf(many, theme).values()) {
      const [high, low] = [luminance(color), luminance(ground)].sort((a, b) => b - a);
      assert.ok((high + 0.05) / (low + 0.05) >= 2.4, `${color} on ${theme}`);
    }
  }
});

test("OKLCH gives the corners of sRGB", () => {
  assert.equal(oklchToHex(0, 0, 0), "#000000");
  assert.equal(oklchToHex(1, 0, 0), "#ffffff");
  assert.equal(oklchToHex(0.627955, 0.257683, 29.2339), "#ff0000"); // CSS Color 4, red
  assert.equal(oklchToHex(0.5, 0.4, 140), oklchToHex(0.5, 0.2, 140)); // outside sRGB: the strongest that fits
});

/** @param {string} hex @returns {number[]} linear light */
function linear(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
}

/** @param {string} hex */
function luminance(hex) {
  const [r, g, b] = linear(hex);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} hex @returns {number[]} */
function oklab(hex) {
  const [r, g, b] = linear(hex);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
