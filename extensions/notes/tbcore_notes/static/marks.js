/**
 * The marks in the run list: of a run, its star, the first of its labels, and whether it has a note; of a closed folder or group,
 * what its runs have in common, and whether one has a note.
 */

import { html } from "htm/preact";
import { formatName, plural } from "tbcore/format.js";
import { labelsOf } from "./records.js";

/** @import { Records } from "./records.js" */
/** @import { Store } from "./store.js" */

/**
 * The marks of a run, or of several.
 * @param {Store} store
 * @param {(name: "star" | "open", ...values: any[]) => void} act
 * @param {readonly string[]} runs
 */
export function marksOf(store, act, runs) {
  const records = store.records.value;
  if (runs.length > 1) return marksOfSeveral(records, act, runs);
  const [run] = runs;
  const fields = records.get(run);
  // Few elements, because a list may have many runs. A star that is not set appears with the pointer.
  const canWrite = store.refusal.value === null;
  const isStarred = fields?.starred?.value === true;
  const labels = labelsOf(fields);
  const note = fields?.note;
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
    chipOf(labels),
    note?.value &&
      html`<button
        type="button"
        class="tb-notes-note"
        tabindex="-1"
        aria-label="Note on ${name}"
        title=${formatName(note.value.split("\n", 1)[0]) + (note.is_cut ? " …" : "")}
        onClick=${() => act("open", [run], "note")}
      ></button>`,
  ];
}

/**
 * What several runs have in common.
 * @param {Records} records
 * @param {(name: "star" | "open", ...values: any[]) => void} act
 * @param {readonly string[]} runs
 */
function marksOfSeveral(records, act, runs) {
  const all = runs.map((run) => records.get(run));
  const labels = labelsOf(all[0]).filter((label) => all.every((fields) => labelsOf(fields).includes(label)));
  const noted = runs.filter((_, i) => all[i]?.note?.value);
  const isStarred = all.every((fields) => fields?.starred?.value === true);
  return [
    isStarred && html`<i class="tb-notes-star tb-notes-all" role="img" aria-label="All starred" title="All ${runs.length} runs are starred"></i>`,
    chipOf(labels, `All ${runs.length} runs have: `),
    noted.length > 0 &&
      html`<button
        type="button"
        class="tb-notes-note"
        tabindex="-1"
        aria-label="Notes on ${plural(noted.length, "run")}"
        title=${noted.length === 1 ? `Note on ${formatName(noted[0])}` : `Notes on ${noted.length} of ${runs.length} runs`}
        onClick=${() => act("open", noted.length === 1 ? noted : runs, "note")}
      ></button>`,
  ];
}

/** The first label, with the number of others. @param {readonly string[]} labels @param {string} [before]  of the tooltip */
function chipOf(labels, before = "") {
  if (labels.length === 0) return null;
  return html`<span class="tb-notes-labels" title=${before + labels.map(formatName).join(", ")}>${formatName(labels[0])}${labels.length > 1 && ` +${labels.length - 1}`}</span>`;
}
