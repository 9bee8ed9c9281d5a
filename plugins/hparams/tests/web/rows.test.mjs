// Rows: their order, filters, and files.

import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, jsonOf, latexOf } from "../../tbcore_hparams/static/export.js";
import { describeFilter, filterRows, formatFilters, parseFilters, replaceFilter } from "../../tbcore_hparams/static/filters.js";
import { titleOf, withLabels } from "../../tbcore_hparams/static/labels.js";
import { countCells, moveKey, nextSort, sortRows } from "../../tbcore_hparams/static/sorting.js";
import { shortText, writerOf } from "../../tbcore_hparams/static/cell-text.js";

/** @typedef {import("../../tbcore_hparams/static/types.js").Cell} Cell */
/** @typedef {import("../../tbcore_hparams/static/types.js").Column} Column */

/** @param {string} key @param {readonly Cell[]} cells @returns {Column} */
const column = (key, cells, kind = key[0] === "m" ? "metric" : "hparam", type = "number") =>
  /** @type {any} */ ({ key, kind, type, label: key.slice(2), description: "", cells });

/** @param {readonly Column[]} columns */
const byKey = (...columns) => new Map(columns.map((one) => [one.key, one]));
/** The expressions of a filter of the column `h.b`. */
const patterns = new Map([["h.b", { matches: (/** @type {string} */ name) => name.includes("adam") }]]);

test("NaN and then missing cells come last, in ascending and descending order", () => {
  const columns = byKey(column("m.a", [NaN, 2, null, 1, Infinity]));
  const rows = [0, 1, 2, 3, 4];
  assert.deepEqual(sortRows(rows, [{ key: "m.a", descending: false }], columns), [3, 1, 4, 0, 2]);
  assert.deepEqual(sortRows(rows, [{ key: "m.a", descending: true }], columns), [4, 1, 3, 0, 2]);
});

test("equal rows are sorted by the next column, and then stay in their order", () => {
  const columns = byKey(column("h.a", [1, 1, 0, 1]), column("h.b", ["run10", "run2", "x", "run2"]));
  const sorts = [{ key: "h.a", descending: true }, { key: "h.b", descending: false }];
  assert.deepEqual(sortRows([0, 1, 2, 3], sorts, columns), [1, 3, 0, 2]);
});

test("mixed types are sorted as booleans, numbers, texts", () => {
  const columns = byKey(column("h.a", ["b", 2, true, "a", -1, false]));
  assert.deepEqual(sortRows([0, 1, 2, 3, 4, 5], [{ key: "h.a", descending: false }], columns), [5, 2, 4, 1, 3, 0]);
});

test("clicks on a heading sort ascending, descending, not at all; with Shift, other columns stay", () => {
  const rising = nextSort([], "a", false);
  const falling = nextSort(rising, "a", false);
  assert.deepEqual([rising, falling, nextSort(falling, "a", false)], [[{ key: "a", descending: false }], [{ key: "a", descending: true }], []]);
  assert.deepEqual(nextSort(rising, "b", true), [...rising, { key: "b", descending: false }]);
  assert.deepEqual(nextSort([...falling, { key: "b", descending: false }], "a", true), [{ key: "b", descending: false }]);
  assert.deepEqual(nextSort(falling, "b", false), [{ key: "b", descending: false }]);
});

test("a column is moved to the position of another one", () => {
  assert.deepEqual(moveKey(["a", "b", "c"], "a", "c"), ["b", "c", "a"]);
  assert.deepEqual(moveKey(["a", "b", "c"], "c", "a"), ["c", "a", "b"]);
  assert.deepEqual(moveKey(["a"], "x", "a"), ["a"]);
});

test("an interval is closed, and only numbers pass", () => {
  const columns = byKey(column("h.a", [1, 2, 3, NaN, null, "2", true]));
  assert.deepEqual(filterRows([0, 1, 2, 3, 4, 5, 6], [{ key: "h.a", min: 1, max: 2 }], columns, patterns), [0, 1]);
  assert.deepEqual(filterRows([0, 1, 2, 3, 4, 5, 6], [{ key: "h.a", min: null, max: 1 }], columns, patterns), [0]);
});

test("only listed values of the same type pass, and missing cells only if listed", () => {
  const columns = byKey(column("h.a", [1, "1", true, null]));
  assert.deepEqual(filterRows([0, 1, 2, 3], [{ key: "h.a", values: [1] }], columns, patterns), [0]);
  assert.deepEqual(filterRows([0, 1, 2, 3], [{ key: "h.a", values: ["1", null] }], columns, patterns), [1, 3]);
});

test("rows must pass all filters", () => {
  const columns = byKey(column("h.a", [1, 2, 3]), column("h.b", ["adam", "sgd", "adamw"]));
  const filters = [{ key: "h.a", min: 2, max: null }, { key: "h.b", text: "adam" }];
  assert.deepEqual(filterRows([0, 1, 2], filters, columns, patterns), [2]);
});

test("filters with any values survive a round trip through the address", () => {
  const filters = [
    { key: "h.a,b", min: 1e-5, max: null },
    { key: "h.b", values: ["adam", "1", 1, true, "true", null, "null", "", "*", "a;b", '"q"', "#x", NaN, Infinity] },
    { key: "name", text: "seed[12]," },
  ];
  assert.deepEqual(parseFilters(formatFilters(filters) ?? ""), filters);
  assert.equal(formatFilters([]), null);
});

test("a replaced filter keeps its position, and filters are described in words", () => {
  const filters = [{ key: "a", min: 1, max: 2 }, { key: "b", text: "x" }];
  assert.deepEqual(replaceFilter(filters, "a", { key: "a", min: 3, max: null }), [{ key: "a", min: 3, max: null }, filters[1]]);
  assert.deepEqual(replaceFilter(filters, "b", null), [filters[0]]);
  assert.equal(describeFilter(filters[0]), "1 to 2");
  assert.equal(describeFilter({ key: "a", min: null, max: 0.5 }), "≤ 0.5");
  assert.equal(describeFilter({ key: "a", values: ["x", null] }), "x, —");
});

test("distinct values are counted in order, the missing one last", () => {
  assert.deepEqual(countCells([2, null, 1, 2]), [{ value: 1, count: 1 }, { value: 2, count: 2 }, { value: null, count: 1 }]);
});

const shown = {
  columns: [column("h.lr_0", [0.001, null, 12]), column("h.name", ['a,"b"', "x & y", true], "hparam", "mixed"), column("m.loss", [0.123456, NaN, 1.5e-9])],
  groups: /** @type {any} */ ([{ label: "run/1", sessions: [{ name: "run/1" }] }, { label: "g", sessions: [{ name: "r2" }, { name: "r3" }] }, { label: "=run", sessions: [{ name: "=run" }] }]),
  rows: [2, 0, 1],
};

test("CSV has the rows as shown, with exact values and empty missing cells", () => {
  assert.equal(
    csvOf(shown),
    'name,lr_0,name,loss\r\n=run,12,true,1.5e-9\r\nrun/1,0.001,"a,""b""",0.123456\r\ng,,x & y,nan\r\n',
  );
});

test("JSON keeps types, and leaves out missing cells", () => {
  assert.deepEqual(JSON.parse(jsonOf(shown))[0], { name: "=run", sessions: ["=run"], hparams: { lr_0: 12, name: true }, metrics: { loss: 1.5e-9 } });
  assert.deepEqual(JSON.parse(jsonOf(shown))[2], { name: "g", sessions: ["r2", "r3"], hparams: { name: "x & y" }, metrics: { loss: "NaN" } });
});

test("rows and sessions have labels; files for programs keep names", () => {
  const session = (/** @type {string} */ name) => ({ name, label: name });
  const groups = [{ name: "hash", label: "run/1", sessions: [session("run/1")] }, { name: "g", label: "g", sessions: [session("r2"), session("r3")] }];
  const sweep = /** @type {any} */ ({ groups, columns: [] });
  assert.equal(withLabels(sweep, new Map()), sweep);
  const labelled = withLabels(sweep, new Map([["run/1", "base & line"], ["r3", "third"]]));
  assert.deepEqual(labelled.groups.map(({ label }) => label), ["base & line", "g"]);
  assert.deepEqual(labelled.groups[1].sessions.map(({ name, label }) => [name, label]), [["r2", "r2"], ["r3", "third"]]);
  assert.deepEqual(labelled.groups.map(titleOf), ["base & line\nrun/1\ngroup hash", "g"]);
  const table = { columns: [], groups: labelled.groups, rows: [0, 1] };
  assert.equal(csvOf(table), "name\r\nrun/1\r\ng\r\n");
  assert.deepEqual(JSON.parse(jsonOf(table)).map((/** @type {any} */ { name }) => name), ["run/1", "g"]);
  assert.match(latexOf(table), /\nbase \\& line \\\\\n/);
});

test("LaTeX escapes special characters", () => {
  assert.equal(
    latexOf(shown),
    "\\begin{tabular}{lrlr}\nname & lr\\_0 & name & loss \\\\\n\\hline\n=run & $12$ & true & $1.5 \\cdot 10^{-9}$ \\\\\nrun/1 & $0.001$ & a,\"b\" & $0.123$ \\\\\ng & - & x \\& y & $\\mathrm{NaN}$ \\\\\n\\end{tabular}\n",
  );
});

test("cells of a metric have a common number of decimals unless that would lose digits", () => {
  assert.equal(writerOf(column("m.a", [0.5, 0.25, 0.98765]))(0), "0.50000");
  assert.equal(writerOf(column("m.a", [0.00001, 10]))(0), "1e-5");
  assert.equal(writerOf(column("m.a", [12, 300]))(1), "300");
  assert.equal(writerOf(column("m.a", [0.5, NaN, null]))(1), "NaN");
  assert.equal(shortText(column("h.a", []), null), "—");
});
