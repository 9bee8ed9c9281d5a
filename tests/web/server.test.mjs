import assert from "node:assert/strict";
import { test } from "node:test";
import { byName } from "../../tbcore/web/server.js";

test("an answer by name has nothing for a name that is not there", () => {
  const tags = byName(JSON.parse('{"train": ["loss"]}'));
  assert.deepEqual(tags.train, ["loss"]);
  for (const name of ["__proto__", "toString", "constructor"]) assert.equal(tags[name], undefined);
  assert.deepEqual(byName(JSON.parse('{"__proto__": ["loss"]}')).__proto__, ["loss"]);
  assert.deepEqual(byName(["a", "b"]), ["a", "b"]);
  assert.equal(byName(null), null);
});
