// Colours of runs are stable, distinguishable, and visible in both themes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { colorsOf, linesInSight } from "../../../tbcore/web/lib/ui/colors.js";
import { ciede2000, contrast, generator, minDistance, oklab } from "./tools.mjs";

const THEMES = /** @type {const} */ (["light", "dark"]);
const FIGURES = JSON.parse(readFileSync(new URL("../../colors.json", import.meta.url), "utf8")).figures;
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

test("any two of two dozen colours differ by 10 in CIEDE2000", () => {
  for (const theme of THEMES) {
    const colors = [...colorsOf(RUNS.slice(0, 24), theme).values()];
    for (const [i, color] of colors.entries()) for (const other of colors.slice(0, i)) assert.ok(ciede2000(color, other) >= 10, `${color} ${other} ${theme}`);
  }
  assert.equal(ciede2000("#0000ff", "#ff0000").toFixed(2), "52.88");
});

test("runs that are deleted or archived recolour no line that stays, whatever is filtered and grouped, and lines in sight differ", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = generator(seed);
    const pick = (/** @type {readonly string[]} */ names) => names[Math.floor(random() * names.length)];
    const all = Array.from({ length: 1 + Math.floor(random() * 60) }, (_, i) => `m${i % 5}/s${Math.floor(random() * 1e6)}`);
    const groupOf = new Map(all.map((run) => [run, run.split("/")[0]]));
    let [there, archived] = [new Set(all), new Set([""])];
    let [filter, isGrouped] = ["", false];
    const show = () => {
      const isShown = (/** @type {string} */ run) => run.includes(filter);
      const groups = isGrouped ? groupOf : null;
      const runs = [...there].filter((run) => !archived.has(run));
      const lines = new Set(groups ? runs.filter(isShown).map((run) => run.split("/")[0]) : runs.filter(isShown));
      const colors = colorsOf(groups ? [...new Set(groups.values())] : all, "light", linesInSight([all, all.filter(isShown), runs.filter(isShown)], groups));
      const isRoom = new Set(all.filter(isShown).map((run) => (groups ? run.split("/")[0] : run))).size <= 24;
      return { colors, lines, isStable: isRoom || lines.size > 24 };
    };
    let before = show();
    for (let step = 0; step < 12; step++) {
      const change = Math.floor(random() * 5);
      if (change === 0) there.delete(pick([...there]) ?? "");
      if (change === 1) archived.add(pick(all));
      if (change === 2) archived.delete(pick([...archived]));
      if (change === 3) filter = filter ? "" : pick(["m1", "m2", "s1", "5", "nothing"]);
      if (change === 4) isGrouped = !isGrouped;
      const after = show();
      const shown = [...after.lines].map((line) => String(after.colors.get(line)));
      if (shown.length <= 24) assert.equal(new Set(shown).size, shown.length, `seed ${seed}`);
      if (change < 3 && before.isStable && after.isStable) for (const line of after.lines) assert.equal(after.colors.get(line), before.colors.get(line), `seed ${seed}: ${line}`);
      before = after;
    }
  }
});

test("another run among twenty moves the colours of few", () => {
  const names = Array.from({ length: 60 }, (_, i) => `model${i % 5}/lr=${["0.1", "0.01", "0.3"][i % 3]},wd=${i % 4}`);
  let numMoved = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const random = generator(seed);
    const [added, ...others] = names.map((name) => /** @type {const} */ ([random(), name])).sort(([a], [b]) => a - b).slice(0, 21).map(([, name]) => name);
    const before = colorsOf(others.sort(), "light");
    const after = colorsOf([...others, added].sort(), "light");
    numMoved += others.filter((name) => before.get(name) !== after.get(name)).length;
  }
  assert.ok(numMoved < 200 * 4, `${numMoved / 200} on average`); // 9 if those without a colour of their own get the rest in order
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

test("figures of tbcore_logs have the same colours", () => {
  for (const { scheme, colors, others } of FIGURES) {
    const all = [...Object.keys(colors), ...others];
    const found = colorsOf(Object.keys(colors), scheme, linesInSight([all, Object.keys(colors)]));
    assert.deepEqual(Object.fromEntries(found), colors);
  }
});
