/** Filters for names, made from what a user types into a filter box: words, queries and regular expressions. */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "../ui/controls.js";
import { Lazy } from "../ui/lazy.js";

/** The placeholder and the tooltip of a filter box: the syntax of queries in a few words. */
const HINTS = {
  runs: ["words, lr>1e-3", "Words, all to be found; a glob: */seed?; lr>1e-3; val/loss:last<0.5; has:nan; live; -not; a | b; re:expression"],
  tags: ["words, -not, a | b", "Words, all to be found; a glob: val/*; -not; a | b; re:expression"],
};

/**
 * A filter box. `onInput` is called on every change of the text. The label is the accessible name
 * and the placeholder. Other props are attributes of the text box.
 * @param {{ filter: Pick<Filter, "text" | "error"> & Partial<Filter>, onInput: (text: string) => void, label: string, [attribute: string]: unknown }} props
 */
export function FilterBox({ filter, onInput, label, ...attributes }) {
  const { text, error, subject, note, offers } = filter;
  const messageId = useId();
  const [hint, title] = subject ? HINTS[subject] : [];
  // After the box was first used, a mistake is shown only while the box has the focus: nothing may move
  // under the pointer.
  const [isUsed, setUsed] = useState(false);
  return html`<div class="tb-filter ${isUsed ? "tb-used" : ""}">
    <${Icon} name="search" />
    <input
      class="tb-input"
      type="search"
      spellcheck="false"
      autocomplete="off"
      maxlength=${MAX_PATTERN_LENGTH}
      aria-label=${label}
      placeholder=${hint ? `${label}: ${hint}` : label}
      title=${error ?? title}
      aria-invalid=${error ? "true" : undefined}
      aria-describedby=${error || note ? messageId : undefined}
      value=${text}
      onFocus=${() => {
        setUsed(true);
        if (subject) load().then(({ startWorker }) => startWorker(), () => {});
      }}
      onInput=${(/** @type {InputEvent} */ event) => onInput(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      ...${attributes}
    />
    ${subject && html`<${Help} subject=${subject} />`}
    ${(error || note || (offers && offers.length > 0)) &&
    html`<${Lazy} load=${() => import("./filter-notes.js")} of="FilterNotes" filter=${filter} id=${messageId} onInput=${onInput} />`}
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
/** The module that runs expressions and queries; null until it is loaded. */
const runner = signal(/** @type {typeof import("./expressions.js") | null} */ (null));
/** The last text for which that module could not be loaded. */
const failedText = signal(/** @type {string | null} */ (null));
/** How many times it could not be loaded. */
let numFailures = 0;

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
 * @property {readonly string[]} [needs]  the attributes that the query needs
 * @property {number} [numAnswers]  for `makeFilter`: the number of the worker's answers so far; -1
 *   until the module that starts it is loaded, 1 if no worker is needed
 * @property {(name: string) => boolean} [before]  for `makeFilter`: `matches` of the last usable
 *   filter that had another text
 *
 * @typedef {{ label: string, text: string }} Offer
 *
 * @typedef {object} Attributes  the attributes of runs; see shell/state/attributes.js
 * @property {() => void} prepare  loads the module that reads them
 * @property {(key: string) => { readonly value: ReadonlyMap<string, unknown> | null }} columnOf
 * @property {{ readonly value: ReadonlyMap<string, readonly string[]> }} unknown
 * @property {{ readonly value: string | null }} error
 * @property {{ readonly value: { hparams: readonly string[], tags: readonly string[] } | null }} [names]
 * @property {() => void} [wantNames]  reads the names
 */

const matchAll = () => true;
const matchNone = () => false;
/** What filters have that need no worker. @type {Omit<Filter, "text" | "matches">} */
const DEFAULTS = { error: null, note: "", offers: [], needs: [], numAnswers: 1 };
/** Signs that make a text more than plain words; in queries these include `live`, `quiet`, and words that may be meant as operators. */
const SIGNS = {
  matches: /[\\^$.*+?()[\]{}|]/,
  runs: /["|()*?:=!<>^$\\[]|(?:^|\s)(?:-|(?:live|quiet|and|or|not)(?!\S))/i,
  tags: /["|()*?:!^$\\[]|(?:^|\s)(?:-|(?:and|or|not)(?!\S))/i,
};

/**
 * Makes a filter. The text is a regular expression that may match anywhere in a name, ignoring
 * case; with a subject, it is a query. An empty text matches everything. If the text is invalid, the
 * new filter matches the same names as `last`, so that the page does not change while the user is
 * still typing.
 *
 * A text that is more than plain words is matched by a worker, to which `matches` passes the names.
 * Until the worker's first answer, the filter matches the same names as `last`, or nothing without
 * `last`. After it, a name that the worker has not seen yet does not match. Call this function inside
 * a component or a computed signal, which is then updated after each answer, and pass the filter
 * that it returned before.
 * @param {string} text
 * @param {Filter} [last]  the filter that this one replaces; without it, an invalid text matches
 *   everything
 * @param {"runs" | "tags"} [subject]  what a query is for
 * @param {Attributes} [attributes]  of the runs
 * @returns {Filter} `last` if the new filter would be equal to it, so that nothing is filtered again
 */
export function makeFilter(text, last, subject, attributes) {
  const kind = subject ?? "matches";
  const before = last && last.text !== text && isUsable(last) ? last.matches : last?.before;
  /** @type {Omit<Filter, "text">} */
  let result;
  const isLong = text.length > MAX_PATTERN_LENGTH;
  if (isLong && !subject) result = { ...DEFAULTS, matches: matchAll, error: `longer than ${MAX_PATTERN_LENGTH} characters` };
  // The worker counts the characters of a query; `length` counts UTF-16 code units, which may be more.
  else if (isLong || SIGNS[kind].test(text)) result = matchInWorker(text, kind, before ?? matchNone, attributes);
  else result = { ...DEFAULTS, matches: plainMatcher(text, kind) };
  if (result.error !== null) result.matches = before ?? matchAll;
  const filter = { ...result, text, subject, before };
  return last && isEqual(last, filter) ? last : filter;
}

/** Whether a filter matches names by its own text, not by that of an earlier filter. @param {Filter} filter */
function isUsable({ error, numAnswers = 1 }) {
  return error === null && numAnswers > 0;
}

/** Whether two filters match the same names and have the same notes. @param {Filter} a @param {Filter} b */
function isEqual(a, b) {
  const isSame = a.text === b.text && a.error === b.error && a.numAnswers === b.numAnswers && a.needs === b.needs && a.note === b.note;
  return isSame && JSON.stringify(a.offers) === JSON.stringify(b.offers);
}

/**
 * Matches names in the worker.
 * @param {string} text
 * @param {"runs" | "tags" | "matches"} kind
 * @param {Filter["matches"]} before  what to match until the first answer
 * @param {Attributes} [attributes]
 * @returns {Omit<Filter, "text">}
 */
function matchInWorker(text, kind, before, attributes) {
  attributes?.prepare();
  if (!runner.value) {
    if (failedText.value === text) return { ...DEFAULTS, matches: before, error: "its worker does not start" };
    load().catch(() => (failedText.value = text));
    return { ...DEFAULTS, matches: before, numAnswers: -1 };
  }
  const expression = runner.value.find(text, kind);
  if (attributes) expression.update(attributes);
  const numAnswers = expression.numAnswers.value;
  const otherwise = numAnswers > 0 ? matchNone : before;
  return {
    ...DEFAULTS,
    ...(kind !== "matches" && expression.describe(attributes)),
    matches: (name) => Boolean(expression.of(name) ?? otherwise(name)),
    error: expression.error,
    at: expression.at,
    needs: expression.keys.value ?? DEFAULTS.needs,
    numAnswers,
  };
}

/** Loads the module that runs expressions and queries. */
async function load() {
  try {
    // After a failure, browsers load a module again only from another URL.
    return (runner.value = await (numFailures === 0 ? import("./expressions.js") : import(`./expressions.js?attempt=${numFailures}`)));
  } catch (error) {
    numFailures++;
    throw error;
  }
}

/** A function that matches names with plain words. @param {string} text @param {"runs" | "tags" | "matches"} kind @returns {Filter["matches"]} */
function plainMatcher(text, kind) {
  if (kind === "matches") {
    const word = new RegExp(text, "iu");
    return text === "" ? matchAll : (name) => word.test(name);
  }
  const words = text.split(/[ \t\n\r\f\v\xa0]+/).flatMap((word) => word.toLowerCase() || []);
  if (words.length === 0) return matchAll;
  return (name) => {
    const lower = name.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
