/**
 * Where the reader left off: the choices of the last visit at a plain address, until the reader makes
 * others. The browser keeps them for each log directory. Loaded with notes, whose list of views offers them.
 */

import { batch, computed, effect, signal, untracked } from "@preact/signals-core";
import { parseAddress } from "../../lib/address.js";
import { openPreferences } from "./reader-state.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { State } from "./reader-state.js" */

/** The fragments of the last visits, by log directory. */
const kept = openPreferences("#left");

/** The fragment that is no choice of the reader, since a link or the log directory has it. */
let given = "";

/** An address that says nothing but a tab, and maybe the secret for changing notes. */
const PLAIN = /^[^?#]*(\?(?!.*view=)[^#]*)?(#[^&=]*|#write=[^&]*)?$/;

/** @param {State} state */
const directoryOf = (state) => state.status.value?.logdirs.join() ?? "";

/** What was kept for the log directory. @param {State} state */
const leftIn = (state) => new Map(Object.entries(kept.values.value)).get(directoryOf(state));

/**
 * Keeps from now on what the reader chooses, and returns the fragment that was kept before; null if
 * there is nothing to continue.
 * @param {State} state
 * @returns {ReadonlySignal<string | null>}
 */
export function watchLeftOff(state) {
  const isEmbedded = document.documentElement.dataset.query?.includes("embed");
  const fragment = computed(() => new URL(state.link()).hash);
  const hasChosen = computed(() => hasChoices(fragment.value, state));
  given = wasPlain() ? "" : fragment.value;
  let hadChosen = false;
  effect(() => {
    const directory = directoryOf(state);
    if (!directory || isEmbedded || fragment.value === given) return;
    const next = hasChosen.value ? fragment.value : null;
    // Also what `set` reads is written by it.
    if (next !== null || hadChosen) untracked(() => kept.set(directory, next));
    hadChosen ||= next !== null;
  });
  if (!wasPlain() || isEmbedded) return signal(null);
  return computed(() => {
    const left = leftIn(state);
    return left && hasChoices(left, state) && (!hasChosen.value || fragment.value === given) ? left : null;
  });
}

/** Whether the page was opened at a plain address. */
function wasPlain() {
  const [opened] = performance.getEntriesByType("navigation");
  return PLAIN.test(opened?.name ?? location.href);
}

/** Whether the address was plain, and the reader has made no choice, neither now nor at the last visit. @param {State} state */
export function isPlain(state) {
  return wasPlain() && !leftIn(state) && !hasChoices(new URL(state.link()).hash, state);
}

/** Keeps nothing of the last visit. @param {State} state */
export function forget(state) {
  kept.set(directoryOf(state), null);
}

/** Shows what a fragment says, which is no choice of the reader. @param {string} fragment @param {State} state */
export function openPlain(fragment, state) {
  // What is chosen until the address is read again is the reader's, and nothing is.
  batch(() => {
    history.replaceState(null, "", fragment);
    dispatchEvent(new PopStateEvent("popstate"));
    given = new URL(state.link()).hash;
  });
}

/**
 * Whether a fragment has choices that are not made by themselves at each visit: what the browser
 * remembers for all addresses is none.
 * @param {string} fragment
 * @param {State} state
 */
function hasChoices(fragment, state) {
  const logdir = state.frontends.value?.logdir ?? "";
  return Object.entries(parseAddress(fragment).values).some(([name, text]) => {
    const [plugin] = name.split(".");
    const setting = name.slice(plugin.length + 1);
    const isRemembered = setting && [plugin, `${plugin}#${logdir}`].some((owner) => new Map(Object.entries(openPreferences(owner).values.value)).get(setting) === text);
    return !isRemembered && !/^(view|sort|write)$/.test(name);
  });
}
