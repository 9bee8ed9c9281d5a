// What a line chart draws, and what it finds under the pointer and with the keys.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as bandCode from "../../../tbcore/web/lib/chart/bands.js";
import { drawScene, linesOf, sceneMarks } from "../../../tbcore/web/lib/chart/draw.js";
import { namedItems, pathsOf } from "../../../tbcore/web/lib/chart/export.js";
import { lineChartFigure } from "../../../tbcore/web/lib/chart/figure.js";
import { drawOverlay, hitsAt, hitsUnder, snap } from "../../../tbcore/web/lib/chart/hover.js";
import { nextX, selectionAfter } from "../../../tbcore/web/lib/chart/keyboard.js";
import { ChartModel, describe } from "../../../tbcore/web/lib/chart/model.js";
import * as leftOut from "../../../tbcore/web/lib/chart/left-out.js";
import { limited, pixelScales, toAxis, valueAt, zoomed } from "../../../tbcore/web/lib/chart/axes.js";
import { linearPart } from "../../../tbcore/web/lib/chart/series.js";
import { sentenceOf } from "../../../tbcore/web/lib/chart/words.js";
import { Recorder, provideCanvas } from "./tools.mjs";

provideCanvas();

const { noteOf } = leftOut;
const [RED, BLUE, GREEN] = ["#dc3912", "#3366cc", "#109618"];
const COLORS = { text: "#888888", surface: "#ffffff" };
/** Size of the plot, CSS pixels: ten pixels a step for 101 steps with margins. */
const SIZE = { width: 1040, height: 200 };
const RISING = Array.from({ length: 101 }, (_, i) => i);
const FALLING = RISING.toReversed();
const column = (/** @type {Iterable<number>} */ numbers) => Float64Array.from(numbers);

/**
 * A line with steps 0, 1, 2, ... by default, and points 10 seconds apart.
 * @param {string} name
 * @param {number[]} value
 * @param {Record<string, any>} [more]
 */
function line(name, value, { step = value.map((_, i) => i), smoothed, color = BLUE, ...more } = {}) {
  const columns = { step: column(step), wallTime: column(value.map((_, i) => 1.6e9 + 10 * i)), value: column(value) };
  return { name, color, ...columns, ...(smoothed && { smoothed: column(smoothed) }), ...more };
}

/** A band; lists of numbers become columns. @param {Record<string, any>} fields @returns {any} */
function band({ name = "seeds", color = BLUE, dash, ...more }) {
  const columns = Object.entries(more).map(([key, value]) => [key, Array.isArray(value) ? column(value) : value]);
  return { name, color, dash, ...Object.fromEntries(columns) };
}

/**
 * A chart that has been laid out.
 * @param {any[]} lines
 * @param {{ bands?: any[], axes?: object, view?: [number, number] | null }} [options]
 */
function modelOf(lines, { bands = [], axes = {}, view = null } = {}) {
  const model = new ChartModel();
  Object.assign(model, { lines, bands, bandCode, leftOut, view });
  model.axes = { ...model.axes, ...axes };
  model.updateItems();
  model.updateRanges(false);
  return model;
}

/** @param {Parameters<typeof modelOf>} chart */
const sceneOf = (...chart) => modelOf(...chart).scene(SIZE, COLORS);

/** The calls that draw a scene. @param {import("../../../tbcore/web/lib/chart/types.js").Scene} scene @param {number} [ratio] */
function drawn(scene, ratio = 1) {
  const context = new Recorder();
  drawScene(/** @type {any} */ (context), scene, ratio);
  return context.calls;
}

/** The calls that draw what depends on the pointer. @param {any} scene @param {object} overlay */
function overlaid(scene, overlay) {
  const context = new Recorder();
  drawOverlay(/** @type {any} */ (context), scene, { hits: [], pointer: null, remote: null, pinned: null, highlighted: null, ...overlay });
  return context.calls;
}

/** Position of a step in a plot of RISING. @param {number} step */
const leftOf = (step) => 10 * (step + 2);

/** Names, values and steps of points. @param {import("../../../tbcore/web/lib/chart/types.js").Hit[]} hits */
const readings = (hits) => hits.map(({ name, line, index }) => [name, line?.value[index], line?.step[index]]);

/** The colours of dots at the cursor; that of the nearest point is the last. @param {any[]} calls */
const dots = (calls) => calls.filter(({ name, path, fillStyle }) => name === "fill" && path.data.includes("a") && fillStyle !== COLORS.surface).map(({ fillStyle }) => fillStyle);

// --- drawing -------------------------------------------------------------------------------------

test("no line joins the points before and after a restart, and hover reads the later segment", () => {
  const scene = sceneOf([line("run", [0, 0, 0, 0, 1, 1, 1], { step: [0, 1, 2, 3, 10, 11, 12], segments: [0, 4], color: RED })]);
  const [stroke] = drawn(scene).filter(({ name, strokeStyle }) => name === "stroke" && strokeStyle === RED);
  const { toX } = pixelScales(scene);
  assert.deepEqual(stroke.path.parts.map((/** @type {number[][]} */ points) => points.map(([x]) => Math.round(x))), [[0, 1, 2, 3], [10, 11, 12]].map((steps) => steps.map((step) => Math.round(toX(step)))));
  assert.deepEqual(stroke.path.parts.map((/** @type {number[][]} */ points) => new Set(points.map(([, y]) => y)).size), [1, 1]);
  const twice = sceneOf([line("run", [0, 0, 1, 1], { step: [0, 9, 5, 9], segments: [0, 2] })]);
  assert.deepEqual(readings(hitsUnder(twice, { left: 0.98 * SIZE.width, top: 100 })), [["run", 1, 9]]);
});

test("a smoothed line is opaque, in front of its faint values", () => {
  const scene = sceneOf([line("run", Array.from({ length: 60 }, (_, i) => i % 2), { smoothed: Array(60).fill(0.5), color: RED })]);
  const strokes = drawn(scene).filter(({ name }) => name === "stroke");
  assert.deepEqual(strokes.map(({ globalAlpha, strokeStyle, lineWidth }) => [globalAlpha, strokeStyle, lineWidth]), [[0.28, RED, 1.4], [1, RED, 1.4]]);
  assert.deepEqual(strokes.map(({ path }) => new Set(path.parts[0].map((/** @type {number[]} */ [, y]) => y)).size), [2, 1]);
  const [hit] = hitsUnder(scene, { left: SIZE.width / 2, top: 100 });
  assert.deepEqual([hit.line?.smoothed?.[hit.index], hit.line?.value[hit.index], hit.index], [0.5, 1, 29]);
});

test("a symmetric-logarithmic axis shows values of both signs, and is linear near 0", () => {
  const values = RISING.map((step) => Math.sign(step - 50) * 10 ** (Math.abs(step - 50) / 10));
  const model = modelOf([line("run", values)], { axes: { yScale: "symlog" } });
  const log = /** @type {number} */ (model.y.log);
  assert.equal(log, 1); // the power of ten up to which about a tenth of the values are
  assert.equal(noteOf(model), "");
  const at = (/** @type {number} */ value) => toAxis({ log }, value);
  assert.ok(Math.abs(at(1000) - at(100) - 1) < 0.001 && Math.abs(at(-1000) - at(-100) + 1) < 0.001); // one for each power of ten
  assert.ok(Math.abs(at(0.2) / at(0.1) - 2) < 0.01); // linear
  for (const value of [-12345, -1, 0, 0.003, 7, 1e9]) assert.equal(valueAt({ log }, at(value)), value);
  model.lines = [line("run", values.map((value) => value / 1000))];
  model.updateItems();
  assert.equal(model.y.log, 0.001);
  assert.ok(Math.abs(model.items[0].ys[100] - toAxis({ log: 0.001 }, 100)) < 1e-9); // with the new linear part
  const steps = modelOf([line("run", RISING, { step: RISING.map((step) => 10 * step - 500) })], { axes: { xScale: "symlog" } });
  assert.deepEqual([steps.x.log, noteOf(steps)], [10, ""]); // the smallest step but 0
  assert.equal(modelOf([line("run", RISING)], { axes: { xScale: "symlog", xAxis: "wall_time" } }).x.log, false);
});

test("a symmetric-logarithmic x axis of small numbers is not linear, and follows new values", () => {
  const xs = [-3e-3, -2e-5, 0, 2e-5, 3e-4, 3e-3];
  const by = (/** @type {number[]} */ x, more = {}) => line("run", x.map(() => 1), { x: column(x), ...more });
  const model = modelOf([by(xs)], { axes: { xScale: "symlog", xAxis: "number", xTitle: "delta" } });
  assert.equal(model.x.log, 1e-5);
  const values = model.ticks("x", 600).filter(({ label }) => label).map(({ value }) => Number(value.toPrecision(6)));
  for (const value of [-1e-3, 0, 1e-4, 1e-3]) assert.ok(values.includes(value), `${value} of ${values}`);
  // Zoomed in, the rows may be those of the view: the overview has all. The full range has the new places.
  model.view = [1e-4, 1e-3];
  model.lines = [by([3e-4], { overview: by([2e-4, 3e-4, 3e-3]) })];
  model.updateItems();
  assert.equal(model.x.log, 1e-4);
  assert.deepEqual(model.fullRange, [2e-4, 3e-3].map((x) => toAxis({ log: 1e-4 }, x)));
  const smallest = (/** @type {number[]} */ ...values) => linearPart([column(values)], 0);
  assert.equal(linearPart([[], [0], [30, 0.2]].map(column), 0), 0.1); // also if a column has no size
  assert.deepEqual([smallest(), smallest(0, NaN), smallest(-Infinity, 1e-20, 30), smallest(...RISING, Math.fround(0.2)), smallest(Math.fround(1e-5))], [1, 1, 1e-5, 0.1, 1e-5]);
});

test("the linear part of a y axis is a power of ten, whatever the values", () => {
  const partOf = (/** @type {number[][]} */ ...columns) => linearPart(columns.map(column), 0.1);
  assert.equal(partOf([]), 1);
  assert.equal(partOf([0, NaN, Infinity]), 1);
  assert.equal(partOf([0.03, -0.04, 0.05]), 0.01);
  assert.equal(partOf([1e-12, 1e-11, 5e3]), 0.001); // a millionth of the largest
  // A short line counts as much as one of 100 times its points.
  assert.equal(partOf(Array(10_000).fill(2000), Array(100).fill(3)), 1);
});

test("more than ten lines are thinner and translucent, and the hovered one is not", () => {
  const lines = Array.from({ length: 11 }, (_, i) => line(`run ${i}`, RISING.map((step) => i + step), { color: i === 3 ? RED : BLUE }));
  const stylesOf = (/** @type {any} */ scene) => new Set(drawn(scene).filter(({ name, path }) => name === "stroke" && path.parts).map(({ globalAlpha, lineWidth }) => `${lineWidth} ${globalAlpha}`));
  assert.deepEqual([...stylesOf(sceneOf(lines.slice(1)))], ["1.4 1"]);
  const scene = sceneOf(lines);
  assert.deepEqual([...stylesOf(scene)], ["1 0.6"]);
  const veils = (/** @type {any} */ scene) => overlaid(scene, { hits: [{ line: scene.items[3].line, name: "run 3", run: "run 3", color: RED, index: 0, left: 0, top: 0 }] }).filter(({ box, globalAlpha }) => box?.[2] === SIZE.width && globalAlpha === 0.75).length;
  assert.deepEqual([scene, sceneOf(lines.slice(1))].map(veils), [1, 0]);
  const hovered = overlaid(scene, { hits: [{ line: lines[3], name: "run 3", run: "run 3", color: RED, index: 0, left: 0, top: 0 }] });
  assert.deepEqual(hovered.filter(({ name, strokeStyle }) => name === "stroke" && strokeStyle === RED).map(({ globalAlpha, lineWidth }) => [globalAlpha, lineWidth]), [[1, 2.5]]);
  // Lines of many points, which are drawn into pixels.
  const alphaOf = (/** @type {any[]} */ some) => {
    const scene = sceneOf(some);
    const image = drawn({ ...scene, isMoving: true }).find(({ name }) => name === "drawImage")?.image;
    return image.data.filter((/** @type {number} */ _, /** @type {number} */ i) => i % 4 === 3).reduce((/** @type {number} */ a, /** @type {number} */ b) => Math.max(a, b));
  };
  const apart = lines.map((one, i) => line(one.name, RISING.map(() => 20 * i)));
  assert.ok(alphaOf(apart.slice(1)) > 200 && alphaOf(apart) <= 153);
});

test("pictures and figures have the same lines", () => {
  const lines = Array.from({ length: 11 }, (_, i) => line(`run ${i}`, [i, i + 1]));
  const attributesOf = (/** @type {any[]} */ some, /** @type {number} */ scale) => pathsOf(sceneOf(some), scale).map((path) => path.replace(/^.* stroke-width/, "stroke-width"));
  assert.equal(attributesOf(lines, 1)[0], 'stroke-width="1" stroke-opacity="0.6"/>');
  assert.equal(attributesOf(lines.slice(1), 1)[0], 'stroke-width="1.4"/>');
  assert.equal(attributesOf(lines, 0.5)[0], 'stroke-width="0.5" stroke-opacity="0.6"/>');
});

test("the area of a band is faint and behind all lines; its mean is wider than they are", () => {
  const seeds = band({ x: [0, 50, 100], mean: [1, 2, 3], low: [0, 1, 2.5], high: [2, 4, 5], count: [3, 3, 3], inner: undefined });
  const scene = sceneOf([line("member", Array(101).fill(1.5), { color: GREEN })], { bands: [seeds] });
  const calls = drawn(scene).filter(({ name, path }) => name === "stroke" || path.parts.length > 0);
  assert.deepEqual(
    calls.map(({ name, globalAlpha, fillStyle, strokeStyle, lineWidth }) => (name === "fill" ? [name, globalAlpha, fillStyle] : [name, globalAlpha, strokeStyle, lineWidth])),
    [["fill", 0.18, BLUE], ["stroke", 1, BLUE, 2], ["stroke", 1, GREEN, 1.4]],
  );
  const { toX, toY } = pixelScales(scene);
  assert.deepEqual(calls[0].path.parts, [[[0, 2], [50, 4], [100, 5], [100, 2.5], [50, 1], [0, 0]].map(([x, y]) => [toX(x), toY(y)])]);
  const [hit] = hitsUnder(scene, { left: SIZE.width / 2, top: toY(2) });
  assert.deepEqual([hit.name, hit.band, hit.line, hit.index], ["seeds", seeds, undefined, 1]);
});

test("of more than eight groups, only the one under the pointer or highlighted has an area", () => {
  const bands = Array.from({ length: 9 }, (_, i) => band({ name: `g${i}`, x: [0, 100], mean: [i, i], low: [i - 0.4, i - 0.4], high: [i + 0.4, i + 0.4], count: [3, 3], inner: undefined }));
  const areas = (/** @type {readonly any[]} */ calls) => calls.filter(({ name, globalAlpha }) => name === "fill" && globalAlpha === 0.18).length;
  const few = sceneOf([], { bands: bands.slice(1) });
  const many = sceneOf([], { bands });
  assert.deepEqual([few, many].map((scene) => areas(drawn(scene))), [8, 0]);
  assert.deepEqual([few, many].map((scene) => pathsOf(scene).filter((path) => path.includes("fill-opacity")).length), [8, 0]);
  for (const [scene, expected] of /** @type {const} */ ([[few, 0], [many, 1]])) {
    const at = { left: 50, top: pixelScales(scene).toY(4) };
    for (const overlay of [{ hits: hitsUnder(scene, at) }, { highlighted: ["g4"] }]) assert.equal(areas(overlaid(scene, overlay)), expected);
  }
});

test("crosses of different lines at one x are below one another, whichever are drawn", () => {
  const diverged = Array.from({ length: 7 }, (_, i) => line(`run ${i}`, [1, 1, NaN], { step: Float64Array.of(0, 50, 100) }));
  const scene = sceneOf(diverged);
  const topsOf = (/** @type {readonly any[]} */ items) => sceneMarks(scene, items).map(({ stroke }) => Number(/^M[\d.]+,(\d+)l6,6/.exec(stroke)?.[1]));
  assert.deepEqual(topsOf(scene.items), [30, 30, 30, 23, 16, 9, 2], "the first is drawn last");
  assert.deepEqual(topsOf([scene.items[3]]), [23]);
  assert.equal(noteOf(modelOf(diverged)), "NaN in 7 lines: at most 5 crosses are below one another");
  assert.equal(noteOf(modelOf(diverged.slice(2))), "");
  assert.equal(noteOf(modelOf(diverged, { view: [0, 40] })), "");
});

test("a bar has no area, and ends at the edges of the plot", () => {
  const bar = { ...band({ x: [50], mean: [2], low: [1], high: [3], count: [2], inner: undefined }), key: "bar", bar: true };
  const points = [0, 100].map((step) => ({ ...line("member", [2]), group: "bar", step: Float64Array.of(step) }));
  const scene = sceneOf(points, { bands: [bar] });
  const [marks] = sceneMarks(scene, scene.items.filter((item) => item.band));
  const { toY } = pixelScales(scene);
  const [left, middle] = [SIZE.width / 2, toY(2)];
  assert.deepEqual(marks, { color: BLUE, fill: "", stroke: `M${left - 8},${middle}h16M${left},${toY(1)}V${toY(3)}M${left - 4},${toY(1)}h8M${left - 4},${toY(3)}h8` });
  assert.ok(drawn(scene).every(({ globalAlpha }) => globalAlpha !== 0.18));
  assert.ok(pathsOf(scene).every((path) => !path.includes("fill-opacity")));
  const narrow = { ...scene, y: { ...scene.y, range: [1.5, 2.5] } };
  assert.ok(sceneMarks(/** @type {any} */ (narrow), [scene.items[0]])[0].stroke.includes(`M${left},${SIZE.height}V0`));
  const model = modelOf(points, { bands: [bar] });
  assert.deepEqual(namedItems(model.items, model).map(({ name }) => name), ["seeds"], "a legend names the group alone");
});

test("without outliers, the area of a band ends where a run explodes", () => {
  const steps = Array.from({ length: 101 }, (_, i) => i);
  const flat = (/** @type {number} */ value) => steps.map(() => value);
  const tame = { x: steps, mean: flat(1), low: flat(0), high: flat(2), count: flat(3), name: "tame" };
  const high = steps.map((i) => (i < 60 ? 3 : 2 ** i));
  const exploding = { x: steps, mean: high.map((value) => value / 3), low: high.map((value, i) => (i < 60 ? 0 : -value)), high, count: flat(3) };
  for (const clip of [false, true]) {
    const model = modelOf([], { bands: [tame, tame, exploding].map(band), axes: { clip } });
    const scene = model.scene(SIZE, COLORS);
    assert.equal(model.y.range[1] < 4, clip);
    const areas = drawn(scene).filter(({ name, path }) => name === "fill" && path.parts.length > 0);
    const { toX } = pixelScales(scene);
    const rightOf = (/** @type {any} */ { path }) => Math.max(...path.parts.flat().map(([x]) => Math.round((x - toX(0)) / (toX(1) - toX(0)))));
    assert.deepEqual(areas.map(rightOf), [100, 100, clip ? 59 : 100]);
  }
});

test("a mean over fewer runs than before is dotted and without its area, which does not set the range", () => {
  const seeds = { x: [0, 20, 40, 60, 80, 100], mean: [1, 2, 3, 9, 9, 3], low: [0, 1, 2, 9, -99, 2], high: [2, 3, 4, 9, 99, 4], count: [2, 3, 3, 1, 1, 3] };
  const model = modelOf([], { bands: [band(seeds)] });
  const scene = model.scene(SIZE, COLORS);
  assert.ok(model.y.range[0] > -1 && model.y.range[1] < 10, String(model.y.range));
  assert.equal(noteOf(model), "dotted, no band: fewer runs, in part off the chart");
  assert.ok(model.y.range[1] < 5, "the mean of those that are left does not set the range either");
  const near = modelOf([], { bands: [band({ ...seeds, mean: [1, 2, 3, 7, 7, 3] })] });
  assert.ok(near.y.range[1] > 7 && near.y.range[1] < 9, "unless it makes it at most twice as long");
  assert.equal(noteOf(near), "dotted, no band: fewer runs than before");
  const point = (/** @type {number} */ end) => modelOf([], { bands: [band({ x: [0, 1, 2], mean: [2, 2, end], low: [2, 2, end], high: [2, 2, end], count: [2, 1, 1] })] }).y.range[1];
  assert.deepEqual([point(5) > 5, point(1e9) < 9], [true, true], "a single point that all have has a length, too");
  const alone = modelOf([], { bands: [band(seeds)], view: [55, 85] });
  assert.ok(alone.y.range[0] < 9 && alone.y.range[1] > 9, "unless there is nothing else");
  const dotted = drawn(scene).filter(({ name, path }) => name === "fill" && path.data?.includes("a")).flatMap(({ path }) => path.data.match(/M/g));
  assert.equal(dotted.length, 4); // not those of the other part
  const { toX } = pixelScales(scene);
  const steps = (/** @type {any} */ { path }) => path.parts.map((/** @type {number[][]} */ part) => [...new Set(part.map(([x]) => Math.round((x - toX(0)) / (toX(1) - toX(0)))))]);
  const calls = drawn(scene).filter(({ path }) => path?.parts.length > 0);
  const [area] = calls.filter(({ name }) => name === "fill");
  assert.deepEqual(steps(area), [[0, 20, 40], [100]]);
  const strokes = calls.filter(({ name }) => name === "stroke");
  assert.deepEqual(strokes.map((call) => [steps(call), call.dash]), [[[[0, 20, 40], [100]], []], [[[40, 60, 80, 100]], [2, 4]]]);
  const two = sceneOf([line("other", [1, 2])], { bands: [band(seeds)] });
  const highlighted = overlaid(two, { highlighted: [two.items[0].run] }).filter(({ name, path }) => name === "stroke" && path.parts.length > 0);
  assert.deepEqual(highlighted.map(({ dash }) => dash), [[], [2, 4]], "and stays so while the group is highlighted");

  const visible = (/** @type {any} */ view, /** @type {any} */ more) => noteOf(modelOf([], { bands: [{ ...band(seeds), ...more }], view }));
  assert.equal(visible([0, 30]), "");
  // In a view of the end alone, the rows before it say what is fewer.
  const part = { x: column([60, 80]), mean: column([9, 9]), low: column([9, 9]), high: column([9, 9]), count: column([1, 1]) };
  assert.equal(visible([60, 80], part), "");
  assert.equal(visible([60, 80], { ...part, overview: column(seeds.x), overviewCount: column(seeds.count) }), "dotted, no band: fewer runs than before");
});

test("narrower bands inside a band are drawn over it", () => {
  const outer = { x: [0, 100], mean: [2, 2], low: [0, 0], high: [4, 4], count: [5, 5] };
  const seeds = { ...band(outer), inner: [[column([1, 1]), column([3, 3])]] };
  const scene = sceneOf([], { bands: [seeds] });
  const fills = drawn(scene).filter(({ name, path }) => name === "fill" && path.parts.length > 0);
  const { toY } = pixelScales(scene);
  assert.deepEqual(fills.map(({ path }) => path.parts[0].map((/** @type {number[]} */ [, y]) => y)), [[4, 4, 0, 0], [3, 3, 1, 1]].map((ys) => ys.map(toY)));
});

test("a cross marks where a run's value is not finite, with a halo that interrupts the mean", () => {
  const lost = RISING.map((step) => Number(step >= 40));
  const flat = (/** @type {number} */ value) => Array(101).fill(value);
  const seeds = { x: RISING, mean: flat(2), low: flat(1), high: flat(3), count: lost.map((n) => 5 - n), numRuns: 5 };
  const marked = (/** @type {number[]} */ nonfinite) => {
    const calls = drawn(sceneOf([], { bands: [band({ ...seeds, nonfinite })] }));
    return calls.filter(({ name, path }) => name === "stroke" && path.data !== "");
  };
  const strokes = marked(lost);
  assert.deepEqual(strokes.map(({ strokeStyle, lineWidth }) => [strokeStyle, lineWidth]), [[COLORS.surface, 3.8], [BLUE, 1.8]]);
  assert.ok(strokes[0].path.data.startsWith(`M${leftOf(40) - 3},`));
  assert.equal(strokes[0].path.data.match(/M/g).length, 1);
  assert.deepEqual(marked(flat(0)), []);
});

test("faint lines are thin, behind the others, and do not change the axes", () => {
  const tens = RISING.filter((step) => step % 10 === 0);
  const seeds = band({ x: tens, mean: tens.map(() => 1), low: tens.map(() => 0), high: tens.map(() => 2), count: tens.map(() => 2) });
  const alone = modelOf([], { bands: [seeds] });
  const faint = [line("a", Array(301).fill(1.5), { color: RED, faint: true }), line("b", [50], { faint: true })];
  const model = modelOf(faint, { bands: [seeds] });
  assert.deepEqual([model.xExtent, model.x.range, model.y.range], [[0, 100], alone.x.range, alone.y.range]);
  const scene = model.scene(SIZE, COLORS);
  const order = drawn(scene).filter(({ name, path }) => name !== "fill" || path.parts.length > 0);
  assert.deepEqual(order.map(({ name, strokeStyle }) => (name === "stroke" ? strokeStyle : name)), ["fill", "drawImage", BLUE]);
  const { data, width } = order[1].image;
  const opacities = Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + 3]);
  const rows = new Set(opacities.flatMap((opacity, i) => (opacity > 0 ? [Math.floor(i / width)] : [])));
  assert.equal(rows.size, 2); // a line one pixel wide, which covers two rows in part
  assert.ok(opacities.every((opacity) => opacity <= 0.6 * 255));
  const at = hitsUnder(scene, { left: SIZE.width / 2, top: 0.27 * SIZE.height });
  assert.deepEqual(at.map(({ name }) => name).sort(), ["a", "seeds"]);
});

test("the first line is above all others, and lines are above means", () => {
  const flat = { x: [0, 100], count: [2, 2], mean: [1, 1], low: [1, 1], high: [1, 1] };
  const lines = [line("best", [1, 2, 3]), line("faint", [1, 2, 3], { faint: true }), line("worst", [1, 2, 3])];
  const { axisItems } = sceneOf(lines, { bands: [band({ ...flat, name: "first mean" }), band({ ...flat, name: "second mean" })] });
  assert.deepEqual([...linesOf(axisItems)].map(({ item }) => item.name), ["second mean", "first mean", "worst", "best"]);
});

test("bands with one name are distinguished by their key", () => {
  const flat = (/** @type {number} */ value) => ({ x: [0, 100], count: [2, 2], mean: [value, value], low: [value, value], high: [value, value] });
  const scene = sceneOf([], { bands: [band({ ...flat(1), key: "loss" }), { ...band({ ...flat(2), key: "val" }), dash: [6, 3] }] });
  assert.deepEqual(drawn(scene).filter(({ name }) => name === "stroke").map(({ dash }) => dash), [[6, 3], []]);
  const first = selectionAfter(scene, null, "ArrowRight", undefined, false);
  assert.deepEqual(first, { key: "val", index: 0 });
  assert.deepEqual(selectionAfter(scene, first, "ArrowUp", undefined, false), { key: "loss", index: 0 });
});

test("crosses of a diverged run have gaps, and an infinity is a triangle at the top or bottom", () => {
  const calls = drawn(sceneOf([line("run", [1, ...Array(300).fill(NaN), 2, Infinity, -Infinity], { color: RED })]));
  const [cross] = calls.filter(({ name, path, strokeStyle }) => name === "stroke" && path.data && strokeStyle === RED);
  const lefts = [...cross.path.data.matchAll(/M([\d.]+),/g)].map(([, left]) => Number(left));
  assert.ok(lefts.length > SIZE.width / 20 && lefts.length < SIZE.width / 10);
  assert.ok(lefts.every((left, i) => i === 0 || left - lefts[i - 1] >= 12)); // crosses are 6.4 pixels wide
  const [fill] = calls.filter(({ name, path, fillStyle }) => name === "fill" && path.data.includes("z") && fillStyle === RED);
  assert.deepEqual([...fill.path.data.matchAll(/,(\d+)l-4,(-?\d)h8z/g)].map(([, top, down]) => [Number(top), Number(down)]), [[0, 8], [SIZE.height, -8]]);
});

test("outliers are clipped, marked and noted only with the option clip", () => {
  const value = Array.from({ length: 400 }, (_, i) => (i === 200 ? 1e6 : 1 + 0.1 * (i % 7)));
  const lines = [line("spiky", value, { color: RED }), line("calm", Array(400).fill(1.2))];
  const arrows = (/** @type {any} */ model) => drawn(model.scene(SIZE, COLORS)).filter(({ name, path, strokeStyle }) => name === "stroke" && path.data && strokeStyle === RED);
  const whole = modelOf(lines);
  assert.deepEqual([noteOf(whole), arrows(whole), whole.y.range[1] > 1e6], ["", [], true]);
  const clipped = modelOf(lines, { axes: { clip: true } });
  assert.equal(noteOf(clipped), "outliers clipped");
  assert.ok(clipped.y.range[1] < 3);
  assert.deepEqual(arrows(clipped).map(({ path }) => path.data.match(/M[\d.]+,6l4,-4l4,4/g)?.length), [1]);
  assert.ok(["spiky", "calm"].includes(hitsUnder(clipped.scene(SIZE, COLORS), { left: SIZE.width / 2, top: 100 })[0].name));
});

test("one line that explodes is left out of the range of many, and is far out of it", () => {
  const tame = Array.from({ length: 19 }, (_, k) => line(`tame${k}`, RISING.map((i) => 0.3 + 2.5 * Math.exp(-i / 20) + k / 100)));
  const exploding = line("exploding", RISING.map((i) => (i < 40 ? 2 : 2 * 1.25 ** (i - 40))), { color: RED });
  for (const count of [2, 4, 19]) {
    const lines = [...tame.slice(0, count), exploding];
    for (const clip of [false, true]) {
      const model = modelOf(lines, { axes: { clip } });
      assert.deepEqual(model.farItems.map(({ name }) => name), ["exploding"]);
      assert.equal(model.y.range[1] < 5, clip, `${count} tame lines: up to ${model.y.range[1]}`);
    }
    const beginning = modelOf(lines, { axes: { clip: true }, view: [0, 30] });
    assert.deepEqual(beginning.farItems, []);
  }
  const alike = [40, 30, 20].map((height, i) => line(`far${i}`, [height, 0]));
  const nine = Array.from({ length: 9 }, (_, i) => line(`tame${i}`, [0, 3]));
  assert.deepEqual(modelOf([...nine, ...alike]).farItems.map(({ name }) => name), ["far0", "far1", "far2"], "all that are alike");
  assert.deepEqual(modelOf([...nine, line("far", [32, 0])]).farItems, [], "none");
  const bands = [{ x: RISING, mean: RISING.map((i) => 10 * i), low: FALLING.map(() => 0), high: RISING.map((i) => 1e3 * i), count: RISING.map(() => 2), name: "diverged" }];
  const grouped = modelOf(tame.slice(0, 3), { bands: bands.map(band), axes: { clip: true } });
  assert.ok(grouped.y.range[1] < 5);
  assert.deepEqual([grouped.farItems.map(({ name }) => name), noteOf(grouped)], [["diverged"], "outliers clipped"]);
});

test("a note says what logarithmic axes leave out", () => {
  const axes = { xScale: "log", yScale: "log" };
  const value = [...Array.from({ length: 100 }, (_, i) => 10 ** (-i / 20)), 0];
  const model = modelOf([line("run", value)], { axes });
  assert.equal(noteOf(model), "steps ≤ 0 not shown, values ≤ 0 not shown");
  // The axis is from 1 to 100, with margins of 2 %: its middle is 10.
  const [[name, read, step]] = readings(hitsUnder(model.scene(SIZE, COLORS), { left: SIZE.width / 2, top: 100 }));
  assert.deepEqual([name, Number(read?.toPrecision(6)), step], ["run", 0.316228, 10]);
});

test("a band that reaches 0 or below ends at the end of a log axis, and a note says so", () => {
  for (const low of [-1, 0]) {
    const seeds = band({ x: [0, 10, 20, 30], mean: [2, 4, 8, 16], low: [1, low, low, 4], high: [4, 8, 16, 32], count: [3, 3, 3, 3] });
    const model = modelOf([], { bands: [seeds], axes: { yScale: "log" } });
    const scene = model.scene(SIZE, COLORS);
    /** @type {[number, number][]} */
    const points = [];
    const add = (/** @type {number} */ ...point) => points.push(/** @type {[number, number]} */ (point.map(Math.round)));
    bandCode.traceAreas(() => ({ moveTo: add, lineTo: add }), scene, scene.items[0]);
    const [first, last] = [points[7], points[4]].map(([, top]) => top);
    assert.deepEqual(points.slice(5, 7).map(([, top]) => top), [SIZE.height, SIZE.height], "along the bottom");
    assert.ok(first < SIZE.height && last < first);
    assert.equal(noteOf(model), "band edges ≤ 0 not shown");
    const bar = band({ x: [1], mean: [2], low: [low], high: [4], count: [3], bar: true });
    const barScene = modelOf([], { bands: [bar], axes: { yScale: "log" } }).scene(SIZE, COLORS);
    assert.match(bandCode.barOf(barScene.items[0], barScene).stroke, new RegExp(`V${SIZE.height}|,${SIZE.height}V`));
    assert.equal(noteOf(modelOf([], { bands: [seeds] })), "");
  }
});

test("the note of a chart of more than eight groups says whose band is shown", () => {
  const many = Array.from({ length: 9 }, (_, i) => band({ name: `g${i}`, x: [0, 1], mean: [i, i], low: [i, i], high: [i, i], count: [3, 3] }));
  const note = (/** @type {any[]} */ bands) => {
    const element = { textContent: "", title: "", style: { cssText: "" } };
    leftOut.showNote(/** @type {any} */ (element), modelOf([], { bands }));
    return element.textContent;
  };
  assert.deepEqual([note(many), note(many.slice(1))], ["over 8 groups: point at one to see its band", ""]);
});

test("an axis on which nothing can be shown has no ticks, and a sentence says why", () => {
  /** @type {[axes: object, value: number[], view: [number, number] | null, which: "x" | "y", why: string][]} */
  const cases = [
    [{ yScale: "log" }, [-1, 0], null, "y", "All values are 0 or below, which a log axis cannot show."],
    [{ yScale: "log" }, [1, 2, -1, -1, -1, -1], [3, 5], "y", "All values in view are 0 or below, which a log axis cannot show."],
    [{ yScale: "log", clip: true, limits: [null, 1] }, [-1], null, "y", "All values are 0 or below, which a log axis cannot show."],
    [{ xScale: "log" }, [1], null, "x", "All steps are 0 or below, which a log axis cannot show."],
    [{}, [NaN, Infinity], null, "y", "No value is finite."],
  ];
  for (const [axes, value, view, which, why] of cases) {
    const model = modelOf([line("a", value)], { axes, view });
    assert.deepEqual([model.ticks(which, 300), noteOf(model)], [[], why]);
    assert.ok(lineChartFigure(3, "loss", model).includes(why.split(" ")[1]));
    const shown = modelOf([line("a", [1, 2, 3, 4, 5, 6])], { axes, view });
    assert.ok(shown.ticks(which, 300).length > 1);
  }
});

test("the y axis has the ends that it is given, and marks show what is beyond", () => {
  /** @type {[axes: any, range: number[], note: string, marks: string[]][]} */
  const cases = [
    [{ limits: [0, 1] }, [0, 1], "y axis: 0 to 1", ["l4,-4l4,4", "l4,4l4,-4"]],
    [{ limits: [0, null] }, [0, 10.72], "y axis: from 0", ["l4,4l4,-4"]],
    [{ limits: [null, 1] }, [-2.72, 1], "y axis: up to 1", ["l4,-4l4,4"]],
    [{ limits: [100, null] }, [100, 113.44], "y axis: from 100", ["l4,4l4,-4"]],
    [{ limits: [null, -100] }, [-113.44, -100], "y axis: up to -100", ["l4,-4l4,4"]],
    [{ limits: [null, null] }, [-2.72, 10.72], "", []],
    [{ limits: [1, 0] }, [-2.72, 10.72], "y axis: 1 is not less than 0", []],
    [{ limits: [0.1, 1], yScale: "log" }, [-1, 0], "y axis: 0.1 to 1, values ≤ 0 not shown", ["l4,-4l4,4"]],
    [{ limits: [0, 1], yScale: "log" }, [-0.38, 0], "y axis: up to 1, 0 is not on a log axis, values ≤ 0 not shown", ["l4,-4l4,4"]],
  ];
  const arrows = ["l4,-4l4,4", "l4,4l4,-4"];
  for (const [axes, range, note, marks] of cases) {
    const model = modelOf([line("a", [-2, 0.5, 10])], { axes });
    assert.deepEqual([model.y.range.map((end) => Number(end.toFixed(2))), noteOf(model)], [range, note]);
    const [{ stroke }] = sceneMarks(model.scene(SIZE, COLORS), model.items);
    assert.deepEqual(arrows.filter((arrow) => stroke.includes(arrow)), marks);
  }
});

test("the raster draws lines where strokes would be, also if steps decrease", () => {
  const few = line("run", [0, 10, 0, 10], { step: [0, 50, 40, 100], color: RED });
  const flat = line("flat", Array(20_000).fill(5));
  const model = modelOf([few, flat], { view: [0, 100] });
  const [image, ...marks] = drawn(model.scene(SIZE, COLORS), 2).filter(({ name }) => name !== "fill");
  assert.deepEqual([image.name, marks.map(({ name }) => name)], ["drawImage", []]);
  const { data, width, height } = image.image;
  assert.deepEqual([width, height], [2 * SIZE.width, 2 * SIZE.height]);
  /** Opaque pixels of a colour in a part of the plot, as fractions. @param {string} color @param {(x: number, y: number) => boolean} isIn */
  const count = (color, isIn) => {
    const channels = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    let found = 0;
    for (let i = 0; i < width * height; i++) {
      if (!isIn((i % width) / width, Math.floor(i / width) / height) || data[4 * i + 3] <= 128) continue;
      if (channels.every((channel, k) => Math.abs(channel - data[4 * i + k]) <= 30)) found++;
    }
    return found;
  };
  assert.equal(count(RED, (x, y) => x > 0.05 && x < 0.35 && y < 0.2), 0);
  assert.ok(count(RED, (x, y) => x > 0.4 && x < 0.5 && y < 0.2) > 10);
  assert.ok(count(RED, (x, y) => x > 0.9 && y < 0.2) > 10);
  assert.ok(count(BLUE, (_, y) => y > 0.45 && y < 0.55) > 500);
});

test("charts use the raster during gestures and for many points, and thin strokes for many lines", () => {
  const kinds = (/** @type {any} */ scene) => [...new Set(drawn(scene).filter(({ name, path }) => name === "drawImage" || path?.parts.length > 0).map(({ name, lineWidth }) => `${name} ${lineWidth}`))];
  const few = modelOf([line("a", RISING)]);
  assert.deepEqual(kinds(few.scene(SIZE, COLORS)), ["stroke 1.4"]);
  assert.deepEqual(kinds(few.scene(SIZE, COLORS, true)), ["drawImage 1"]);
  assert.deepEqual(kinds(sceneOf(Array.from({ length: 13 }, (_, i) => line(`run ${i}`, RISING)))), ["stroke 1"]);
  assert.deepEqual(kinds(sceneOf([line("a", Array.from({ length: 15_001 }, (_, i) => i))])), ["drawImage 1"]);
});

// --- ranges --------------------------------------------------------------------------------------

test("a chart that is zoomed from the start has the full range, from `overview`, on any axis", () => {
  const step = RISING.slice(40, 61);
  const overview = line("run", RISING.slice(1), { step: RISING.slice(1) });
  const model = modelOf([line("run", step, { step, overview })], { view: [40, 60] });
  assert.deepEqual(model.xExtent, [1, 100]);
  const { label, values } = describe("loss", model);
  assert.equal(label, "loss by step from 40 to 60, zoomed in from 1 to 100: run");
  assert.equal(values, "Last values in view: run 60");
  model.setAxes({ xScale: "log" });
  assert.deepEqual(model.xExtent?.map(Math.round), [1, 100]);
  model.updateRanges(false);
  let range = /** @type {[number, number] | null} */ (model.x.range);
  for (let i = 0; i < 5 && range; i++) range = limited(zoomed(range, 2, 0.5), model.paddedFullRange);
  assert.equal(range, null);
});

test("a chart's sentences have the labels of lines, and its points the names of runs", () => {
  const model = modelOf([line("sweep/a", RISING, { label: "baseline" }), line("sweep/b", RISING)]);
  assert.match(describe("loss", model).label, /: baseline, sweep\/b$/);
  assert.match(sentenceOf(model.scene(SIZE, COLORS)), /^baseline rises .* sweep\/b rises/);
  assert.deepEqual(model.items.map(({ name, run }) => [name, run]), [["baseline", "sweep/a"], ["sweep/b", "sweep/b"]]);
  model.lines = [{ ...model.lines[0], label: "other" }, model.lines[1]];
  const [{ xs }] = model.items;
  model.updateItems();
  assert.deepEqual([model.items[0].name, model.items[0].xs === xs], ["other", true], "another label converts nothing again");
});

test("the full range stays while zoomed, and unchanged columns are converted once", () => {
  const model = modelOf([line("a", RISING)], { view: [10, 20] });
  const [before] = model.items;
  model.lines = [{ ...model.lines[0], color: RED }];
  model.updateItems();
  assert.equal(model.items[0].xs, before.xs);
  assert.equal(model.items[0].color, RED);
  model.lines = [line("a", RISING.slice(10, 21), { step: RISING.slice(10, 21) })];
  model.updateItems();
  assert.deepEqual(model.xExtent, [0, 100]);
  assert.equal(model.setAxes({ xAxis: "step" }), false);
  assert.equal(model.setAxes({ xAxis: "wall_time" }), true);
  assert.deepEqual([model.view, model.x.log], [null, false]);
});

test("a chart is described by its axis, its first lines and their last values", () => {
  const { label, values } = describe("loss", modelOf([line("a", RISING), line("b", FALLING)]));
  assert.equal(label, "loss by step from 0 to 100: a, b");
  assert.equal(values, "Last values: a 100, b 0");
  const many = describe("loss", modelOf([1, 2, 3, 4, 5].map((i) => line(`run ${i}`, [i])), { axes: { xAxis: "relative" } }));
  assert.equal(many.label, "loss by relative time from 0 s to 0 s: run 1, run 2, run 3 and 2 more");
  assert.equal(describe("loss", modelOf([])).values, "");
});

test("a sentence says what the lines do in the visible part", () => {
  const steps = Array.from({ length: 200 }, (_, i) => i);
  const decay = steps.map((i) => (i === 120 ? 2 : i >= 180 ? NaN : 0.5 + Math.exp(-i / 10)));
  const [falling, rising] = [line("a", decay), line("b", steps)];
  const text = "falls from 1.5 to 0.5, level from about step 45 on; spike to 2 at step 120; NaN from step 180 on";
  assert.equal(sentenceOf(modelOf([falling])), `F${text.slice(1)}`);
  assert.equal(sentenceOf(modelOf([falling, rising])), `a ${text}. b rises from 0.5 to 199`);
  assert.equal(sentenceOf(modelOf([falling], { view: [60, 170] })), "Is level at 0.5; spike to 2 at step 120");
  assert.equal(sentenceOf(modelOf([line("a", steps.map((i) => 10 ** (i / 50)))], { axes: { yScale: "log" } })), "Rises from 1.02 to 9333");
  const again = line("a", [...steps, ...steps.slice(150)], { step: [...steps, ...steps.slice(150)], segments: [0, 200] });
  assert.equal(sentenceOf(modelOf([again])).split("; ")[1], "restarts at step 150");
  assert.equal(sentenceOf(modelOf([line("a", [1, NaN, 3, Infinity])])), "Between 1 and 3; NaN or infinite at some points from step 1 to step 3");
  assert.equal(sentenceOf(modelOf([line("a", [NaN])])), "Only NaN");
  assert.equal(sentenceOf(modelOf([])), "");
  const many = sentenceOf(modelOf([falling, rising, line("c", FALLING), line("d", RISING), again]));
  assert.equal(many, "5 lines: 3 rise, 2 fall, 1 has spikes, 1 has NaN or infinite values, 1 restarts. Highest at the end: a 199, lowest: c 0");
});

test("the y axis covers at least a given range, unless the chart is zoomed", () => {
  const model = modelOf([line("a", [0, 1, 2])], { axes: { include: [-10, 1] } });
  model.updateRanges(false);
  assert.deepEqual(model.y.range.map(Math.round), [-11, 3]);
  model.view = [1, 2];
  model.updateRanges(false);
  assert.ok(model.y.range[0] > -1);
  assert.equal(model.setAxes({ include: [-10, 1] }), false);
  assert.equal(model.setAxes({ include: null }), true);
});

test("the y axis can have the range of the last fifth of the visible part, and says so", () => {
  const decay = line("a", RISING.map((i) => 1000 * 0.9 ** i + i / 100));
  const yOf = (/** @type {any} */ axes, /** @type {any} */ view = null) => modelOf([decay], { axes, view }).y.range.map(Math.round);
  assert.deepEqual([yOf({}), yOf({ tail: true }), yOf({ tail: true }, [0, 50])], [[-59, 1060], [1, 1], [4, 18]]);
  const model = modelOf([decay], { axes: { tail: true } });
  assert.equal(noteOf(model), "y axis: range of the last 20 %");
  assert.equal(sceneMarks(model.scene(SIZE, COLORS), model.items)[0].stroke.includes("l4,-4l4,4"), true);
  assert.equal(model.setAxes({ tail: false }), true);
});

// --- the pointer and the keys --------------------------------------------------------------------

test("the cursor does not stop at the end of a shorter line", () => {
  const scene = sceneOf([line("short", RISING.slice(0, 51), { color: RED }), line("long", FALLING)]);
  assert.deepEqual(hitsUnder(scene, { left: leftOf(50), top: 100 }).map(({ name }) => name).sort(), ["long", "short"]);
  // Nearer to the end of the short line than to the long one.
  for (const step of [52, 55]) assert.deepEqual(readings(hitsUnder(scene, { left: leftOf(step), top: 100 })), [["long", 100 - step, step]]);
  assert.equal(snap(scene, leftOf(55) + 4), 55);
  assert.equal(hitsAt(scene, 52.2, 0).length, 1);
  assert.equal(snap(sceneOf([line("a", [1, 2], { step: [0, 1000] })]), SIZE.width / 2), null);
});

test("points are ordered by their distance, and those that cannot be drawn by that of their mark", () => {
  const scene = sceneOf([line("low", Array(101).fill(0)), line("odd", RISING.map((i) => (i === 50 ? NaN : 60))), line("high", Array(101).fill(100))]);
  // The mark of NaN is at the top, above all lines.
  const hits = hitsUnder(scene, { left: leftOf(50), top: 0 });
  assert.deepEqual(hits.map(({ name }) => name), ["odd", "high", "low"]);
  assert.deepEqual(hits.map(({ top }) => Number.isNaN(top)), [true, false, false]);
});

test("the pointer in another chart marks the same x, and a highlighted run fades the others", () => {
  const scene = sceneOf([line("one", RISING, { color: RED }), line("other", FALLING)]);
  assert.deepEqual(overlaid(scene, {}), []);
  const remote = overlaid(scene, { remote: { x: 24, run: "one" } });
  assert.deepEqual(remote.filter(({ name }) => name === "fillRect").map(({ box, fillStyle }) => [box, fillStyle]), [[[leftOf(24), 0, 1, SIZE.height], COLORS.text]]);
  assert.deepEqual(dots(remote), [BLUE, RED]); // the dot of the hovered run is on top
  const [veil, ...strokes] = overlaid(scene, { highlighted: ["one"] });
  assert.deepEqual([veil.box, veil.fillStyle, veil.globalAlpha], [[0, 0, SIZE.width, SIZE.height], COLORS.surface, 0.75]);
  assert.deepEqual(strokes.filter(({ path }) => path.parts.length > 0).map(({ strokeStyle, lineWidth, globalAlpha }) => [strokeStyle, lineWidth, globalAlpha]), [[RED, 2.5, 1]]);
  const hits = hitsUnder(scene, { left: leftOf(24), top: 0 });
  const hovered = overlaid(scene, { hits, pointer: { left: leftOf(24), top: 0 } });
  assert.deepEqual(hovered.filter(({ name }) => name === "fillRect").map(({ box }) => box), [[leftOf(24), 0, 1, SIZE.height]]);
  assert.deepEqual(hovered.filter(({ path }) => path?.parts.length > 0).map(({ strokeStyle, lineWidth }) => [strokeStyle, lineWidth]), [[COLORS.surface, 5.4], [BLUE, 2.5]]);
});

test("where the hovered run does not exist, no dot is emphasized, and all lines fade", () => {
  const scene = sceneOf([line("one", RISING.slice(0, 50), { color: RED }), line("other", FALLING)]);
  /** @param {any} overlay */
  const radii = (overlay) => overlaid(scene, overlay).flatMap(({ path }) => (path?.data ? [Number(path.data.match(/a([\d.]+)/)[1])] : []));
  assert.deepEqual(radii({ remote: { x: 24, run: "one" } }), [4, 2.5, 5.5, 4]); // with rims
  assert.deepEqual(radii({ remote: { x: 24, run: "gone" } }), [4, 2.5, 4, 2.5]);
  assert.deepEqual(radii({ remote: { x: 80, run: "one" } }), [4, 2.5]); // it ended before
  const veiled = (/** @type {any} */ calls) => calls.filter((/** @type {any} */ { box, globalAlpha }) => box?.[2] === SIZE.width && globalAlpha === 0.75).length;
  assert.deepEqual([null, ["gone"], ["one"]].map((highlighted) => veiled(overlaid(scene, { highlighted }))), [0, 1, 1]);
  assert.equal(veiled(overlaid(sceneOf([line("one", RISING)]), { highlighted: ["gone"] })), 1);
  assert.equal(veiled(overlaid(sceneOf([line("one", RISING)]), { highlighted: ["one"] })), 0);
  const grouped = sceneOf([line("one", RISING)], { bands: [band({ name: "group", x: RISING, mean: RISING, low: RISING, high: RISING, count: RISING.map(() => 2) })] });
  assert.equal(veiled(overlaid(grouped, { highlighted: ["member"] })), 0);
  assert.equal(veiled(overlaid(grouped, { highlighted: ["group", "member"] })), 1);
});

test("lines of several tags are found by their run", () => {
  const rows = /** @type {const} */ ([["one", RISING, RED], ["other", FALLING, BLUE]]);
  const tags = rows.flatMap(([run, value, color]) => ["loss", "val"].map((tag) => line(`${run} · ${tag}`, [...value], { run, color })));
  const more = Array.from({ length: 12 }, (_, i) => line(`more ${i}`, Array(101).fill(50), { color: GREEN }));
  const scene = sceneOf([...tags, ...more]);
  const highlighted = overlaid(scene, { highlighted: ["one"] }).filter(({ path }) => path?.parts.length > 0);
  assert.deepEqual(highlighted.map(({ strokeStyle }) => strokeStyle), [RED, RED]);
  assert.deepEqual(dots(overlaid(scene, { remote: { x: 24, run: "one" } })), [RED, RED]);
  const [hit] = hitsUnder(scene, { left: leftOf(24), top: pixelScales(scene).toY(24) });
  assert.equal(hit.run, "one");
});

test("all lines of a chart have dots at their points, or none has", () => {
  const few = line("few", RISING.slice(0, 20));
  const marked = (/** @type {any[]} */ lines, /** @type {[number, number] | null} */ view = null) => {
    const model = modelOf(lines, { view });
    return sceneMarks(model.scene({ width: 500, height: 200 }, COLORS), model.items).map(({ fill }) => fill !== "");
  };
  assert.deepEqual(marked([few]), [true]);
  assert.deepEqual(marked([few, line("many", FALLING)]), [false, false]);
  assert.deepEqual(marked([few, line("many", FALLING)], [0, 30]), [true, true], "of the points in the view");
});

test("a highlighted run keeps its marks, and a pinned x has dots", () => {
  const odd = RISING.map((step) => (step >= 30 && step < 70 ? NaN : 50));
  const scene = sceneOf([line("odd", odd, { color: RED }), line("even", RISING)]);
  const crosses = overlaid(scene, { highlighted: ["odd"] }).filter(({ name, path, strokeStyle }) => name === "stroke" && path.data && strokeStyle === RED);
  assert.equal(crosses[0].path.data.match(/M/g).length, 20); // one every 20 pixels
  assert.deepEqual(dots(overlaid(scene, { pinned: 80 })).sort(), [BLUE, RED]);
  assert.deepEqual(dots(overlaid(scene, { pinned: 50 })), [BLUE]); // NaN has no dot
});

test("the keys select the points of a line, its ends, and the same x on other lines", () => {
  const scene = sceneOf([line("a", RISING), line("b", FALLING)]);
  /** @param {string} keys @param {any} [start] */
  const press = (keys, start = null) => keys.split(" ").reduce((selected, key) => selectionAfter(scene, selected, key, undefined, false), start);
  assert.deepEqual(press("Home ArrowRight"), { key: "b", index: 1 });
  assert.deepEqual(press("Home ArrowRight ArrowUp"), { key: "a", index: 1 });
  assert.deepEqual(press("ArrowDown", press("Home ArrowRight ArrowUp")), { key: "b", index: 1 });
  assert.deepEqual([press("ArrowLeft"), press("ArrowRight"), press("End")].map((selected) => selected?.index), [100, 0, 100]);
  assert.deepEqual(press("End ArrowRight"), { key: "b", index: 100 });
  assert.equal(selectionAfter(scene, null, "Escape", undefined, false), null);
  const [hit] = hitsUnder(scene, { left: leftOf(30), top: pixelScales(scene).toY(30) });
  assert.deepEqual(selectionAfter(scene, null, "ArrowRight", hit, false), { key: "a", index: 30 });
  const zoomedIn = sceneOf([line("a", RISING)], { view: [20, 40] });
  assert.deepEqual(["ArrowRight", "ArrowLeft", "End"].map((key) => selectionAfter(zoomedIn, null, key, undefined, true)?.index), [20, 40, 100]);
});

test("a pin moves to the next point of any line but faint ones", () => {
  const scene = sceneOf([line("a", [1, 1], { step: [0, 10] }), line("b", [1, 1], { step: [4, 12] }), line("c", [1], { step: [5], faint: true })]);
  assert.deepEqual([nextX(scene, 4, 1), nextX(scene, 4, -1), nextX(scene, 12, 1)], [10, 0, null]);
  const log = sceneOf([line("a", [1, 2, 3], { step: [1, 3, 7] })], { axes: { xScale: "log" } });
  assert.equal(nextX(log, Math.log10(3), 1), Math.log10(7));
});
