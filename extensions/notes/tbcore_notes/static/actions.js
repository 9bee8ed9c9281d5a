/** What a reader does with notes, from the run list, from the menu of runs, and by keys. Loaded at the first action. */

import { plural } from "tbcore/format.js";
import { withArchived } from "./archived-query.js";
import { filesCommand } from "./files.js";
import { archivedBy } from "./records.js";

/** @import { Store } from "./store.js" */

/** Dialogs by name. @typedef {"name" | "labels" | "note"} DialogName */

/** Whether all of some runs have a star. @param {Store} store @param {readonly string[]} runs */
export const areStarred = (store, runs) => runs.every((run) => store.records.value.get(run)?.starred?.value === true);

/** Whether all of some runs are archived. @param {Store} store @param {readonly string[]} runs */
export const areArchived = (store, runs) => runs.every((run) => archivedBy(store.records.value.get(run)) !== null);

/** Stars runs; if all are starred, removes their stars. @param {Store} store @param {readonly string[]} runs */
export function star(store, runs) {
  // The row of one run shows it.
  if (mayChange(store)) toggle(store, runs, "starred", areStarred, ["Starred", "Removed the stars of"], runs.length > 1);
}

/** Archives runs; if all are archived, brings them back. @param {Store} store @param {readonly string[]} runs */
export function archive(store, runs) {
  if (!mayChange(store)) return;
  const command = filesCommand(store.page.logdir());
  toggle(store, runs, "archived", areArchived, ["Archived", "Brought back"], true, store.owns ? ` \`${command}\` prints how to delete their event files over a day old.` : ` \`${command}\` does not name their files: archive by \`tbcore notes set\` too if they shall go.`);
  // Once nothing that the query finds is archived, it no longer asks for archived runs.
  const { query } = store.page;
  if (![...store.archived.value.keys()].some(query.finds)) query.set(withArchived(query.value, false));
  returnFocus(store);
}

/**
 * Sets a field of those runs that do not have it; if all have it, takes it from them.
 * @param {Store} store
 * @param {readonly string[]} runs
 * @param {"starred" | "archived"} field
 * @param {(store: Store, runs: readonly string[]) => boolean} areSet
 * @param {[set: string, taken: string]} words  that say what was done
 * @param {boolean} isSaid  whether a line says so, with a button that undoes it
 * @param {string} [hint]  what it says of runs that now have the field
 */
function toggle(store, runs, field, areSet, [set, taken], isSaid, hint = "") {
  const value = !areSet(store, runs);
  const changed = runs.filter((run) => areSet(store, [run]) !== value);
  const undo = () => store.change({ runs: changed, set: { [field]: !value } });
  const text = `${value ? set : taken} ${plural(changed.length, "run")}.${value ? hint : ""}`;
  store.change({ runs: changed, set: { [field]: value } }, isSaid ? { text, actions: [["Undo", undo]] } : null);
}

/** Notes a colour; null for none. @param {Store} store @param {string} run @param {string | null} color */
export function color(store, run, color) {
  const known = store.records.value.get(run)?.color?.value ?? "";
  if ((color ?? "") !== known) store.change({ runs: [run], set: { color: color ?? "" } });
}

/** Opens a dialog. @param {Store} store @param {readonly string[]} runs @param {DialogName} name */
export async function open(store, runs, name) {
  try {
    // The menu gives the focus back first, so that the dialog can do the same when it closes.
    const [{ openDialog }] = await Promise.all([import("./dialogs.js"), store.page.css(new URL("dialogs.css", import.meta.url)), new Promise((done) => setTimeout(done))]);
    openDialog(store, name, runs);
  } catch (error) {
    console.warn(error);
    store.notice.value = { text: "The dialog cannot be loaded: the server cannot be reached.", isError: true };
  }
}

/** Gives the focus to the list if what had it is gone, once that is drawn. @param {Store} store */
export function returnFocus(store) {
  setTimeout(store.page.focusList, 50);
}

/** Whether this page may change notes; a line below the list says why not. @param {Store} store */
function mayChange(store) {
  const refusal = store.refusal.value;
  if (refusal !== null) store.refuse(refusal || "The notes are not loaded yet.");
  return refusal === null;
}
