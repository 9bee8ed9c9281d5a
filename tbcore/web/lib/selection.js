/**
 * Which runs are checked in the run list, as a rule rather than a list: "all but these" or "only these". A rule has an
 * answer for runs that do not exist yet, and is short in a link. Pure.
 */

import { escapeName, unescapeName } from "./address.js";

/**
 * @typedef {object} Selection
 * @property {"auto" | "all" | "none"} base  `auto`: nobody has chosen yet, and the newest runs are checked
 * @property {ReadonlySet<string>} except  runs for which the opposite of the base holds; empty for `auto`
 */

/** As many runs are checked while nobody has chosen: more curves than this say little and take long to fetch. */
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
  const wanted = selection.base === "none";
  return new Set(runs.filter((run) => selection.except.has(run) === wanted));
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
  const { base, except } = explicit(selection, runs);
  const next = new Set(except);
  for (const name of names) {
    if (checked === (base === "all")) next.delete(name);
    else next.add(name);
  }
  const all = runs.length > 0 && runs.every((run) => next.has(run));
  if (all) return { base: base === "all" ? "none" : "all", except: new Set() };
  return shorter({ base, except: next }, runs);
}

/**
 * Checks these runs and no others.
 * @param {Iterable<string>} names
 * @param {readonly string[]} runs  all runs
 * @returns {Selection}
 */
export function onlyRuns(names, runs) {
  return shorter({ base: "none", except: new Set(names) }, runs);
}

/**
 * The same runs by the rule with fewer exceptions, where there are very many of them: nobody unchecks thousands to see
 * each new run.
 * @param {Selection} selection
 * @param {readonly string[]} runs
 * @returns {Selection}
 */
function shorter({ base, except }, runs) {
  if (except.size <= AUTO_LIMIT) return { base, except };
  const others = runs.filter((run) => !except.has(run));
  if (others.length >= except.size) return { base, except };
  return { base: base === "all" ? "none" : "all", except: new Set(others) };
}

/**
 * `auto` turned into the rule it stands for just now.
 * @param {Selection} selection
 * @param {readonly string[]} runs
 * @returns {Selection}
 */
function explicit(selection, runs) {
  if (selection.base !== "auto") return selection;
  if (runs.length <= AUTO_LIMIT) return { base: "all", except: new Set() };
  return { base: "none", except: checkedRuns(selection, runs) };
}

/**
 * As text for the address: `!a,b` is all but a and b, `a,b` only those.
 * @param {Selection} selection
 * @returns {string | null} null for `auto`
 */
export function selectionToText(selection) {
  if (selection.base === "auto") return null;
  const names = Array.from(selection.except, escapeName).join(",");
  return selection.base === "all" ? `!${names}` : names;
}

/**
 * @param {string | null | undefined} text
 * @returns {Selection}
 */
export function selectionFromText(text) {
  if (text === null || text === undefined) return AUTO;
  const base = text.startsWith("!") ? "all" : "none";
  const names = (base === "all" ? text.slice(1) : text).split(",").filter((name) => name !== "");
  return { base, except: new Set(names.map(unescapeName)) };
}
