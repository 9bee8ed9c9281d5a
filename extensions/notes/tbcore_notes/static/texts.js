/** Sentences about notes. */

import { html } from "htm/preact";
import { formatName, formatTime } from "tbcore/format.js";

/** @import { NoteRecord } from "./records.js" */

/** Who noted something, and when. @param {{ record?: NoteRecord, verb?: string }} props */
export function Author({ record, verb = "by" }) {
  if (!record) return null;
  return html`<p class="tb-dim"><bdi>${verb} ${formatName(record.by) || "you"}, ${formatTime(record.time).slice(0, 16)}</bdi></p>`;
}

/** The names of runs; of many, the first. @param {readonly string[]} runs @param {number} [max] */
export function namesOfRuns(runs, max = 5) {
  const num = runs.length > max + 1 ? max : runs.length;
  const names = runs.slice(0, num).map(formatName).join(", ");
  return num < runs.length ? `${names} and ${(runs.length - num).toLocaleString("en")} more` : names;
}

/** The command that a sentence names, between backticks, for an address that may change notes; undefined if it names none. @param {string | null | undefined} text */
export function commandIn(text) {
  return text?.match(/`(tbcore notes address[^`]*)`/)?.[1];
}

/** A sentence with code between backticks. @param {{ text: string }} props */
export function Code({ text }) {
  return text.split("`").map((part, i) => (i % 2 ? html`<code>${part}</code>` : part));
}
