// What the notes on runs say, and queries for archived runs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { withArchived } from "../../tbcore_notes/static/archived-query.js";
import { filesCommand, filesText } from "../../tbcore_notes/static/files.js";
import { archivedBy, asksForArchived, changed, labelsOf, merged, wordsOf } from "../../tbcore_notes/static/records.js";

/** @param {unknown} value @param {Partial<import("../../tbcore_notes/static/records.js").NoteRecord>} [more] */
const record = (value, more) => ({ value, time: 1, by: "me@here", is_own: true, ...more });

test("an answer adds to what is known, or replaces it", () => {
  const before = merged(new Map(), { is_delta: false, runs: { a: { note: record("x") }, b: { starred: record(true) } } });
  const next = merged(before, { is_delta: true, runs: { a: { note: record("y") } } });
  assert.deepEqual([...next.keys()], ["a", "b"]);
  assert.equal(next.get("a")?.note?.value, "y");
  assert.equal(before.get("a")?.note?.value, "x");
  assert.deepEqual([...merged(next, { is_delta: false, runs: { c: {} } }).keys()], ["c"]);
});

test("names such as constructor and __proto__ are runs like others", () => {
  const answer = JSON.parse('{"is_delta": false, "runs": {"__proto__": {}, "constructor": {}}}');
  const records = merged(new Map(), answer);
  assert.deepEqual([...records.keys()], ["__proto__", "constructor"]);
  assert.equal(archivedBy(records.get("toString")), null);
});

test("changes on their way are drawn over what the server has", () => {
  const before = new Map([["a", { labels: record(["x", "y"]), note: record("why") }]]);
  assert.equal(changed(before, [], 5), before);
  const after = changed(before, [{ runs: ["a", "b"], set: { starred: true }, add_labels: ["z", "x"], remove_labels: ["y"] }, { runs: ["b"], set: { note: "n" } }], 5);
  assert.deepEqual(labelsOf(after.get("a")), ["x", "z"]);
  assert.deepEqual(labelsOf(after.get("b")), ["z", "x"]);
  assert.deepEqual([after.get("a")?.note?.value, after.get("b")?.note?.value, after.get("b")?.starred?.time], ["why", "n", 5]);
  assert.deepEqual(labelsOf(before.get("a")), ["x", "y"]);
});

test("an archived run has its author, unless that is the user of the server", () => {
  const others = { is_own: false, by: "bob@far" };
  const table = [
    [undefined, null],
    [record(true), ""],
    [record(false), null],
    [record(true, others), "bob@far"],
    [record(false, others), null],
  ];
  for (const [archived, by] of table) assert.equal(archivedBy(/** @type {any} */ ({ archived })), by, JSON.stringify(archived));
  assert.equal(archivedBy(undefined), null);
});

test("a query asks for archived runs if it has the term, outside of quotes and without a minus", () => {
  for (const query of ["is:archived", "lr>1 IS:Archived", "(is:archived|a)", "is:archived #x"]) assert.ok(asksForArchived(query), query);
  for (const query of ["", "-is:archived", '"is:archived"', "xis:archived", "is:archived2", "is:starred"]) assert.ok(!asksForArchived(query), query);
});

test("the term is added to any query, and taken away again", () => {
  for (const query of ["", "lr>1", "a | b", 're:x(y|z) "q"', "#paper -is:starred"]) {
    const asking = withArchived(query, true);
    assert.ok(asksForArchived(asking), asking);
    assert.equal(withArchived(asking, true), asking);
    assert.equal(withArchived(asking, false), query);
  }
  assert.equal(withArchived("a | b", true), "is:archived (a | b)");
});

test("labels complete queries, those of most runs first", () => {
  const records = new Map([["a", { labels: record(["x"]) }], ["b", { labels: record(["y", "x"]) }]]);
  assert.deepEqual(wordsOf(records).map(([text]) => text), ["#x", "#y"]);
  assert.deepEqual(wordsOf(new Map()), []);
});

test("the command for files has the directory, quoted for a shell", () => {
  for (const [logdir, end] of [["runs", "runs"], ["/a/b.c", "/a/b.c"], ["my runs", "'my runs'"], ["it's", "'it'\\''s'"], ["-x", "./-x"], ["a:x,b:y", "LOGDIR"], ["", "LOGDIR"]]) assert.equal(filesCommand(logdir), `tbcore notes files ${end}`);
});

test("which files it names depends on who archived, not on who looks", () => {
  const archived = new Map([["a", ""], ["b", "bob@lab"]]);
  assert.match(filesText(archived, true, "runs"), /^`tbcore notes files runs` prints how to delete the event files over a day old of 1 of these, only of what you archived\.$/);
  assert.match(filesText(archived, false, "runs"), /the event files over a day old of 1 of these, .* user of this server archived, .* not of what is archived here\.$/);
  assert.match(filesText(new Map([["b", "bob@lab"]]), true, "runs"), /of none of these, only/);
  assert.match(filesText(new Map([["a", ""]]), false, "runs"), /over a day old of these, only/);
  assert.match(filesText(new Map([["a", ""]]), true, "runs"), /over a day old of these\.$/);
});
