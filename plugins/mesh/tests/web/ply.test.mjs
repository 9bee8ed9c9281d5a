// Reading the server's files.

import assert from "node:assert/strict";
import { test } from "node:test";
import { edgesOf, readPly } from "../../tbcore_mesh/static/ply.js";

/** A file as the server writes it. */
function file(vertices, faces, hasColors) {
  const colors = hasColors ? ["red", "green", "blue", "alpha"].map((name) => `property uchar ${name}\n`).join("") : "";
  const header =
    `ply\nformat binary_little_endian 1.0\nelement vertex ${vertices.length}\nproperty float x\nproperty float y\nproperty float z\n${colors}` +
    `element face ${faces.length}\nproperty list uchar uint vertex_indices\ncomment\nend_header\n`;
  const pad = " ".repeat(-header.length & 3);
  const text = header.replace("comment\n", `comment${pad}\n`);
  const bytes = vertices.flatMap(([x, y, z, ...color]) => [...new Uint8Array(new Float32Array([x, y, z]).buffer), ...color]);
  const lists = faces.flatMap((face) => [3, ...new Uint8Array(new Uint32Array(face).buffer)]);
  return Uint8Array.from([...new TextEncoder().encode(text), ...bytes, ...lists]).buffer;
}

test("vertices with colours, and faces", () => {
  const vertices = [[0, 1, 2, 255, 0, 9, 255], [3, 4, 5, 1, 2, 3, 255]];
  const mesh = readPly(file(vertices, [[0, 1, 70000], [1, 0, 1]], true));
  assert.deepEqual([mesh.numVertices, mesh.hasColors, [...mesh.faces]], [2, true, [0, 1, 70000, 1, 0, 1]]);
  assert.equal(mesh.vertices.byteOffset % 4, 0);
  assert.equal(mesh.vertices.length, 32);
  assert.deepEqual([...mesh.vertices.subarray(12, 16)], [255, 0, 9, 255]);
  assert.equal(new DataView(mesh.vertices.buffer, mesh.vertices.byteOffset).getFloat32(20, true), 4);
});

test("a point cloud without colours", () => {
  const mesh = readPly(file([[0, 1, 2]], [], false));
  assert.deepEqual([mesh.numVertices, mesh.hasColors, mesh.faces.length, mesh.vertices.length], [1, false, 0, 12]);
});

test("a file that is cut off, or is something else, is refused", () => {
  const whole = file([[0, 1, 2]], [[0, 0, 0]], false);
  assert.throws(() => readPly(whole.slice(0, -1)), /incomplete/);
  assert.throws(() => readPly(new ArrayBuffer(0)), /incomplete/);
  assert.throws(() => readPly(new TextEncoder().encode("ply\nend_header\n").buffer), /incomplete/);
});

test("each face has three edges", () => {
  assert.deepEqual([...edgesOf(Uint32Array.of(4, 5, 6))], [4, 5, 5, 6, 6, 4]);
});
