/** The marks of a run in the run list: its star, the first of its labels, and whether it has a note. */

import { html } from "htm/preact";
import { formatName } from "tbcore/format.js";
import { labelsOf } from "./records.js";

/** @import { Store } from "./store.js" */

/**
 * The marks, of few elements, since each row that comes into view makes them. A star that is not set
 * appears with the pointer.
 * @param {Store} store
 * @param {(name: "star" | "open", ...values: any[]) => void} act
 * @param {string} run
 */
export function marksOf(store, act, run) {
  const fields = store.records.value.get(run);
  const isStarred = fields?.starred?.value === true;
  const canWrite = store.refusal.value === null;
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
      html`<span class="tb-notes-labels" title=${labels.map(formatName).join(", ")} data-more=${labels.length > 1 ? `+${labels.length - 1}` : undefined}>${formatName(labels[0])}</span>`,
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
