/**
 * Which runs are checked in the run list: a rule, and the runs that are exceptions from it. Unlike a
 * list of runs, this also applies to new runs, and it makes links short. Selections that are too long
 * for a URL, and other texts, are kept in the browser. No DOM.
 */

import { escapeName, unescapeName } from "../../lib/address.js";

/**
 * @typedef {object} Selection
 * @property {"auto" | "matching" | "all" | "none"} base  `auto`: the newest AUTO_LIMIT of the runs that
 *   match the filter; if runs are grouped, all matching runs of the newest AUTO_LIMIT groups.
 *   `matching`: all that match the filter, and without one as `auto`
 * @property {ReadonlyMap<string, boolean>} except  whether each run that is an exception is checked:
 *   false for all with the base `all`, and true with `none`
 *
 * @typedef {object} Candidates  the runs that a selection applies to, in the order of data/runs
 * @property {readonly string[]} runs  all of them
 * @property {readonly string[]} matching  those that match the run filter; the newest are the last
 * @property {ReadonlySet<string>} newest  those that the base `auto` checks
 */

/** Number of runs or groups that are checked by default. More curves are hard to read and slow to load. */
export const AUTO_LIMIT = 100;

/** @type {Selection} */
export const AUTO = Object.freeze({ base: "auto", except: new Map() });

/** The checked runs of all runs, in the order of data/runs. @param {Selection} selection @param {Candidates} candidates */
export function checkedRuns({ base, except }, { runs, matching, newest }) {
  const byRule = base === "matching" && matching.length < runs.length ? new Set(matching) : newest;
  return new Set(runs.filter((run) => except.get(run) ?? (base === "all" || (base !== "none" && byRule.has(run)))));
}

/**
 * Checks or unchecks some runs. If the base does that for all of them, they are no longer
 * exceptions; otherwise all of them are, so that they stay as they are when the newest runs or the
 * filter change.
 * @type {(selection: Selection, names: readonly string[], checked: boolean, candidates: Candidates) => Selection}
 */
export function setChecked({ base, except }, names, checked, candidates) {
  const { runs, matching, newest } = candidates;
  const byBase = checkedRuns({ base, except: new Map() }, candidates);
  const isByBase = names.every((name) => byBase.has(name) === checked);
  const next = new Map(except);
  for (const name of names) {
    if (isByBase) next.delete(name);
    else next.set(name, checked);
  }
  // If every run is an exception, change the base instead, so that new runs are treated the same. All
  // of a few runs are the default, whose limit applies once there are more.
  if (!isByBase && runs.every((run) => next.get(run) === checked)) {
    return { base: !checked ? "none" : runs.length > AUTO_LIMIT ? "all" : "auto", except: new Map() };
  }
  // All that match, if they are more than by default, is a rule, and not one exception for each of them.
  if (newest.size < matching.length && matching.length < runs.length && matching.every((run) => next.get(run))) {
    for (const run of matching) next.delete(run);
    return { base: "matching", except: next };
  }
  return withFewerExceptions({ base, except: next }, candidates);
}

/** Checks these runs and no others. @param {readonly string[]} names @param {Candidates} candidates */
export function onlyRuns(names, candidates) {
  return withFewerExceptions({ base: "none", except: new Map(names.map((name) => [name, true])) }, candidates);
}

/**
 * The same checked runs, with the base that has fewer exceptions. A selection with at most
 * AUTO_LIMIT exceptions keeps its base, because the base decides whether new runs are checked; and so
 * does the default while a filter hides runs, of which it does not say whether they are checked.
 * @type {(selection: Selection, candidates: Candidates) => Selection}
 */
function withFewerExceptions(selection, candidates) {
  const { base, except } = selection;
  const { runs, matching } = candidates;
  if (except.size <= AUTO_LIMIT || (/auto|matching/.test(base) && matching.length < runs.length)) return selection;
  const checked = checkedRuns(selection, candidates);
  const isAll = base === "all";
  const others = runs.filter((run) => checked.has(run) === isAll);
  return others.length < except.size ? { base: isAll ? "none" : "all", except: new Map(others.map((run) => [run, isAll])) } : selection;
}

/** What the text of a selection starts with, by its base. An escaped run name never starts like this. */
const STARTS = { auto: "~newest,", matching: "~matching,", all: "!", none: "" };

/**
 * A selection as text: `~newest,!a,b` is the newest runs without a and with b, `~matching,!a,b` is the
 * same for all that match, `!a,b` is all runs but a and b, `a,b` is only these two, and null is the
 * newest runs.
 * @param {Selection} selection
 */
export function selectionToText({ base, except }) {
  if (base === "auto" && except.size === 0) return null;
  const items = Array.from(except, ([name, isChecked]) => (base !== "all" && !isChecked ? "!" : "") + escapeName(name));
  return (STARTS[base] + items.join(",")).replace(/,$/, "");
}

/** The inverse of `selectionToText`. @param {string | null | undefined} text @returns {Selection} */
export function selectionFromText(text) {
  if (text === null || text === undefined) return AUTO;
  const items = `${text},`;
  const base = /** @type {const} */ (["auto", "matching", "all"]).find((each) => items.startsWith(STARTS[each])) ?? "none";
  const except = new Map();
  for (const item of items.slice(STARTS[base].length).split(",")) {
    const name = item.replace(/^!/, "");
    if (name !== "") except.set(unescapeName(name), base !== "all" && name === item);
  }
  return { base, except };
}

// --- selections that are too long for a URL ------------------------------------------------------

// The URL has a key instead, under which the browser's localStorage has the selection. If it is all
// runs that match the filter, the key ends with `!`, and a browser that does not have it shows all.

/** Maximum length of a selection in a URL. Some programs cut off longer links. */
const MAX_CHARS_IN_ADDRESS = 2000;
/** Capacity of the storage; the oldest selections are removed first. */
const MAX_STORED_CHARS = 1_000_000;
const STORAGE_KEY = "tbcore.selections";
/** Prefix of keys. An escaped run name never starts like this. */
const KEY_PREFIX = "~kept.";

/** Texts by key, in case localStorage is blocked. @type {Map<string, string>} */
const textsOfThisPage = new Map();

/**
 * What the URL has for a selection: its text, or a key if the text is too long.
 * @param {string | null} text  from `selectionToText`
 * @param {boolean} [isAll]  whether all runs that match the filter are checked
 */
export function addressText(text, isAll) {
  return text === null || text.length <= MAX_CHARS_IN_ADDRESS ? text : `${KEY_PREFIX}${hashOf(text)}${isAll ? "!" : ""}`;
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
 * @returns {string | undefined | null} null if this browser does not have the key, or no longer, and
 *   the selection was not all runs that matched the filter
 */
export function fullText(inAddress) {
  if (!inAddress?.startsWith(KEY_PREFIX)) return inAddress;
  const key = inAddress.replace("!", "");
  return textsOfThisPage.get(key) ?? storedSelections().find(([other]) => other === key)?.[1] ?? (key === inAddress ? null : "!");
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
