/** The marks of a run in the run list: its star, the first of its labels, and whether it has a note. */

import { html } from "htm/preact";
import { formatName } from "tbcore/format.js";
import { Icon } from "tbcore/ui.js";
import { labelsOf } from "./records.js";

/** @import { Store } from "./store.js" */

/** The marks. A star that is not set appears with the pointer. @param {{ store: Store, act: (name: "star" | "open", ...values: any[]) => void, run: string }} props */
export function Mark({ store, act, run }) {
  const fields = store.records.value.get(run);
  const isStarred = fields?.starred?.value === true;
  const labels = labelsOf(fields);
  const note = fields?.note?.value ?? "";
  const canWrite = store.refusal.value === null;
  return html`
    ${(isStarred || canWrite) &&
    html`<button
      type="button"
      class="tb-notes-star"
      tabindex="-1"
      disabled=${!canWrite}
      aria-label="${isStarred ? "Starred" : "Star"} ${formatName(run)}"
      aria-pressed=${String(isStarred)}
      title=${isStarred ? (canWrite ? "Starred: remove the star (s)" : "Starred") : "Star (s)"}
      onClick=${() => act("star", [run])}
    >
      <${Icon} name="star" />
    </button>`}
    ${labels.length > 0 &&
    html`<span class="tb-notes-labels" title=${labels.map(formatName).join(", ")}>
      <span>${formatName(labels[0])}</span>
      ${labels.length > 1 && html`<small>+${labels.length - 1}</small>`}
    </span>`}
    ${note &&
    html`<button
      type="button"
      class="tb-notes-note"
      tabindex="-1"
      aria-label="Note on ${formatName(run)}"
      title=${formatName(note.split("\n", 1)[0])}
      onClick=${() => act("open", [run], "note")}
    >
      <svg class="tb-icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M3.5 2.5h9v11h-9zM5.8 5.5h4.4M5.8 8h4.4M5.8 10.5h2.4" /></svg>
    </button>`}
  `;
}
