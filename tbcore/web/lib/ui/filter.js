/** Filters for names, made from what a user types into a filter box: plain words, and regular expressions. */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { Icon } from "./icons.js";

/**
 * A filter box. `onInput` is called on every change of the text. The label is the accessible name
 * and the placeholder. Other props are attributes of the text box.
 * @param {{ filter: Pick<Filter, "text" | "error">, onInput: (text: string) => void, label: string, [attribute: string]: unknown }} props
 */
export function FilterBox({ filter: { text, error }, onInput, label, ...attributes }) {
  const errorId = useId();
  const introduction = error === TOO_LONG ? "The regular expression" : "Not a valid regular expression:";
  return html`<div class="tb-filter">
    <${Icon} name="search" />
    <input
      class="tb-input"
      type="search"
      spellcheck="false"
      autocomplete="off"
      maxlength=${MAX_PATTERN_LENGTH}
      aria-label=${label}
      placeholder=${label}
      aria-invalid=${error ? "true" : undefined}
      aria-describedby=${error ? errorId : undefined}
      value=${text}
      onInput=${(/** @type {InputEvent} */ event) => onInput(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      ...${attributes}
    />
    ${error && html`<p class="tb-filter-error" id=${errorId} role="status">${introduction} ${error}</p>`}
  </div>`;
}

/** Maximum length of a filter's text, in characters. */
export const MAX_PATTERN_LENGTH = 500;
/** The error of an expression that takes longer than its deadline. */
export const TOO_LONG = "takes too long";
/** Finds an expression; null until the module that runs expressions is loaded. */
const finder = signal(/** @type {typeof import("./expressions.js").expressionOf | null} */ (null));
/** The last text for which that module could not be loaded. */
const failedText = signal(/** @type {string | null} */ (null));
/** @type {any} */
const UNLOADED = { numAnswers: { value: 1 }, error: "its worker does not start" };

/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is not a valid regular expression, or cannot be
 *   used; null if there is nothing wrong
 * @property {(name: string) => boolean} matches  whether a name passes the filter
 * @property {number} [numAnswers]  for `makeFilter`: the answers that the filter is based on; 0 while
 *   the expression is unknown, -1 until the module that runs it is loaded
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
  const isExpression = !isTooLong && /[\\^$.*+?()[\]{}|]/.test(text);
  const expression = isExpression ? findExpression(text) : null;
  const numAnswers = isExpression ? (expression?.numAnswers.value ?? -1) : 1;
  const isSame = last?.text === text;
  if (isSame && last.numAnswers === numAnswers) return last;
  const isLastUsable = last?.error === null && (last.numAnswers ?? 1) > 0;
  const before = (isLastUsable && !isSame ? last.matches : last?.before) ?? matchNone;
  const error = isTooLong ? `longer than ${MAX_PATTERN_LENGTH} characters` : (expression?.error ?? null);
  /** @type {Filter["matches"]} */
  let matches;
  if (error !== null) matches = before === matchNone ? matchAll : before;
  else if (isExpression) {
    const otherwise = numAnswers > 0 ? matchNone : before; // for names whose result is not known
    matches = (name) => Boolean(expression?.of(name) ?? otherwise(name));
  } else {
    const word = new RegExp(text, "iu");
    matches = text === "" ? matchAll : (name) => word.test(name);
  }
  return { text, error, numAnswers, before, matches };
}

/** The expression with this text; null until its module is loaded, which starts now. @param {string} text */
function findExpression(text) {
  if (finder.value) return finder.value(text);
  const failed = failedText.value === text;
  if (!failed) {
    // After a failure, browsers load a module again only from another URL.
    const url = failedText.peek() === null ? "./expressions.js" : `./expressions.js?after=${encodeURIComponent(text)}`;
    import(url).then(({ expressionOf }) => (finder.value = expressionOf), () => (failedText.value = text));
  }
  return failed ? UNLOADED : null;
}
