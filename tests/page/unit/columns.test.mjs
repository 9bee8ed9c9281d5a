// Columns are parsed as the server writes them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readColumns } from "../../../tbcore/web/requests.js";

/**
 * The body, in hexadecimal, of
 * columns_response({"tag": "é"}, [{"x": [1, 2, 3], "y": [0.5, nan, -1]}, {}, {"z": [2**53]}])
 */
const BODY =
  "740000007b22686561646572223a7b22746167223a22c3a9227d2c227461626c6573223a5b7b22726f7773223a332c22636f6c756d6e73223a" +
  "5b2278222c2279225d7d2c7b22726f7773223a302c22636f6c756d6e73223a5b5d7d2c7b22726f7773223a312c22636f6c756d6e73223a5b22" +
  "7a225d7d5d7d000000000000f03f00000000000000400000000000000840000000000000e03f000000000000f87f000000000000f0bf000000" +
  "0000004043";

test("header and tables are parsed, and columns are views into the response", () => {
  const { buffer } = Uint8Array.from(BODY.match(/../g) ?? [], (byte) => parseInt(byte, 16));
  const { header, tables } = readColumns(buffer);
  assert.deepEqual(header, { tag: "é" });
  assert.deepEqual(tables, [{ x: Float64Array.of(1, 2, 3), y: Float64Array.of(0.5, NaN, -1) }, {}, { z: Float64Array.of(2 ** 53) }]);
  assert.equal(tables[0].y.buffer, buffer);
});
