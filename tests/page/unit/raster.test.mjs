// Drawing thin lines as pixels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Raster } from "../../../tbcore/web/lib/chart/raster.js";

/** Opacity of each pixel by row, 0 to 255. @param {Raster} raster */
function opacities({ width, height, pixels }) {
  return Array.from({ length: height }, (_, row) => Array.from(pixels.subarray(row * width, (row + 1) * width), (pixel) => pixel >>> 24));
}

/**
 * A picture with one line. x and y are in pixels, from the bottom left corner.
 * @typedef {{ width: number, height: number, thickness: number, alpha: number, dash: number[] }} Style
 * @param {number[]} xs
 * @param {number[]} ys
 * @param {Partial<Style>} [style]
 */
function draw(xs, ys, { width = 4, height = 4, thickness = 1, alpha = 1, dash } = {}) {
  const raster = new Raster(width, height);
  raster.line(xs, ys, 0, xs.length, [0, width], [0, height], 0x0000ff, alpha, thickness, dash);
  return raster;
}

test("a flat line covers one row, or two rows by half", () => {
  assert.deepEqual(opacities(draw([-1, 5], [2.5, 2.5])), [[0, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 0], [0, 0, 0, 0]]);
  assert.deepEqual(opacities(draw([-1, 5], [2, 2])), [[0, 0, 0, 0], [127, 127, 127, 127], [127, 127, 127, 127], [0, 0, 0, 0]]);
});

test("many points in a column are drawn from the lowest to the highest", () => {
  const xs = Array.from({ length: 1000 }, (_, i) => 1 + i / 1001);
  const raster = draw(xs, xs.map((_, i) => (i === 500 ? 3.5 : i === 501 ? 0.5 : 2)));
  assert.deepEqual(opacities(raster).map((row) => row[1]), [255, 255, 255, 255]);
  assert.deepEqual(opacities(raster).map((row) => row[2]), [0, 0, 0, 0]);
});

test("non-finite points are skipped, and points outside are cut off", () => {
  const whole = draw([0, 2, 4], [1, 2, 3]);
  assert.deepEqual(draw([0, 1, 2, 3, 4], [1, NaN, 2, Infinity, 3]).pixels, whole.pixels);
  assert.ok(draw([-1e9, 1e9], [-1e300, 1e300]).pixels.some((pixel) => pixel > 0));
  assert.ok(draw([NaN, 1], [1, NaN]).pixels.every((pixel) => pixel === 0));
  const far = new Raster(4, 4);
  far.line([0, 4], [-1.7e308, 1.7e308], 0, 2, [0, 4], [-1.7e308, 1.7e308], 255, 1, 1);
  assert.deepEqual(opacities(far).map((row) => row.map((opacity) => Number(opacity === 255))), [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]);
});

test("later lines cover earlier ones, faint lines only in part", () => {
  const raster = draw([0, 4], [2.5, 2.5]);
  raster.line([0, 4], [2.5, 2.5], 0, 2, [0, 4], [0, 4], 0xff0000, 0.5, 1);
  assert.equal(raster.pixels[4].toString(16), "ff7f007f");
  raster.clear();
  assert.ok(raster.pixels.every((pixel) => pixel === 0));
});

test("a line is drawn where it goes, whatever was drawn before", () => {
  for (const y of [0.5, 3.5]) {
    const raster = draw([0, 4], [4 - y, 4 - y]);
    raster.clear();
    raster.line([0, 4], [y, y], 0, 2, [0, 4], [0, 4], 0x0000ff, 1, 1);
    assert.deepEqual(raster.pixels, draw([0, 4], [y, y]).pixels);
  }
});

test("dashes leave out columns", () => {
  assert.deepEqual(opacities(draw([0, 8], [0.5, 0.5], { width: 8, height: 1, dash: [2, 2] }))[0].map(Boolean), [true, true, false, false, true, true, false, false]);
});
