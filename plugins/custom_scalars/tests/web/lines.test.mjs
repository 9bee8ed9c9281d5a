// Layouts and responses become categories, lines, bands and notes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bandsOf, categoriesOf, linesOf, notesOf, readOutOf } from "../../tbcore_custom_scalars/static/lines.js";

const RUNS = [
  { name: "a", color: "#111111", group: null },
  { name: "b", color: "#222222", group: null },
];
const column = (/** @type {number[]} */ ...numbers) => Float64Array.from(numbers);
const all = () => true;

test("categories with the same title are merged, and each chart has its own key", () => {
  const chart = { title: "same", multiline: { tag: ["x"] } };
  const layout = {
    category: [
      { title: "A", chart: [chart, chart], closed: false },
      { title: "B", chart: [], closed: true },
      { title: "A", chart: [chart], closed: false },
      { title: "C", chart: [{ title: "other" }], closed: true },
    ],
  };
  const { groups, charts, foldedByDefault } = categoriesOf(layout, all);
  assert.deepEqual(groups.map(({ name, tags }) => [name, new Set(tags).size]), [["A", 3], ["C", 1]]);
  assert.deepEqual(groups.flatMap(({ tags }) => tags).map((key) => charts.get(key)?.title), ["same", "same", "same", "other"]);
  assert.deepEqual([...foldedByDefault], ["B", "C"]);
  assert.deepEqual(categoriesOf(layout, (title) => title === "other").groups.map(({ name }) => name), ["C"]);
  assert.deepEqual(categoriesOf({}, all).groups, []);
});

test("lines have the colours of their runs and the dashes of their tags", () => {
  const table = { step: column(0, 1, 0), wall_time: column(5, 6, 7), value: column(1, 0, 1) };
  const smoothed = column(1, 0.25, 1);
  const lines = [
    { run: "a", tag: "x", segments: [0, 2] },
    { run: "b", tag: "y", segments: [0] },
    { run: "gone", tag: "x", segments: [0] },
  ];
  const [first, second, ...rest] = linesOf({ header: { lines, num_lines: 3 }, tables: [{ ...table, smoothed }, table, table] }, RUNS, "relative");
  assert.deepEqual(rest, []);
  assert.deepEqual([first.name, first.color, first.dash], ["a · x", "#111111", undefined]);
  assert.deepEqual([second.name, second.color, second.dash], ["b · y", "#222222", [6, 3]]);
  assert.deepEqual([first.smoothed, second.smoothed], [smoothed, null]);
});

test("a margin is a band, and its tooltip names the three tags", () => {
  const table = { step: column(2, 3), wall_time: column(50, 60), value: column(1, 2), lower: column(0, 1), upper: column(4, 5) };
  const answer = { header: { lines: [{ run: "b", value: "v", lower: "l", upper: "u" }], num_lines: 1 }, tables: [table] };
  const [band] = bandsOf(answer, RUNS, "relative");
  assert.deepEqual([[...band.x], [...band.mean], [...band.low], [...band.high]], [[0, 10], [1, 2], [0, 1], [4, 5]]);
  const { rows, name } = readOutOf(band, 1);
  assert.equal(name, "b");
  assert.deepEqual(rows.slice(0, 4), [["Step", "3"], ["u", "5"], ["v", "2"], ["l", "1"]]);
});

test("notes name what a chart does not show", () => {
  const multiline = { title: "", multiline: { tag: ["(", "x"] } };
  const lines = [{ run: "a", tag: "x" }];
  assert.deepEqual(notesOf(multiline, { header: { lines, num_lines: 9, invalid: { "(": "unclosed (" } }, tables: [] }, "step"), [
    "“(” is not a valid regular expression: unclosed (",
    "only the first 1 of 9 lines are shown",
  ]);
  assert.deepEqual(notesOf({ title: "", multiline: { tag: ["x"] } }, { header: { lines: [], num_lines: 0 }, tables: [] }, "step"), ["no tag of the selected runs matches “x”"]);
  const margin = { title: "", margin: { series: [{ value: "v", lower: "l", upper: "u" }] } };
  assert.deepEqual(notesOf(margin, { header: { lines: [], num_lines: 0, missing: ["u"] }, tables: [] }, "step"), ["not in any of the selected runs: u"]);
  assert.deepEqual(notesOf(margin, { header: { lines: [], num_lines: 0, missing: [] }, tables: [] }, "step"), ["no selected run has all three tags of a margin (value, lower and upper)"]);
});

test("runs without times are on no axis of times, and have none in tooltips", () => {
  const table = { step: column(2, 3), wall_time: column(50, 60), value: column(1, 2), lower: column(0, 1), upper: column(4, 5) };
  const lines = [{ run: "a", tag: "x", value: "v", lower: "l", upper: "u" }, { run: "b", tag: "x", value: "v", lower: "l", upper: "u" }];
  const answer = { header: { lines, num_lines: 2, untimed: ["b", "not drawn"] }, tables: [table, table] };
  const chart = { title: "", multiline: { tag: ["x"] } };
  for (const axis of /** @type {const} */ (["step", "relative", "wall_time"])) {
    const count = axis === "step" ? 2 : 1;
    assert.equal(linesOf(answer, RUNS, axis).length, count);
    assert.equal(bandsOf(answer, RUNS, axis).length, count);
    assert.deepEqual(notesOf(chart, answer, axis), axis === "step" ? [] : ["1 run not drawn: no times in the log"]);
  }
  assert.deepEqual(linesOf(answer, RUNS, "step").map(({ wallTime }) => wallTime !== undefined), [true, false]);
  const [timed, untimed] = bandsOf(answer, RUNS, "step").map((band) => readOutOf(band, 1));
  assert.deepEqual([timed.rows.length, untimed.rows.length, untimed.note], [5, 4, ""]);
});
