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
 * @property {(name: string) => boolean} matches  a filter with an error lets everything through
 */

/**
 * Makes a filter. The text is a regular expression that may match anywhere, without regard to case. An empty text and
 * an invalid one let everything through, so that the page does not go blank while somebody types. Inside a computed
 * signal the filter is made again once regular expressions are there; until then it lets nothing through.
 * @param {string} text
 * @returns {Filter}
 */
export function makeFilter(text) {
  const all = () => true;
  if (text === "") return { text, error: null, matches: all };
  if (text.length > MAX_PATTERN_LENGTH) return { text, error: `longer than ${MAX_PATTERN_LENGTH} characters`, matches: all };
  if (!/[\\^$.*+?()[\]{}|]/.test(text)) {
    const needle = text.toLowerCase();
    return { text, error: null, matches: (name) => name.toLowerCase().includes(needle) };
  }
  if (!patterns.value) {
    loadPatterns();
    return { text, error: null, matches: () => false };
  }
  try {
    return { text, error: null, matches: patterns.value.compilePattern(text) };
  } catch (error) {
    return { text, error: error instanceof Error ? error.message : String(error), matches: all };
  }
}

/** Fetches the regular expressions; filters made from then on know them. */
export async function loadPatterns() {
  patterns.value = await import("./pattern.js");
}
