// Nested boxes, lines across the borders of scopes, colours and auxiliary nodes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pictureTools } from "tbcore/cards.js";
import { findAuxiliary } from "../../tbcore_graphs/static/auxiliary-nodes.js";
import { colorBoxes } from "../../tbcore_graphs/static/colors.js";
import { layOut } from "../../tbcore_graphs/static/layout.js";
import { labelOf, widthOf } from "../../tbcore_graphs/static/lines.js";
import { paint } from "../../tbcore_graphs/static/paint.js";
import { svgPen } from "../../tbcore_graphs/static/picture.js";
import { makeScene } from "../../tbcore_graphs/static/scene.js";
import { MAX_CHILDREN } from "../../tbcore_graphs/static/scope-layout.js";

const dagre = await import("../../tbcore_graphs/static/vendor/dagre.mjs");

/**
 * @param {string} path
 * @param {Record<string, string>} children  name to op; "" for a scope
 * @param {[from: number, to: number, shape?: string, control?: boolean, count?: number][]} edges
 * @param {[child: number, outside: string][]} [ins]
 * @param {[child: number, outside: string][]} [outs]
 */
function scopeOf(path, children, edges, ins = [], outs = []) {
  const names = Object.keys(children);
  const crossing = (/** @type {[number, string][]} */ rows) => ({
    child: rows.map(([child]) => child),
    outside: rows.map(([, outside]) => outside),
    count: rows.map(() => 1),
    control: rows.map(() => false),
    shape: rows.map(() => ""),
  });
  return {
    path,
    total: names.length,
    children: {
      name: names,
      kind: names.map((name) => (children[name] === "" ? "scope" : "op")),
      op: names.map((name) => children[name]),
      nodes: names.map(() => 1),
      device: names.map(() => ""),
      structure: names.map(() => 0),
      compute_us: names.map(() => null),
      bytes: names.map(() => null),
    },
    edges: {
      from: edges.map(([from]) => from),
      to: edges.map(([, to]) => to),
      shape: edges.map(([, , shape]) => shape ?? ""),
      control: edges.map(([, , , control]) => control ?? false),
      count: edges.map(([, , , , count]) => count ?? 1),
    },
    ins: crossing(ins),
    outs: crossing(outs),
  };
}

const SCOPES = {
  "": scopeOf("", { x: "Placeholder", a: "", b: "", y: "Mean" }, [[0, 1, "?x3"], [1, 2], [2, 3]]),
  a: scopeOf("a", { "a/in": "MatMul", "a/out": "Relu" }, [[0, 1, "2x2", false, 3]], [[0, "x"]], [[1, "b"]]),
  b: scopeOf("b", { "b/c": "" }, [], [[0, "a"]], [[0, "y"]]),
  "b/c": scopeOf("b/c", { "b/c/d": "Add" }, [], [[0, "a"]], [[0, "y"]]),
};

/** @param {Record<string, any>} scopes @param {string[]} open */
const sceneOf = (scopes, ...open) =>
  makeScene(
    { open: new Set(open), movedToMain: new Set(), movedToAuxiliary: new Set() },
    {
      fetchScope: async (name) => scopes[name],
      layOut: async (job) => layOut(dagre, job),
      measure: (text) => text.length * 6,
    },
  );

test("open scopes contain their children, and closed ones do not", async () => {
  const closed = await sceneOf(SCOPES);
  assert.deepEqual([...closed.boxes.keys()], ["x", "a", "b", "y"]);
  const { boxes } = await sceneOf(SCOPES, "a", "b", "b/c", "gone");
  assert.deepEqual([...boxes.keys()], ["x", "a", "a/in", "a/out", "b", "b/c", "b/c/d", "y"]);
  for (const [name, outer] of [["a/in", "a"], ["a/out", "a"], ["b/c", "b"], ["b/c/d", "b/c"]]) {
    const [inside, around] = [boxes.get(name), boxes.get(outer)];
    assert.ok(inside.x > around.x && inside.x + inside.width < around.x + around.width, name);
    assert.ok(inside.y > around.y && inside.y + inside.height < around.y + around.height, name);
    assert.equal(inside.depth, around.depth + 1);
  }
});

test("a line from outside continues inside the scope from where it ends", async () => {
  const { items } = await sceneOf(SCOPES, "a", "b", "b/c");
  const lines = items.filter(({ type }) => type === "line");
  const of = (/** @type {string} */ from, /** @type {string} */ to) => lines.find((line) => line.from === from && line.to === to).points;
  const end = (/** @type {number[]} */ points) => points.slice(-2).map(Math.round);
  const start = (/** @type {number[]} */ points) => points.slice(0, 2).map(Math.round);
  assert.deepEqual(end(of("x", "a")), start(of("x", "a/in")));
  assert.deepEqual(end(of("a/out", "b")), start(of("a", "b")));
  assert.deepEqual(end(of("a", "b")), start(of("a", "b/c")));
  assert.deepEqual(end(of("a", "b/c")), start(of("a", "b/c/d")));
  assert.deepEqual(lines.filter(({ arrow }) => arrow).map(({ to }) => to).sort(), ["a/in", "a/out", "b/c/d", "y"]);
});

test("lines from most of a scope to one node are hidden until an end is selected", async () => {
  /** @type {Record<string, string>} */
  const layers = {};
  for (let i = 0; i < 7; i++) layers[`a/${i}`] = "Add";
  const scopes = {
    "": scopeOf("", { a: "", train: "NoOp" }, [[0, 1]]),
    a: scopeOf("a", layers, [[0, 1]], [], Object.keys(layers).map((_, child) => [child, "train"])),
  };
  const { items, boxes } = await sceneOf(scopes, "a");
  const lines = items.filter((item) => item.type === "line" && item.to === "train" && item.from.startsWith("a/"));
  assert.equal(lines.length, 7);
  assert.ok(lines.every(({ hidden, points }) => hidden && points.length > 0));
  assert.equal(boxes.get("a/3").numHidden, 1);
});

test("lines from a scope to an auxiliary node are hidden until an end is selected", async () => {
  const scopes = {
    "": scopeOf("", { a: "", b: "Add", c: "Add", d: "Add", save: "SaveV2" }, [[0, 4]]),
    a: scopeOf("a", { "a/x": "Add" }, [], [], [[0, "save"]]),
  };
  const { items, boxes } = await sceneOf(scopes, "a");
  const line = items.find((item) => item.type === "line" && item.from === "a/x");
  assert.ok(line.to === "save" && line.hidden && line.points.length > 0);
  assert.equal(boxes.get("a/x").numHidden, 1);
});

const COLORS = { background: "#fff", surface: "#fff", nested: "#eee", ink: "#000", dim: "#555", line: "#ccc", accent: "#00f", edge: "#999" };

const tools = await pictureTools();

/** SVG elements of a scene. @param {any} scene @param {object} [more]  changes of the appearance */
function painted(scene, more) {
  const pen = svgPen(tools);
  const appearance = { colors: COLORS, paintOf: () => null, selected: null, hovered: null, found: new Set(), traced: null, ...more };
  paint(pen, scene, appearance, { scale: 1, left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity });
  return pen.elements;
}

test("traced boxes are highlighted, and all others are faint", async () => {
  const scene = await sceneOf({ "": scopeOf("", { x: "X", y: "Y", z: "Z" }, [[0, 1], [1, 2]]) });
  const elements = painted(scene, { selected: "y", traced: new Set(["x", "y"]), paintOf: () => ({ color: "#0a0", strength: 0.2 }) });
  const lines = elements.filter((element) => element.startsWith("<path"));
  assert.deepEqual(lines.map((line) => line.includes('stroke="#00f"')).sort(), [false, true], "the line to z is not an input");
  const of = (/** @type {string} */ name) => elements.find((element) => element.endsWith(`>${name}</text>`)) ?? "";
  assert.match(of("x"), /fill="#000"/);
  assert.match(of("z"), /fill="#555"/);
  assert.equal(elements.filter((element) => element.includes('fill="#0a0"')).length, 2, "boxes with their colour");
});

test("boxes keep their colours when other scopes are opened", () => {
  const boxOf = (/** @type {number} */ structure) => /** @type {any} */ ({ structure, open: false });
  const before = colorBoxes("structure", [1, 2, 3].map(boxOf), "light");
  for (const inside of [4, 5, 6, 7, 8]) {
    const after = colorBoxes("structure", [1, inside, 2, 3].map(boxOf), "light", before.names);
    for (const kept of [1, 2, 3]) assert.deepEqual(after.paintOf(boxOf(kept)), before.paintOf(boxOf(kept)));
    assert.notEqual(after.paintOf(boxOf(inside)), null);
  }
});

test("colours by cost stay the same when other scopes are opened", () => {
  const boxOf = (/** @type {string} */ name, /** @type {number} */ bytes, open = false) => /** @type {any} */ ({ name, bytes, open, computeMicros: null });
  const other = boxOf("other", 100);
  const closed = colorBoxes("memory", [boxOf("a", 900), other], "light");
  const opened = colorBoxes("memory", [boxOf("a", 900, true), boxOf("a/b", 90), other], "light");
  assert.deepEqual(opened.scale, closed.scale);
  assert.deepEqual(opened.paintOf(other), closed.paintOf(other));
  assert.equal(opened.paintOf(boxOf("a", 900, true)), null);
});

test("long names and ops do not make a box too wide", async () => {
  const long = "L".repeat(5000);
  const { boxes } = await sceneOf({ "": scopeOf("", { [long]: long, x: "X" }, []) });
  assert.ok(boxes.get(long).width < 300);
});

test("long names lose what they have in common, so that they can be told apart", async () => {
  const names = ["query", "key"].map((part) => `transformer_encoder_layer_attention_${part}_projection_kernel`);
  const { boxes } = await sceneOf({ "": scopeOf("", { input: "Placeholder", [names[0]]: "MatMul", [names[1]]: "MatMul" }, []) });
  assert.deepEqual(["input", ...names].map((name) => boxes.get(name)?.label), ["input", "…query…", "…key…"]);
});

test("names that look like markup are escaped", async () => {
  const scene = await sceneOf({ "": scopeOf("", { "<b>": "Op & op", z: "Z" }, [[0, 1, "2x3"]]) });
  const svg = painted(scene).join("");
  assert.match(svg, />&#60;b&#62;</);
  assert.match(svg, />Op &#38; op</);
  assert.match(svg, />2×3</);
});

test("a scope with too many children is not drawn, and its message counts them", async () => {
  const many = scopeOf("", { a: "A" }, []);
  const scene = await sceneOf({ "": { ...many, total: MAX_CHILDREN + 1 } });
  assert.match(scene.message, /^601 nodes in one scope/);
  assert.equal(scene.boxes.size, 0);
});

test("lines are labelled with shape and count, and larger ones are thicker", () => {
  const pair = { from: 0, to: 1, count: 1, control: false, shape: "?x64" };
  assert.equal(labelOf(pair), "?×64");
  assert.equal(labelOf({ ...pair, count: 3 }), "?×64 (3)");
  assert.equal(labelOf({ ...pair, count: 3, shape: "" }), "3 tensors");
  assert.equal(labelOf({ ...pair, control: true }), "");
  assert.ok(widthOf({ ...pair, shape: "64x1000" }) > widthOf(pair));
  assert.ok(widthOf({ ...pair, count: 8 }) > widthOf(pair));
  assert.equal(widthOf({ ...pair, control: true, count: 400 }), 1);
});

test("nodes that only save, and hubs with unusually many neighbours, are auxiliary", () => {
  /** @type {Record<string, string>} */
  const children = { step: "VariableV2", wait: "Identity", save: "" };
  for (let i = 0; i < 12; i++) children[`layer_${i}`] = "";
  /** @type {[number, number][]} */
  const edges = Array.from({ length: 11 }, (_, i) => [3 + i, 4 + i]);
  const hub = Array.from({ length: 12 }, (_, i) => /** @type {[number, number]} */ ([0, 3 + i]));
  const scope = scopeOf("", children, [...edges, ...hub]);
  const auxiliary = findAuxiliary(scope, new Set(), new Set());
  assert.deepEqual(auxiliary.slice(0, 4), [true, false, true, false]);
  assert.deepEqual(findAuxiliary(scope, new Set(["save"]), new Set(["layer_3"])).flatMap((is, row) => (is ? [row] : [])), [0, 6]);
  // A node with only control edges.
  const control = scopeOf("", children, [...edges, [3, 1, "", true]]);
  assert.equal(findAuxiliary(control, new Set(), new Set())[1], true);
});
