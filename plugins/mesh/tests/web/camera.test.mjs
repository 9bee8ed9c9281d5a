// Cameras: how gestures change them, their text in the address, and where vertices are in the picture.

import { signal } from "@preact/signals-core";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cameras, START, formatCamera, moved, parseCamera, transformOf, turned, zoomed } from "../../tbcore_mesh/static/camera.js";

/** Where a vertex is in a picture, as x and y from -1 to 1. */
function project(camera, vertex, { frame = [[0, 0, 0], 1], aspect = 1, isZUp = false } = {}) {
  const { center, scale, view, projection } = transformOf(camera, frame, { aspect, isZUp });
  const times = (matrix, [...v]) => [0, 1, 2, 3].map((row) => v.reduce((sum, value, column) => sum + matrix[4 * column + row] * value, 0));
  const place = vertex.map((value, i) => (value - center[i]) * scale);
  const [x, y, z, w] = times(projection, times(view, [...place, 1]));
  assert.ok(w > 0 && Math.abs(z) <= w, "the vertex is in front of the camera");
  return [x / w, y / w];
}

const FRONT = { yaw: 0, pitch: 0, zoom: 1, x: 0, y: 0 };

test("from the front, x is to the right and y is up; or z, if that is upwards", () => {
  const [right, left] = [project(FRONT, [0.5, 0, 0]), project(FRONT, [-0.5, 0, 0])];
  assert.ok(right[0] > 0.4 && left[0] < -0.4 && right[1] === 0);
  assert.ok(project(FRONT, [0, 0.5, 0])[1] > 0.4);
  assert.ok(project(FRONT, [0, 0, 0.5], { isZUp: true })[1] > 0.4);
  // What is near is larger: z points to the reader, or y away from him.
  assert.ok(project(FRONT, [0.5, 0, 0.5])[0] > right[0]);
  assert.ok(project(FRONT, [0.5, -0.5, 0], { isZUp: true })[0] > right[0]);
});

test("a drag to the right turns the front to the right, and one downwards shows the top", () => {
  assert.ok(project(turned(FRONT, 20, 0), [0, 0, 0.9])[0] > 0.2);
  assert.ok(project(turned(FRONT, 0, 20), [0, 0, 0.9])[1] < -0.2);
  assert.equal(turned(FRONT, 0, 500).pitch, 90);
  assert.equal(turned(FRONT, -10, 0).yaw, 350);
});

test("a frame fits into the picture from all sides, whatever its place, size and aspect", () => {
  const frame = [[1e6, -40, 3], 250];
  for (const aspect of [0.5, 1, 2.5]) {
    for (const yaw of [0, 77, 200, 333]) {
      for (const pitch of [-90, -31, 0, 58, 90]) {
        for (const axis of [0, 1, 2]) {
          for (const sign of [-1, 1]) {
            const vertex = frame[0].map((value, i) => value + (i === axis ? sign * 249.9 : 0));
            const [x, y] = project({ ...FRONT, yaw, pitch }, vertex, { frame, aspect });
            assert.ok(Math.abs(x) <= 1 && Math.abs(y) <= 1, `${[aspect, yaw, pitch, axis, sign]}: ${[x, y]}`);
          }
        }
      }
    }
  }
});

test("a zoom leaves the place under the pointer where it is", () => {
  const camera = { yaw: 40, pitch: 10, zoom: 1.5, x: 0.2, y: -0.1 };
  const vertex = [0.3, 0.2, -0.4];
  const before = project(camera, vertex);
  const after = project(zoomed(camera, 3, ...before), vertex);
  assert.ok(before.every((value, i) => Math.abs(value - after[i]) < 1e-9));
  assert.equal(zoomed(camera, 1e9).zoom, 1000);
});

test("moving is independent of the zoom and the distance", () => {
  const vertex = [0.3, 0.2, -0.4];
  const [x, y] = project(zoomed(FRONT, 2), vertex);
  const [movedX, movedY] = project(moved(zoomed(FRONT, 2), 0.25, -0.5), vertex);
  assert.ok(Math.abs(movedX - x - 0.25) < 1e-9 && Math.abs(movedY - y + 0.5) < 1e-9);
});

test("the text in the address is short, and gives the same view again", () => {
  assert.equal(formatCamera(START), null);
  assert.equal(formatCamera({ ...START, yaw: 41.4 }), "41,20");
  assert.equal(formatCamera({ yaw: 41, pitch: -20.2, zoom: 1.23456, x: 0, y: 0 }), "41,-20,1.23");
  assert.equal(formatCamera({ yaw: 41, pitch: 0, zoom: 1, x: 0, y: 0.125 }), "41,0,1,0,0.125");
  for (const text of ["41,20", "41,-20,1.23", "41,0,1,0,0.125"]) assert.equal(formatCamera(parseCamera(text)), text);
});

test("any text is a camera", () => {
  for (const text of [undefined, "", "x", ",,,,", "NaN,Infinity"]) assert.deepEqual(parseCamera(text), START);
  assert.deepEqual(parseCamera("-30,200,1e9,x"), { yaw: 330, pitch: 90, zoom: 1000, x: 0, y: 0 });
});

test("the shared camera follows the address, and single ones begin where it is", () => {
  const settings = signal({ view: "10,20" });
  const set = (name, value) => (settings.value = value === null ? {} : { [name]: value });
  const cameras = new Cameras(Object.assign(settings, { set }));
  assert.equal(cameras.shared.value.yaw, 10);
  cameras.own("a").value = turned(cameras.own("a").value, 5, 0);
  assert.deepEqual([cameras.own("a").value.yaw, cameras.own("b").value.yaw, cameras.shared.value.yaw], [15, 10, 10]);
  cameras.shared.value = turned(cameras.shared.value, 0.4, 0);
  cameras.settle();
  assert.equal(settings.value.view, "10,20");
  assert.notEqual(cameras.shared.value.yaw, 10); // The view does not jump to the rounded one.
  settings.value = { view: "90,0" };
  assert.equal(cameras.shared.value.yaw, 90);
  cameras.reset();
  assert.deepEqual([settings.value, cameras.shared.value, cameras.own("a").value], [{}, START, START]);
});
