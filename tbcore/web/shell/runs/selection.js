/**
 * Which runs are checked in the run list: a base, which is all or none, and the runs that are
 * exceptions. Unlike a list of runs, this also applies to new runs, and it makes links short.
 * Pure functions, no DOM.
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

/**
 * The checked runs.
 * @param {Selection} selection
 * @param {readonly string[]} runs  all runs, in the order of data/runs
 * @returns {Set<string>}
 */
export function checkedRuns(selection, runs) {
  if (selection.base === "auto") return new Set(runs.slice(-AUTO_LIMIT));
  const checksExceptions = selection.base === "none";
  return new Set(runs.filter((run) => selection.except.has(run) === checksExceptions));
}

/**
 * Checks or unchecks some runs.
 * @param {Selection} selection
 * @param {Iterable<string>} names
 * @param {boolean} checked
 * @param {readonly string[]} runs  all runs
 * @returns {Selection}
 */
export function setChecked(selection, names, checked, runs) {
  const { base, except } = withoutAuto(selection, runs);
  const next = new Set(except);
  for (const name of names) {
    if (checked === (base === "all")) next.delete(name);
    else next.add(name);
  }
  // If every run is an exception, switch the base instead, so that new runs are treated the same.
  const all = runs.length > 0 && runs.every((run) => next.has(run));
  if (all) return { base: base === "all" ? "none" : "all", except: new Set() };
  return withFewerExceptions({ base, except: next }, runs);
}

/**
 * Checks these runs and no others.
 * @param {Iterable<string>} names
 * @param {readonly string[]} runs  all runs
 * @returns {Selection}
 */
export function onlyRuns(names, runs) {
  return withFewerExceptions({ base: "none", except: new Set(names) }, runs);
}

/**
 * The same checked runs, with the base that has fewer exceptions. A selection with at most
 * AUTO_LIMIT exceptions keeps its base, because the base decides whether new runs are checked.
 * @param {Selection} selection
 * @param {readonly string[]} runs
 * @returns {Selection}
 */
function withFewerExceptions({ base, except }, runs) {
  if (except.size <= AUTO_LIMIT) return { base, except };
  const others = runs.filter((run) => !except.has(run));
  if (others.length >= except.size) return { base, except };
  return { base: base === "all" ? "none" : "all", except: new Set(others) };
}

/**
 * The same checked runs, without the base `auto`.
 * @param {Selection} selection
 * @param {readonly string[]} runs
 * @returns {Selection}
 */
function withoutAuto(selection, runs) {
  if (selection.base !== "auto") return selection;
  if (runs.length <= AUTO_LIMIT) return { base: "all", except: new Set() };
  return { base: "none", except: checkedRuns(selection, runs) };
}

/**
 * Formats a selection for the URL: `!a,b` is all runs but a and b, `a,b` is only these two.
 * @param {Selection} selection
 * @returns {string | null} null for `auto`
 */
export function selectionToText(selection) {
  if (selection.base === "auto") return null;
  const names = Array.from(selection.except, escapeName).join(",");
  return selection.base === "all" ? `!${names}` : names;
}

/**
 * Parses a selection from the URL; the inverse of `selectionToText`.
 * @param {string | null | undefined} text
 * @returns {Selection}
 */
export function selectionFromText(text) {
  if (text === null || text === undefined) return AUTO;
  const base = text.startsWith("!") ? "all" : "none";
  const names = (base === "all" ? text.slice(1) : text).split(",").filter((name) => name !== "");
  return { base, except: new Set(names.map(unescapeName)) };
}
