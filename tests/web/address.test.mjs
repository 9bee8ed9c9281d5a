// The part of the address behind "#".

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

test("whatever is written is read back", () => {
  const values = { runFilter: "a|b&c=#d%20+", tagFilter: "^loss/(?:x|y)$", runs: "!ü,a b", "scalars.x": "", "ключ": "значение" };
  const hash = formatAddress({ tab: "my plugin", values });
  assert.deepEqual(parseAddress(hash), { tab: "my plugin", values });
});

test("what needs no escape stays readable", () => {
  assert.equal(formatAddress({ tab: "scalars", values: { runs: "a/b,c:d" } }), "#scalars&runs=a/b,c:d");
  assert.equal(formatAddress({ tab: "", values: {} }), "");
});

test("damaged addresses are taken as they are", () => {
  assert.deepEqual(parseAddress("#scalars&x=%zz&&=1&y"), { tab: "scalars", values: { x: "%zz" } });
});
