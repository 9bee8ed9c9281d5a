// Titles of texts, and what the filter finds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { textTitle } from "../../../../tbcore/web/text-names.js";
import { findsTitles } from "../../tbcore_text/static/titles.js";

test("the suffix is left out, unless what is before it is another tag", () => {
  const tags = ["config/text_summary", "note", "note/text_summary", "a/b/text_summary", "/text_summary", "x/text_summary/text_summary", "x/text_summary", "text_summary"];
  const all = new Set(tags);
  const titles = tags.map((tag) => textTitle(tag, all));
  assert.deepEqual(titles, ["config", "note", "note/text_summary", "a/b", "/text_summary", "x/text_summary/text_summary", "x", "text_summary"]);
  assert.equal(new Set(titles).size, tags.length);
});

test("a filter finds a tag with and without the suffix, and leaves out by the whole tag", () => {
  /** @type {string[]} */
  const asked = [];
  const filterOf = (/** @type {string} */ text, /** @type {(name: string) => boolean} */ matches) => findsTitles({ text, matches: (name) => (asked.push(name), matches(name)) });
  const whole = filterOf("re:^config$", (name) => /^config$/.test(name));
  assert.deepEqual([whole.matches("config/text_summary"), whole.matches("config/b"), whole.matches("config")], [true, false, true]);
  assert.deepEqual(asked.slice(0, 2), ["config/text_summary", "config"]);
  const suffix = filterOf("text_summary", (name) => name.includes("text_summary"));
  assert.equal(suffix.matches("config/text_summary"), true);
  const none = filterOf("-text_summary", (name) => !name.includes("text_summary"));
  assert.deepEqual([none.matches("config/text_summary"), none.matches("config")], [false, true]);
});
