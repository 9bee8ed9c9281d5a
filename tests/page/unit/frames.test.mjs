// Draw calls are spread over frames, and one that throws does not stop the others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cancelDraw, scheduleDraw } from "../../../tbcore/web/lib/chart/chart-frame.js";

/** The callbacks of requested animation frames. @type {(() => void)[]} */
const frames = [];
globalThis.requestAnimationFrame = /** @type {any} */ ((/** @type {() => void} */ callback) => frames.push(callback));

test("a draw call runs once, a prioritized one first, and a cancelled one not at all", () => {
  /** @type {string[]} */
  const done = [];
  const [a, b, c] = ["a", "b", "c"].map((name) => () => (done.push(name), 0));
  for (const draw of [a, b, a]) scheduleDraw(draw);
  scheduleDraw(c, true);
  cancelDraw(b);
  assert.equal(frames.length, 1);
  frames.shift()?.();
  assert.deepEqual(done, ["c", "a"]);
  assert.equal(frames.length, 0);
});

test("draw calls after one that throws or is slow run in the next frame", () => {
  let numDrawn = 0;
  scheduleDraw(() => {
    throw new Error("broken");
  });
  scheduleDraw(() => (numDrawn++, 1e6)); // milliseconds
  scheduleDraw(() => (numDrawn++, 0));
  assert.throws(() => frames.shift()?.(), /broken/);
  frames.shift()?.();
  assert.equal(numDrawn, 1);
  frames.shift()?.();
  assert.equal(numDrawn, 2);
  assert.equal(frames.length, 0);
});
