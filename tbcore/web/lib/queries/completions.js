/** What completes the text before the caret in a query. Pure functions, no DOM. */

import { formatAttribute, typedStatistics } from "./names.js";
import { BEGINNINGS, WORDS } from "./terms.js";

/**
 * What a query can have: names, of which queries for tags have no hyperparameters, and words of notes with
 * what they are; without notes, none or null.
 * @typedef {{ hparams?: readonly string[], tags: readonly string[], words?: readonly (readonly [text: string, what: string])[] | null }} Names
 */

/**
 * @typedef {object} Completion
 * @property {string} text  what takes the place of the characters from `start` to the caret
 * @property {number} start
 * @property {string} what  what it is, in a word
 */

/** Number of completions that are offered. */
const MAX_COMPLETIONS = 8;
/** Matches a part in which a colon is not that of a statistic. */
const TERM = new RegExp(`^(?:${BEGINNINGS})`, "i");
/** The part of a query before the caret that can be completed: after a blank, a sign or an open quote. */
const PART = /(?:^|[\s|(])-?((?:has:)?"[^"]*|[^\s|()"=<>!*?]+)$/i;

/**
 * The completions of a query, the likely ones first; none where nothing can be completed.
 * @param {string} text  the query
 * @param {number} caret
 * @param {Names} names
 * @param {"runs" | "tags"} subject  what the query is for
 * @returns {Completion[]}
 */
export function completionsOf(text, caret, names, subject) {
  const before = text.slice(0, caret);
  const part = PART.exec(before)?.[1];
  // In the middle of a name, nothing is completed.
  if (part === undefined || /^[^\s|()]/.test(text.slice(caret))) return [];
  /** @param {string} completed @param {string} what */
  const completion = (completed, what) => ({ text: completed, start: caret - part.length, what });
  const word = part.replace(/^(has:)?"?/i, "");
  const isHas = /^has:/i.test(part);
  /** @type {Completion[]} */
  let found;
  if (subject === "tags") found = matching(names.tags, word).map((tag) => completion(formatAttribute({ kind: "hparam", name: tag }), ""));
  else if (isHas) {
    const tags = matching(names.tags, word).map((tag) => completion(`has:${formatAttribute({ kind: "value", name: tag })}`, "tag"));
    found = ["nan", "na", "n", ""].includes(word.toLowerCase()) || isMixed(word) ? [completion("has:nan", "NaN or infinite values"), ...tags] : tags;
  } else {
    const stat = TERM.test(part) ? null : /^(.+):(\w*)$/.exec(part);
    found = stat
      ? typedStatistics().filter((name) => name.startsWith(stat[2].toLowerCase())).map((name) => completion(`${stat[1]}:${name}`, "value of the tag"))
      : [
          ...[...WORDS.filter(([, , changesWith]) => changesWith !== "notes" || names.words), ...(names.words ?? [])]
            .filter(([name]) => (part.length > 1 || part === "#") && name.toLowerCase().startsWith(part.toLowerCase()))
            .map(([name, what]) => completion(name, what)),
          ...matching(names.hparams ?? [], word).map((name) => completion(formatAttribute({ kind: "hparam", name }), "hyperparameter")),
          ...matching(names.tags, word).map((name) =>
            name.endsWith("/") ? completion(formatAttribute({ kind: "value", name }), "tags") : completion(formatAttribute({ kind: "value", name, stat: "last" }), "last value"),
          ),
        ];
  }
  return found.filter(({ text: completed }) => completed !== part).slice(0, MAX_COMPLETIONS);
}

/** Whether a word has the letters of `nan` in another order, as typed in haste. @param {string} word */
function isMixed(word) {
  return [...word.toLowerCase()].sort().join("") === "ann";
}

/**
 * The names that begin with a word, or of which a part after a `/` does. If these are many, they end
 * at the next `/`. One more than are offered, since one may be what is typed.
 * @param {readonly string[]} names
 * @param {string} word
 */
function matching(names, word) {
  const lower = word.toLowerCase();
  const [begin, inside] = [/** @type {string[]} */ ([]), /** @type {string[]} */ ([])];
  /** @type {Set<string>} */
  const folders = new Set();
  for (const name of names) {
    if (name.slice(0, word.length).toLowerCase() === lower) {
      begin.push(name);
      if (folders.add(name.slice(0, name.indexOf("/", word.length) + 1) || name).size > MAX_COMPLETIONS) break;
    } else if (inside.length <= MAX_COMPLETIONS && name.toLowerCase().includes(`/${lower}`)) inside.push(name);
  }
  const found = begin.length > MAX_COMPLETIONS ? [...folders] : begin;
  return found.length < MAX_COMPLETIONS ? [...found, ...inside] : found;
}
