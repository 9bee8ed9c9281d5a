/** Queries that ask for archived runs. Pure functions, no DOM. */

import { asksForArchived } from "./records.js";

/** The query that also asks for archived runs, or no longer. @param {string} query @param {boolean} asks */
export function withArchived(query, asks) {
  const text = query.trim();
  // At the start: what follows an expression may be a part of it.
  if (asks) return asksForArchived(query) ? query : `is:archived ${text.includes("|") ? `(${text})` : text}`.trim();
  return withoutParentheses(text.replace(/(^|[\s|(])is:archived(?![^\s|)])/gi, "$1").trim());
}

/** A text without the parentheses around all of it. @param {string} text */
function withoutParentheses(text) {
  let depth = 0;
  for (const [i, char] of [...text].entries()) {
    depth += Number(char === "(") - Number(char === ")");
    if (depth === 0) return i > 0 && i === [...text].length - 1 ? text.slice(1, -1) : text;
  }
  return text;
}
