// Objects from the server's JSON, whose keys can be any names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutPrototype } from "../../../tbcore/web/shell/state/server.js";

test("an object without a prototype gives undefined for every name that is not a key", () => {
  const tags = withoutPrototype(JSON.parse('{"train": ["loss"]}'));
  assert.deepEqual(tags.train, ["loss"]);
  for (const name of ["__proto__", "toString", "constructor"]) assert.equal(tags[name], undefined);
  assert.deepEqual(withoutPrototype(JSON.parse('{"__proto__": ["loss"]}')).__proto__, ["loss"]);
  assert.deepEqual(withoutPrototype(["a", "b"]), ["a", "b"]);
  assert.equal(withoutPrototype(null), null);
});
