// Line charts as figures for papers, and names beside the ends of lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as bandCode from "../../../tbcore/web/lib/chart/bands.js";
import { lineChartFigure } from "../../../tbcore/web/lib/chart/figure.js";
import * as leftOut from "../../../tbcore/web/lib/chart/left-out.js";
import { namesAtEnds, namesOnScreen } from "../../../tbcore/web/lib/chart/line-names.js";
import { ChartModel } from "../../../tbcore/web/lib/chart/model.js";

const column = (/** @type {Iterable<number>} */ numbers) => Float64Array.from(numbers);

/** A line with steps 0, 10, 20, ... @param {string} name @param {number[]} value @param {object} [more] */
function line(name, value, more = {}) {
  return { name, color: "#3366cc", step: column(value.map((_, i) => 10 * i)), wallTime: column(value.map((_, i) => 1.6e9 + i)), value: column(value), ...more };
}

/** A band over 101 steps. @param {string} name @param {number} mean @param {object} [more] */
function band(name, mean, more = {}) {
  const flat = (/** @type {number} */ value) => column(Array(101).fill(value));
  return { name, color: "#dc3912", x: column(Array.from({ length: 101 }, (_, i) => i)), mean: flat(mean), low: flat(mean - 0.3), high: flat(mean + 0.3), count: flat(5), numRuns: 5, ...more };
}

/** A chart that has been laid out. @param {object} content @param {object} [axes] */
function modelOf(content, axes = {}) {
  const model = Object.assign(new ChartModel(), { bandCode, leftOut, ...content });
  model.axes = { ...model.axes, ...axes };
  model.updateItems();
  model.updateRanges(false);
  return model;
}

/** The texts of a figure, with their attributes. @param {string} svg */
const textsOf = (svg) => [...svg.matchAll(/<text ([^>]*)>([^<]*)<\/text>/g)].map(([, attributes, text]) => ({ attributes, text }));
const wordsOf = (/** @type {string} */ svg) => textsOf(svg).map(({ text }) => text);

test("a figure has the width of a column, letters of 8 points, and the tag at its y axis", () => {
  for (const inches of [3.4, 7]) {
    const svg = lineChartFigure(inches, "val/loss", modelOf({ lines: [line("run", [1, 2, 3])] }), "smoothed by 0.6");
    const [, width, height, points, pointsHigh] = /width="([\d.]+)in" height="([\d.]+)in" viewBox="0 0 ([\d.]+) ([\d.]+)".* font-size="8"/.exec(svg)?.map(Number) ?? [];
    assert.deepEqual([width, points], [inches, Math.round(720 * inches) / 10]);
    assert.ok(Math.abs(72 * height - pointsHigh) < 0.1);
    assert.ok(!/font-size="(?!8")/.test(svg));
    assert.match(textsOf(svg).find(({ text }) => text === "val/loss")?.attributes ?? "", /rotate\(-90\)/);
    for (const word of ["step", "run", "smoothed by 0.6"]) assert.ok(wordsOf(svg).includes(word), word);
  }
});

test("a figure says what lines and bands of groups are", () => {
  const figure = (/** @type {object[]} */ ...bands) => wordsOf(lineChartFigure(7, "loss", modelOf({ bands }))).at(-1);
  assert.equal(figure(band("a", 1, { label: "minimum to maximum" }), band("b", 2, { label: "minimum to maximum" })), "mean of 5 runs, band: minimum to maximum");
  assert.equal(figure(band("a", 1, { average: "median", label: "quartiles" }), band("b", 2, { average: "median", label: "quartiles", numRuns: 3 })), "median of 3 to 5 runs, band: quartiles");
  assert.equal(figure(band("a", 1, { numRuns: 3, archived: 2 })), "mean of 3 runs (+2 archived)");
  assert.equal(figure(band("a", 1, { numRuns: 3, archived: 2 }), band("b", 2)), "mean of 3 to 5 runs (+0 to 2 archived)");
  const none = "no interval for fewer than 3 runs";
  assert.equal(figure(band("a", 1, { label: "± standard error" }), band("b", 2, { label: none, numRuns: 2 })), `mean of 5 runs, band: ± standard error; mean of 2 runs, ${none}`);
  const ending = band("a", 1, { label: "quartiles", count: column(Array.from({ length: 101 }, (_, i) => (i < 50 ? 5 : 4))) });
  const many = Array.from({ length: 9 }, (_, i) => band(`g${i}`, i, { label: "quartiles", key: `g${i}` }));
  assert.equal(figure(...many), "mean of 5 runs, no bands of more than 8 groups");
  const inLegend = (/** @type {object[]} */ bands) => lineChartFigure(7, "loss", modelOf({ bands }), "", { legend: "top left" }).split('fill-opacity="0.25"').length - 1;
  assert.deepEqual([many, many.slice(0, 8)].map(inLegend), [0, 8]); // as in the plot
  assert.equal(figure(ending), "mean of 5 runs, band: quartiles; dotted, no band: fewer runs than before");
  // Where Helvetica is missing, letters are as wide as those of DejaVu Sans: in points at this size.
  const widths = new Map(Object.entries({ a: 4.9, b: 5.08, d: 5.08, e: 4.92, n: 5.07, o: 4.9, u: 5.07 }));
  const words = "a band on a dune and one eon and a bed and no end on a noon or none bond on one ".repeat(9);
  const notes = wordsOf(lineChartFigure(7, "loss", modelOf({ lines: [line("run", [1, 2])] }), words)).filter((text) => text.includes("noon"));
  const longest = Math.max(...notes.map((text) => [...text].reduce((sum, letter) => sum + (widths.get(letter) ?? 2.54), 0)));
  assert.ok(longest > 400 && longest < 7 * 72 - 4, String(longest));
});

test("lines are named by their labels, also if two have the same", () => {
  const [a, b] = [{ label: "baseline" }, { label: "baseline" }].map((more, i) => line(`sweep/${i}`, [i, i], more));
  const many = Array.from({ length: 9 }, (_, i) => line(`run${i}`, [0, i], { label: `label ${i}` }));
  for (const lines of [[a, b], [a, b, ...many]]) {
    const words = wordsOf(lineChartFigure(7, "loss", modelOf({ lines })));
    assert.equal(words.filter((word) => word === "baseline").length, 2, words.join());
    assert.ok(!words.some((word) => /^(sweep|run)/.test(word)), words.join());
  }
  assert.match(wordsOf(lineChartFigure(7, "loss", modelOf({ lines: [line("run", [1], { label: "<b>&" })] }))).join(), /&#60;b&#62;&#38;/);
});

test("the last label of a figure's x axis is within the figure", () => {
  const start = 3600 * 24 * 18_000;
  for (const inches of [3.25, 3.4, 5, 7]) {
    const model = modelOf({ lines: [line("run", [1, 2, 3, 4])] }, { xAxis: "wall_time" });
    model.view = [start, start + 3600 * 4];
    model.updateRanges(false);
    const svg = lineChartFigure(inches, "loss", model, undefined, { legend: "none" });
    const left = Number(/<g transform="translate\(([\d.]+),/.exec(svg)?.[1]);
    const ends = textsOf(svg).filter(({ text }) => /^\d\d:\d\d$/.test(text)).map(({ attributes }) => left + Number(/x="([\d.]+)"/.exec(attributes)?.[1]) + (8 * 5 * 0.56) / 2);
    assert.ok(Math.max(...ends) > 72 * inches - 12 && Math.max(...ends) <= 72 * inches, `${ends} of ${72 * inches}`);
  }
});

test("a figure has minor ticks, on logarithmic axes and on others", () => {
  const ticksOf = (/** @type {string} */ svg) => {
    const [, marks] = /<path d="M0,0v\d+h[\d.]+(M[^"]*)"/.exec(svg) ?? [];
    return ["v3", "v1.5", "h-3", "h-1.5"].map((mark) => [...marks.matchAll(new RegExp(`${mark}(?![\\d.])`, "g"))].length);
  };
  const [xMajor, xMinor, yMajor, yMinor] = ticksOf(lineChartFigure(7, "loss", modelOf({ lines: [line("run", [0.25, ...Array(98).fill(1), 2.9])] }, { yScale: "log" })));
  assert.ok(xMajor >= 3 && xMinor >= 3 * xMajor - 3 && yMinor >= 8, `${[xMajor, xMinor, yMajor, yMinor]}`);
  const log = wordsOf(lineChartFigure(3.4, "loss", modelOf({ lines: [line("run", [0.25, 1, 2.9])] }, { yScale: "log" })));
  for (const label of ["0.3", "0.5", "1", "2"]) assert.ok(log.includes(label), label);
  // Four powers of ten in a column of a paper.
  assert.ok(ticksOf(lineChartFigure(3.4, "loss", modelOf({ lines: [line("run", [0.25, 1, 1000])] }, { yScale: "log" })))[3] >= 24);
  // There are no halves of steps.
  const few = { ...line("run", [1, 2, 3]), step: column([0, 1, 2]) };
  assert.equal(ticksOf(lineChartFigure(3.4, "loss", modelOf({ lines: [few] })))[1], 0);
});

test("a figure has no dots at points, and names all lines beside the plot or all in a legend", () => {
  const long = line("long", [3, 3, 3, 3, 3]);
  const svgOf = (/** @type {object[]} */ ...lines) => lineChartFigure(7, "loss", modelOf({ lines }));
  assert.ok(!/<path d="M[\d.]+,[\d.]+a/.test(svgOf(long)));
  const colorOf = (/** @type {string} */ svg, /** @type {string} */ name) => /fill="([^"]*)"/.exec(textsOf(svg).find(({ text }) => text === name)?.attributes ?? "")?.[1];
  const beside = svgOf(long, line("other", [1, 1, 1, 1, 1]));
  // Their fields have the order of the legend, whatever is above.
  /** @type {string[]} */
  const asked = [];
  const rename = (/** @type {string} */ kind, /** @type {string} */ text) => (kind === "name" && asked.push(text), "");
  lineChartFigure(7, "loss", modelOf({ lines: [line("low", [1, 1]), long] }), "", { rename });
  assert.deepEqual([...new Set(asked)], ["low", "long"]);
  assert.deepEqual(["long", "other"].map((name) => colorOf(beside, name)), ["#3366cc", "#3366cc"]);
  const legend = svgOf(long, line("short", [1, 1])); // ends far from the edge
  assert.deepEqual(["long", "short"].map((name) => colorOf(legend, name)), ["#000000", "#000000"]);
  const wide = modelOf({ lines: [line("a name that would take the space of half the figure", [3, 3, 3])] });
  assert.ok(!wordsOf(lineChartFigure(3.4, "loss", wide)).includes("a name") && lineChartFigure(3.4, "loss", wide).includes('stroke-width="1.2"'));
});

test("a legend is not higher than the plot: it ends with the number of lines that it leaves out", () => {
  const linesOf = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => line(`model/seed${100 + i}`, [i, i]));
  const heightOf = (/** @type {string} */ svg) => Number(/viewBox="0 0 [\d.]+ ([\d.]+)"/.exec(svg)?.[1]);
  const [few, some, many] = [1, 20, 400].map((count) => lineChartFigure(3.4, "loss", modelOf({ lines: linesOf(count) })));
  assert.equal(wordsOf(some).filter((word) => word.startsWith("model/")).length, 20);
  const named = wordsOf(many).filter((word) => word.startsWith("model/"));
  assert.ok(named.length >= 20 && named.length < 40, String(named.length));
  assert.equal(named[0], "model/seed100");
  assert.ok(wordsOf(many).includes(`and ${400 - named.length} more`), wordsOf(many).join());
  assert.ok(heightOf(many) < 2 * heightOf(few), `${heightOf(many)} of ${heightOf(few)}`);
});

test("any text is escaped in a figure", () => {
  const svg = lineChartFigure(7, "a<b>", modelOf({ lines: [line('<script>"', [1, 2], { color: '"><script>' })] }), "x & y");
  assert.ok(!svg.includes("<script"));
  for (const part of [">a&#60;b&#62;</text>", "&#60;script&#62;&#34;", ">x &#38; y</text>"]) assert.ok(svg.includes(part), part);
});

test("a figure has names and titles of one's own, escaped, and its legend where it is wished", () => {
  const lines = [line("sweep/a", [3, 3, 3]), line("sweep/b", [1, 1])]; // b ends far from the edge
  /** @type {Record<string, string>} */
  const texts = { "name sweep/a": "<Ours>", "x step": "Training step", "y val/loss": "Validation loss" };
  /** @type {string[][]} */
  const asked = [];
  const figure = (/** @type {string} */ legend, /** @type {object} */ axes = {}) =>
    lineChartFigure(3.4, "val/loss", modelOf({ lines }, axes), "", { legend, rename: (kind, text, color = "") => (asked.push([kind, text, color]), texts[`${kind} ${text}`] ?? "") });
  const svg = figure("outside");
  for (const word of ["&#60;Ours&#62;", "sweep/b", "Training step", "Validation loss"]) assert.ok(wordsOf(svg).includes(word), word);
  for (const word of ["sweep/a", "step", "val/loss"]) assert.ok(!wordsOf(svg).includes(word), word);
  for (const text of [["name", "sweep/a", "#3366cc"], ["name", "sweep/b", "#3366cc"], ["x", "step", ""], ["y", "val/loss", ""]]) assert.ok(asked.some((each) => String(each) === String(text)), String(text));
  // That an axis is logarithmic is said, whatever its title.
  assert.ok(wordsOf(figure("outside", { xScale: "log" })).includes("Training step (log scale)"));

  const heightOf = (/** @type {string} */ text) => Number(/viewBox="0 0 [\d.]+ ([\d.]+)"/.exec(text)?.[1]);
  const placeOf = (/** @type {string} */ text) => /<g transform="translate\(([\d.]+),([\d.]+)\)">\n<rect/.exec(text)?.slice(1).map(Number) ?? [];
  const [topLeft, topRight, bottomLeft, bottomRight] = ["top left", "top right", "bottom left", "bottom right"].map((corner) => placeOf(figure(corner)));
  assert.deepEqual(topLeft, [4, 4]);
  assert.ok(topRight[0] > 100 && topRight[1] === 4 && bottomLeft[0] === 4 && bottomLeft[1] > 80, String([topRight, bottomLeft]));
  assert.deepEqual(bottomRight, [topRight[0], bottomLeft[1]]);
  assert.ok(heightOf(figure("top left")) < heightOf(svg));
  assert.ok(!wordsOf(figure("none")).some((word) => /sweep|Ours/.test(word)));
  const many = modelOf({ lines: Array.from({ length: 40 }, (_, i) => line(`a run with a long name ${i}`, [i, i])) });
  const inside = lineChartFigure(3.4, "loss", many, "", { legend: "top right" });
  assert.ok(wordsOf(inside).some((word) => /^and \d+ more$/.test(word)));
  assert.ok(placeOf(inside)[0] > 60, String(placeOf(inside)));
});

test("the note of a figure says what marks are, and which part of the axes is shown, nothing twice", () => {
  const noteOf = (/** @type {object} */ content, axes = {}) => lastNote(lineChartFigure(7, "loss", modelOf(content, axes)));
  /** The text below the axes, without the legend. @param {string} svg */
  const lastNote = (svg) => textsOf(svg).filter(({ attributes }) => /^x="4" y="7.8"/.test(attributes)).map(({ text }) => text).join(" ");
  assert.equal(noteOf({ lines: [line("a", [1, 2, 3])] }), "");
  assert.equal(noteOf({ lines: [line("a", [1, NaN, 3])] }), "cross: NaN");
  assert.equal(noteOf({ lines: [line("a", [1, Infinity, 3])] }), "triangle: infinite");
  const failing = band("g", 1, { label: "quartiles", average: "median", nonfinite: column(Array.from({ length: 101 }, (_, i) => (i < 50 ? 0 : 1))) });
  assert.equal(noteOf({ bands: [failing] }), "median of 5 runs, band: quartiles; cross: one more run NaN or infinite, not in the median");
  assert.equal(noteOf({ bands: [failing], lines: [line("a", [1, NaN, -Infinity])] }), "median of 5 runs, band: quartiles; cross: NaN; of a group, one more run NaN or infinite, not in the median; triangle: infinite");
  const several = (/** @type {number[]} */ ...numbers) => band("g", 1, { nonfinite: column(Array.from({ length: 101 }, (_, i) => numbers[Math.floor(i / 25)] ?? numbers.at(-1))) });
  assert.match(noteOf({ bands: [several(0, 3)] }), /cross: 3 more runs NaN or infinite, not in the mean/);
  assert.match(noteOf({ bands: [several(0, 1, 3)] }), /cross: 1 to 2 more runs NaN or infinite, not in the mean/);
  assert.equal(noteOf({ bands: [failing], view: [0, 40] }), "median of 5 runs, band: quartiles; x axis: 0 to 40 of 0 to 100");
  const long = line("a", Array.from({ length: 200 }, (_, i) => i));
  assert.equal(noteOf({ lines: [long], view: [500, 1500] }), "x axis: 500 to 1,500 of 0 to 1,990");
  assert.equal(noteOf({ lines: [long], view: [-10, 3000] }), "");
  assert.equal(noteOf({ lines: [long] }, { limits: [0, null] }), "y axis: from 0");
  assert.equal(noteOf({ lines: [long] }, { limits: [0, 50] }), "y axis: 0 to 50; values beyond the y axis not shown");
});

// --- names beside the ends of lines --------------------------------------------------------------

/** The named lines, with the distance of each name from its line. @param {any[]} lines @param {object} [more] */
function namesOf(lines, { view = null, height = 100 } = {}) {
  const model = modelOf({ lines, view });
  const scene = model.scene({ width: 200, height }, { text: "", surface: "" });
  return namesAtEnds(scene, 10).map(({ item, top }) => [item.name, Math.round(top)]);
}

test("names are at the ends of lines, and touching ones are moved apart", () => {
  const flat = (/** @type {string} */ name, /** @type {number} */ value) => line(name, [5, value, value]);
  const [[, high], [, low]] = namesOf([flat("low", 0), flat("high", 10)]);
  assert.deepEqual([high < 10, low > 90], [true, true]);
  const [[first, top], [second, bottom]] = namesOf([flat("low", 0), flat("a", 5), flat("b", 5.1), flat("high", 10)]).slice(1, 3);
  assert.deepEqual([first, second, bottom - top], ["b", "a", 10]);
  // Three at one place do not fit: two are named.
  const names = namesOf([flat("low", 0), flat("a", 5), flat("b", 5), flat("c", 5), flat("high", 10)]);
  assert.equal(names.length, 4);
  for (let i = 1; i < names.length; i++) assert.ok(Number(names[i][1]) - Number(names[i - 1][1]) >= 10);
});

test("the name of a noisy line is where its last points are, not only the last", () => {
  const noisy = line("noisy", Array.from({ length: 200 }, (_, i) => (i === 199 ? 0 : 10 + (i % 2))));
  const [[, top]] = namesOf([noisy]);
  assert.ok(Number(top) < 20, String(top));
});

test("more than eight lines, and lines that end elsewhere, have no name", () => {
  const lines = Array.from({ length: 9 }, (_, i) => line(String(i), [i, i]));
  assert.equal(namesOf(lines.slice(0, 8), { height: 300 }).length, 8);
  assert.deepEqual(namesOf(lines, { height: 300 }), []);
  assert.deepEqual(namesOf([line("long", [1, 1, 1, 1]), line("short", [2, 2])]).map(([name]) => name), ["long"]);
  assert.deepEqual(namesOf([line("gone", [NaN, NaN])]), []);
});

test("in a part of the chart, names are where lines leave it", () => {
  const [[name, top]] = namesOf([line("run", [0, 0, 0, 10, 10])], { view: [0, 25] });
  assert.equal(name, "run");
  assert.ok(Number(top) > 40 && Number(top) < 60, String(top)); // half-way up between 20 and 30
});

test("on the screen each line in sight has a name, at its end or right of the plot, and none is over another", () => {
  const lines = Array.from({ length: 12 }, (_, i) => line(`run ${i}`, Array.from({ length: i + 2 }, (_, k) => (k === i + 1 ? i % 3 : 0))));
  const chart = modelOf({ lines });
  const scene = chart.scene({ width: 600, height: 200 }, { text: "#000", surface: "#fff" });
  const names = namesOnScreen(scene, 13, () => 60);
  assert.deepEqual(names.map(({ item }) => item.name).sort(), lines.map(({ name }) => name).sort());
  const isOver = (/** @type {typeof names[number]} */ a, /** @type {typeof names[number]} */ b) => Math.abs(a.top - b.top) < 12.9 && Math.abs(a.left - b.left) < 60;
  for (const [i, a] of names.entries()) for (const b of names.slice(i + 1)) assert.ok(!isOver(a, b), `${a.item.name} and ${b.item.name}`);
  assert.ok(names.some(({ left }) => left < 500));
  assert.ok(names.every(({ top }) => top >= 0 && top <= 200));
});
