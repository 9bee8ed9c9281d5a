/**
 * Where the reader left off: on a plain address, a line below the list of runs offers the choices of
 * the last visit, until the reader makes others. The browser keeps them for each log directory. Loaded
 * after the first tab.
 */

import { batch, computed, effect, signal, untracked } from "@preact/signals-core";
import { html } from "htm/preact";
import { parseAddress } from "../../lib/address.js";
import { formatName, plural } from "../../lib/format.js";
import { parseLists } from "../../lib/text-names.js";
import { IconButton } from "../../lib/ui/controls.js";
import { openPreferences } from "../state/reader-state.js";
import { selectionFromText } from "../state/selection.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { State } from "../state/reader-state.js" */

/** The fragments of the last visits, by log directory. */
const kept = openPreferences("#left");

/** The fragment that is no choice of the reader, since a link or the log directory has it. */
let given = "";

/** An address that says nothing but a tab, and maybe the secret for changing notes. */
const PLAIN = /^[^?#]*(\?(?!.*view=)[^#]*)?(#[^&=]*|#write=[^&]*)?$/;

/** What the reader chose at the last visit. @typedef {{ fragment: string, words: string }} Left */

/**
 * Keeps from now on what the reader chooses, and returns what was kept before; null if there is
 * nothing to continue.
 * @param {State} state
 * @returns {ReadonlySignal<Left | null>}
 */
export function watchLeftOff(state) {
  const isEmbedded = document.documentElement.dataset.query?.includes("embed");
  const directory = computed(() => state.status.value?.logdirs.join() ?? "");
  const fragment = computed(() => new URL(state.link()).hash);
  const chosen = computed(() => ownChoices(fragment.value, state));
  const hasChosen = computed(() => chosen.value.size > 0);
  given = wasPlain() ? "" : fragment.value;
  let hadChosen = false;
  effect(() => {
    if (!directory.value || isEmbedded || fragment.value === given) return;
    const [key, next] = [directory.value, hasChosen.value ? fragment.value : null];
    // Also what `set` reads is written by it.
    if (next !== null || hadChosen) untracked(() => kept.set(key, next));
    hadChosen ||= next !== null;
  });
  if (!wasPlain() || isEmbedded) return signal(null);
  return computed(() => {
    const left = new Map(Object.entries(kept.values.value)).get(directory.value);
    if (!left || (hasChosen.value && fragment.value !== given)) return null;
    const choices = ownChoices(left, state);
    return choices.size === 0 ? null : { fragment: left, words: wordsOf(parseAddress(left).tab, choices, state) };
  });
}

/** Whether the page was opened at a plain address. */
function wasPlain() {
  const [opened] = performance.getEntriesByType("navigation");
  return PLAIN.test(opened?.name ?? location.href);
}

/** Whether the address was plain, and the reader has made no choice, neither now nor at the last visit. @param {State} state */
export function isPlain(state) {
  const left = new Map(Object.entries(kept.values.value)).get(state.status.value?.logdirs.join() ?? "");
  return wasPlain() && !left && ownChoices(new URL(state.link()).hash, state).size === 0;
}

/** Whether there is an offer to continue with groups. @param {State} state */
export function offersGroups(state) {
  const left = new Map(Object.entries(kept.values.value)).get(state.status.value?.logdirs.join() ?? "");
  const { hash } = new URL(state.link());
  return Boolean(left && wasPlain() && parseAddress(left).values.group && (hash === given || ownChoices(hash, state).size === 0));
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

/** The line. @param {{ state: State, leftOff: Left }} props */
export function LeftOff({ state, leftOff: { fragment, words } }) {
  return html`<div class="tb-offer tb-left" role="status">
    <p title=${words}>Continue where you left off: ${words}</p>
    <button type="button" class="tb-button primary" onClick=${() => void (location.hash = fragment)}>Continue</button>
    <${IconButton} icon="close" label="Do not continue" onClick=${() => kept.set(state.status.value?.logdirs.join() ?? "", null)} />
  </div>`;
}

/**
 * The choices in a fragment that are not made by themselves at each visit, by name: what the browser
 * remembers for all addresses is none.
 * @param {string} fragment
 * @param {State} state
 */
function ownChoices(fragment, state) {
  const logdir = state.frontends.value?.logdir ?? "";
  const choices = new Map(Object.entries(parseAddress(fragment).values));
  for (const [name, text] of choices) {
    const [plugin] = name.split(".");
    const setting = name.slice(plugin.length + 1);
    const isRemembered = setting && [plugin, `${plugin}#${logdir}`].some((owner) => new Map(Object.entries(openPreferences(owner).values.value)).get(setting) === text);
    if (isRemembered || /^(view|sort|write)$/.test(name)) choices.delete(name);
  }
  return choices;
}

/** Choices in words: `-has:nan, grouped by seeds, 2 pins`. @param {string} tab @param {ReadonlyMap<string, string>} choices @param {State} state */
function wordsOf(tab, choices, state) {
  const numOf = (/** @type {string} */ name) => parseLists(choices.get(name)).flat().length;
  const titleOf = (/** @type {string} */ plugin) => state.tabs.value.find(({ name }) => name === plugin)?.title ?? plugin;
  const pins = [...choices.keys()].filter((name) => name.endsWith(".pinned"));
  const numPins = pins.reduce((sum, name) => sum + numOf(name), 0);
  const others = [...choices.keys()].filter((name) => name.includes(".") && !pins.includes(name)).map((name) => name.split(".")[0]);
  const text = (/** @type {string} */ before, /** @type {string} */ name) => choices.get(name) && `${before} ${choices.get(name)?.replace(/^by:/, "")}`;
  const words = [
    tab !== state.tab.value && titleOf(tab),
    text("runs", "query"),
    text("tags", "tagQuery"),
    runsText(choices.get("runs")),
    text("grouped by", "group"),
    text("coloured by", "color"),
    choices.has("columns") && plural(numOf("columns"), "column"),
    numPins > 0 && plural(numPins, "pin"),
    others.length > 0 && `settings of ${[...new Set(others)].map(titleOf).join(", ")}`,
  ];
  // Whatever else there is has no words of its own.
  return formatName(words.filter(Boolean).join(", ") || "your choices");
}

/** @param {string | undefined} text  a selection in the address */
function runsText(text) {
  if (text === undefined) return "";
  if (text.startsWith("~kept.")) return "chosen runs";
  const { base, except } = selectionFromText(text);
  if (base === "none") return plural(except.size, "chosen run");
  const numHidden = [...except.values()].filter((isChecked) => !isChecked).length;
  return numHidden > 0 ? `${plural(numHidden, "hidden run")}` : "chosen runs";
}
