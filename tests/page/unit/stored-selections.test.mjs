// Selections of runs that are too long for a URL.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

/** What localStorage contains. @type {Map<string, string>} */
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

let numPages = 0;
/**
 * A new instance of the module, as in another page of the same browser.
 * @returns {Promise<typeof import("../../../tbcore/web/shell/state/selection.js")>}
 */
const open = () => import(`../../../tbcore/web/shell/state/selection.js?page=${numPages++}`);

const LONG = Array.from({ length: 1000 }, (_, i) => `exp/run${i}`).join(",");

test("a short selection is in the URL as it is", async () => {
  const { addressText, storeText, fullText } = await open();
  for (const text of [null, "", "!a,b"]) {
    storeText(text);
    assert.equal(addressText(text), text);
    assert.equal(fullText(text ?? undefined), text ?? undefined);
  }
  assert.equal(items.size, 0);
});

test("a long selection has a key in the URL, which all pages of the browser can resolve", async () => {
  const page = await open();
  const key = page.addressText(LONG) ?? "";
  assert.ok(key.length < 30 && key !== page.addressText(`${LONG},x`));
  assert.equal(page.fullText(key), null);
  page.storeText(LONG);
  page.storeText(`${LONG},x`);
  page.storeText(LONG);
  const other = await open();
  assert.equal(other.fullText(key), LONG);
  assert.equal(other.fullText(other.addressText(`${LONG},x`) ?? ""), `${LONG},x`);
});

test("a key of all runs that match the filter selects all in other browsers", async () => {
  const page = await open();
  const key = page.addressText(LONG, true) ?? "";
  assert.equal(page.fullText(key), "!");
  page.storeText(LONG);
  // This browser has the exact selection, whichever runs match now.
  assert.deepEqual([key, page.addressText(LONG) ?? ""].map(page.fullText), [LONG, LONG]);
  assert.equal(page.addressText("!a", true), "!a");
});

test("the oldest selections are removed first, and a page without storage keeps its own", async () => {
  const page = await open();
  for (let i = 0; i < 40; i++) page.storeText(`${i}${"x".repeat(50_000)}`);
  assert.ok([...items.values()].join("").length < 1_100_000);
  const other = await open();
  assert.equal(other.fullText(page.addressText(`0${"x".repeat(50_000)}`) ?? ""), null);
  assert.notEqual(other.fullText(page.addressText(`39${"x".repeat(50_000)}`) ?? ""), null);
  isFull = true;
  page.storeText(LONG);
  assert.equal(page.fullText(page.addressText(LONG) ?? ""), LONG);
  items.set("tbcore.selections", '{"not": "a list"}');
  assert.equal((await open()).fullText(page.addressText(LONG) ?? ""), null);
});
