/**
 * Which runs are checked in the run list: a base, which is all or none, and the runs that are
 * exceptions. Unlike a list of runs, this also applies to new runs, and it makes links short.
 * Selections that are too long for a URL, and other texts, are kept in the browser. No DOM.
 */

import { escapeName, unescapeName } from "../../lib/address.js";

/**
 * @typedef {object} Selection
 * @property {"auto" | "all" | "none"} base  `auto`: the user has not selected any runs yet, and the
 *   newest AUTO_LIMIT runs are checked
 * @property {ReadonlySet<string>} except  runs that are unchecked (base `all`) or checked (base
 *   `none`); empty for `auto`
 */

/** Number of runs that are checked by default. More curves are hard to read and slow to load. */
export const AUTO_LIMIT = 100;

/** @type {Selection} */
export const AUTO = Object.freeze({ base: "auto", except: new Set() });

/** The checked runs of all runs, in the order of data/runs. @param {Selection} selection @param {readonly string[]} runs */
export function checkedRuns(selection, runs) {
  if (selection.base === "auto") return new Set(runs.slice(-AUTO_LIMIT));
  const checksExceptions = selection.base === "none";
  return new Set(runs.filter((run) => selection.except.has(run) === checksExceptions));
}

/**
 * Checks or unchecks some of all runs.
 * @type {(selection: Selection, names: Iterable<string>, checked: boolean, runs: readonly string[]) => Selection}
 */
export function setChecked(selection, names, checked, runs) {
  const { base, except } = withoutAuto(selection, runs);
  const next = new Set(except);
  for (const name of names) {
    if (checked === (base === "all")) next.delete(name);
    else next.add(name);
  }
  // If every run is an exception, switch the base instead, so that new runs are treated the same.
  if (runs.length > 0 && runs.every((run) => next.has(run))) return { base: base === "all" ? "none" : "all", except: new Set() };
  return withFewerExceptions({ base, except: next }, runs);
}

/** Checks these runs and no others. @param {Iterable<string>} names @param {readonly string[]} runs  all runs */
export function onlyRuns(names, runs) {
  return withFewerExceptions({ base: "none", except: new Set(names) }, runs);
}

/**
 * The same checked runs, with the base that has fewer exceptions. A selection with at most
 * AUTO_LIMIT exceptions keeps its base, because the base decides whether new runs are checked.
 * @type {(selection: Selection, runs: readonly string[]) => Selection}
 */
function withFewerExceptions({ base, except }, runs) {
  if (except.size <= AUTO_LIMIT) return { base, except };
  const others = runs.filter((run) => !except.has(run));
  if (others.length >= except.size) return { base, except };
  return { base: base === "all" ? "none" : "all", except: new Set(others) };
}

/** The same checked runs, without the base `auto`. @param {Selection} selection @param {readonly string[]} runs @returns {Selection} */
function withoutAuto(selection, runs) {
  if (selection.base !== "auto") return selection;
  if (runs.length <= AUTO_LIMIT) return { base: "all", except: new Set() };
  return { base: "none", except: checkedRuns(selection, runs) };
}

/**
 * A selection as text: `!a,b` is all runs but a and b, `a,b` is only these two, null is `auto`. All
 * runs are `auto`, too, if that checks them all.
 * @param {Selection} selection
 * @param {number} [numRuns]  number of all runs; 0 if it is not known yet
 */
export function selectionToText(selection, numRuns = 0) {
  const isAll = selection.base === "all" && selection.except.size === 0;
  if (selection.base === "auto" || (isAll && numRuns > 0 && numRuns <= AUTO_LIMIT)) return null;
  const names = Array.from(selection.except, escapeName).join(",");
  return selection.base === "all" ? `!${names}` : names;
}

/** The inverse of `selectionToText`. @param {string | null | undefined} text @returns {Selection} */
export function selectionFromText(text) {
  if (text === null || text === undefined) return AUTO;
  const base = text.startsWith("!") ? "all" : "none";
  const names = (base === "all" ? text.slice(1) : text).split(",").filter((name) => name !== "");
  return { base, except: new Set(names.map(unescapeName)) };
}

// --- selections that are too long for a URL ------------------------------------------------------

// The URL has a key instead, under which the browser's localStorage has the selection.

/** Maximum length of a selection in a URL. Some programs cut off longer links. */
const MAX_CHARS_IN_ADDRESS = 2000;
/** Capacity of the storage; the oldest selections are removed first. */
const MAX_STORED_CHARS = 1_000_000;
const STORAGE_KEY = "tbcore.selections";
/** Prefix of keys. An escaped run name never starts like this. */
const KEY_PREFIX = "~kept.";

/** Texts by key, in case localStorage is blocked. @type {Map<string, string>} */
const textsOfThisPage = new Map();

/** What the URL has for a selection: its text, or a key if the text is too long. @param {string | null} text  from `selectionToText` */
export function addressText(text) {
  return text === null || text.length <= MAX_CHARS_IN_ADDRESS ? text : KEY_PREFIX + hashOf(text);
}

/** Stores a selection if it is too long for the URL. @param {string | null} text  from `selectionToText` */
export function storeText(text) {
  const key = addressText(text);
  if (text === null || key === null || key === text) return;
  textsOfThisPage.set(key, text);
  // Keep the newest selections, as long as they fit.
  let numFree = MAX_STORED_CHARS - text.length;
  const others = storedSelections().filter(([other, { length }]) => other !== key && (numFree -= length) >= 0);
  store(STORAGE_KEY, JSON.stringify([[key, text], ...others]));
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

/** All stored selections, newest first. @returns {[key: string, text: string][]} */
function storedSelections() {
  const pairs = readStored(STORAGE_KEY);
  return Array.isArray(pairs) ? pairs.filter((pair) => typeof pair?.[0] === "string" && typeof pair[1] === "string") : [];
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

// --- the browser's localStorage ------------------------------------------------------------------

/**
 * The value that is stored under a key; null if there is none, or if it cannot be read.
 * @param {string} key
 * @param {(text: string) => any} [parse]
 */
export function readStored(key, parse = JSON.parse) {
  try {
    const text = localStorage.getItem(key);
    return text === null ? null : parse(text);
  } catch {
    // Blocked, or changed by something else.
    return null;
  }
}

/** Stores a text under a key; null removes it. @param {string} key @param {string | null} text */
export function store(key, text) {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // Blocked or full: what was to be stored applies until the page is closed.
  }
}
