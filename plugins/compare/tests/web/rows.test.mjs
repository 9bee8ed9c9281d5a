// The columns of a comparison, and the rows of its table.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_COLUMNS, columnsOf, leftOut } from "../../tbcore_compare/static/columns.js";
import { changeOf, extremesOf, hparamRows, tagRows, timeRows, valueRows } from "../../tbcore_compare/static/rows.js";
import { describe, partsOf } from "../../tbcore_compare/static/texts.js";

const run = (name) => ({ name, label: name, color: "#000000", group: null });
const names = (count) => Array.from({ length: count }, (_, i) => run(`run${i}`));
const grouping = (sizes) => ({
  average: "mean",
  averageName: "mean",
  archived: new Map([["g2", ["one", "two"]]]),
  groups: sizes.map((size, i) => ({ name: `g${i}`, color: "#000000", runs: names(size).map(({ name }) => run(`g${i}/${name}`)) })),
});
const single = (...all) => columnsOf(all.map(run), null, undefined).columns;
const group = (name, ...all) => ({ name, color: "#000000", runs: all.map(run), isGroup: true });
const facts = (entries) => new Map(Object.entries(entries).map(([name, one]) => [name, { name, exists: true, live: false, times: null, hparams: null, tags: [], ...one }]));
const hparams = (source, ...rows) => ({ hparams: { source, rows } });
const texts = (row) => row.cells.map(({ text }) => text);

test("the baseline is the first column, also if it would be left out", () => {
  const { all, columns } = columnsOf(names(30), null, "run25");
  assert.deepEqual(columns.slice(0, 2).map(({ name }) => name), ["run25", "run0"]);
  assert.equal(columns.length, MAX_COLUMNS);
  assert.match(leftOut(all, columns), /^20 of the 30 runs that are shown are compared, 10 are left out: /);
  assert.equal(columnsOf(names(3), null, "gone").columns[0].name, "run0");
  assert.equal(leftOut(columns, columns), "");
  assert.deepEqual(columnsOf([], null, undefined), { all: [], columns: [] });
});

test("a group is compared with all of its runs, or left out", () => {
  const { all, columns } = columnsOf([], grouping([600, 600, 400]), undefined);
  assert.deepEqual(columns.map(({ name, archived }) => [name, archived]), [["g0", undefined], ["g2", 2]]);
  assert.match(leftOut(all, columns), /^2 of the 3 groups that are shown are compared, “g1” is left out: /);
  const alone = columnsOf([], grouping([1, 2, 1]), undefined).all;
  assert.deepEqual(alone.map(({ label }) => label), ["g0/run0", "g1", "g2"], "one run has its name, unless others of its group are archived");
});

test("hyperparameters differ by type and value, and a run without one says so", () => {
  const factsOf = facts({
    a: hparams("a", [["lr"], "number", 0.1], [["amp"], "bool", true], [["n"], "number", 1], [["nan"], "number", "NaN"]),
    b: hparams("above", [["lr"], "number", 0.1], [["amp"], "text", "true"], [["opt", "eps"], "number", 1e-8], [["nan"], "number", "NaN"]),
  });
  const rows = hparamRows(single("a", "b"), factsOf);
  assert.deepEqual(rows.map(({ label, isSame }) => [label, isSame]), [
    ["amp", false],
    ["lr", true],
    ["n", false],
    ["nan", true],
    ["opt.eps", false],
  ]);
  assert.deepEqual(texts(rows[2]), ["1", "not logged"]);
  assert.deepEqual(texts(rows[4]), ["not logged", "1e-8"]);
  assert.equal(rows[1].cells[1].title, "logged in above");
});

test("a group lists its different values, and is not the same as others, whose runs differ, too", () => {
  const seeds = (model) => Object.fromEntries([0, 1, 2, 3, 4].map((seed) => [`${model}${seed}`, hparams(`${model}${seed}`, [["seed"], "number", seed], [["model"], "text", model])]));
  const factsOf = facts({ ...seeds("a"), ...seeds("b"), none: {} });
  const columns = [group("a", "a0", "a1", "a2", "a3", "a4"), group("b", "b4", "b3", "b2", "b1", "b0")];
  const [model, seed] = hparamRows(columns, factsOf);
  assert.deepEqual([texts(model), model.isSame], [["a", "b"], false]);
  assert.deepEqual([texts(seed), seed.isSame], [["0, 1, 2, … (5 values)", "0, 1, 2, … (5 values)"], false]);
  const [, withMissing] = hparamRows([columns[0], group("c", "b0", "b1", "b2", "b3", "b4", "none")], factsOf);
  assert.equal(withMissing.isSame, false);
  assert.equal(withMissing.cells[1].note, "5 of 6 runs");
});

const value = (last, min, max, more = {}) => ({ count: 3, nonfinite: 0, last, last_step: 1000, min, min_step: 500, max, max_step: 0, ...more });
const MEAN = { average: "mean", averageName: "mean", spread: "deviation" };

test("values have their steps, and say how far they are from the baseline's", () => {
  const values = { a: value(0.5, 0.25, 1), b: value(0.75, 0.125, 1), c: value(NaN, NaN, NaN, { nonfinite: 3 }), d: null };
  const rows = valueRows(single("a", "b", "c", "d", "e"), facts({}), ["val/loss"], (name) => values[name], MEAN);
  const [last, lowest] = rows;
  assert.equal(rows.length, 2);
  assert.deepEqual(texts(last), ["0.5", "0.75", "NaN", "not logged", "…"]);
  assert.equal(last.cells[0].note, "step 1,000");
  assert.deepEqual(last.cells.map(({ change }) => change), [undefined, "+0.25 (+50 %)", "", "", ""]);
  assert.deepEqual(texts(lowest), ["0.25", "0.125", "no finite value", "not logged", "…"]);
  assert.deepEqual(last.cells.map(({ mark }) => mark), ["best", "", "", "", ""]);
  const unknown = valueRows(single("a", "b"), facts({}), ["x"], (name) => values[name], MEAN);
  assert.deepEqual(unknown.flatMap(({ cells }) => cells.flatMap(({ mark }) => mark ?? [])), [], "nothing is marked where no name says what is better");
  assert.equal(lowest.cells[2].note, "3 values not finite");
  assert.deepEqual(lowest.cells.map(({ mark }) => mark), ["", "best", "", "", ""]);
});

test("equal values are the same only with equal steps", () => {
  const rowsOf = (b) => valueRows(single("a", "b"), facts({}), ["acc"], (name) => (name === "a" ? value(NaN, 0, 1) : b), MEAN);
  assert.deepEqual(rowsOf(value(NaN, 0, 1)).map(({ isSame }) => isSame), [true, true]);
  assert.deepEqual(rowsOf(value(NaN, 0, 1, { last_step: 2 })).map(({ isSame }) => isSame), [false, true]);
});

test("a group has the average of its runs, and says which are not in it", () => {
  const values = { a0: value(1, 1, 1), a1: value(3, 1, 3), a2: value(NaN, 2, 3, { nonfinite: 1 }), a3: null };
  const factsOf = facts({ a0: { live: true }, a1: {}, a2: {}, a3: {} });
  const [last, lowest] = valueRows([group("a", "a0", "a1", "a2", "a3")], factsOf, ["loss"], (name) => values[name], MEAN);
  assert.equal(last.cells[0].text, "2.0 ± 1.4 (2 of 4, 1 not finite, 1 without the tag, 1 live)");
  assert.equal(last.cells[0].value, 2);
  assert.match(lowest.cells[0].text, /1 diverged/);
});

test("of groups, the best is marked with those that cannot be told from it", () => {
  const values = (/** @type {string} */ name) => value(9, { a: 1, b: 1.05, c: 3 }[name[0]] + Number(name[2]) / 10 + (name === "b/1" ? 0.1 : 0), 9);
  const columns = ["a", "b", "c"].map((name) => group(name, `${name}/1`, `${name}/2`, `${name}/3`));
  const lowestOf = (/** @type {any} */ averaging) => valueRows(columns, facts({}), ["loss"], values, averaging)[1].cells;
  assert.deepEqual(lowestOf(MEAN).map(({ mark }) => mark), ["best", "≈ best", ""]);
  assert.match(lowestOf(MEAN)[1].why, /paired over 3 equal seeds, corrected by Holm for 2 comparisons with the best$/);
  assert.deepEqual(lowestOf({ average: "median", averageName: "median", spread: "quartiles" }).map(({ mark }) => mark), ["best", "", ""], "the tests are of means");
  const [one, ...others] = valueRows([group("lucky", "lucky/1"), ...columns], facts({}), ["loss"], (name) => (name === "lucky/1" ? value(9, 0.1, 9) : values(name)), { average: "iqm", averageName: "interquartile mean", spread: "quartiles" })[1].cells;
  assert.deepEqual([one, ...others].map(({ mark }) => mark), ["n too small", "best", "", ""], "one run is no group's best, of any average");
  assert.equal(others[0].why, "The best average of at least 3 values; only means are compared with it");
  assert.deepEqual(lowestOf({ ...MEAN, spread: "error" }).map(({ text }) => text), ["1.200 ± 0.058 SE", "1.283 ± 0.033 SE", "3.200 ± 0.058 SE"]);
});

test("a number has as many digits as tell it from the others of its row, and all of them in the title", () => {
  /** @param {[type: string, value: any][]} values */
  const cells = (...values) => {
    const names = values.map((_, at) => `run${at}`);
    const factsOf = facts(Object.fromEntries(names.map((name, at) => [name, hparams(name, [["lr"], ...values[at]])])));
    return hparamRows(single(...names), factsOf)[0].cells.map(({ text, title }) => [text, title]);
  };
  assert.deepEqual(cells(["number", 0.0049190613314733], ["number", 0.00161339130551605], ["number", 0.1]), [["0.004919", "0.0049190613314733"], ["0.001613", "0.00161339130551605"], ["0.1", ""]]);
  assert.deepEqual(cells(["number", 0.30000001], ["number", 0.30000002]), [["0.30000001", ""], ["0.30000002", ""]]);
  assert.deepEqual(cells(["number", 123456789], ["number", "NaN"], ["text", "0.123456"]), [["123456789", ""], ["NaN", ""], ["0.123456", ""]]);
});

test("the change is exact about zero, signs and what is not finite", () => {
  assert.deepEqual(
    [changeOf(2, 1), changeOf(-2, -1), changeOf(0, 1), changeOf(1, 1), changeOf(NaN, 1), changeOf(1, Infinity), changeOf(undefined, 1), changeOf(0.5, 1234.5)],
    ["−1 (−50 %)", "+1 (+50 %)", "+1", "±0", "", "", "", "+1234 (+246800 %)"],
  );
});

test("the words of a tag say which extreme is the best", () => {
  assert.deepEqual(["val/loss", "top1_acc", "score_error", "lr", "train/blossom", "mAP"].map(extremesOf), [["min"], ["max"], ["min"], ["min", "max"], ["min", "max"], ["max"]]);
});

test("tags say which columns have them", () => {
  const factsOf = facts({ a: { tags: [["loss", "scalar"], ["i", "image"], ["", "graph"]] }, b: { tags: [["loss", "scalar"]] }, c: { tags: [["loss", "text"]] } });
  const rows = tagRows([...single("a", "b"), group("g", "b", "c")], factsOf, () => true);
  assert.deepEqual(rows.map(({ label, note, isSame }) => [label, note, isSame]), [["graph", "", false], ["i", "image", false], ["loss", "scalar", false], ["loss", "text", false]]);
  assert.deepEqual(texts(rows[2]), ["logged", "logged", "1 of 2 runs"]);
  assert.deepEqual(texts(rows[1]), ["logged", "not logged", "not logged"]);
  assert.deepEqual(tagRows(single("a", "b"), factsOf, (tag) => tag === "loss").map(({ isSame }) => isSame), [true]);
  const titled = tagRows([...single("a"), group("g", "b", "c")], factsOf, (tag) => tag === "loss", (tag) => `title of ${tag}`);
  assert.deepEqual(titled.map(({ label, note }) => [label, note]), [["loss", "scalar"], ["title of loss", "text"]]);
});

test("times of a group are those of all of its runs", () => {
  const factsOf = facts({ a: { times: { first: 10, last: 70, step: 5 }, live: true }, b: { times: { first: 0, last: 30, step: 9 } }, c: {}, d: { exists: false } });
  const [step, duration] = timeRows([group("g", "a", "b"), ...single("c", "d", "e")], factsOf);
  assert.deepEqual(texts(step), ["9", "no scalars", "deleted", "…"]);
  assert.deepEqual([duration.cells[0].text, duration.cells[0].note], ["45 s", "mean"]);
});

test("columns whose texts differ in the same way are shown together", () => {
  const member = (name, own = name) => ({ column: { ...group(name), isGroup: false }, run: own && run(own) });
  const same = { step: 0, same: true, is_cut: false, lines: [], num_more: 0 };
  const other = { ...same, same: false, removed: 1, added: 1, lines: [["removed", "y"], ["added", "x"]] };
  const parts = partsOf([member("a"), member("b"), member("c"), member("d", null), member("e")], [
    { ...same, run: "a" },
    { ...other, run: "b" },
    { ...same, run: "c", step: 7 },
  ]);
  assert.deepEqual(parts.map(({ members }) => members.map(({ column }) => column.name)), [["a", "c"], ["b"], ["d"], ["e"]]);
  assert.deepEqual(parts.map(({ difference }) => difference?.same), [true, false, undefined, undefined]);
  assert.equal(parts[2].difference, null);
  assert.equal(describe(other, other.step), `Step ${other.step}: 1 line removed, 1 line added.`);
  assert.equal(describe(other, 1200), `Step ${other.step}, baseline step 1,200: 1 line removed, 1 line added.`);
});
