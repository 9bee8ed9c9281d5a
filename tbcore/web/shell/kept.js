/**
 * What is kept of what users do, by the module of an extension that keeps notes: on the server, and in this browser where they left off.
 */

import { computed, signal } from "@preact/signals-core";
import { adoptStyles } from "../lib/ui/lazy.js";
import { forget, isPlain, openPlain, watchLeftOff } from "./state/left-off.js";
import { address } from "./state/server.js";

/** @import { Notes, NotesModule } from "../host.js" */
/** @import { State } from "./state/reader-state.js" */

/** What there is without an extension that keeps notes. @type {Notes} */
const NONE = {
  runs: signal(new Map()),
  hidden: signal(new Set()),
  mark: () => null,
  bar: signal(null),
  foot: signal(null),
  menu: () => null,
  setColor: signal(null),
  keys: [],
  onKey: () => false,
  words: signal(null),
};

/** How long the first runs wait for what is noted about them: which are archived, and their names. */
const TIMEOUT_MS = 5000;

/** @type {Promise<void> | undefined} */
let started;
/** @type {ReturnType<typeof watchLeftOff> | undefined} */
let leftOff;

/** Starts both, once, even if it is called again. Resolves after a time, too: runs are shown also if the notes do not come. @param {State} state */
export function start(state) {
  started ??= load(state);
  started.catch(() => (started = undefined));
  return Promise.race([started, new Promise((done) => setTimeout(done, TIMEOUT_MS))]);
}

/** @param {State} state */
async function load(state) {
  state.notes.value = NONE;
  if (state.status.value?.notes_generation === undefined) return;
  /** @type {{ default: NotesModule }} */
  const { default: module } = await import(address("static/notes/index.js"));
  leftOff ??= watchLeftOff(state);
  state.notes.value = await module.start({
    runs: state.allRuns,
    isChosen: (run) => state.selection.value.except.get(run) === true,
    details: state.runDetails,
    generation: computed(() => state.status.value?.notes_generation ?? 0),
    query: Object.assign(computed(() => state.runQuery.value), { set: state.setRunFilter, finds: (/** @type {string} */ run) => state.runFilter.value.matches(run) }),
    address: computed(() => new URL(state.link()).hash),
    picture: async () => (await import("./state/picture.js")).pictureOf(state),
    open: (fragment) => void (location.hash = fragment),
    leftOff: Object.assign(leftOff, { forget: () => forget(state) }),
    isPlain: () => isPlain(state),
    openPlain: (next) => openPlain(next, state),
    logdir: () => state.frontends.value?.logdir ?? "",
    url: address,
    css: (url) => adoptStyles(document, url).catch(console.warn),
    isEmbedded: document.documentElement.dataset.query?.includes("embed") ?? false,
    focusList: () => {
      if (document.activeElement && document.activeElement !== document.body) return;
      const row = '.tb-runs [role="row"] [tabindex="0"]';
      /** @type {HTMLElement | null} */ (document.querySelector(row) ?? document.querySelector(".tb-runs [type=search]"))?.focus();
    },
  });
}
