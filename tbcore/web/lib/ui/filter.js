/**
 * Filters for names, made from what a user types into a filter box.
 */

import { expressionOf } from "./expressions.js";

/** Maximum length of a filter's text, in characters. */
export const MAX_PATTERN_LENGTH = 500;

/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is not a valid regular expression, or cannot be
 *   used; null if there is nothing wrong
 * @property {(name: string) => boolean} matches  whether a name passes the filter
 * @property {number} [numAnswers]  for `makeFilter`: the answers that the filter is based on
 * @property {(name: string) => boolean} [before]  for `makeFilter`: `matches` of the last filter
 *   that could be used, if this one cannot
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
  const numAnswers = expression?.numAnswers.value ?? 0;
  if (last?.text === text && last.numAnswers === numAnswers) return last;
  const before = last ? (last.before ?? last.matches) : matchNone;
  const error = isTooLong ? `longer than ${MAX_PATTERN_LENGTH} characters` : (expression?.error ?? null);
  if (error !== null) return { text, error, numAnswers, before, matches: before === matchNone ? matchAll : before };
  if (!expression) {
    const word = new RegExp(text, "iu");
    return { text, error, numAnswers, matches: text === "" ? matchAll : (name) => word.test(name) };
  }
  if (numAnswers > 0) return { text, error, numAnswers, matches: (name) => expression.of(name) === true };
  return { text, error, numAnswers, before, matches: (name) => Boolean(expression.of(name) ?? before(name)) };
}
