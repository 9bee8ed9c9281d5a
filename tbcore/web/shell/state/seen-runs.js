/**
 * The runs that this browser has had, with their groups, by log directory and rule for groups: those that
 * are gone keep their places among the colours, so that no other run gets one of theirs. Loaded with notes.
 */

import { effect } from "@preact/signals-core";
import { store } from "./selection.js";

/** Before the names of what is kept in the browser, as `openPreferences` reads it. */
const PREFIX = "tbcore.preferences.";

/** @import { State } from "./reader-state.js" */

/** With more runs, which cannot all have colours of their own, none are kept. */
const MAX_RUNS = 300;
/** Of runs that are gone, the last ones are kept: there are no more colours. */
const MAX_GONE = 24;
/** Characters that all log directories may take together. */
const MAX_CHARS = 500_000;

/**
 * What is kept, as text; null for nothing.
 * @param {ReadonlyMap<string, string>} seen  runs to groups, in the order in which they were first seen
 * @param {ReadonlySet<string>} present
 */
export function textOfSeen(seen, present) {
  const gone = [...seen].filter(([run]) => !present.has(run)).slice(-MAX_GONE);
  const isKept = new Set(gone.map(([run]) => run));
  return present.size > MAX_RUNS ? null : JSON.stringify(Object.fromEntries([...seen].filter(([run]) => present.has(run) || isKept.has(run))));
}

/** Keeps from now on which runs there are. @param {State} state */
export function keepSeen(state) {
  /** @type {Map<string, string | null>} */
  const kept = new Map();
  effect(() => {
    state.colors.value;
    const present = new Set(state.allRuns.value);
    if (present.size === 0) return;
    for (const [key, seen] of state.seen) {
      const text = textOfSeen(seen, present);
      if (text === kept.get(key)) continue;
      kept.set(key, text);
      store(PREFIX + key, text);
      evictOthers(PREFIX + key);
    }
  });
}

/** Forgets others, while all take too much space. @param {string} key  of what stays */
function evictOthers(key) {
  const others = Object.keys(localStorage).filter((other) => other.startsWith(`${PREFIX}#seen `) && other !== key);
  let numChars = others.reduce((sum, other) => sum + (localStorage.getItem(other)?.length ?? 0), 0);
  for (const other of others) {
    if (numChars <= MAX_CHARS) return;
    numChars -= localStorage.getItem(other)?.length ?? 0;
    store(other, null);
  }
}
