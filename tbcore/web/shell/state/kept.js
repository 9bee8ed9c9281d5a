/** What users keep on the server: the module of an extension that keeps notes, and what it can use of the page. */

import { computed } from "@preact/signals-core";
import { address } from "./server.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { NotesModule, Readable } from "../../host.js" */
/** @import { State } from "./reader-state.js" */

/** @type {Promise<void> | undefined} */
let started;

/** Loads the module, if the server has one; once, even if it is called again. @param {State} state */
export function start(state) {
  if (state.status.value?.notes_generation === undefined) return undefined;
  started ??= load(state);
  started.catch(() => (started = undefined));
  return started;
}

/** @param {State} state */
async function load(state) {
  /** @type {{ default: NotesModule }} */
  const { default: module } = await import(address("static/notes/index.js"));
  state.notes.value = await module.start({
    runs: state.allRuns,
    details: state.runDetails,
    generation: computed(() => state.status.value?.notes_generation ?? 0),
    query: Object.assign(computed(() => state.runQuery.value), { set: state.setRunFilter }),
    address: computed(() => new URL(state.link()).hash),
    open: (fragment) => void (location.hash = fragment),
    logdir: () => state.frontends.value?.logdir ?? "",
    url: address,
  });
}
