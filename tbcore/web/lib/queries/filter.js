/** Filters for names, made from what a user types into a filter box: words, queries and regular expressions. */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "../ui/controls.js";
import { Lazy, loadingAgain } from "../ui/lazy.js";
import { globOf, matchesGlob } from "./globs.js";

/**
 * A filter box. `onInput` is called on every change of the text. The label is the accessible name
 * and the placeholder. Of a query, `names` returns what completes it, asked at each key, and `onDone`
 * is called when the box loses the focus. Other props are attributes of the text box.
 * @param {{ filter: Pick<Filter, "text" | "error"> & Partial<Filter>, onInput: (text: string) => void, label: string, names?: import("./names-list.js").Ask, onDone?: () => void, [attribute: string]: unknown }} props
 */
export function FilterBox({ filter, onInput, label, names, onDone, ...attributes }) {
  const { text, error, subject, note, offers, isHeld } = filter;
  const messageId = useId();
  // After the box was first used, a mistake is shown only while the box has the focus: nothing may move
  // under the pointer. This is the text at that time.
  const [first, setFirst] = useState(/** @type {string | null} */ (null));
  return html`<div class="tb-filter ${first === null ? "" : "tb-used"}">
    <${Icon} name="search" />
    <input
      class="tb-input"
      type="search"
      spellcheck=${false}
      autocomplete="off"
      maxlength=${MAX_PATTERN_LENGTH}
      aria-label=${label}
      placeholder=${subject ? `${label}: words, ${subject === "runs" ? "lr>1e-3" : "-not, a | b"}` : label}
      title=${error}
      aria-invalid=${error ? "true" : undefined}
      aria-describedby=${error || note ? messageId : undefined}
      value=${text}
      onFocus=${() => {
        setFirst(first ?? text);
        if (subject === "tags") WORKER.load().catch(() => {});
      }}
      onInput=${(/** @type {InputEvent} */ event) => onInput(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      ...${attributes}
    />
    ${subject && html`<${Help} subject=${subject} />`}
    ${first !== null && subject && html`<${Lazy} load=${() => import("./names-list.js")} of="NamesList" ...${{ first, filter, names, onInput, onDone }} />`}
    ${(error || note || isHeld || (offers && offers.length > 0)) &&
    html`<${Lazy} load=${() => import("./filter-notes.js")} of="FilterNotes" ...${{ filter, onInput, onDone }} id=${messageId} />`}
  </div>`;
}

/** A button that explains the syntax of queries. @param {{ subject: "runs" | "tags" }} props */
function Help({ subject }) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  return html`<button type="button" class="tb-filter-help" aria-label="Syntax of the filter" title="Syntax of the filter" popovertarget=${id}>?</button>
    <div class="tb-menu" id=${id} popover="auto" onToggle=${(/** @type {ToggleEvent} */ event) => setOpen(event.newState === "open")}>
      ${isOpen && html`<${Lazy} load=${() => import("./help.js")} of="QueryPopover" subject=${subject} />`}
    </div>`;
}

/** Maximum length of a filter's text, in characters. */
export const MAX_PATTERN_LENGTH = 500;
/**
 * @typedef {object} Filter
 * @property {string} text  as typed
 * @property {string | null} error  why the text is not a valid expression or query, or cannot be
 *   used; null if there is nothing wrong
 * @property {(name: string) => boolean} matches  whether a name passes the filter
 * @property {number} [at]  position of the first wrong character of a query, in code points from 0
 * @property {string} [note]  what the user should know, such as that values are read; "" for nothing
 * @property {readonly Offer[]} [offers]  other texts that may be meant
 * @property {"runs" | "tags"} [subject]  what the query is for; not set for an expression
 * @property {number} [numAnswers]  the number of answers so far, of the worker or the server; -1
 *   until the module that starts the worker is loaded, 1 if no answer is needed
 * @property {boolean} [isHeld]  whether it matches what was shown before it was typed, because it finds nothing
 * @property {string} [shown]  the text whose names it matches: an earlier one while this one has a
 *   mistake, is held or has no answer; "" if it matches every name, not set if none
 * @property {Shown} [before]  for `makeFilter`: of the last usable filter that had another text
 *
 * @typedef {Pick<Filter, "matches" | "shown">} Shown
 * @typedef {{ label: string, text: string }} Offer
 */

const matchAll = () => true;
const matchNone = () => false;
const ALL = { matches: matchAll, shown: "" };
/** What filters have that need no answer. @type {Omit<Filter, "text" | "matches">} */
const DEFAULTS = { error: null, note: "", offers: [], numAnswers: 1 };
/** Signs that make a text more than plain words and globs; in queries for runs these include `live`, `quiet`, and words that may be meant as operators. */
const SIGNS = {
  matches: /[\\^$.*+?()[\]{}|]/,
  runs: /["|():=!<>^$\\[]|\.\*|(?:^|\s)(?:[-#]|(?:live|quiet|and|or|not)(?!\S))/i,
  tags: /["|():!^$\\[]|\.\*|(?:^|\s)(?:-|(?:and|or|not)(?!\S))/i,
};

/**
 * Makes a filter. The text is a regular expression that may match anywhere in a name, ignoring
 * case; with a subject, it is a query. An empty text matches everything. If the text is
 * invalid, the new filter matches the same names as `last`, so that the page does not change while
 * the user is still typing.
 *
 * A text that is more than plain words and globs is matched by a worker, to which `matches` passes
 * the names. Until the worker's first answer, the filter matches the same names as `last`, or nothing
 * without `last`. After it, a name that the worker has not seen yet does not match. Call this
 * function inside a component or a computed signal, which is then updated after each answer, and
 * pass the filter that it returned before.
 * @param {string} text
 * @param {Filter} [last]  the filter that this one replaces; without it, an invalid text matches
 *   everything
 * @param {"runs" | "tags"} [subject]  what a query is for
 * @param {Matcher} [matcher]  of texts that are more than plain words, by default the worker
 * @param {(matches: Filter["matches"]) => Shown | false} [heldFor]  for a text that is being typed
 *   and finds nothing, what to match instead
 * @returns {Filter} `last` if the new filter would be equal to it, so that nothing is filtered again
 */
export function makeFilter(text, last, subject, matcher = WORKER, heldFor) {
  const kind = subject ?? "matches";
  const before = last && last.text !== text && isUsable(last) ? { matches: last.matches, shown: last.shown } : last?.before;
  const isLong = text.length > MAX_PATTERN_LENGTH;
  /** @type {Omit<Filter, "text">} */
  let result;
  if (isLong && !subject) result = { ...DEFAULTS, matches: matchAll, error: `longer than ${MAX_PATTERN_LENGTH} characters` };
  else result = plainFilter(text, kind) ?? matcher.filterOf(text, kind, before?.matches ?? matchNone);
  const held = isUsable(result) && heldFor?.(result.matches);
  const { matches, shown } = held || (result.error !== null ? (before ?? ALL) : { matches: result.matches, shown: isUsable(result) ? text : before?.shown });
  const filter = { ...result, matches, shown, text, subject, before, isHeld: Boolean(held) };
  return last && keyOf(last) === keyOf(filter) ? last : filter;
}

/** Whether a filter matches names by its own text, not by that of an earlier filter. @param {Pick<Filter, "error" | "numAnswers">} filter */
function isUsable({ error, numAnswers = 1 }) {
  return error === null && numAnswers > 0;
}

/** What is equal for filters that match the same names and have the same notes. @param {Filter} filter */
function keyOf({ text, error, numAnswers, note, offers, isHeld }) {
  return JSON.stringify([text, error, numAnswers, note, offers, isHeld]);
}

/**
 * Makes filters of texts that are more than plain words. It is loaded when the first one is needed.
 * @typedef {(text: string, kind: "runs" | "tags" | "matches", before: Filter["matches"]) => Omit<Filter, "text">} Match
 *   `before` is what to match until the first answer
 */
export class Matcher {
  /** @type {import("@preact/signals-core").Signal<Match | null>} */
  #match = signal(null);
  /** The last text for which it could not be loaded. @type {import("@preact/signals-core").Signal<string | null>} */
  #failedText = signal(null);

  /** @param {(attempt: string) => Promise<Match>} load  imports a module, with `attempt` added to its URL */
  constructor(load) {
    this.load = loadingAgain(async (attempt) => void (this.#match.value = await load(attempt)));
  }

  /** @type {Match} */
  filterOf(text, kind, before) {
    if (this.#match.value) return this.#match.value(text, kind, before);
    if (this.#failedText.value === text) return { ...DEFAULTS, matches: before, error: "a module cannot be loaded" };
    this.load().catch(() => (this.#failedText.value = text));
    return { ...DEFAULTS, matches: before, numAnswers: -1 };
  }
}

/** Matches expressions and queries for tags. */
const WORKER = new Matcher(async (attempt) => {
  const { filterOf, startWorker } = await import(`./expressions.js${attempt}`);
  startWorker();
  return filterOf;
});

/**
 * A filter for plain words, and in queries globs; null for a text that is more.
 * @param {string} text
 * @param {"runs" | "tags" | "matches"} kind
 * @returns {Omit<Filter, "text"> | null}
 */
export function plainFilter(text, kind) {
  // `length` counts UTF-16 code units, of which a query may have more than characters.
  if (text.length > MAX_PATTERN_LENGTH || SIGNS[kind].test(text)) return null;
  if (kind === "matches") {
    const word = new RegExp(text, "iu");
    return { ...DEFAULTS, matches: text === "" ? matchAll : (name) => word.test(name) };
  }
  const words = text.split(/[ \t\n\r\f\v\xa0]+/).flatMap((word) => word.toLowerCase() || []);
  const terms = words.map((word) => ({ word, glob: globOf(word) }));
  if (terms.length === 0) return { ...DEFAULTS, matches: matchAll };
  const matches = (/** @type {string} */ name) => {
    const lower = name.toLowerCase();
    return terms.every(({ word, glob }) => (glob ? matchesGlob(glob, lower) : lower.includes(word)));
  };
  return { ...DEFAULTS, matches };
}
