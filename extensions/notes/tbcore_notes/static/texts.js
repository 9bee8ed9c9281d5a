/** Sentences about notes. */

import { html } from "htm/preact";
import { formatName, formatTime } from "tbcore/format.js";

/** @import { NoteRecord } from "./records.js" */

/** Who noted something, and when. @param {{ record?: NoteRecord, verb?: string }} props */
export function Author({ record, verb = "by" }) {
  if (!record) return null;
  return html`<p class="tb-dim"><bdi>${verb} ${formatName(record.by) || "you"}, ${formatTime(record.time).slice(0, 16)}</bdi></p>`;
}

/** A sentence with code between backticks. @param {{ text: string }} props */
export function Code({ text }) {
  return text.split("`").map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));
}
