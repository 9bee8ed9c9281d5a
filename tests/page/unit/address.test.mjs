// Parsing and formatting the URL fragment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress } from "../../../tbcore/web/lib/address.js";
import { expressionQuery, withQueries } from "../../../tbcore/web/lib/queries/old-links.js";

test("the first part is the tab, as in links to TensorBoard", () => {
  assert.deepEqual(parseAddress("#scalars"), { tab: "scalars", values: {} });
  assert.deepEqual(parseAddress(""), { tab: "", values: {} });
  assert.deepEqual(parseAddress("#"), { tab: "", values: {} });
  assert.deepEqual(parseAddress("#scalars&tagQuery=loss&query=a%26b"), {
    tab: "scalars",
    values: { tagQuery: "loss", query: "a&b" },
  });
  assert.deepEqual(parseAddress("#tagQuery=loss"), { tab: "", values: { tagQuery: "loss" } });
});

test("parsing reverses formatting", () => {
  const values = { query: "a|b&c=#d%20+", tagQuery: "re:^loss/(?:x|y)$", runs: "!ü,a b", "scalars.x": "", "ключ": "значение" };
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

test("regular expressions of older links are queries that find the same", () => {
  const read = (/** @type {Record<string, string>} */ values) => withQueries({ tab: "", values }).values;
  assert.deepEqual(read({ runFilter: "^a|b", tagFilter: "x y", runs: "c" }), { runs: "c", query: "re:^a|b", tagQuery: 're:"x y"' });
  assert.deepEqual(read({ runFilter: "a", query: "b", tagFilter: "" }), { query: "b" });
  assert.deepEqual(read({ regexInput: "mlp|vit", tagFilter: "loss" }), { query: "re:mlp|vit", tagQuery: "re:loss" });
  assert.deepEqual(read({ regexInput: "a", runFilter: "b" }), { query: "re:b" });
  for (const expression of ["(a)(b|c)", "\\)\\(", "a\\\\"]) assert.equal(expressionQuery(expression), `re:${expression}`);
  for (const expression of ["[)]", "a)", "a\tb"]) assert.equal(expressionQuery(expression), `re:"${expression}"`);
  assert.equal(expressionQuery('say "hi"'), 're:"say ""hi"""');
});

test("a setting can have any name", () => {
  const hash = "#text&__proto__=a&text.constructor=b";
  const { values } = parseAddress(hash);
  assert.deepEqual(Object.entries(values), [["__proto__", "a"], ["text.constructor", "b"]]);
  assert.equal(formatAddress({ tab: "text", values }), hash);
});
