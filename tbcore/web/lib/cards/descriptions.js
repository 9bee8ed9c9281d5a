/** The display names and descriptions that writers gave a card's tags. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatName, plural } from "../format.js";

/** Maximum number of different descriptions in a card. */
const MAX_DESCRIPTIONS = 3;

/**
 * @typedef {object} Description
 * @property {string} [display_name]  "" or missing if it is the tag
 * @property {string} [description]
 * @property {readonly string[]} runs  the names of the runs that have it
 * @property {string} [tag]  shown before the text, in cards of several tags
 */

/**
 * Descriptions as text: Markdown in them is shown as it was written. Equal ones are shown once, and
 * entries without a text are left out.
 * @param {{ host: import("../../host.js").Host, texts: readonly Description[] }} props
 */
export function Descriptions({ host, texts }) {
  const distinct = distinctDescriptions(texts);
  const [isStyled, setStyled] = useState(false);
  const isEmpty = distinct.length === 0;
  useEffect(() => {
    if (isEmpty) return;
    const styles = host.css(new URL("./descriptions.css", import.meta.url));
    styles.catch(console.warn).then(() => setStyled(true));
  }, [isEmpty]);
  if (!isStyled) return null;
  const rest = distinct.length - MAX_DESCRIPTIONS;
  return html`${distinct.slice(0, MAX_DESCRIPTIONS).map(
    ({ tag, display_name: name, description = "", runs }) => html`<p class="tb-card-note tb-description" title=${`${description}\n\n${runs.map(formatName).join(", ")}`.trim()}>
      ${tag && html`<span>${formatName(tag)}: </span>`}${name && html`<b>${formatName(name)}</b>`} ${description}
    </p>`,
  )}
  ${rest > 0 && html`<p class="tb-card-note tb-description">and ${plural(rest, "other description")}</p>`}`;
}

/** Those with a text, the runs of equal ones together. @param {readonly Description[]} texts */
export function distinctDescriptions(texts) {
  /** @type {Map<string, Description>} */
  const distinct = new Map();
  for (const { tag, display_name: name, description, runs } of texts) {
    if (!name && !description) continue;
    const key = JSON.stringify([tag, name, description]);
    distinct.set(key, { tag, display_name: name, description, runs: [...(distinct.get(key)?.runs ?? []), ...runs] });
  }
  return [...distinct.values()];
}
