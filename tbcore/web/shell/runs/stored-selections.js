/**
 * Selections of runs that are too long for a URL. The URL has a key instead, under which the
 * browser's localStorage has the selection.
 */

/** Maximum length of a selection in a URL. Some programs cut off longer links. */
const MAX_CHARS_IN_ADDRESS = 2000;
/** Capacity of the storage; the oldest selections are removed first. */
const MAX_STORED_CHARS = 1_000_000;
const STORAGE_KEY = "tbcore.selections";
/** Prefix of keys. An escaped run name never starts like this. */
const KEY_PREFIX = "~kept.";

/** @typedef {[key: string, text: string]} StoredSelection */

/** Texts by key, in case localStorage is blocked. @type {Map<string, string>} */
const textsOfThisPage = new Map();

/**
 * The text to put into the URL for a selection.
 * @param {string | null} text  the selection, from `selectionToText`
 * @returns {string | null} the same text, or its key if it is too long
 */
export function addressText(text) {
  return text === null || text.length <= MAX_CHARS_IN_ADDRESS ? text : KEY_PREFIX + hashOf(text);
}

/**
 * Stores a selection if it is too long for the URL.
 * @param {string | null} text  the selection, from `selectionToText`
 */
export function storeText(text) {
  const key = addressText(text);
  if (text === null || key === null || key === text) return;
  textsOfThisPage.set(key, text);
  // Keep the newest selections, as long as they fit.
  let numFree = MAX_STORED_CHARS - text.length;
  const others = storedSelections().filter(([other, { length }]) => other !== key && (numFree -= length) >= 0);
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify([[key, text], ...others]));
  } catch {
    // localStorage is blocked or full: the key works only until the page is closed
  }
}

/**
 * The selection for a text from the URL; the inverse of `addressText`.
 * @param {string | undefined} inAddress  a selection, or the key of one
 * @returns {string | undefined | null} null if this browser does not have the key, or no longer
 */
export function fullText(inAddress) {
  if (!inAddress?.startsWith(KEY_PREFIX)) return inAddress;
  return textsOfThisPage.get(inAddress) ?? storedSelections().find(([key]) => key === inAddress)?.[1] ?? null;
}

/** All stored selections, newest first; empty if there are none or they cannot be read. @returns {StoredSelection[]} */
function storedSelections() {
  try {
    const pairs = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "[]");
    return pairs.filter((/** @type {unknown[]} */ [key, text]) => typeof key === "string" && typeof text === "string");
  } catch {
    return [];
  }
}

/**
 * A 64-bit hash in base 36: two 32-bit multiplicative hashes with different constants, the first of
 * which is FNV-1a. With 64 bits, collisions are too rare to matter.
 * @param {string} text
 */
function hashOf(text) {
  let [a, b] = [0x811c9dc5, 0x9e3779b9];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b) ^ (b >>> 15);
  }
  return [a, b].map((half) => (half >>> 0).toString(36)).join("");
}
