/**
 * Lists of names in the address, whatever the names are: tags, runs, groups. Pure.
 */

import { escapeName, unescapeName } from "./address.js";

/**
 * `a,b;c` is [[a, b], [c]].
 * @param {string | undefined} text
 * @returns {string[][]} without empty lists
 */
export function parseLists(text) {
  const lists = (text ?? "").split(";").map((list) => list.split(",").filter(Boolean).map(decode));
  return lists.filter((list) => list.length > 0);
}

/**
 * @param {readonly (readonly string[])[]} lists
 * @returns {string | null} null when there is nothing in them
 */
export function formatLists(lists) {
  const text = lists.map((list) => list.map(escapeName).join(",")).filter(Boolean).join(";");
  return text || null;
}

/** @param {string} text */
function decode(text) {
  if (!text.includes("%")) return unescapeName(text);
  try {
    // Links from before names were written as they are.
    return decodeURIComponent(text);
  } catch {
    return text; // a `%` that was typed by hand
  }
}
