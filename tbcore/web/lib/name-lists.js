/**
 * Lists of names (tags, runs, groups) as text for the URL. Pure functions, no DOM.
 */

import { escapeName, unescapeName } from "./address.js";

/**
 * Parses lists of names: `a,b;c` is [["a", "b"], ["c"]].
 * @param {string | undefined} text
 * @returns {string[][]} without empty lists
 */
export function parseLists(text) {
  const lists = (text ?? "").split(";").map((list) => list.split(",").filter(Boolean).map(decode));
  return lists.filter((list) => list.length > 0);
}

/**
 * Formats lists of names; the inverse of `parseLists`.
 * @param {readonly (readonly string[])[]} lists
 * @returns {string | null} null if there are no names
 */
export function formatLists(lists) {
  const text = lists.map((list) => list.map(escapeName).join(",")).filter(Boolean).join(";");
  return text || null;
}

/** Unescapes a name. @param {string} text */
function decode(text) {
  if (!text.includes("%")) return unescapeName(text);
  try {
    return decodeURIComponent(text); // older links escaped names with `%`
  } catch {
    return text; // a stray `%`, typed by hand
  }
}
