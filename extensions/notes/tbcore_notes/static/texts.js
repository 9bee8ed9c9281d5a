/** Texts of notes as elements. They are never markup: only addresses become links. */

import { html } from "htm/preact";
import { formatName, formatTime } from "tbcore/format.js";

/** @import { NoteRecord } from "./records.js" */

/** Matches an address in a text; what ends a sentence is not part of it. */
const ADDRESS = /https?:\/\/[^\s<>"'`]*[^\s<>"'`.,:;!?)\]}]/g;

/** A text in parts, some of which are addresses. @param {string} text @returns {{ text: string, isLink: boolean }[]} */
export function partsOf(text) {
  /** @type {{ text: string, isLink: boolean }[]} */
  const parts = [];
  let end = 0;
  for (const { 0: address, index } of text.matchAll(ADDRESS)) {
    if (index > end) parts.push({ text: text.slice(end, index), isLink: false });
    parts.push({ text: address, isLink: true });
    end = index + address.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isLink: false });
  return parts;
}

/** A note, with its lines and links. @param {{ text: string }} props */
export function NoteText({ text }) {
  return html`<div class="tb-notes-text">
    ${text.split("\n").map((line) => html`<p>
      ${partsOf(line).map(({ text: part, isLink }) => (isLink ? html`<a href=${part} target="_blank" rel="noopener noreferrer nofollow">${formatName(part)}</a>` : formatName(part)))}
    </p>`)}
  </div>`;
}

/** Who noted something, and when. @param {{ record?: NoteRecord, verb?: string }} props */
export function Author({ record, verb = "by" }) {
  if (!record) return null;
  return html`<p class="tb-dim"><bdi>${verb} ${formatName(record.by) || "you"}, ${formatTime(record.time).slice(0, 16)}</bdi></p>`;
}

/** A sentence with code between backticks. @param {{ text: string }} props */
export function Code({ text }) {
  return text.split("`").map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));
}
