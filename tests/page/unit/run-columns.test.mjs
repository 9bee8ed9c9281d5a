// The columns of the run list: headings, cells, the order of runs, and the table for a CSV file.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAttribute } from "../../../tbcore/web/lib/queries/names.js";
import { commonValue, decimalsOfColumn, describeCell, formatCell, formatCellStep, measureColumn, measureSteps, parseColumns, sortRuns, tableOf } from "../../../tbcore/web/shell/state/columns.js";
import { cpuTime, generator } from "./tools.mjs";

/** @typedef {import("../../../tbcore/web/shell/state/attributes.js").AttributeValue} AttributeValue */

/** What the server says of these texts. @param {string} text @returns {import("../../../tbcore/web/shell/state/attributes.js").Meaning} */
function meaningOf(text) {
  const [, quoted, plain, stat = null, step] = /^(?:"([^"]*)"|([^:"]*))(?::(last|min|max|nan|at|change)(?:\((\d+)\))?)?$/i.exec(text) ?? [];
  if (quoted === undefined && plain === undefined) return { error: `unknown statistic '${text.split(":")[1]}'; expected last, min, max, nan, at(STEP) or change(STEPS)` };
  const name = quoted ?? plain;
  const kind = stat !== null ? "value" : ["step", "age", "took"].includes(plain) ? "fact" : "hparam";
  const attribute = /** @type {const} */ ({ kind, name, stat: stat?.toLowerCase() ?? null, step: step === undefined ? null : Number(step) });
  return { text: formatAttribute(attribute), attribute };
}

/** @param {readonly string[]} texts */
const columnsOf = (texts) => parseColumns(texts, meaningOf);

/** The attribute with this text. @param {string} text */
const attributeOf = (text) => columnsOf([text])[0].attribute;

/** @param {string[]} texts */
const headings = (texts) => columnsOf(texts).map(({ heading }) => heading);

test("a column has its text until the server has said what it is", () => {
  const [column] = parseColumns(["val/loss:min"], () => null);
  assert.deepEqual(column, { text: "val/loss:min", attribute: null, error: null, title: "val/loss:min", heading: "val/loss:min" });
});

test("headings have the whole name, and differ", () => {
  assert.deepEqual(headings(["lr", "val/loss:last", "train/acc:max", "grad:at(1000)", "grad:change(1000)", "step", "age", "took"]), ["lr", "val/loss", "max train/acc", "grad @1,000", "change grad (1,000)", "step", "age", "took"]);
  assert.deepEqual(headings(["val/loss:last", "train/loss:last", "val/loss:min"]), ["val/loss", "train/loss", "min val/loss"]);
  assert.deepEqual(headings(["loss", "loss:last"]), ["loss", "loss:last"]);
  assert.deepEqual(headings(['"my param"', '"step"', "a/"]), ["my param", "step", "a/"]);
});

test("titles say what a column shows, or what is wrong with it", () => {
  const titles = Object.fromEntries(columnsOf(["lr", "a/b:last", "b:min", "b:max", "b:at(1000)", "b:change(1000)", "b:nan", "step", "b:mean"]).map(({ text, title }) => [text, title]));
  assert.deepEqual(titles, {
    lr: "Hyperparameter lr",
    "a/b:last": "Last value of a/b",
    "b:min": "Lowest value of b",
    "b:max": "Highest value of b",
    "b:at(1000)": "Value of b at step 1,000, or the last before it",
    "b:change(1000)": "Change of b over the last 1,000 steps",
    "b:nan": "First step that is not finite of b",
    step: "Last step",
    "b:mean": "b:mean: unknown statistic 'mean'; expected last, min, max, nan, at(STEP) or change(STEPS)",
  });
});

test("each attribute has one column, in the order given", () => {
  assert.deepEqual(columnsOf(["b", "a", '"b"', "c:LAST", "c:last"]).map(({ text }) => text), ["b", "a", "c:LAST"]);
});

test("numbers are short in cells, and complete in titles", () => {
  const lr = attributeOf("lr");
  /** @type {[value: AttributeValue, text: string][]} */
  const cases = [
    [0.30000001192092896, "0.3"],
    [0.123456, "0.1235"],
    [1.23456e-10, "1.23e-10"],
    [-1.23456e-10, "-1.2e-10"],
    [123456789, "1.23e8"],
    [-12345.678, "-12346"],
    [1e300, "1e300"],
    [-1.5e-300, "-2e-300"],
    [NaN, "NaN"],
    [-Infinity, "−∞"],
    [true, "true"],
    ["adam", "adam"],
  ];
  for (const [value, text] of cases) assert.equal(formatCell(value, lr), text);
  assert.equal(formatCell(1234567, attributeOf("step")), "1,234,567");
  assert.equal(formatCell(3900, attributeOf("took")), "1h 05m");
  assert.equal(describeCell(3900, attributeOf("age")), "1h 05m (3900 s)");
  assert.equal(describeCell(0.30000001192092896, attributeOf("loss:min"), 1200), "0.30000001192092896 at step 1,200");
  assert.equal(describeCell("adam", lr), "adam");
});

test("values of a tag have equal decimals, but for those that need far more; hyperparameters have their own", () => {
  /** @param {string} text @param {number[]} numbers */
  const texts = (text, ...numbers) => {
    const attribute = attributeOf(text);
    const decimals = decimalsOfColumn(new Map(numbers.map((number, i) => [`run ${i}`, number])), attribute);
    return numbers.map((number) => formatCell(number, attribute, decimals));
  };
  assert.deepEqual(texts("loss:last", 0.79541, 1.0931, 0.804, NaN, 0), ["0.7954", "1.0931", "0.8040", "NaN", "0.0000"]);
  assert.deepEqual(texts("loss:min", 12345.6, 0.125), ["12345.60", "0.125"]);
  assert.deepEqual(texts("loss:min", 32.266, 1e-7, 0.5), ["32.27", "1e-7", "0.50"]);
  assert.deepEqual(texts("loss:min", 0.10000000149011612, 0.25), ["0.10", "0.25"], "as 32 bits have it");
  assert.deepEqual(texts("loss:max", 3, 2), ["3", "2"]);
  assert.deepEqual(texts("lr", 0.1, 0.003), ["0.1", "0.003"]);
  assert.deepEqual(texts("loss:nan", 500, 1000), ["500", "1,000"]);
});

test("runs are sorted in either direction: numbers, texts, NaN, and last those without a value", () => {
  /** @type {Map<string, AttributeValue>} */
  const values = new Map(Object.entries({ a: 2, b: NaN, d: "adam", e: -1, f: "10", g: "Resnet50", h: "resnet18", i: 2, j: true, k: Infinity }));
  const runs = [..."abcdefghijk"];
  assert.equal(sortRuns(runs, values).join(""), "eaifkgdhjbc");
  assert.equal(sortRuns(runs, values, { isDescending: true }).join(""), "kfaiejhdgbc");
  assert.equal(runs.join(""), "abcdefghijk");
  assert.deepEqual(sortRuns(["a", "b", "c"], new Map([["a", "NaN"], ["b", "zz"], ["c", "inf"]])), ["c", "b", "a"], "texts that queries read as numbers");
});

test("runs of the same age to the minute keep their order", () => {
  const values = new Map([["a", 119], ["b", 61], ["c", 59]]);
  assert.deepEqual(sortRuns(["a", "b", "c"], values, { attribute: attributeOf("age") }), ["c", "a", "b"]);
  assert.deepEqual(sortRuns(["a", "b", "c"], values, { attribute: attributeOf("took") }), ["c", "b", "a"]);
});

test("ten thousand runs are sorted in not many times as long as JavaScript takes for their values", () => {
  const random = generator(1);
  const runs = Array.from({ length: 10_000 }, (_, i) => `run${i}`);
  /** The least CPU time of some: others may use the processor's caches at the same time. @param {() => unknown} sort */
  const least = (sort) => {
    const times = Array.from({ length: 7 }, () => {
      const start = cpuTime();
      sort();
      return cpuTime() - start;
    });
    return Math.min(...times);
  };
  for (const { value, factor } of [{ value: () => random(), factor: 20 }, { value: () => `model-${Math.floor(random() * 1e6)}`, factor: 100 }]) {
    const values = new Map(runs.map((run) => [run, value()]));
    assert.equal(new Set(sortRuns(runs, values)).size, runs.length);
    const ours = least(() => sortRuns(runs, values));
    const plain = least(() => [...values.values()].sort((x, y) => (x < y ? -1 : 1)));
    assert.ok(ours < factor * plain, `${ours} ms, and ${plain} ms for the values alone`);
  }
});

test("a folder shows what its runs have in common", () => {
  const values = new Map(Object.entries({ a: 0.1, b: 0.1, c: 0.2, n: NaN, m: NaN }));
  const [lr, loss] = [attributeOf("lr"), attributeOf("loss:last")];
  assert.equal(commonValue(["a", "b"], values, lr), 0.1);
  assert.equal(commonValue(["a", "b", "c"], values, lr), undefined);
  assert.equal(commonValue(["a", "other"], values, lr), undefined);
  assert.equal(commonValue(["other", "a"], values, loss), 0.1); // the only run with this tag
  assert.equal(commonValue(["n", "m"], values, loss), NaN);
  assert.equal(commonValue(["other"], values, loss), undefined);
});

test("columns are as wide as their texts, within limits", () => {
  const [lr, optimizer, step] = columnsOf(["lr", "a/name_of_optimizer", "step"]);
  assert.deepEqual(measureColumn(lr, new Map([["a", 0.1]])), { numChars: 5, isText: false });
  assert.deepEqual(measureColumn(lr, new Map([["a", 0.123456]])), { numChars: 6, isText: false });
  assert.deepEqual(measureColumn(lr, null), { numChars: 5, isText: false });
  assert.equal(measureColumn({ ...lr, heading: "momentum" }, null).numChars, 11.5);
  assert.deepEqual(measureColumn(optimizer, new Map([["a", "adam"]])), { numChars: 14, isText: true });
  assert.deepEqual(measureColumn(optimizer, new Map([["a", "x".repeat(99)]])), { numChars: 16, isText: true });
  assert.deepEqual(measureColumn(step, new Map([["a", 1234567890]])), { numChars: 13, isText: false });
});

test("the table has full names and full precision", () => {
  /** @param {string} text @param {Map<string, AttributeValue> | null} values @param {Map<string, number> | null} [steps] */
  const column = (text, values, steps = null) => ({ text, attribute: attributeOf(text), values, steps });
  const columns = [
    column("lr", new Map([["b", 1e-4]])),
    column("loss:last", new Map([["a", 0.30000001192092896], ["b", NaN]]), new Map([["a", 7], ["b", 7]])),
    column("opt", new Map(Object.entries({ a: "adam", b: true }))),
    column("unread", null),
  ];
  const rows = [["b", 1e-4, NaN, "true", ""], ["a", "", 0.30000001192092896, "adam", ""]];
  assert.deepEqual(tableOf(["b", "a"], null, columns), { header: ["run", "lr", "loss:last", "opt", "unread"], rows });
  const grouped = tableOf(["a"], new Map([["a", "all"]]), columns.slice(0, 1));
  assert.deepEqual(grouped, { header: ["run", "group", "lr"], rows: [["a", "all", ""]] });
  const lowest = tableOf(["b", "a"], null, [column("loss:min", new Map([["a", 0.5]]), new Map([["a", 700]])), column("step", null)]);
  assert.deepEqual(lowest, { header: ["run", "loss:min", "loss:min step", "step"], rows: [["b", "", "", ""], ["a", 0.5, 700, ""]] });
});

test("steps have the width of the longest one, in columns whose headings name none", () => {
  const steps = new Map([["a", 700], ["b", 12_000], ["c", -3]]);
  /** @param {string} text */
  const width = (text) => measureSteps(columnsOf([text])[0], steps);
  assert.deepEqual(["loss:min", "loss:max", "loss:at(9)", "loss:last", "lr", "step"].map(width), [8, 8, 8, 0, 0, 0]);
  assert.equal(formatCellStep(attributeOf("loss:min"), 12_000), "@12,000");
  assert.equal(measureSteps(columnsOf(["loss:min"])[0], null), 0);
});
