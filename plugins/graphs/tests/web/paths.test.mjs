// Names of nodes, cameras, and search texts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fit, reveal, zoom } from "../../tbcore_graphs/static/camera.js";
import { lastPart, scopeOf, scopesAround, seriesOf } from "../../tbcore_graphs/static/paths.js";
import { formatMicros, shortDevice } from "../../tbcore_graphs/static/colors.js";
import { readQuery } from "../../tbcore_graphs/static/search.js";

test("a name is a path, and scopes do not have empty names", () => {
  assert.deepEqual([lastPart("a/b/c"), scopeOf("a/b/c"), scopesAround("a/b/c")], ["c", "a/b", ["a", "a/b"]]);
  assert.deepEqual([lastPart("a"), scopeOf("a"), scopesAround("a")], ["a", "", []]);
  assert.deepEqual([lastPart("a//b"), scopeOf("a//b")], ["/b", "a"]);
  assert.deepEqual([lastPart("/a"), scopeOf("/a"), lastPart("a/"), scopeOf("a/")], ["/a", "", "a/", ""]);
});

test("the name of a series has a star in place of the last number", () => {
  assert.equal(seriesOf("block_1/conv2d_12_bias"), "block_1/conv2d_*_bias");
  assert.equal(seriesOf("block_1/conv"), "block_1/conv");
});

test("the point under the pointer stays there while zooming", () => {
  const before = { scale: 0.5, x: 10, y: 20 };
  const after = zoom(before, 3, 200, 100);
  assert.equal(after.scale, 1.5);
  assert.equal((200 - before.x) / before.scale, (200 - after.x) / after.scale);
  assert.equal((100 - before.y) / before.scale, (100 - after.y) / after.scale);
  assert.equal(zoom(before, 1e9, 0, 0).scale, 4);
});

test("a fitted area is visible as a whole, and revealing a visible box moves nothing", () => {
  const screen = { width: 800, height: 600 };
  const area = { x: 0, y: 0, width: 4000, height: 1000 };
  const camera = fit(area, screen);
  assert.ok(4000 * camera.scale <= 800 && camera.x > 0);
  assert.equal(fit({ x: 0, y: 0, width: 10, height: 10 }, screen).scale, 1.25);
  const seen = { x: 100, y: 100, width: 50, height: 50 };
  const still = { scale: 1, x: 0, y: 0 };
  assert.deepEqual(reveal(still, seen, screen), still);
  const moved = reveal(still, { ...seen, x: 2000 }, screen);
  assert.ok(2000 + moved.x + 50 <= 800 && moved.y === 0);
});

test("a word with op: searches for ops, other words for names", () => {
  assert.deepEqual(readQuery("conv op:Conv2D bias"), { text: "conv bias", op: "Conv2D" });
  assert.deepEqual(readQuery(" op: "), { text: "", op: undefined });
  assert.deepEqual(readQuery("stop:now"), { text: "stop:now", op: undefined });
});

test("times and devices are formatted briefly", () => {
  assert.deepEqual([0, 12, 1234, 250_000, 61e6].map(formatMicros), ["0 µs", "12 µs", "1.23 ms", "250 ms", "61 s"]);
  assert.equal(shortDevice("/job:localhost/replica:0/task:0/device:GPU:0"), "GPU:0");
  assert.equal(shortDevice("/cpu:0"), "cpu:0");
});
