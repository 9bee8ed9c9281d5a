// The layout of a scope, with the dagre that the build fetched.

import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut } from "../../tbcore_graphs/static/layout.js";

const dagre = await import("../../tbcore_graphs/static/vendor/dagre.mjs");

/** @param {number} count @param {object} [rest] */
function jobOf(count, rest = {}) {
  const all = (/** @type {unknown} */ value) => new Array(count).fill(value);
  return { width: all(60), height: all(24), auxiliary: all(false), edges: [], ins: [], outs: [], ...rest };
}

test("data flows from the bottom to the top, and edges end at their boxes", () => {
  const { x, y, edges } = layOut(dagre, jobOf(3, { edges: [[0, 1, 2, 0], [1, 2, 2, 40]] }));
  assert.ok(y[0] > y[1] && y[1] > y[2]);
  const points = edges[0];
  assert.deepEqual(points.slice(0, 2), [x[0] + 30, y[0]]);
  assert.deepEqual(points.slice(-2), [x[1] + 30, y[1] + 24]);
});

test("in a cycle, the lightest edge points down", () => {
  const { y } = layOut(dagre, jobOf(3, { edges: [[2, 0, 1, 0], [0, 1, 8, 0], [1, 2, 8, 0]] }));
  assert.ok(y[0] > y[1] && y[1] > y[2]);
});

test("ports are at the border of the box, below or above everything", () => {
  // A short path beside a long one: the port of the short path must not be placed further up.
  const { height, y, ins, outs } = layOut(dagre, jobOf(4, { edges: [[0, 1, 2, 0], [1, 2, 2, 0]], ins: [[2], [3]], outs: [[2]] }));
  for (const { lines } of ins) for (const line of lines) assert.ok(line[1] >= Math.max(...y) + 12 && line[1] <= height);
  for (const { lines } of outs) for (const line of lines) assert.ok(line.at(-1) <= Math.min(...y) + 12);
  assert.notEqual(ins[0].x, ins[1].x);
});

test("boxes do not overlap, whether connected, single or auxiliary", () => {
  const count = 60;
  const edges = Array.from({ length: 30 }, (_, i) => [i, (i * 7 + 3) % 40, 1 + (i % 3), 0]).filter(([from, to]) => from !== to);
  const auxiliary = Array.from({ length: count }, (_, i) => i % 11 === 5);
  const { x, y, width, height, auxiliary: border } = layOut(dagre, jobOf(count, { edges, auxiliary, ins: [[1, 2], [9]], outs: [[3]] }));
  for (let a = 0; a < count; a++) {
    assert.ok(x[a] >= -1e-6 && y[a] >= -1e-6 && x[a] + 60 <= width + 1e-6 && y[a] + 24 <= height + 1e-6, `box ${a}`);
    assert.equal(x[a] >= border, auxiliary[a]);
    for (let b = 0; b < a; b++) {
      const apartX = Math.abs(x[a] - x[b]) >= 60 - 1e-6;
      assert.ok(apartX || Math.abs(y[a] - y[b]) >= 24 - 1e-6, `boxes ${a} and ${b}`);
    }
  }
});

test("edges of auxiliary nodes are not laid out", () => {
  const { edges } = layOut(dagre, jobOf(3, { edges: [[0, 1, 2, 0], [0, 2, 2, 0]], auxiliary: [false, false, true] }));
  assert.equal(edges[1], null);
  assert.notEqual(edges[0], null);
});

test("an empty scope has no size", () => {
  const { width, height } = layOut(dagre, jobOf(0));
  assert.deepEqual([width, height], [0, 0]);
});
