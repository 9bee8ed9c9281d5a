/**
 * Elements of what the server made of markdown. It is not HTML, and no HTML is made of it: each element and attribute
 * is one of these, and what is unknown is left out, with its text kept.
 */

import { h } from "preact";

/** @typedef {string | [tag: string, attributes: Record<string, string>, children: Node[]]} Node */

const TAGS = new Set(
  (
    "a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark " +
    "ol p pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var"
  ).split(" "),
);

/**
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
 * @param {string} tag
 * @param {Record<string, string>} attributes
 */
function propsOf(tag, { href, align, start }) {
  if (tag === "a") {
    // Nobody is told where the reader comes from, and the page that opens cannot reach this one.
    return /^(https?:\/\/|mailto:)/i.test(href ?? "") ? { href, title: href, target: "_blank", rel: "noopener noreferrer" } : null;
  }
  if (tag === "td" || tag === "th") return /^(left|center|right)$/.test(align ?? "") ? { class: `text-${align}` } : null;
  if (tag === "ol") return /^\d+$/.test(start ?? "") ? { start } : null;
  // What is folded in a text is opened, so that nothing is overlooked.
  return tag === "details" ? { open: true } : null;
}
