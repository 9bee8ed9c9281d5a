// Numbers, times and sizes as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBytes, formatDuration, formatName, formatStep, formatTime, formatValue, plural, toNumber } from "../../../tbcore/web/format.js";

/**
 * Asserts that a function formats inputs as expected.
 * @template I
 * @param {(input: I) => string} format
 * @param {[input: I, expected: string][]} table
 */
function assertFormats(format, table) {
  for (const [input, expected] of table) assert.equal(format(input), expected);
}

test("values have six significant digits and no more than they need", () => {
  assertFormats(formatValue, [
    [0, "0"],
    [-0, "0"],
    [1, "1"],
    [0.1, "0.1"],
    [0.10000000149011612, "0.1"],
    [0.7461960315704346, "0.746196"],
    [-1234.5678, "-1234.57"],
    [123456.789, "123457"],
    [12345678, "12345678"],
    [1e9, "1e9"],
    [1.23456789e-7, "1.23457e-7"],
    [0.00012345678, "0.000123457"],
    [3.4028234663852886e38, "3.40282e38"],
    [5e-324, "4.94066e-324"],
    [NaN, "NaN"],
    [Infinity, "∞"],
    [-Infinity, "−∞"],
  ]);
});

test("steps have separators and stay whole numbers", () => {
  assertFormats(formatStep, [
    [0, "0"],
    [1234567, "1,234,567"],
    [Number.MAX_SAFE_INTEGER, "9,007,199,254,740,991"],
    [-5, "-5"],
  ]);
});

test("counts agree with their nouns", () => {
  assert.equal(plural(1, "run"), "1 run");
  assert.equal(plural(0, "run"), "0 runs");
  assert.equal(plural(2000, "directory", "directories"), "2,000 directories");
});

test("durations have their two largest units", () => {
  assertFormats(formatDuration, [
    [0, "0 s"],
    [0.25, "0.25 s"],
    [12.4, "12 s"],
    [200, "3m 20s"],
    [7500, "2h 05m"],
    [3 * 86400 + 4 * 3600 + 59, "3d 4h"],
    [-90, "−1m 30s"],
    [59.7, "1m 00s"],
    [NaN, "NaN"],
  ]);
});

test("times are in the browser's time zone", () => {
  const date = new Date(2020, 2, 1, 11, 6, 2);
  assert.equal(formatTime(date.getTime() / 1000), "2020-03-01 11:06:02");
  assert.equal(formatTime(1e300), "1e300");
});

test("sizes have two or three digits", () => {
  assertFormats(formatBytes, [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1 kB"],
    [1449999, "1.4 MB"],
    [999999, "1 MB"],
    [123e9, "123 GB"],
    [5e15, "5000 TB"],
  ]);
});

test("the server's names of non-finite numbers are parsed", () => {
  assert.ok(Number.isNaN(toNumber("NaN")));
  assert.equal(toNumber("Infinity"), Infinity);
  assert.equal(toNumber("-Infinity"), -Infinity);
  assert.equal(toNumber(0.5), 0.5);
  assert.ok(Number.isNaN(toNumber(null)));
});

test("hidden characters of names are escaped, all others are kept", () => {
  assertFormats(formatName, [
    ["exp/lr=1e-3 ä 漢字 שלום 👩‍💻", "exp/lr=1e-3 ä 漢字 שלום 👩‍💻"],
    ["rtl\u202egnp.exe", "rtl\\u202egnp.exe"],
    ["a\nb\r\tc", "a\\nb\\u000d\\u0009c"],
    ["\0\x1b[31m\x7f\x85", "\\u0000\\u001b[31m\\u007f\\u0085"],
    ["\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u2028\u2029", "\\u200e\\u200f\\u061c\\u202a\\u202b\\u202c\\u202d\\u2028\\u2029"],
    ["\u2066a\u2067b\u2068c\u2069", "\\u2066a\\u2067b\\u2068c\\u2069"],
  ]);
});
