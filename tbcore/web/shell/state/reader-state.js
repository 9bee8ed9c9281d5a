/**
 * The page's state, as signals: the server's data and the reader's choices. Most choices are also
 * kept in the page's address, so that a link restores them.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { formatAddress, parseAddress } from "../../lib/address.js";
import { colorsOf } from "../../lib/ui/colors.js";
import { expressionOf } from "../../lib/ui/expressions.js";
import { makeFilter } from "../../lib/ui/filter.js";
import { compareNames } from "../../text-names.js";
import { AUTO, checkedRuns, onlyRuns, selectionFromText, selectionToText, setChecked } from "../runs/selection.js";
import { addressText, fullText, storeText } from "../runs/stored-selections.js";
import { groupsOf } from "../runs/tree.js";
import { openPreferences } from "./preferences.js";
import { ServerState } from "./server-state.js";

/**
 * @template T
 * @typedef {import("@preact/signals-core").Signal<T>} Signal
 */
/**
 * @template T
 * @typedef {import("@preact/signals-core").ReadonlySignal<T>} ReadonlySignal
 */
/**
 * @typedef {import("../../host.js").Theme} Theme
 * @typedef {import("../../host.js").Run} Run
 * @typedef {import("../../host.js").Grouping} Grouping
 */

/** Name of the tab that lists the plugins. No plugin can have this name. */
export const PLUGINS_PAGE = "plugins";
/** Time from the last change until the address is written. Browsers throttle pages that write their address often. */
const ADDRESS_DELAY_MS = 150;
/** Colour of a run until one is computed for it. */
const DEFAULT_COLOR = "#888888";

/** The state of the page. Create only one: it adds listeners to the window. */
export class State extends ServerState {
  // --- the reader's choices

  /** Name of the open tab's plugin, PLUGINS_PAGE, or "" before a tab is open. */
  tab = signal("");
  /** @type {Signal<import("../runs/selection.js").Selection>} */
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
  /** Keys of the open tab. @type {Signal<readonly import("../../host.js").Key[]>} */
  pluginKeys = signal([]);
  /** @type {Signal<Theme>} */
  theme = signal(document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  // No plugin has these preferences, because `#` cannot occur in a plugin's name.
  listPreferences = openPreferences("#runs");
  /** Colours that the reader has chosen, by run or group. */
  colorOverrides = openPreferences("#colors");
  /** Preferences by plugin. @type {Map<string, import("./preferences.js").Preferences>} */
  #preferences = new Map();

  // --- computed from these and the server's data

  sortedRuns = computed(() => [...this.runs.value].sort(compareNames));
  runFilter = computed(withPrevious(this.#runFilterText));
  tagFilter = computed(withPrevious(this.#tagFilterText));
  /** Names of the checked runs. */
  checked = computed(() => checkedRuns(this.selection.value, this.runs.value));
  #selectionText = computed(() => selectionToText(this.selection.value));
  /**
   * The selection as it is written in the address: its text, or a key if the text is too long. The
   * text is then stored in the browser under this key.
   */
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
  /**
   * The wanted runs that are checked, in natural order. While the reader has not checked any, the
   * newest runs count as checked.
   * @type {ReadonlySignal<readonly Run[]>}
   */
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
    mirrorTheme(this.theme);
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

  /** Returns a plugin's preferences. @param {string} plugin */
  preferencesOf(plugin) {
    const own = this.#preferences.get(plugin) ?? openPreferences(plugin);
    this.#preferences.set(plugin, own);
    return own;
  }

  /**
   * Changes a plugin's setting.
   * @param {string} name  `plugin.setting`
   * @param {string | null} value  null restores the default
   */
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
    const next = this.theme.value === "dark" ? "light" : "dark";
    this.theme.value = next;
    try {
      // The system's own theme is not stored, so that the page follows the system again.
      if (next === systemTheme().theme) localStorage.removeItem("tbcore.theme");
      else localStorage.setItem("tbcore.theme", next);
    } catch {
      // Storage is blocked: the choice applies until the page is closed.
    }
  };

  /**
   * Returns a colour for each name: the reader's choice, or else one computed from all names.
   * @param {readonly string[]} names
   */
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
 * Returns a function that makes a filter from the signal's current text. It passes the previous
 * filter to `makeFilter`, which uses it while the text is not a valid regular expression.
 * @param {ReadonlySignal<string>} text
 */
function withPrevious(text) {
  /** @type {import("../../lib/ui/filter.js").Filter | undefined} */
  let previous;
  return () => (previous = makeFilter(text.value, previous));
}

/**
 * Returns a function that groups the runs by the current rule. While a module that it needs is not
 * loaded, or nothing is known of a regular expression, the groups are those of the previous rule.
 * @param {ReadonlySignal<string>} rule
 * @param {ReadonlySignal<readonly string[]>} runs
 * @returns {() => { groupOf: ReadonlyMap<string, string> | null, error: string | null }}
 */
function groupingOf(rule, runs) {
  const loaded = signal(/** @type {typeof import("../runs/groups.js") | null} */ (null));
  /** @type {ReadonlyMap<string, string> | null} */
  let groupOf = null;
  return () => {
    if (rule.value === "") groupOf = null;
    else if (!loaded.value) import("../runs/groups.js").then((module) => (loaded.value = module), console.warn);
    else {
      try {
        groupOf = loaded.value.groupRuns(rule.value, runs.value, expressionOf) ?? groupOf;
      } catch (error) {
        groupOf = null;
        return { groupOf, error: error instanceof Error ? error.message : String(error) };
      }
    }
    return { groupOf, error: null };
  };
}

/**
 * Applies the theme to the page, and follows the system's theme unless the reader chose one.
 * @param {Signal<Theme>} theme
 */
function mirrorTheme(theme) {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
  systemTheme().query.addEventListener("change", () => {
    try {
      if (localStorage.getItem("tbcore.theme") !== null) return;
    } catch {
      // Storage is blocked: follow the system.
    }
    theme.value = systemTheme().theme;
  });
}

/**
 * Returns the system's theme, and the media query that changes with it.
 * @returns {{ query: MediaQueryList, theme: Theme }}
 */
function systemTheme() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  return { query, theme: query.matches ? "dark" : "light" };
}
