/**
 * A filter: what a user typed into a filter box, and which names it lets through.
 */

import { signal } from "@preact/signals-core";

/** Longest text that is accepted, in characters. */
export const MAX_PATTERN_LENGTH = 500;

/** Most filters are plain words; the regular expressions are fetched for the first that is none. */
const patterns = signal(/** @type {typeof import("./pattern.js") | null} */ (null));

/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is no regular expression; null when it is one
 * @property {(name: string) => boolean} matches  a filter with an error lets through what the last one did
 */

const all = () => true;
const none = () => false;

/**
 * Makes a filter. The text is a regular expression that may match anywhere, without regard to case. An empty text lets
 * everything through, an invalid one what the last filter did, so that the page stands still while somebody types. Inside
 * a computed signal the filter is made again once regular expressions are there; until then it is as the last one, or lets
 * nothing through.
 * @param {string} text
 * @param {Filter} [last]  what it replaces; without one an invalid text lets everything through
 * @returns {Filter}
 */
export function makeFilter(text, last) {
  const asBefore = last && last.matches !== none ? last.matches : all;
  if (text === "") return { text, error: null, matches: all };
  if (text.length > MAX_PATTERN_LENGTH) return { text, error: `longer than ${MAX_PATTERN_LENGTH} characters`, matches: asBefore };
  if (!/[\\^$.*+?()[\]{}|]/.test(text)) {
    const needle = text.toLowerCase();
    return { text, error: null, matches: (name) => name.toLowerCase().includes(needle) };
  }
  if (!patterns.value) {
    loadPatterns();
    return { text, error: null, matches: last?.matches ?? none };
  }
  try {
    return { text, error: null, matches: patterns.value.compilePattern(text) };
  } catch (error) {
    return { text, error: error instanceof Error ? error.message : String(error), matches: asBefore };
  }
}

/** Fetches the regular expressions; filters made from then on know them. */
export async function loadPatterns() {
  patterns.value = await import("./pattern.js");
}
