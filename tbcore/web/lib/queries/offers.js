/** Offers of other queries: for a query with a name that no run has, and for one that finds nothing. Pure functions, no DOM. */

import { formatName, parseQuery } from "./syntax.js";

/** @import { Need } from "./expression-worker.js" */
/** @import { Offer } from "./filter.js" */
/** @import { Subject } from "./syntax.js" */

/** The names that runs have. @typedef {{ hparams: readonly string[], tags: readonly string[] }} Names */

/** Maximum number of names or values that are offered. */
const MAX_OFFERS = 3;
/** Maximum number of values that are compared. */
const MAX_VALUES = 1000;
/** Longer values are not compared. */
const MAX_VALUE_LENGTH = 100;
/** Matches a quoted text, or what stands for `-`, a blank or `|` in other languages: a word or `!`. */
const OPERATOR_WORDS = /"(?:[^"]|"")*"|(?<![^\s(|-])(?:(and|or|not)(?![^\s(|)])\s*|!(?=[^\s|)!]))/giu;
/** A hyperparameter and a value with `:` between them. */
const PAIR = /(?<![^\s(|-])(?!has:|re:)([^\s|()":=!<>*?]+):([^\s|()":=!<>]+)(?![^\s|()])/iu;

/**
 * A query in which a part is replaced.
 * @param {string} text
 * @param {number} start
 * @param {number} end
 * @param {string} part
 */
function replaced(text, start, end, part) {
  return text.slice(0, start) + part + text.slice(end);
}

/**
 * The note and the offers for a hyperparameter or tag that no run has.
 * @param {string} text  the query
 * @param {Need} need
 * @param {readonly string[]} close  similar names that some run has, written as in a query
 * @param {Names | null} names  null if they are not known yet
 * @returns {{ note: string, offers: Offer[] }}
 */
export function aboutUnknown(text, { what, name, isHParam, isNumber, literal, range: [start, nameEnd, end] }, close, names) {
  const tag = isHParam && isNumber ? names?.tags.find((each) => each.toLowerCase() === name.toLowerCase()) : undefined;
  const known = (isHParam ? names?.hparams : names?.tags)?.slice(0, MAX_OFFERS) ?? [];
  const offers = (tag ? ["last", "min"] : []).map((stat) => {
    const comparison = `${formatName(/** @type {string} */ (tag))}:${stat}${text.slice(nameEnd, end)}`;
    return { label: comparison, text: replaced(text, start, end, comparison) };
  });
  for (const each of close.slice(0, MAX_OFFERS)) offers.push({ label: each, text: replaced(text, start, nameEnd, each) });
  const hasList = offers.length === 0 && known.length > 0;
  if (literal !== null) offers.push({ label: `Names with ${literal}`, text: replaced(text, start, end, literal) });
  return { note: `No ${what}${tag ? ", but a tag" : ""}${hasList ? `; there are ${known.join(", ")}` : ""}`, offers };
}

/**
 * The note and the offers for a comparison with a value that no run has.
 * @param {string} text  the query
 * @param {Need} need
 * @param {Iterable<unknown>} values  the values that runs have
 * @returns {{ note: string, offers: Offer[] } | null} null if some run has the value, or if the query compares with something else
 */
export function aboutValue(text, { value, range: [start, nameEnd, end] }, values) {
  if (value === null) return null;
  const known = new Set();
  for (const each of values) {
    const own = String(each);
    if (own.toLowerCase() === value || (typeof each === "number" && each === Number(value))) return null;
    if (own.length <= MAX_VALUE_LENGTH && known.size < MAX_VALUES) known.add(own);
  }
  const closest = [...known].map((own) => ({ own, distance: distance(own.toLowerCase(), value) }));
  closest.sort((a, b) => a.distance - b.distance);
  const offers = closest.slice(0, MAX_OFFERS).map(({ own }) => {
    const comparison = `${text.slice(start, nameEnd)}=${formatName(own)}`;
    return { label: comparison, text: replaced(text, start, end, comparison) };
  });
  return offers.length > 0 ? { note: `No run has ${text.slice(start, end)}`, offers } : null;
}

/**
 * Offers the query with the signs of this language: `-` in place of `not` and `!`, a blank in place
 * of `and`, `|` in place of `or`. No offer if the query has none of these words.
 * @param {string} text
 * @param {Subject} subject
 * @returns {Offer[]}
 */
export function withSigns(text, subject) {
  const signs = new Map([["and", ""], ["or", "| "], ["not", "-"]]);
  const query = text.replace(OPERATOR_WORDS, (found, word) => (found[0] === '"' ? found : signs.get((word ?? "not").toLowerCase()) ?? found)).trim();
  if (query === text.trim()) return [];
  try {
    parseQuery(query, subject);
  } catch {
    return [];
  }
  return [{ label: query, text: query }];
}

/** Whether a query has something like `model:vit`, so that `withEquals` needs names. @param {string} text */
export function hasPair(text) {
  return PAIR.test(text);
}

/** The query with `model=vit` in place of `model:vit`, if `model` is a hyperparameter. @param {string} text @param {Names | null} names @returns {Offer[]} */
export function withEquals(text, names) {
  const found = PAIR.exec(text);
  const name = found && names?.hparams.find((each) => each.toLowerCase() === found[1].toLowerCase());
  if (!name) return [];
  const comparison = `${formatName(name)}=${found[2]}`;
  return [{ label: comparison, text: replaced(text, found.index, found.index + found[0].length, comparison) }];
}

/** The number of characters to insert, delete or replace, to turn one text into another. @param {string} from @param {string} to */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + Number(from[i - 1] !== to[j - 1]));
    row = next;
  }
  return row[to.length];
}
