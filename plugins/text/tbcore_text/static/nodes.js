/**
 * Turns the server's parsed Markdown into elements. No HTML is involved: only the elements and
 * attributes listed here are created. An unknown element is replaced by its contents, and an
 * unknown attribute is dropped.
 */

import { h } from "preact";

/** @typedef {string | [tag: string, attributes: Record<string, string>, children: Node[]]} Node */

/** Elements that texts may contain. */
const TAGS = new Set(
  (
    "a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark " +
    "ol p pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var"
  ).split(" "),
);

/**
 * The elements of a list of nodes.
 * @param {readonly Node[]} nodes
 * @returns {unknown[]}
 */
export function elementsOf(nodes) {
  return nodes.map((node) => {
    if (typeof node === "string") return node;
    const [tag, attributes, children] = node;
    return TAGS.has(tag) ? h(tag, propsOf(tag, attributes), .../** @type {any[]} */ (elementsOf(children))) : elementsOf(children);
  });
}

/**
 * The attributes that an element may have.
 * @param {string} tag
 * @param {Record<string, string>} attributes
 */
function propsOf(tag, { href, align, start }) {
  if (tag === "a") {
    // The target gets no referrer and no access to this page.
    return /^(https?:\/\/|mailto:)/i.test(href ?? "") ? { href, title: href, target: "_blank", rel: "noopener noreferrer" } : null;
  }
  if (tag === "td" || tag === "th") return /^(left|center|right)$/.test(align ?? "") ? { class: `text-${align}` } : null;
  if (tag === "ol") return /^\d+$/.test(start ?? "") ? { start } : null;
  // Folded sections are opened, so that nothing is overlooked.
  return tag === "details" ? { open: true } : null;
}
