/**
 * The page's state, as signals: the server's data and the reader's choices. Most choices are also
 * kept in the page's address, so that a link restores them.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { formatAddress, parseAddress } from "../../lib/address.js";
import { colorsOf } from "../../lib/ui/colors.js";
import { makeFilter } from "../../lib/ui/filter.js";
import { compareNames } from "../../text-names.js";
import { AUTO, addressText, checkedRuns, fullText, onlyRuns, readStored, selectionFromText, selectionToText, setChecked, store, storeText } from "../runs/selection.js";
import { groupsOf } from "../runs/tree.js";
import { ServerState } from "./server-state.js";

/** @import { ReadonlySignal, Signal } from "@preact/signals-core" */
/** @import { Grouping, Key, Run, Theme } from "../../host.js" */
/** @import { Filter } from "../../lib/ui/filter.js" */
/** @import { Selection } from "../runs/selection.js" */

/** Name of the tab that lists the plugins. No plugin can have this name. */
export const PLUGINS_PAGE = "plugins";
/** Time from the last change until the address is written. Browsers throttle pages that write their address often. */
const ADDRESS_DELAY_MS = 150;
/** Colour of a run until one is computed for it. */
const DEFAULT_COLOR = "#888888";
const THEME_KEY = "tbcore.theme";

/** The state of the page. Create only one: it adds listeners to the window. */
export class State extends ServerState {
  // --- the reader's choices

  /** Name of the open tab's plugin, PLUGINS_PAGE, or "" before a tab is open. */
  tab = signal("");
  /** @type {Signal<Selection>} */
  selection = signal(AUTO);
  /** Whether the address refers to a selection that is not stored in this browser. */
  isSelectionMissing = signal(false);
  #runFilterText = signal("");
  #tagFilterText = signal("");
  /** Rule by which runs are grouped; "" if they are not grouped. */
  groupRule = signal("");
  /** Plugins' settings, with keys `plugin.setting`. @type {Signal<Record<string, string>>} */
  settings = signal({});
  /** Name of the run under the pointer, in the run list or in a chart. @type {Signal<string | null>} */
  hoveredRun = signal(null);
  /** Keys of the open tab. @type {Signal<readonly Key[]>} */
  pluginKeys = signal([]);
  /** @type {Signal<Theme>} */
  theme = signal(document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  // No plugin has these preferences, because `#` cannot occur in a plugin's name.
  listPreferences = openPreferences("#runs");
  /** Colours that the reader has chosen, by run or group. */
  colorOverrides = openPreferences("#colors");

  // --- computed from these and the server's data

  sortedRuns = computed(() => [...this.runs.value].sort(compareNames));
  runFilter = computed(withPrevious(this.#runFilterText));
  tagFilter = computed(withPrevious(this.#tagFilterText));
  /** Names of the checked runs. */
  checked = computed(() => checkedRuns(this.selection.value, this.runs.value));
  #selectionText = computed(() => selectionToText(this.selection.value));
  /** The selection in the address: its text, or the key under which the browser stores a text that is too long. */
  #selectionInAddress = computed(() => addressText(this.#selectionText.value));
  isSelectionStored = computed(() => this.#selectionInAddress.value !== this.#selectionText.value);
  #grouping = computed(groupingOf(this.groupRule, this.runs));
  /** Group of each run; null if runs are not grouped. */
  groupOf = computed(() => this.#grouping.value.groupOf);
  /** Why the rule is invalid, as it can be in a link. */
  groupError = computed(() => this.#grouping.value.error);
  /** Colour of each run; if runs are grouped, the colour of its group. */
  colors = computed(() => {
    if (!this.groupOf.value) return this.#assignColors(this.runs.value);
    const groupColors = this.#assignColors([...new Set(this.groupOf.value.values())]);
    return new Map(Array.from(this.groupOf.value, ([run, group]) => [run, groupColors.get(group) ?? DEFAULT_COLOR]));
  });
  /**
   * The runs that match the run filter and that the reader checked, in natural order. While the
   * reader has not checked any, these are all runs that match the filter, not only the newest.
   * @type {ReadonlySignal<readonly Run[]>}
   */
  wantedRuns = computed(() => {
    const isAuto = this.selection.value.base === "auto";
    return this.sortedRuns.value
      .filter((name) => (isAuto || this.checked.value.has(name)) && this.runFilter.value.matches(name))
      .map((name) => ({
        name,
        color: this.colors.value.get(name) ?? DEFAULT_COLOR,
        group: this.groupOf.value?.get(name) ?? null,
      }));
  });
  /** The wanted runs that are checked. While the reader has not checked any, the newest ones are. @type {ReadonlySignal<readonly Run[]>} */
  shownRuns = computed(() => this.wantedRuns.value.filter(({ name }) => this.checked.value.has(name)));
  /** Groups of the shown runs; null if runs are not grouped. @type {ReadonlySignal<Grouping | null>} */
  groups = computed(() => {
    if (!this.groupOf.value) return null;
    const byName = groupsOf(this.shownRuns.value, ({ name, group }) => group ?? name);
    const groups = Array.from(byName, ([name, runs]) => ({ name, color: runs[0].color, runs }));
    groups.sort((a, b) => compareNames(a.name, b.name));
    return { rule: this.groupRule.value, groups };
  });

  constructor() {
    super();
    this.#readAddress();
    window.addEventListener("hashchange", () => this.#readAddress());
    this.#mirrorAddress();
    effect(() => void (document.documentElement.dataset.theme = this.theme.value));
    darkSystem().addEventListener("change", () => {
      if (readStored(THEME_KEY, String) === null) this.theme.value = systemTheme();
    });
  }

  /** @param {string} text */
  setRunFilter = (text) => void (this.#runFilterText.value = text);
  /** @param {string} text */
  setTagFilter = (text) => void (this.#tagFilterText.value = text);

  /** Checks or unchecks runs. @param {readonly string[]} names @param {boolean} isChecked */
  checkRuns(names, isChecked) {
    this.selection.value = setChecked(this.selection.value, names, isChecked, this.runs.value);
  }

  /** Checks these runs and unchecks all others. @param {readonly string[]} names */
  checkOnly(names) {
    this.selection.value = onlyRuns(names, this.runs.value);
  }

  /** Changes a plugin's setting; null restores the default. @param {string} name  `plugin.setting` @param {string | null} value */
  setSetting(name, value) {
    if ((this.settings.value[name] ?? null) === value) return;
    const { [name]: _, ...rest } = this.settings.value;
    this.settings.value = value === null ? rest : { ...rest, [name]: value };
  }

  /** Opens a tab and adds an entry to the browser's history, except for the first tab. @param {string} name */
  openTab(name) {
    if (name === this.tab.value) return;
    const isFirst = this.tab.value === "";
    // "Back" returns to the current entry, which may lack the latest changes.
    if (!isFirst) history.replaceState(null, "", this.#address());
    this.tab.value = name;
    if (!isFirst) history.pushState(null, "", this.#address());
  }

  /** Returns a link to the page's current view. */
  link() {
    return new URL(this.#address(), location.href).href;
  }

  toggleTheme = () => {
    this.theme.value = this.theme.value === "dark" ? "light" : "dark";
    // The system's own theme is not stored, so that the page follows the system again.
    store(THEME_KEY, this.theme.value === systemTheme() ? null : this.theme.value);
  };

  /** A colour for each name: the reader's choice, or else one computed from all names. @param {readonly string[]} names */
  #assignColors(names) {
    const assigned = colorsOf(names, this.theme.value);
    for (const [name, color] of Object.entries(this.colorOverrides.values.value)) {
      if (assigned.has(name) && /^#[0-9a-f]{6}$/i.test(color)) assigned.set(name, color);
    }
    return assigned;
  }

  /** The choices that are texts, by their names in the address. */
  get #texts() {
    return { runFilter: this.#runFilterText, tagFilter: this.#tagFilterText, group: this.groupRule };
  }

  /** Sets the reader's choices from the page's address. */
  #readAddress() {
    const { tab, values } = parseAddress(location.hash);
    const { runs, runFilter, tagFilter, group, ...settings } = values;
    batch(() => {
      if (tab !== "") this.tab.value = tab;
      if (this.#selectionInAddress.peek() !== (runs ?? null)) {
        const text = fullText(runs);
        this.selection.value = selectionFromText(text);
        this.isSelectionMissing.value = text === null;
      }
      for (const [name, text] of Object.entries(this.#texts)) text.value = values[name] ?? "";
      if (JSON.stringify(this.settings.peek()) !== JSON.stringify(settings)) this.settings.value = settings;
    });
  }

  /** Returns the address of the current view: its hash, or the page's path if the hash is empty. */
  #address() {
    /** @type {Record<string, string>} */
    const values = {};
    for (const [name, { value }] of Object.entries(this.#texts)) if (value !== "") values[name] = value;
    const runs = this.#selectionInAddress.value;
    if (runs !== null) values.runs = runs;
    const hash = formatAddress({ tab: this.tab.value, values: { ...values, ...this.settings.value } });
    return hash === "" ? location.pathname + location.search : hash;
  }

  /** Updates the page's address after each change of the reader's choices. */
  #mirrorAddress() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let written = "";
    effect(() => {
      const next = this.#address();
      clearTimeout(timer);
      timer = setTimeout(() => {
        storeText(this.#selectionText.peek());
        if (next !== written) history.replaceState(null, "", (written = next));
      }, ADDRESS_DELAY_MS);
    });
  }
}

/**
 * A function that makes a filter from the signal's current text. It passes the previous filter to
 * `makeFilter`, which uses it while the text is not a valid regular expression.
 * @param {ReadonlySignal<string>} text
 */
function withPrevious(text) {
  /** @type {Filter | undefined} */
  let previous;
  return () => (previous = makeFilter(text.value, previous));
}

/**
 * Returns a function that groups the runs by the current rule. While the modules that it needs
 * are not loaded, or nothing is known of a regular expression, the groups are those of the previous
 * rule.
 * @param {ReadonlySignal<string>} rule
 * @param {ReadonlySignal<readonly string[]>} runs
 * @returns {() => { groupOf: ReadonlyMap<string, string> | null, error: string | null }}
 */
function groupingOf(rule, runs) {
  const loaded = signal(/** @type {Awaited<ReturnType<typeof load>> | null} */ (null));
  const load = () => Promise.all([import("../runs/groups.js"), import("../../lib/ui/expressions.js")]);
  /** @type {ReadonlyMap<string, string> | null} */
  let groupOf = null;
  return () => {
    if (rule.value === "") groupOf = null;
    else if (!loaded.value) load().then((modules) => (loaded.value = modules), console.warn);
    else {
      const [{ groupRuns }, { expressionOf }] = loaded.value;
      try {
        groupOf = groupRuns(rule.value, runs.value, expressionOf) ?? groupOf;
      } catch (error) {
        groupOf = null;
        return { groupOf, error: error instanceof Error ? error.message : String(error) };
      }
    }
    return { groupOf, error: null };
  };
}

/** The media query that is true if the system's theme is dark. */
function darkSystem() {
  return matchMedia("(prefers-color-scheme: dark)");
}

/** @returns {Theme} */
function systemTheme() {
  return darkSystem().matches ? "dark" : "light";
}

// --- preferences ---------------------------------------------------------------------------------

/**
 * @typedef {object} Preferences
 * @property {ReadonlySignal<Readonly<Record<string, string>>>} values
 * @property {(name: string, value: string | null) => void} set  null resets to the default
 */

/** The open preferences, by owner. @type {Map<string, Preferences>} */
const opened = new Map();

/**
 * The preferences of a plugin or of a part of the shell: short texts by name, kept in the browser's
 * localStorage. Unlike settings in the URL, they apply to all log directories and are not part of
 * links.
 * @param {string} owner  name of the plugin or part
 * @returns {Preferences}
 */
export function openPreferences(owner) {
  const known = opened.get(owner);
  if (known) return known;
  const key = `tbcore.preferences.${owner}`;
  /** @returns {Record<string, string>} */
  const read = () => Object.fromEntries(Object.entries(readStored(key) ?? {}).filter(([, value]) => typeof value === "string"));
  const values = signal(read());
  /** @type {Preferences} */
  const preferences = {
    values,
    set(name, value) {
      // Read again, because another tab of the browser may have changed them.
      const { [name]: _, ...rest } = { ...values.value, ...read() };
      values.value = value === null ? rest : { ...rest, [name]: value };
      store(key, JSON.stringify(values.value));
    },
  };
  opened.set(owner, preferences);
  return preferences;
}
