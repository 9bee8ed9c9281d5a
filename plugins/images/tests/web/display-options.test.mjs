// Options for displaying images.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileExtension, filterOf, parseDisplayOptions, widthOf } from "../../tbcore_images/static/display-options.js";

test("without options in the address, images are shown as logged and fit the available space", () => {
  const display = parseDisplayOptions({});
  assert.deepEqual(display, { size: "fit", smooth: false, brightness: 100, contrast: 100 });
  assert.equal(filterOf(display), "");
});

test("options from the address are clamped to their bounds", () => {
  assert.deepEqual(parseDisplayOptions({ size: "4", smooth: "true", bright: "150", contrast: "0" }), {
    size: "4",
    smooth: true,
    brightness: 150,
    contrast: 0,
  });
  assert.deepEqual(parseDisplayOptions({ size: "huge", smooth: "1", bright: "-3", contrast: "x" }), {
    size: "fit",
    smooth: false,
    brightness: 0,
    contrast: 100,
  });
  assert.equal(parseDisplayOptions({ bright: "1e9" }).brightness, 400);
});

test("only changed values are part of the filter", () => {
  assert.equal(filterOf(parseDisplayOptions({ bright: "150" })), "brightness(150%)");
  assert.equal(filterOf(parseDisplayOptions({ bright: "50", contrast: "200" })), "brightness(50%) contrast(200%)");
});

test("sizes are multiples of the image's pixels", () => {
  assert.equal(widthOf("1", { width: 28, height: 14 }), "28px");
  assert.equal(widthOf("8", { width: 28, height: 14 }), "224px");
  assert.match(widthOf("fit", { width: 28, height: 14 }), /\* 2\)/);
  assert.equal(widthOf("2", { width: 0, height: 0 }), "");
});

test("the extension follows from the content type", () => {
  assert.deepEqual(["image/png", "image/jpeg", "image/webp", "application/octet-stream", "text/html"].map(fileExtension), [
    ".png",
    ".jpg",
    ".webp",
    ".bin",
    ".bin",
  ]);
});
