/**
 * Titles of texts. PyTorch's `add_text("config", ...)` and that of tensorboardX log the tag
 * `config/text_summary`; its title is `config`.
 */

import { computed } from "@preact/signals-core";

/** @typedef {import("tbcore/host.js").Host} Host */

const SUFFIX = /(?<=.)\/text_summary$/s;
/** A term of a query that leaves tags out. */
const LEAVES_OUT = /(^|[\s|(])-/;

/**
 * A tag without the suffix, unless that is another tag.
 * @param {string} tag @param {ReadonlySet<string>} tags  all tags
 */
export function titleOf(tag, tags) {
  const title = tag.replace(SUFFIX, "");
  return tags.has(title) ? tag : title;
}

/**
 * A filter that also finds tags by what is before the suffix. A query that leaves tags out decides by
 * the whole tag alone.
 * @template {{ text: string, matches: (name: string) => boolean }} F
 * @param {F} filter
 */
export function findsTitles(filter) {
  if (LEAVES_OUT.test(filter.text)) return filter;
  // It is asked about both: the worker answers only about names that it was asked for.
  const matches = (/** @type {string} */ tag) => [tag, tag.replace(SUFFIX, "")].map(filter.matches).includes(true);
  return { ...filter, matches };
}

/** A host whose filter of tags finds titles, too. @param {Host} host @returns {Host} */
export function withTitles(host) {
  const { set } = host.tagFilter;
  const tagFilter = Object.assign(computed(() => findsTitles(host.tagFilter.value)), { set });
  return Object.create(host, { tagFilter: { value: tagFilter } });
}
