/**
 * Choices of runs that are too long for an address: it has a key in their place, and the browser keeps what it stands for.
 */

/** Links of more characters are cut by many a program. */
const MOST_IN_ADDRESS = 2000;
/** So much is kept, the newest first. */
const MOST_KEPT = 1_000_000;
const STORAGE = "tbcore.selections";
/** No name of a run begins so where it is escaped. */
const MARK = "~kept.";

/** @typedef {[key: string, text: string]} Kept */

/** Those of this page, where storage is blocked. @type {Map<string, string>} */
const ofThisPage = new Map();

/**
 * What the address has of a selection.
 * @param {string | null} text  as `selectionToText` writes it
 * @returns {string | null} the text itself unless it is too long
 */
export function shortText(text) {
  return text === null || text.length <= MOST_IN_ADDRESS ? text : MARK + hashOf(text);
}

/**
 * Keeps a text if the address has a key in its place.
 * @param {string | null} text
 */
export function keepText(text) {
  const key = shortText(text);
  if (text === null || key === null || key === text) return;
  ofThisPage.set(key, text);
  let room = MOST_KEPT - text.length;
  const others = stored().filter(([other, { length }]) => other !== key && (room -= length) >= 0);
  try {
    localStorage.setItem(STORAGE, JSON.stringify([[key, text], ...others]));
  } catch {
    // storage is blocked or full: the key holds for this page
  }
}

/**
 * The selection that a part of an address stands for.
 * @param {string | undefined} short
 * @returns {string | undefined | null} null: another browser keeps it, or nobody any more
 */
export function longText(short) {
  if (!short?.startsWith(MARK)) return short;
  return ofThisPage.get(short) ?? stored().find(([key]) => key === short)?.[1] ?? null;
}

/** @returns {Kept[]} empty when there is nothing, or nothing readable */
function stored() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORAGE) ?? "[]");
    return kept.filter((/** @type {unknown[]} */ [key, text]) => typeof key === "string" && typeof text === "string");
  } catch {
    return [];
  }
}

/**
 * 64 bits of FNV-1a, in two halves with different starts: equal texts have equal keys, and others will not meet.
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
