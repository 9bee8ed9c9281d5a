/** The items about notes in the menu of runs. */

import { html } from "htm/preact";
import { plural } from "tbcore/format.js";
import { copy } from "tbcore/ui.js";
import { archive, areArchived, areStarred, open, star } from "./actions.js";
import { Code, commandIn } from "./texts.js";

/** @import { MenuItem } from "tbcore/host.js" */
/** @import { Store } from "./store.js" */

/** The items; for a page that may not change notes, those that show notes, and how it may. @param {{ store: Store, runs: readonly string[], item: MenuItem }} props */
export function MenuItems({ store, runs, item }) {
  const refusal = store.refusal.value;
  const isOne = runs.length === 1;
  const these = isOne ? "" : ` these ${plural(runs.length, "run")}`;
  const isArchived = areArchived(store, runs);
  const hasNote = runs.some((run) => store.records.value.get(run)?.note?.value);
  if (refusal !== null) {
    const command = commandIn(refusal);
    return html`<hr />
      ${hasNote && isOne && item("Show the note…", () => open(store, runs, "note"))}
      <p class="tb-notes-refusal"><${Code} text=${refusal || "The notes are not loaded yet."} /></p>
      ${command && item("Copy the command", () => copy(command))}`;
  }
  const starText = areStarred(store, runs) ? (isOne ? "Remove the star" : `Remove the stars of${these}`) : `Star${these}`;
  return html`<hr />
    ${item(starText, () => star(store, runs))}
    ${item(isArchived ? `Bring back${these}` : `Archive${these}`, () => archive(store, runs))}
    ${isOne && item("Rename…", () => open(store, runs, "name"))}
    ${item("Labels…", () => open(store, runs, "labels"))}
    ${item("Note…", () => open(store, runs, "note"))}
    <hr />`;
}
