// How pictures are shown.

import assert from "node:assert/strict";
import { test } from "node:test";
import { endingOf, filterOf, parseLook, widthOf } from "../../tbcore_images/static/look.js";

test("an address without any shows pictures as they were logged, as large as there is room", () => {
  const look = parseLook({});
  assert.deepEqual(look, { size: "fit", smooth: false, brightness: 100, contrast: 100 });
  assert.equal(filterOf(look), "");
});

test("what an address says is kept within its bounds", () => {
  assert.deepEqual(parseLook({ size: "4", smooth: "true", bright: "150", contrast: "0" }), {
    size: "4",
    smooth: true,
    brightness: 150,
    contrast: 0,
  });
  assert.deepEqual(parseLook({ size: "huge", smooth: "1", bright: "-3", contrast: "x" }), {
    size: "fit",
    smooth: false,
    brightness: 0,
    contrast: 100,
  });
  assert.equal(parseLook({ bright: "1e9" }).brightness, 400);
});

test("only what differs is a filter", () => {
  assert.equal(filterOf(parseLook({ bright: "150" })), "brightness(150%)");
  assert.equal(filterOf(parseLook({ bright: "50", contrast: "200" })), "brightness(50%) contrast(200%)");
});

test("sizes are in the picture's own pixels", () => {
  assert.equal(widthOf("1", { width: 28, height: 14 }), "28px");
  assert.equal(widthOf("8", { width: 28, height: 14 }), "224px");
  assert.match(widthOf("fit", { width: 28, height: 14 }), /\* 2\)/);
  assert.equal(widthOf("2", { width: 0, height: 0 }), "");
});

test("files are named after their type", () => {
  assert.deepEqual(["image/png", "image/jpeg", "image/webp", "application/octet-stream", "text/html"].map(endingOf), [
    ".png",
    ".jpg",
    ".webp",
    ".bin",
    ".bin",
  ]);
});
