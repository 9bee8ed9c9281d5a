// The columns of the run list while runs are grouped: figures of groups, their order, and their table.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { measureColumn } from "../../../tbcore/web/shell/state/columns.js";
import { decimalsOf, describeGroupCell, formatGroup, formatSpan, formatGroupCounts, formatGroupMarks, groupStatistics, groupTableOf, lastOf, marksOfColumn, measureGroups, sortGroups } from "../../../tbcore/web/shell/state/group-columns.js";
import { membersOf } from "../../../tbcore/web/shell/state/grouped.js";
import { cpuTime, generator } from "./tools.mjs";

/** @typedef {import("../../../tbcore/web/shell/state/attributes.js").AttributeValue} AttributeValue */

/** @type {import("../../../tbcore/web/lib/queries/names.js").Attribute} */
const LOSS = { kind: "value", name: "loss", stat: "last", step: null };
/** @type {import("../../../tbcore/web/lib/queries/names.js").Attribute} */
const LR = { kind: "hparam", name: "lr", stat: null, step: null };

/** Runs `a/0`, `a/1` and so on with these values by group; undefined for a run without one. @param {Record<string, (number | undefined)[]>} groups */
function grouped(groups) {
  const entries = Object.entries(groups).flatMap(([group, values]) => values.map((value, i) => /** @type {const} */ ([`${group}/${i}`, group, value])));
  const values = new Map(entries.flatMap(([run, , value]) => (value === undefined ? [] : [[run, value]])));
  return { runs: entries.map(([run]) => run), groupOf: new Map(entries.map(([run, group]) => [run, group])), values };
}

/** The order of groups and runs in both directions. @param {ReturnType<typeof grouped>} given @param {boolean} hasMeans */
function orders({ runs, groupOf, values }, hasMeans) {
  const statistics = hasMeans ? groupStatistics(membersOf(runs, groupOf), values) : null;
  return [false, true].map((isDescending) => sortGroups(runs, values, groupOf, statistics, { isDescending }).join(" "));
}

test("the name of a tag says which group is the best, whichever way the list is sorted", () => {
  const { runs, groupOf, values } = grouped({ a: [1, 1.1, 1.2], b: [2, 2.1, 2.2] });
  const marksOf = (/** @type {object} */ attribute, /** @type {boolean} */ isDescending) => {
    const marks = marksOfColumn(membersOf(runs, groupOf), values, null, { ...LOSS, ...attribute }, isDescending);
    return Array.from(marks.values(), ({ mark, title }) => mark && `${mark}: ${title}`);
  };
  for (const isDescending of [false, true]) assert.deepEqual(marksOf({}, isDescending), ["best: The best mean of at least 3 values", ""]);
  assert.deepEqual(marksOf({ name: "acc" }, false), ["", "best: The best mean of at least 3 values"]);
  assert.deepEqual(marksOf({ name: "memory" }, true), ["", "highest: The highest mean of at least 3 values"]);
  assert.deepEqual(marksOf({ stat: "nan" }, false), ["lowest: The lowest mean of at least 3 values", ""], "a later NaN is no better");
});

test("a group shows its mean and deviation, not the value of one run", () => {
  const { runs, groupOf, values } = grouped({ a: [0.62, 0.748, 0.684], b: [0.5, NaN, Infinity], c: [NaN], d: [undefined], e: [0.5, NaN, 0.7, undefined] });
  const statistics = groupStatistics(membersOf(runs, groupOf), values);
  const cells = Array.from(statistics, ([name, figure]) => [name, formatGroup(figure), formatGroupCounts(figure)]);
  assert.deepEqual(cells, [["a", "0.684 ± 0.064", ""], ["b", "0.5", "2 not finite"], ["c", "NaN", ""], ["d", "", ""], ["e", "0.60 ± 0.14", "1 not finite, 1 without the tag"]]);
  const figure = statistics.get("e");
  assert.ok(figure);
  assert.equal(
    describeGroupCell({ ...figure, live: 1 }, LOSS),
    "loss: mean of the last values of 2 runs: 0.6, ± standard deviation (n − 1) 0.141421, 1 run NaN or infinite, not in it, 1 run without the tag, 1 run still being written",
  );
  assert.match(describeGroupCell(figure, { ...LOSS, stat: "min" }), /mean of the lowest values of 2 runs: .*not in it, 1 run without the tag$/);
  assert.match(describeGroupCell(figure, { ...LOSS, stat: "at", step: 1000 }), /mean of the values at step 1,000 of 2 runs/);
});

test("marks say in a few characters what the words do", () => {
  const group = { average: 1, low: 0, high: 2, count: 3, nonfinite: 0, live: 0 };
  /** @type {[change: object, mark: string | undefined, text: string][]} */
  const cases = [
    [{}, undefined, ""],
    [{ nonfinite: 2 }, undefined, "×2"],
    [{ nonfinite: 1, diverged: 1, missing: 1 }, "≈ best", "≈ best 4/5 ×2"],
    [{ ended: 2 }, "best", "best 3/5"],
    [{}, "best, n too small", "best n<3"],
    [{ count: 2, low: NaN }, undefined, "n<3"],
    [{ count: 2, low: NaN }, "n too small", "n<3"],
    [{ count: 0, nonfinite: 5 }, undefined, ""],
  ];
  for (const [change, mark, text] of cases) assert.equal(formatGroupMarks({ ...group, ...change }, mark), text);
});

test("groups show the average that the reader has chosen, are sorted by it and written with it", () => {
  const { runs, groupOf, values } = grouped({ lucky: [0, 0.9, 1], steady: [0.5, 0.6, 0.7, 9], nan: [NaN] });
  const members = membersOf(runs, groupOf);
  const statistics = groupStatistics(members, values, "median");
  assert.deepEqual(Array.from(statistics.values(), (group) => formatGroup(group, "median")), ["0.900 [0.450, 0.950]", "0.65 [0.57, 2.77]", "NaN"]);
  assert.equal(measureGroups(statistics, "median").figureChars, "0.900 [0.450, 0.950]".length);
  const [first] = statistics.values();
  assert.equal(describeGroupCell(first, LOSS, "iqm"), "loss: interquartile mean of the last values of 3 runs: 0.9, quartiles 0.45 and 0.95");
  assert.deepEqual(sortGroups(runs, values, groupOf, statistics, {}).map((run) => groupOf.get(run)).filter((name, i, all) => name !== all[i - 1]), ["steady", "lucky", "nan"]);
  const { header, rows } = groupTableOf(runs, groupOf, [{ text: "loss:last", attribute: LOSS, values }], "iqm");
  assert.deepEqual(header.slice(2), ["iqm", "quartile 1", "quartile 3", "n", "nonfinite"].map((what) => `loss:last ${what}`));
  assert.deepEqual(rows[1].slice(2, 3), [0.65]);
  assert.deepEqual(rows[2], ["nan", 1, "", "", "", 0, 1]);
});

test("groups are sorted by their means, and runs inside them by their own values", () => {
  const given = grouped({ lucky: [0.9, 0.1], steady: [0.4, 0.3], nan: [NaN, NaN], none: [undefined], some: [NaN, 0.2], lone: [0.45] });
  assert.deepEqual(orders(given, true), [
    "some/1 some/0 steady/1 steady/0 lone/0 lucky/1 lucky/0 nan/0 nan/1 none/0",
    "lucky/0 lucky/1 lone/0 steady/0 steady/1 some/1 some/0 nan/0 nan/1 none/0",
  ]);
});

test("without means, groups are at the position of their first run, and together", () => {
  assert.deepEqual(orders(grouped({ a: [3, 1], b: [2] }), false), ["a/1 a/0 b/0", "a/0 a/1 b/0"]);
});

test("ten thousand runs in two thousand groups are sorted within 200 ms, with their statistics", () => {
  const random = generator(1);
  const given = grouped(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`group${i}`, Array.from({ length: 5 }, random)])));
  orders(given, true); // compiled now
  const start = cpuTime();
  const members = membersOf(given.runs, given.groupOf);
  const statistics = groupStatistics(members, given.values);
  measureGroups(statistics);
  const sorted = sortGroups(given.runs, given.values, given.groupOf, statistics, { isDescending: true });
  assert.ok(cpuTime() - start < 200);
  assert.equal(new Set(sorted).size, 10_000);
});

test("columns are as wide as the figures of groups, within a limit", () => {
  const column = { text: "loss:last", attribute: LOSS, error: null, heading: "loss", title: "" };
  const { runs, groupOf, values } = grouped({ a: [0.62, 0.748, 0.684], b: [0.5, NaN] });
  const { figureChars, countChars } = measureGroups(groupStatistics(membersOf(runs, groupOf), values));
  assert.deepEqual([figureChars, countChars], ["0.684 ± 0.064".length, " ×1".length]);
  assert.deepEqual(measureColumn(column, values, figureChars), { numChars: 13, isText: false });
  assert.equal(measureColumn(column, values, 31).numChars, 24);
  assert.deepEqual(measureGroups(null), { figureChars: 0, countChars: 0 });
});

test("the table of groups has their statistics in full precision", () => {
  const { runs, groupOf, values } = grouped({ b: [0.1, 0.2, 0.4, NaN], a: [0.5], c: [NaN], d: [undefined] });
  /** @type {Map<string, AttributeValue>} */
  const lr = new Map(runs.map((run) => [run, run === "b/3" ? 0.1 : 0.01]));
  const columns = [{ text: "lr", attribute: LR, values: lr }, { text: "loss:last", attribute: LOSS, values }];
  assert.deepEqual(groupTableOf(runs, groupOf, columns), {
    header: ["group", "runs", "lr", "loss:last mean", "loss:last deviation", "loss:last n", "loss:last nonfinite"],
    rows: [
      ["b", 4, "", 0.23333333333333336, 0.15275252316519466, 3, 1],
      ["a", 1, 0.01, 0.5, "", 1, 0],
      ["c", 1, 0.01, "", "", 0, 1],
      ["d", 1, 0.01, "", "", 0, 0],
    ],
  });
});

test("a column of lowest values counts the runs that end with NaN or infinity", () => {
  const { runs, groupOf, values } = grouped({ a: [0.5, 0.7, NaN], b: [1, 3, undefined] });
  const last = new Map([["a/0", Infinity], ["a/1", 0.9], ["a/2", NaN], ["b/0", 1], ["b/1", 3]]);
  const attribute = /** @type {const} */ ({ ...LOSS, stat: "min" });
  assert.equal(lastOf(attribute), "loss:last");
  assert.equal(lastOf(LOSS), null);
  const statistics = groupStatistics(membersOf(runs, groupOf), values, "mean", last);
  assert.deepEqual(Array.from(statistics.values(), (figure) => formatGroupCounts(figure)), ["1 not finite, 1 diverged", "1 without the tag"]);
  const { header, rows } = groupTableOf(runs, groupOf, [{ text: "loss:min", attribute, values, last }]);
  assert.deepEqual(header.slice(4), ["loss:min n", "loss:min nonfinite", "loss:min diverged"]);
  assert.deepEqual(rows.map((row) => row.slice(4)), [[2, 1, 1], [2, 0, 0]]);
});

/** @type {{ at: { step: number, runs: Record<string, [number, number | string][]>, mean: number | null, deviation: number | null, n: number, nonfinite: number, missing: number, ended: number, beside: string }[] }} */
const { at: casesAt } = JSON.parse(readFileSync(new URL("../../statistics.json", import.meta.url), "utf8"));

test("a value at a step is of the runs that logged that far, as in the shell and in Python", () => {
  for (const { step, runs: points, mean, deviation, n, nonfinite, missing, ended, beside } of casesAt) {
    const attribute = /** @type {const} */ ({ ...LOSS, stat: "at", step });
    const runs = Object.keys(points);
    /** @type {Map<string, AttributeValue>} */
    const values = new Map(runs.flatMap((run) => points[run].filter(([own]) => own <= step).slice(-1).map(([, value]) => [run, Number(value)])));
    const last = new Map(runs.map((run) => [run, points[run][points[run].length - 1][0]]));
    const groupOf = new Map(runs.map((run) => [run, "g"]));
    const figure = groupStatistics(membersOf(runs, groupOf), values, "mean", last, attribute).get("g");
    assert.ok(figure);
    assert.deepEqual([figure.count, figure.nonfinite, figure.missing, figure.ended], [n, nonfinite, missing, ended]);
    assert.equal(formatGroupCounts(figure), beside);
    assert.match(describeGroupCell(figure, attribute), new RegExp(`, ${ended} runs? ended before`));
    const { header, rows } = groupTableOf(runs, groupOf, [{ text: "x", attribute, values, last }]);
    assert.deepEqual(header.slice(2), ["x mean", "x deviation", "x n", "x nonfinite", "x ended"]);
    assert.deepEqual(rows, [["g", runs.length, mean ?? "", deviation ?? "", n, nonfinite, ended]]);
  }
  assert.equal(lastOf({ ...LOSS, stat: "at", step: 20 }), "loss:last");
});

test("figures of a column have equal decimals, but for one that needs far more", () => {
  const groups = (/** @type {number[][]} */ ...all) => groupStatistics(new Map(all.map((values, i) => [`g${i}`, values.map((_, k) => `g${i}/${k}`)])), new Map(all.flatMap((values, i) => values.map((value, k) => [`g${i}/${k}`, value]))));
  const texts = (/** @type {number[][]} */ ...all) => {
    const found = groups(...all);
    return Array.from(found.values(), (group) => formatGroup(group, "mean", decimalsOf(found)));
  };
  assert.deepEqual(texts([0.5, 0.6], [0.801, 0.805], [1, 1]), ["0.5500 ± 0.0707", "0.8030 ± 0.0028", "1 ± 0"]);
  assert.deepEqual(texts([0.5, 0.6], [0.45206, 0.45226], [0.8, 0.80000000001]), ["0.5500 ± 0.0707", "0.45216 ± 0.00014", "0.8 ± 7.1e-12"]);
});

test("facts that differ inside a group are a span", () => {
  const values = new Map([["a", 820], ["b", 1180], ["c", 820]]);
  const step = /** @type {any} */ ({ kind: "fact", name: "step" });
  assert.equal(formatSpan(["a", "b", "none"], values, step), "820–1,180");
  const { rows } = groupTableOf(["a", "b", "c"], new Map([["a", "g"], ["b", "g"]]), [{ text: "step", attribute: step, values }]);
  assert.deepEqual(rows, [["g", 2, "820–1180"], ["c", 1, 820]]);
  assert.deepEqual([formatSpan(["a", "c"], values, step), formatSpan(["none"], values, step), formatSpan(["a", "b"], values, /** @type {any} */ ({ kind: "hparam", name: "lr" }))], ["", "", ""]);
});
