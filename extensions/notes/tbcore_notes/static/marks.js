/** The marks of a run in the run list: its star, the first of its labels, and whether it has a note. */

import { html } from "htm/preact";
import { formatName } from "tbcore/format.js";
import { labelsOf } from "./records.js";

/** @import { Fields } from "./records.js" */
/** @import { Store } from "./store.js" */

/** Number of runs whose marks are kept: more than any window shows. */
const MAX_KEPT = 500;
/** The marks of runs that were drawn last, with what they show. @type {Map<string, { fields: Fields | undefined, canWrite: boolean, marks: unknown }>} */
const kept = new Map();

/**
 * The marks of a run. They are the same elements until they change: while the list scrolls, all of its
 * rows are rendered at each frame.
 * @param {Store} store
 * @param {(name: "star" | "open", ...values: any[]) => void} act
 * @param {string} run
 */
export function marksOf(store, act, run) {
  const fields = store.records.value.get(run);
  const canWrite = store.refusal.value === null;
  const last = kept.get(run);
  if (last && last.fields === fields && last.canWrite === canWrite) return last.marks;
  const marks = newMarks(fields, canWrite, act, run);
  if (kept.size > MAX_KEPT) kept.clear();
  kept.set(run, { fields, canWrite, marks });
  return marks;
}

/**
 * The marks, of few elements. A star that is not set appears with the pointer.
 * @param {Fields | undefined} fields
 * @param {boolean} canWrite
 * @param {(name: "star" | "open", ...values: any[]) => void} act
 * @param {string} run
 */
function newMarks(fields, canWrite, act, run) {
  const isStarred = fields?.starred?.value === true;
  const labels = labelsOf(fields);
  const note = fields?.note?.value;
  const name = formatName(run);
  return [
    (isStarred || canWrite) &&
      html`<button
        type="button"
        class="tb-notes-star"
        tabindex="-1"
        disabled=${!canWrite}
        aria-label="${isStarred ? "Starred" : "Star"} ${name}"
        aria-pressed=${String(isStarred)}
        title=${!canWrite ? "Starred" : isStarred ? "Starred: remove the star (s)" : "Star (s)"}
        onClick=${() => act("star", [run])}
      ></button>`,
    labels.length > 0 &&
      html`<span class="tb-notes-labels" title=${labels.map(formatName).join(", ")}>${formatName(labels[0])}${labels.length > 1 && ` +${labels.length - 1}`}</span>`,
    note &&
      html`<button
        type="button"
        class="tb-notes-note"
        tabindex="-1"
        aria-label="Note on ${name}"
        title=${formatName(note.split("\n", 1)[0])}
        onClick=${() => act("open", [run], "note")}
      ></button>`,
  ];
}
