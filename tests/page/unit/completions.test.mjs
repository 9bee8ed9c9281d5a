// What completes the text before the caret in a query.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { completionsOf } from "../../../tbcore/web/lib/queries/completions.js";
import { plainFilter } from "../../../tbcore/web/lib/queries/filter.js";
import { TERMS, WORDS, changesWith } from "../../../tbcore/web/lib/queries/terms.js";

const NAMES = { hparams: ["lr", "learning_rate", "my param"], tags: ["val/loss", "val/acc", "train/loss", "re"] };

/** The query with each completion; `|` in the text is the caret. @param {string} text @param {"runs" | "tags"} [subject] @param {typeof NAMES} [names] */
function completed(text, subject = "runs", names = NAMES) {
  const caret = text.indexOf("|");
  const query = text.replace("|", "");
  return completionsOf(query, caret, names, subject).map(({ start, text: part }) => query.slice(0, start) + part + query.slice(caret));
}

test("a query for runs is completed by words, hyperparameters and tags", () => {
  assert.deepEqual(completed("l|"), ["lr", "learning_rate", "val/loss:last", "train/loss:last"]);
  assert.deepEqual(completed("vit -(le|"), ["vit -(learning_rate"]);
  assert.deepEqual(completed("ha|"), ["has:"]);
  assert.deepEqual(completed("lr>1 -ne|"), ["lr>1 -newest:"]);
  assert.deepEqual(completed("newest:|"), []);
  assert.deepEqual(completed("val/|"), ["val/loss:last", "val/acc:last"]);
  assert.deepEqual(completed("VAL/l| live"), ["val/loss:last live"]);
  assert.deepEqual(completed("my|"), ['"my param"']);
  assert.deepEqual(completed('"my p|'), ['"my param"']);
  assert.deepEqual(completed("re|"), ['"re":last']);
});

test("what follows has: and a colon is completed", () => {
  assert.deepEqual(completed("has:|"), ["has:nan", "has:val/loss", "has:val/acc", "has:train/loss", 'has:"re"']);
  assert.deepEqual(completed("has:n|"), ["has:nan"]);
  assert.deepEqual(completed("has:nna|"), ["has:nan"]);
  assert.deepEqual(completed("val/loss:|"), ["last", "min", "max", "nan", "at(", "change("].map((stat) => `val/loss:${stat}`));
  assert.deepEqual(completed("val/loss:ma|"), ["val/loss:max"]);
});

test("nothing is completed in the middle of a name, after an operator, or when all is there", () => {
  for (const text of ["|", "l|r", "lr>|", "lr>0.1|", "vit |", "lr=ad|", "val/loss:at(1|", "xyz|"]) assert.deepEqual(completed(text), [], text);
  assert.deepEqual(completed("lr|"), []);
});

test("tags are completed up to the next slash if they are many", () => {
  const tags = Array.from({ length: 40 }, (_, i) => `layer${i % 4}/w${i}`);
  assert.deepEqual(completed("lay|", "tags", { hparams: [], tags }), ["layer0/", "layer1/", "layer2/", "layer3/"]);
  assert.deepEqual(completed("lay|", "runs", { hparams: [], tags }), ["layer0/", "layer1/", "layer2/", "layer3/"]);
  assert.deepEqual(completed("layer3/w3|", "tags", { hparams: [], tags }), ["layer3/w3", "layer3/w31", "layer3/w35", "layer3/w39"].slice(1).concat());
});

test("no more names are read than are offered", () => {
  const tags = Array.from({ length: 9 }, (_, i) => `layer${i}/w`);
  Object.defineProperty(tags, 9, { get: () => assert.fail("read") });
  assert.deepEqual(completed("LAY|", "tags", { hparams: [], tags }), tags.slice(0, 8).map((tag) => tag.slice(0, 7)));
  const inside = Array.from({ length: 50_000 }, (_, i) => `layer/layer${i}`);
  assert.deepEqual(completed("layer|", "tags", { hparams: [], tags: ["a/layer", "b/layer", ...inside] }), ["layer/", "a/layer", "b/layer"]);
});

test("words of notes complete queries for runs, from their first letters on", () => {
  const names = { hparams: [], tags: ["is/tag"], words: /** @type {[string, string][]} */ ([["#Paper", "label"]]) };
  const texts = (/** @type {string} */ text, /** @type {"runs" | "tags"} */ subject = "runs") => completionsOf(text, text.length, names, subject).map((one) => one.text);
  assert.deepEqual(texts("is:"), ["is:failed", "is:finished", "is:starred", "is:archived"]);
  assert.deepEqual(texts("lr>1 -is:s"), ["is:starred"]);
  assert.deepEqual(texts("#"), ["#Paper"]);
  assert.deepEqual(texts("#pa"), ["#Paper"]);
  assert.deepEqual(texts("no"), ["note:"]);
  assert.deepEqual(texts("note:l"), []);
  assert.deepEqual(texts("is:", "tags"), []);
  assert.deepEqual(completed("is:|"), ["is:failed", "is:finished"], "without notes");
});

test("the documentation has each term in its table, with the same meaning first", () => {
  const page = readFileSync(new URL("../../../docs/queries.md", import.meta.url), "utf8");
  const plain = page.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");
  for (const { examples, meaning } of TERMS) assert.ok(plain.includes(`\n| ${examples.replaceAll("   ", ", ")} | ${meaning}`), examples);
});

test("only the server answers queries with a term, again after time or notes have changed what it finds", () => {
  for (const example of TERMS.flatMap(({ examples }) => examples.split("   "))) assert.equal(plainFilter(example, "runs"), null, example);
  const examples = ["live", "a -QUIET", "age<2h", "is:starred", "x|note:bug", "-#paper", "image olive step>3", "newest:3"];
  assert.deepEqual(examples.map((text) => (["time", "notes"]).filter((cause) => changesWith(/** @type {"time"} */ (cause)).test(text)).join()), ["time", "time", "time", "notes", "notes", "notes", "", ""]);
  assert.ok(WORDS.length > 10);
});
