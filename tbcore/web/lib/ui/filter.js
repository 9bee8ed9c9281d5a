/**
 * Filters for names, made from what a user types into a filter box.
 */

import { signal } from "@preact/signals-core";

/** Maximum length of a filter's text, in characters. */
export const MAX_PATTERN_LENGTH = 500;

/**
 * The module for regular expressions. Most filters are plain words, so it is loaded only when
 * needed.
 */
const patternModule = signal(/** @type {typeof import("./pattern.js") | null} */ (null));

/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is not a valid regular expression; null if it is
 *   valid
 * @property {(name: string) => boolean} matches  whether a name passes the filter
 */

const matchAll = () => true;
const matchNone = () => false;

/**
 * Makes a filter. The text is a regular expression that may match anywhere in a name, ignoring
 * case. An empty text matches everything. If the text is invalid, the new filter matches the same
 * names as `last`, so that the page does not change while the user is still typing.
 *
 * The first regular expression starts loading a module. Until it is loaded, the filter matches the
 * same names as `last`, or nothing without `last`. Call this function inside a computed signal,
 * which is then computed again.
 * @param {string} text
 * @param {Filter} [last]  the filter that this one replaces; without it, an invalid text matches
 *   everything
 * @returns {Filter}
 */
export function makeFilter(text, last) {
  const matchesLast = last && last.matches !== matchNone ? last.matches : matchAll;
  if (text === "") return { text, error: null, matches: matchAll };
  if (text.length > MAX_PATTERN_LENGTH) {
    return { text, error: `longer than ${MAX_PATTERN_LENGTH} characters`, matches: matchesLast };
  }
  if (!/[\\^$.*+?()[\]{}|]/.test(text)) {
    const needle = text.toLowerCase();
    return { text, error: null, matches: (name) => name.toLowerCase().includes(needle) };
  }
  if (!patternModule.value) {
    loadPatterns();
    return { text, error: null, matches: last?.matches ?? matchNone };
  }
  try {
    return { text, error: null, matches: patternModule.value.compilePattern(text) };
  } catch (error) {
    return { text, error: error instanceof Error ? error.message : String(error), matches: matchesLast };
  }
}

/** Loads the module for regular expressions. Filters that are made afterwards can use it. */
export async function loadPatterns() {
  patternModule.value = await import("./pattern.js");
}
