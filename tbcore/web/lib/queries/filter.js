/** Filters for names, made from what a user types into a filter box: words, queries and regular expressions. */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "../ui/controls.js";
import { Lazy } from "../ui/lazy.js";

/** The syntax of queries in one line. */
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
  // Once it had the focus, a mistake is hidden without it: nothing may move below the pointer.
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
const loaded = signal(/** @type {typeof import("./expressions.js") | null} */ (null));
/** The last text for which that module could not be loaded. */
const failedText = signal(/** @type {string | null} */ (null));
/** @type {any} */
const UNLOADED = { numAnswers: { value: 1 }, keys: { value: null }, error: "its worker does not start", update() {}, describe() {} };

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
 * @property {number} [numAnswers]  for `makeFilter`: the answers that the filter is based on; 0 while
 *   nothing is known, -1 until the module that runs expressions is loaded
 * @property {(name: string) => boolean} [before]  for `makeFilter`: `matches` of the last filter
 *   with another text that could be used
 *
 * @typedef {{ label: string, text: string }} Offer
 *
 * @typedef {object} Attributes  what is known of runs; see shell/state/attributes.js
 * @property {() => void} prepare  loads what reads them
 * @property {(key: string) => { readonly value: ReadonlyMap<string, unknown> | null }} columnOf
 * @property {{ readonly value: ReadonlyMap<string, readonly string[]> }} unknown
 * @property {{ readonly value: string | null }} error
 * @property {{ readonly value: { hparams: readonly string[], tags: readonly string[] } | null }} [names]
 * @property {() => void} [wantNames]  reads the names
 */

const matchAll = () => true;
const matchNone = () => false;
/** @type {readonly string[]} */
const NO_NEEDS = [];
const NOTHING = { note: "", offers: [] };
/** What is in a text that is more than plain words; in queries also `live` and `quiet`, and words that may be meant as signs. */
const SIGNS = {
  matches: /[\\^$.*+?()[\]{}|]/,
  runs: /["|()*?:=!<>^$\\[]|(?:^|\s)(?:-|(?:live|quiet|and|or|not)(?!\S))/i,
  tags: /["|()*?:!^$\\[]|(?:^|\s)(?:-|(?:and|or|not)(?!\S))/i,
};

/**
 * Makes a filter. The text is a regular expression that may match anywhere in a name, ignoring
 * case; or, with a subject, a query. An empty text matches everything. If the text is invalid, the
 * new filter matches the same names as `last`, so that the page does not change while the user is
 * still typing.
 *
 * Texts that are more than plain words are matched by a worker, and `matches` collects the names for
 * it. Until its first answer, the filter matches the same names as `last`, or nothing without `last`;
 * and later no name that is new to it. Call this function inside a component or a computed signal,
 * which is updated when there are answers, and pass the filter that it returned before.
 * @param {string} text
 * @param {Filter} [last]  the filter that this one replaces; without it, an invalid text matches
 *   everything
 * @param {"runs" | "tags"} [subject]  what a query is for
 * @param {Attributes} [attributes]  of the runs
 * @returns {Filter} `last` if nothing has changed
 */
export function makeFilter(text, last, subject, attributes) {
  const kind = subject ?? "matches";
  const isTooLong = text.length > MAX_PATTERN_LENGTH;
  // A query is too long by its characters, not by its UTF-16 code units: the worker counts them.
  const isPlain = isTooLong ? !subject : !SIGNS[kind].test(text);
  const expression = isPlain ? null : findExpression(text, kind);
  if (!isPlain) attributes?.prepare();
  if (attributes) expression?.update(attributes);
  const numAnswers = isPlain ? 1 : (expression?.numAnswers.value ?? -1);
  const needs = expression?.keys.value ?? NO_NEEDS;
  const { note, offers } = (subject && expression?.describe(attributes)) || NOTHING;
  const isSame = last?.text === text;
  const isUnchanged = isSame && last.numAnswers === numAnswers && last.needs === needs && last.note === note;
  if (isUnchanged && JSON.stringify(last.offers) === JSON.stringify(offers)) return last;
  const isLastUsable = last?.error === null && (last.numAnswers ?? 1) > 0;
  const before = (isLastUsable && !isSame ? last.matches : last?.before) ?? matchNone;
  const error = isTooLong && !subject ? `longer than ${MAX_PATTERN_LENGTH} characters` : (expression?.error ?? null);
  /** @type {Filter["matches"]} */
  let matches;
  if (error !== null) matches = before === matchNone ? matchAll : before;
  else if (expression !== null || !isPlain) {
    // The names of an unchanged query need not be filtered again.
    if (isSame && last.numAnswers === numAnswers && last.error === null) ({ matches } = last);
    else {
      // For names whose result is not known.
      const otherwise = numAnswers > 0 ? matchNone : before;
      matches = (name) => Boolean(expression?.of(name) ?? otherwise(name));
    }
  } else matches = plainMatcher(text, kind);
  return { text, error, matches, at: expression?.at, note, offers, subject, needs, numAnswers, before };
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

/** The expression or query with this text; null until its module is loaded, which starts now. @param {string} text @param {"runs" | "tags" | "matches"} kind */
function findExpression(text, kind) {
  if (loaded.value) return loaded.value.find(text, kind);
  const failed = failedText.value === text;
  if (!failed) load(text).then((module) => (loaded.value = module), () => (failedText.value = text));
  return failed ? UNLOADED : null;
}

/**
 * Loads the module that runs expressions and queries.
 * @param {string} [text]  what it is needed for
 * @returns {Promise<typeof import("./expressions.js")>}
 */
function load(text = "") {
  // After a failure, browsers load a module again only from another URL.
  return import(failedText.peek() === null ? "./expressions.js" : `./expressions.js?after=${encodeURIComponent(text)}`);
}
