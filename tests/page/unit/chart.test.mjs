// Parts of charts: marks, axes, zooming, cursors, legends and pictures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawAxes, limited, moved, placeIn, placeLabels, zoomed } from "../../../tbcore/web/lib/chart/axes.js";
import { makeCursor } from "../../../tbcore/web/chart.js";
import { chartSVG } from "../../../tbcore/web/lib/chart/export.js";
import { legendRows, partOf, rowAt, sortRows } from "../../../tbcore/web/lib/chart/legend-rows.js";
import { marksOf } from "../../../tbcore/web/lib/chart/draw.js";
import { newNonFinitePoints } from "../../../tbcore/web/lib/chart/bands.js";
import { extent, nonFinitePoints, segmentsOf } from "../../../tbcore/web/lib/chart/series.js";
import { axisTicks } from "../../../tbcore/web/lib/chart/ticks.js";

/**
 * A line, with a point every 10 seconds from 100 seconds on.
 * @param {string} name
 * @param {number[]} value
 * @param {number[]} [step]  by default 0, 1, 2 and so on
 * @param {object} [more]  more fields
 */
function line(name, value, step = value.map((_, i) => i), more = {}) {
  const wallTime = Float64Array.from(value, (_, i) => 100 + 10 * i);
  return { name, color: "#102030", value: Float64Array.from(value), step: Float64Array.from(step), wallTime, ...more };
}

/**
 * A line as an item of a chart with linear axes.
 * @param {ReturnType<typeof line>} line
 * @param {number[]} [starts]  index of the first point of each segment
 * @returns {import("../../../tbcore/web/lib/chart/types.js").Item}
 */
function item(line, starts) {
  const { name, color, value, step } = line;
  const common = { line, band: null, name, run: name, color, xs: step, ys: value, raw: null, columns: [value] };
  return { ...common, segments: segmentsOf(step, starts), xExtent: extent(step), yExtent: extent(value), nonFinite: nonFinitePoints(value) };
}

/**
 * A plot of 120 by 60 pixels with these ranges.
 * @param {[number, number]} x
 * @param {[number, number]} y
 */
const plot = (x, y) => ({
  x: { kind: /** @type {const} */ ("step"), log: false, range: x },
  y: { kind: /** @type {const} */ ("value"), log: false, range: y },
  width: 120,
  height: 60,
});

test("a NaN after a restart is marked although x decreases", () => {
  const restarted = line("a", [1, 1, NaN, 1, NaN, 1], [0, 50, 100, 20, 60, 110]);
  const marks = marksOf(item(restarted), plot([0, 120], [0, 2]), false, false);
  assert.equal(marks.stroke.match(/M/g)?.length, 2);
});

test("a band is marked where one more of its runs has a non-finite value", () => {
  const column = (/** @type {number[]} */ ...numbers) => Float64Array.from(numbers);
  const band = {
    ...{ name: "seeds", color: "#102030", x: column(0, 40, 80, 120), mean: column(NaN, 2, 1, NaN), low: column(NaN, 2, 1, NaN) },
    ...{ high: column(NaN, 2, 1, NaN), count: column(0, 3, 2, 0), nonfinite: column(1, 0, 1, 3) },
  };
  assert.deepEqual(newNonFinitePoints(band), [0, 2, 3]);
  const common = { line: null, band, name: "seeds", run: "seeds", color: "#102030", xs: band.x, ys: band.mean, raw: null, columns: [band.mean] };
  const drawn = { ...common, segments: segmentsOf(band.x), xExtent: extent(band.x), yExtent: extent(band.mean), nonFinite: newNonFinitePoints(band) };
  const marks = marksOf(drawn, plot([0, 120], [0, 2]), false, false);
  assert.equal(marks.stroke.match(/M/g)?.length, 3);
  assert.ok(marks.stroke.includes("M77,2l6,6"));
});

test("marks of NaN are at the top, and keep a minimum distance", () => {
  const marks = marksOf(item(line("a", [1, ...Array(100).fill(NaN), Infinity])), plot([0, 120], [0, 2]), false, false);
  assert.equal(marks.stroke.match(/M/g)?.length, 9); // on 100 pixels, one every 12 pixels
  assert.ok(marks.stroke.startsWith("M-2,2l6,6"));
  assert.ok(marks.fill.endsWith("M101,0l-4,8h8z"));
});

test("a segment of one point is a dot, and points that are far apart have dots", () => {
  const single = marksOf(item(line("a", [1, 1, 1], [0, 50, 100]), [0, 2]), plot([0, 120], [0, 2]), false, false);
  assert.equal(single.fill, "M97,30a3,3,0,1,0,6,0a3,3,0,1,0,-6,0");
  assert.equal(marksOf(item(line("a", [1, 1, 1], [0, 50, 100])), plot([0, 120], [0, 2]), true, false).fill.match(/M/g)?.length, 3);
});

test("lines that are cut off have arrows at the edge", () => {
  const marks = marksOf(item(line("a", [1, 9, 9, 1, -9], [0, 20, 21, 60, 90])), plot([0, 120], [0, 2]), false, true);
  assert.equal(marks.stroke, "M16,6l4,-4l4,4M86,54l4,4l4,-4");
});

test("a view is limited to the full range", () => {
  assert.deepEqual(zoomed([0, 100], 0.5, 0.25), [12.5, 62.5]);
  assert.deepEqual(moved([0, 10], -0.5), [-5, 5]);
  assert.deepEqual(limited([-5, 5], [0, 100]), [0, 10]);
  assert.deepEqual(limited([95, 105], [0, 100]), [90, 100]);
  assert.equal(limited([-5, 105], [0, 100]), null);
  assert.deepEqual(limited([-5, 105], null), [-5, 105]);
  const [from, to] = /** @type {[number, number]} */ (limited([5, 5], [0, 100]));
  assert.ok(from < to && to - from < 1e-10);
  assert.equal(limited([NaN, 1], [0, 100]), null);
});

test("a cursor notifies all members but the one that moved it", () => {
  const cursor = makeCursor();
  /** @type {unknown[]} */
  const calls = [];
  const member = (/** @type {string} */ id) => ({
    showCursor: (/** @type {number | null} */ x, /** @type {string | null} */ run) => calls.push([id, x, run]),
    highlight: (/** @type {string | null} */ name) => calls.push([id, name]),
    showPin: (/** @type {number | null} */ x, /** @type {boolean} */ settled, /** @type {boolean} */ here) => calls.push([id, x, settled, here]),
  });
  const a = member("a");
  const leave = cursor.join(a);
  cursor.join(member("b"));
  cursor.move(3, "run", a);
  cursor.highlight("run");
  leave();
  cursor.move(null, null, member("c"));
  assert.deepEqual(calls, [["b", 3, "run"], ["a", "run"], ["b", "run"], ["b", null, null]]);
});

test("a pinned x is sent to all members, including those that join later", () => {
  const cursor = makeCursor();
  /** @type {unknown[]} */
  const calls = [];
  const member = (/** @type {string} */ id) => ({
    showCursor: () => {},
    highlight: () => {},
    showPin: (/** @type {number | null} */ x, /** @type {boolean} */ settled, /** @type {boolean} */ here) => calls.push([id, x, settled, here]),
  });
  const a = member("a");
  cursor.join(a);
  cursor.pin(3, false, a);
  cursor.join(member("b"));
  cursor.pin(null, true);
  cursor.join(member("c"));
  assert.deepEqual(calls, [["a", 3, false, true], ["b", 3, true, false], ["a", null, true, false], ["b", null, true, false]]);
});

test("the row at an x is the nearest one, even a little past the ends", () => {
  const xs = [0, 10, 20, 100];
  assert.deepEqual([4, 6, 20, 59, 61, 180, 181, -10, -11].map((x) => rowAt(xs, x)), [0, 1, 2, 2, 3, 3, -1, 0, -1]);
  assert.deepEqual([rowAt([5], 5), rowAt([5], 6), rowAt([], 1)], [0, -1, -1]);
});

test("legend rows have the values at the cursor, or the last ones", () => {
  const lines = [
    line("a", [1, NaN, 3], [0, 5, 10], { smoothed: Float64Array.of(1, NaN, 2) }),
    line("b", [7, 8, 9], [0, 20, 10], { startTime: 90, key: "b/2" }),
    line("c", []),
  ];
  const rows = legendRows(lines, null);
  assert.deepEqual(rows[0], { key: "a", name: "a", run: "a", color: "#102030", dash: undefined, value: 3, smoothed: 2, step: 10, wallTime: 120, relative: 20, min: 1, max: 3, final: 3 });
  assert.equal(legendRows([line("a · loss", [1], [0], { run: "a" })], null)[0].run, "a");
  assert.deepEqual([rows[1].key, rows[1].value, rows[1].step, rows[1].relative, rows[1].smoothed], ["b/2", 8, 20, 20, null]);
  assert.ok(Number.isNaN(rows[2].value) && Number.isNaN(rows[2].min));
  const hits = [{ line: lines[1], name: "b", run: "b", color: "", index: 0, left: 0, top: 0 }];
  assert.deepEqual(legendRows(lines, hits).map(({ value }) => value), [NaN, 7, NaN]);
  assert.deepEqual(sortRows(rows, { column: "value", descending: true }).map(({ name }) => name), ["b", "a", "c"]);
  assert.deepEqual(sortRows(rows, { column: "value", descending: false }).map(({ name }) => name), ["a", "b", "c"]);
  assert.deepEqual(sortRows(rows, { column: "name", descending: true }).map(({ name }) => name), ["c", "b", "a"]);
});

test("lines without times have rows without them", () => {
  const { wallTime, ...untimed } = line("a", [1, 3], [0, 5]);
  assert.ok(wallTime);
  const [row] = legendRows([untimed], null);
  assert.deepEqual([row.value, row.step, row.relative, row.wallTime], [3, 5, NaN, NaN]);
  assert.deepEqual([...partOf(untimed, "step", [4, 6]).value], [3]);
});

test("the last label of an x axis is within the chart, and touches no other", () => {
  const measure = (/** @type {string} */ text) => 6 * text.length;
  const ticks = [0, 0.5, 1].map((share, i) => ({ value: i, share, label: `12:0${i}:00` }));
  const placed = (/** @type {number} */ width) => placeLabels(ticks, width, width + 12, measure).map(({ lines, middle }) => [...lines, middle]);
  assert.deepEqual(placed(200), [["12:00:00", 0], ["12:01:00", 100], ["12:02:00", 188]]); // it ends at 212
  assert.deepEqual(placed(110), [["12:00:00", 0], ["12:01:00", 55]]); // 86 to 134 would begin before 79 ends
  assert.deepEqual(placeLabels([{ value: 1, share: 1, label: "09:00\n2026-11-30" }], 100, 112, measure), [{ lines: ["09:00", "2026-11-30"], middle: 82 }]);

  /** @type {[string, number][]} */
  const drawn = [];
  const context = { canvas: { width: 2 * 252 }, fillRect() {}, measureText: (/** @type {string} */ text) => ({ width: measure(text) }), fillText: (/** @type {string} */ text, /** @type {number} */ at) => drawn.push([text, at]) };
  drawAxes(/** @type {any} */ (context), { left: 40, top: 10, width: 200, height: 100, xTicks: ticks, yTicks: [] }, { text: "", grid: "" }, 2);
  assert.deepEqual(drawn.at(-1), ["12:02:00", 228]);

  const { x, y } = plot([0, 2], [0, 4]);
  const svg = chartSVG({ label: "loss", width: 252, height: 300, layout: { left: 40, top: 10, width: 200, height: 100, xTicks: ticks, yTicks: [] }, x, y, items: [], marks: [], note: "", colors: { text: "", grid: "", surface: "" } });
  assert.equal(Number(/x="([\d.]+)"[^>]*>12:02:00</.exec(svg)?.[1]), 252 - 40 - 26);
});

test("a picture has everything that the chart shows, escaped for XML", () => {
  const { x, y } = plot([0, 2], [0, 4]);
  const layout = placeIn(400, 300, (text) => 6 * text.length)(() => axisTicks(y, 10), () => axisTicks(x, 6));
  const hostile = { ...item(line("a<b>\u0000 & \"c\"", [1, 2, 4], undefined, { dash: [4, 2] })), color: '"><script>' };
  const colors = { text: "#111", grid: "#eee", surface: "#fff" };
  const marks = [{ color: "red", fill: "M1,1h2z", stroke: "" }];
  const svg = chartSVG({ label: "loss", width: 400, height: 300, layout, x, y, items: [hostile], marks, note: "outliers clipped", colors });
  assert.ok(svg.includes(">a&#60;b&#62; &#38; &#34;c&#34;</text>"));
  assert.ok(!svg.includes("<script"));
  assert.equal(svg.split(">loss</text>").length, 3); // the title, and that of the y axis
  for (const part of [">step</text>", "outliers clipped", 'stroke-dasharray="4 2"', "M1,1h2z", ">2</text>"]) assert.ok(svg.includes(part), part);
  assert.match(svg, /<path d="M0,[\d.]+L[\d.]+,[\d.]+L[\d.]+,0" stroke=/);
});
