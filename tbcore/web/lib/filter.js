/**
 * A filter: what a user typed into a filter box, and which names it lets through. Pure.
 */

import { compilePattern } from "./pattern.js";

/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is no regular expression; null when it is one
 * @property {(name: string) => boolean} matches  a filter with an error lets everything through
 */

/**
 * Makes a filter. The text is a regular expression that may match anywhere, without regard to case. An empty text and
 * an invalid one let everything through, so that the page does not go blank while somebody types.
 * @param {string} text
 * @returns {Filter}
 */
export function makeFilter(text) {
  if (text === "") return { text, error: null, matches: () => true };
  try {
    return { text, error: null, matches: compilePattern(text) };
  } catch (error) {
    return { text, error: error instanceof Error ? error.message : String(error), matches: () => true };
  }
}
