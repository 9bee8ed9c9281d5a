/** Filters for names, made from what a user types into a filter box. */

import { expressionOf } from "./expressions.js";

/** Maximum length of a filter's text, in characters. */
export const MAX_PATTERN_LENGTH = 500;

/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is not a valid regular expression, or cannot be
 *   used; null if there is nothing wrong
 * @property {(name: string) => boolean} matches  whether a name passes the filter
 * @property {number} [numAnswers]  for `makeFilter`: the answers that the filter is based on; 0 while
 *   the expression is unknown
 * @property {(name: string) => boolean} [before]  for `makeFilter`: `matches` of the last filter
 *   with another text that could be used
 */

const matchAll = () => true;
const matchNone = () => false;

/**
 * Makes a filter. The text is a regular expression that may match anywhere in a name, ignoring
 * case. An empty text matches everything. If the text is invalid, the new filter matches the same
 * names as `last`, so that the page does not change while the user is still typing.
 *
 * Expressions that are more than plain words are matched by a worker, and `matches` collects the
 * names for it. Until its first answer, the filter matches the same names as `last`, or nothing
 * without `last`; and later no name that is new to it. Call this function inside a component or a
 * computed signal, which is updated when there are answers, and pass the filter that it returned
 * before.
 * @param {string} text
 * @param {Filter} [last]  the filter that this one replaces; without it, an invalid text matches
 *   everything
 * @returns {Filter} `last` if nothing has changed
 */
export function makeFilter(text, last) {
  const isTooLong = text.length > MAX_PATTERN_LENGTH;
  const expression = !isTooLong && /[\\^$.*+?()[\]{}|]/.test(text) ? expressionOf(text) : null;
  const numAnswers = expression?.numAnswers.value ?? 1;
  const isSame = last?.text === text;
  if (isSame && last.numAnswers === numAnswers) return last;
  const isLastUsable = last?.error === null && last.numAnswers !== 0;
  const before = (isLastUsable && !isSame ? last.matches : last?.before) ?? matchNone;
  const error = isTooLong ? `longer than ${MAX_PATTERN_LENGTH} characters` : (expression?.error ?? null);
  const matches =
    error !== null
      ? before === matchNone
        ? matchAll
        : before
      : expression
        ? matchExpression(expression, numAnswers > 0 ? matchNone : before)
        : matchWord(text);
  return { text, error, numAnswers, before, matches };
}

/**
 * Returns a filter's `matches` for an expression.
 * @param {ReturnType<typeof expressionOf>} expression
 * @param {(name: string) => boolean} otherwise  for names whose result is not known
 */
function matchExpression(expression, otherwise) {
  return (/** @type {string} */ name) => Boolean(expression.of(name) ?? otherwise(name));
}

/** Returns a filter's `matches` for a plain word. @param {string} text */
function matchWord(text) {
  const word = new RegExp(text, "iu");
  return text === "" ? matchAll : (/** @type {string} */ name) => word.test(name);
}
