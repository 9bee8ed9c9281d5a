// Parsing and formatting the URL fragment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress } from "../../tbcore/web/lib/address.js";

test("the first part is the tab, as in links to TensorBoard", () => {
  assert.deepEqual(parseAddress("#scalars"), { tab: "scalars", values: {} });
  assert.deepEqual(parseAddress(""), { tab: "", values: {} });
  assert.deepEqual(parseAddress("#"), { tab: "", values: {} });
  assert.deepEqual(parseAddress("#scalars&tagFilter=loss&runFilter=a%26b"), {
    tab: "scalars",
    values: { tagFilter: "loss", runFilter: "a&b" },
  });
  assert.deepEqual(parseAddress("#tagFilter=loss"), { tab: "", values: { tagFilter: "loss" } });
});

test("parsing reverses formatting", () => {
  const values = { runFilter: "a|b&c=#d%20+", tagFilter: "^loss/(?:x|y)$", runs: "!ü,a b", "scalars.x": "", "ключ": "значение" };
  const hash = formatAddress({ tab: "my plugin", values });
  assert.deepEqual(parseAddress(hash), { tab: "my plugin", values });
});

test("characters that need no escape stay readable", () => {
  assert.equal(formatAddress({ tab: "scalars", values: { runs: "a/b,c:d" } }), "#scalars&runs=a/b,c:d");
  assert.equal(formatAddress({ tab: "", values: {} }), "");
});

test("an invalid fragment is not decoded", () => {
  assert.deepEqual(parseAddress("#scalars&x=%zz&&=1&y"), { tab: "scalars", values: { x: "%zz" } });
});
