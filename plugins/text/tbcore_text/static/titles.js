/** The filter for texts, which finds their titles, too. */

import { computed } from "@preact/signals-core";
import { textTitle } from "tbcore/text-names.js";

/** @typedef {import("tbcore/host.js").Host} Host */

/** A term of a query that leaves tags out. */
const LEAVES_OUT = /(^|[\s|(])-/;

/** @type {ReadonlySet<string>} */
const NONE = new Set();

/**
 * A filter that also finds tags by what is before the suffix. A query that leaves tags out decides by
 * the whole tag alone.
 * @template {{ text: string, matches: (name: string) => boolean }} F
 * @param {F} filter
 */
export function findsTitles(filter) {
  if (LEAVES_OUT.test(filter.text)) return filter;
  // It is asked about both: the worker answers only about names that it was asked for.
  const matches = (/** @type {string} */ tag) => [tag, textTitle(tag, NONE)].map(filter.matches).includes(true);
  return { ...filter, matches };
}

/** A host whose filter of tags finds titles, too. @param {Host} host @returns {Host} */
export function withTitles(host) {
  const { set } = host.tagFilter;
  const tagFilter = Object.assign(computed(() => findsTitles(host.tagFilter.value)), { set });
  return Object.create(host, { tagFilter: { value: tagFilter } });
}
