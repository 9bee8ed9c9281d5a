/** Offers of other queries, for one that has a mistake or that finds nothing. Pure functions, no DOM. */

import { expressionQuery } from "./old-links.js";
import { parseQuery } from "./tag-queries.js";

/** @import { Offer } from "./filter.js" */

/** Matches a quoted text, or what stands for `-`, a blank or `|` in other languages: a word or `!`. */
const OPERATOR_WORDS = /"(?:[^"]|"")*"|(?<![^\s(|-])(?:(and|or|not)(?![^\s(|)])\s*|!(?=[^\s|)!]))/giu;
/** Matches a text that looks like a regular expression, but is a query without `re:`. */
const LIKE_EXPRESSION = /^(?!\s*re:).*(?:[\^$\\[(]|\.\*)/is;

/**
 * The query with the signs of this language, if it finds nothing; or else as a regular expression, or as text if it is none.
 * @param {string} text
 * @param {boolean} findsNothing  whether it has no mistake
 * @returns {Offer[]}
 */
export function offersFor(text, findsNothing) {
  const signs = findsNothing ? withSigns(text) : [];
  if (signs.length > 0 || !LIKE_EXPRESSION.test(text)) return signs;
  const expression = expressionQuery(text);
  if (isQuery(expression)) return [{ label: "Search as an expression", text: expression }];
  return [{ label: "Search as text", text: `"${text.trim().replaceAll('"', '""')}"` }];
}

/**
 * The query with `-` in place of `not` and `!`, a blank in place of `and`, `|` in place of `or`; none
 * if it has none of these words.
 * @param {string} text
 * @returns {Offer[]}
 */
function withSigns(text) {
  const signs = new Map([["and", ""], ["or", "| "], ["not", "-"]]);
  const query = text.replace(OPERATOR_WORDS, (found, word) => (found[0] === '"' ? found : signs.get((word ?? "not").toLowerCase()) ?? found)).trim();
  return query !== text.trim() && isQuery(query) ? [{ label: query, text: query }] : [];
}

/** Whether a query has no mistake. @param {string} query */
function isQuery(query) {
  try {
    parseQuery(query);
    return true;
  } catch {
    return false;
  }
}
