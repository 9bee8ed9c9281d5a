// Choices of runs that are too long for an address.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

/** @type {Map<string, string>} */
let items;
let isFull = false;
globalThis.localStorage = /** @type {any} */ ({
  getItem: (/** @type {string} */ key) => items.get(key) ?? null,
  setItem(/** @type {string} */ key, /** @type {string} */ value) {
    if (isFull) throw new Error("full");
    items.set(key, value);
  },
});

beforeEach(() => {
  items = new Map();
  isFull = false;
});

/** A module as another page of this browser has it. */
let numPages = 0;
/** @returns {Promise<typeof import("../../tbcore/web/lib/kept-selections.js")>} */
const open = () => import(`../../tbcore/web/lib/kept-selections.js?page=${numPages++}`);

const LONG = Array.from({ length: 1000 }, (_, i) => `exp/run${i}`).join(",");

test("what is short stands in the address as it is", async () => {
  const { shortText, keepText, longText } = await open();
  for (const text of [null, "", "!a,b"]) {
    keepText(text);
    assert.equal(shortText(text), text);
    assert.equal(longText(text ?? undefined), text ?? undefined);
  }
  assert.equal(items.size, 0);
});

test("what is long has a key there, which all pages of the browser understand", async () => {
  const page = await open();
  const key = page.shortText(LONG) ?? "";
  assert.ok(key.length < 30 && key !== page.shortText(`${LONG},x`));
  assert.equal(page.longText(key), null);
  page.keepText(LONG);
  page.keepText(`${LONG},x`);
  page.keepText(LONG);
  const other = await open();
  assert.equal(other.longText(key), LONG);
  assert.equal(other.longText(other.shortText(`${LONG},x`) ?? ""), `${LONG},x`);
});

test("the oldest give way, and without storage the page itself remembers", async () => {
  const page = await open();
  for (let i = 0; i < 40; i++) page.keepText(`${i}${"x".repeat(50_000)}`);
  assert.ok([...items.values()].join("").length < 1_100_000);
  const other = await open();
  assert.equal(other.longText(page.shortText(`0${"x".repeat(50_000)}`) ?? ""), null);
  assert.notEqual(other.longText(page.shortText(`39${"x".repeat(50_000)}`) ?? ""), null);
  isFull = true;
  page.keepText(LONG);
  assert.equal(page.longText(page.shortText(LONG) ?? ""), LONG);
  items.set("tbcore.selections", '{"not": "a list"}');
  assert.equal((await open()).longText(page.shortText(LONG) ?? ""), null);
});
