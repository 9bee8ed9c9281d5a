/**
 * The page's state, as signals: the server's data and the user's choices. Most choices are also
 * kept in the page's address, so that a link restores them.
 *
 * The shell's components read these signals, and change them with the functions that `createState`
 * returns beside them. `sync.js` updates the server's data.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { colorsOf } from "../../lib/ui/colors.js";
import { expressionOf } from "../../lib/ui/expressions.js";
import { makeFilter } from "../../lib/ui/filter.js";
import { compareNames } from "../../text-names.js";
import { AUTO, checkedRuns, onlyRuns, selectionFromText, selectionToText, setChecked } from "../runs/selection.js";
import { addressText, fullText, storeText } from "../runs/stored-selections.js";
import { formatAddress, parseAddress } from "../../lib/address.js";
import { openPreferences } from "./preferences.js";

/**
 * @template T
 * @typedef {import("@preact/signals-core").Signal<T>} Signal
 */
/**
 * @template T
 * @typedef {import("@preact/signals-core").ReadonlySignal<T>} ReadonlySignal
 */
/**
 * @typedef {import("./updates.js").Status} Status
 * @typedef {import("./updates.js").Connection} Connection
 * @typedef {import("../runs/selection.js").Selection} Selection
 * @typedef {import("../../host.js").Theme} Theme
 * @typedef {import("../../host.js").Plugin} Plugin
 * @typedef {import("../../host.js").Unshown} Unshown
 * @typedef {import("../../host.js").Frontends} Frontends
 * @typedef {import("../../host.js").Generations} Generations
 * @typedef {import("../../host.js").Run} Run
 * @typedef {import("../../host.js").RunGroup} RunGroup
 * @typedef {import("../../host.js").Grouping} Grouping
 * @typedef {import("../../host.js").Key} Key
 * @typedef {import("../../host.js").RunDetails} RunDetails
 *
 * @typedef {ReturnType<typeof createState>} State
 */

/** Name of the tab that lists the plugins. No plugin can have this name. */
export const PLUGINS_PAGE = "plugins";

/**
 * Time from the last change until the address is written. Browsers throttle pages that write their
 * address often.
 */
const ADDRESS_DELAY_MS = 150;

/** Colour of a run until one is computed for it. */
const DEFAULT_COLOR = "#888888";

/** Creates the state of the page. Call it only once: it adds listeners to the window. */
export function createState() {
  // --- the server's data
  /** @type {Signal<Status | null>} */
  const status = signal(null);
  /** @type {Signal<Connection>} */
  const connection = signal("connecting");
  /**
   * Message of the server's error response to the last refresh; null if there was none.
   * @type {Signal<string | null>}
   */
  const serverError = signal(null);
  /** @type {Signal<Frontends | null>} */
  const frontends = signal(null);
  /** Names of all runs, in the order of data/runs. @type {Signal<string[]>} */
  const runs = signal([]);
  /** @type {Signal<ReadonlyMap<string, RunDetails>>} */
  const runDetails = signal(new Map());
  /** The server's clock, in seconds since the epoch; updated while the page is visible. */
  const now = signal(Date.now() / 1000);
  /** @type {Signal<Generations>} */
  const generations = signal({ all: "", lists: "", of: () => "" });

  // --- the user's choices
  /** Name of the open tab's plugin, PLUGINS_PAGE, or "" before a tab is open. */
  const tab = signal("");
  /** @type {Signal<Selection>} */
  const selection = signal(AUTO);
  /** Whether the address refers to a selection that is not stored in this browser. */
  const isSelectionMissing = signal(false);
  const runFilterText = signal("");
  const tagFilterText = signal("");
  /** Rule by which runs are grouped; "" if they are not grouped. */
  const groupRule = signal("");
  /**
   * Module that compiles rules; loaded for the first rule.
   * @type {Signal<typeof import("../runs/groups.js") | null>}
   */
  const runGroupsModule = signal(null);
  /** Plugins' settings, with keys `plugin.setting`. @type {Signal<Record<string, string>>} */
  const settings = signal({});
  /**
   * Name of the run under the pointer, in the run list or in a chart.
   * @type {Signal<string | null>}
   */
  const hoveredRun = signal(null);
  /** Keys of the open tab. @type {Signal<readonly Key[]>} */
  const pluginKeys = signal([]);
  /** Preferences by plugin. @type {Map<string, import("./preferences.js").Preferences>} */
  const preferences = new Map();
  /** @type {Signal<Theme>} */
  const theme = signal(document.documentElement.dataset.theme === "dark" ? "dark" : "light");

  // --- computed from the server's data and the user's choices
  const sortedRuns = computed(() => [...runs.value].sort(compareNames));
  const runFilter = computed(withPrevious(runFilterText));
  const tagFilter = computed(withPrevious(tagFilterText));
  /** Names of the checked runs. */
  const checked = computed(() => checkedRuns(selection.value, runs.value));
  const selectionText = computed(() => selectionToText(selection.value));
  /**
   * The selection as it is written in the address: its text, or a key if the text is too long. The
   * text is then stored in the browser under this key.
   */
  const selectionInAddress = computed(() => addressText(selectionText.value));
  /**
   * Colours that the user has chosen, by run or group. The `#` cannot occur in the name of a
   * plugin, so no plugin has the same preferences.
   */
  const colorOverrides = openPreferences("#colors");
  const runColors = computed(() => assignColors(runs.value));
  /**
   * Group of each run, null if runs are not grouped; and why the rule is invalid, as it can be in a
   * link. While nothing is known of a regular expression, the groups stay.
   * @type {{ groupOf: ReadonlyMap<string, string> | null, error: string | null }}
   */
  let lastGrouping = { groupOf: null, error: null };
  const grouping = computed(() => {
    const [rule, module] = [groupRule.value, runGroupsModule.value];
    try {
      const groupOf = rule === "" || !module ? null : (module.groupRuns(rule, runs.value, expressionOf) ?? lastGrouping.groupOf);
      lastGrouping = { groupOf, error: null };
    } catch (error) {
      lastGrouping = { groupOf: null, error: error instanceof Error ? error.message : String(error) };
    }
    return lastGrouping;
  });
  const groupError = computed(() => grouping.value.error);
  const groupOf = computed(() => grouping.value.groupOf);
  /** Colour of each run; if runs are grouped, the colour of its group. */
  const colors = computed(() => {
    if (!groupOf.value) return runColors.value;
    const groupColors = assignColors([...new Set(groupOf.value.values())]);
    const entries = Array.from(groupOf.value);
    return new Map(entries.map(([run, group]) => [run, groupColors.get(group) ?? DEFAULT_COLOR]));
  });
  /**
   * The runs that match the run filter and that the user checked, in natural order. While the user
   * has not checked any, these are all runs that match the filter, not only the newest.
   * @type {ReadonlySignal<readonly Run[]>}
   */
  const wantedRuns = computed(() => {
    const isAuto = selection.value.base === "auto";
    return sortedRuns.value
      .filter((name) => (isAuto || checked.value.has(name)) && runFilter.value.matches(name))
      .map((name) => ({
        name,
        color: colors.value.get(name) ?? DEFAULT_COLOR,
        group: groupOf.value?.get(name) ?? null,
      }));
  });
  /**
   * The wanted runs that are checked, in natural order. While the user has not checked any, the
   * newest runs count as checked.
   * @type {ReadonlySignal<readonly Run[]>}
   */
  const shownRuns = computed(() => wantedRuns.value.filter(({ name }) => checked.value.has(name)));
  /**
   * Groups of the shown runs; null if runs are not grouped.
   * @type {ReadonlySignal<Grouping | null>}
   */
  const groups = computed(() => {
    if (!groupOf.value) return null;
    /** @type {Map<string, RunGroup>} */
    const byName = new Map();
    for (const run of shownRuns.value) {
      const name = run.group ?? run.name;
      const group = byName.get(name);
      if (group) group.runs.push(run);
      else byName.set(name, { name, color: run.color, runs: [run] });
    }
    const sorted = [...byName.values()].sort((a, b) => compareNames(a.name, b.name));
    return { rule: groupRule.value, groups: sorted };
  });
  effect(() => {
    if (groupRule.value !== "" && !runGroupsModule.peek()) {
      import("../runs/groups.js").then((module) => (runGroupsModule.value = module), console.warn);
    }
  });

  readAddress();
  window.addEventListener("hashchange", readAddress);
  mirrorAddress();
  mirrorTheme();

  return {
    status,
    connection,
    serverError,
    frontends,
    runs,
    runDetails,
    now,
    generations,
    tab,
    selection,
    isSelectionMissing,
    /** Whether the selection is stored in the browser, since it is too long for the address. */
    isSelectionStored: computed(() => selectionInAddress.value !== selectionText.value),
    settings,
    theme,
    sortedRuns,
    runFilter,
    tagFilter,
    checked,
    colors,
    shownRuns,
    wantedRuns,
    groups,
    groupOf,
    groupRule,
    groupError,
    listPreferences: openPreferences("#runs"),
    colorOverrides: colorOverrides.values,
    hoveredRun,
    pluginKeys,

    /** Returns a plugin's preferences. @param {string} plugin */
    preferencesOf(plugin) {
      const own = preferences.get(plugin) ?? openPreferences(plugin);
      preferences.set(plugin, own);
      return own;
    },
    /** @param {string} text */
    setRunFilter: (text) => void (runFilterText.value = text),
    /** @param {string} text */
    setTagFilter: (text) => void (tagFilterText.value = text),
    /** Checks or unchecks runs. @param {readonly string[]} names @param {boolean} isChecked */
    checkRuns(names, isChecked) {
      selection.value = setChecked(selection.value, names, isChecked, runs.value);
    },
    /** Checks one run and unchecks all others. @param {string} name */
    checkOnly: (name) => void (selection.value = onlyRuns([name], runs.value)),
    /** Checks these runs and unchecks all others. @param {readonly string[]} names */
    checkOnlyThese: (names) => void (selection.value = onlyRuns(names, runs.value)),
    /** @param {string} rule  "" removes the grouping */
    setGroupRule: (rule) => void (groupRule.value = rule),
    /** @param {string} name  of a run or a group @param {string | null} color  null resets it */
    setColor: (name, color) => colorOverrides.set(name, color),
    /** Returns a link to the page's current view. */
    link: () => new URL(currentAddress(), location.href).href,
    openTab,
    setSetting,
    toggleTheme,
  };

  /**
   * Returns a colour for each name: the user's choice, or else one computed from all names.
   * @param {readonly string[]} names
   */
  function assignColors(names) {
    const assigned = colorsOf(names, theme.value);
    for (const [name, color] of Object.entries(colorOverrides.values.value)) {
      if (assigned.has(name) && /^#[0-9a-f]{6}$/i.test(color)) assigned.set(name, color);
    }
    return assigned;
  }

  /**
   * Opens a tab and adds an entry to the browser's history, except for the first tab.
   * @param {string} name
   */
  function openTab(name) {
    if (name === tab.value) return;
    const isFirst = tab.value === "";
    // "Back" returns to the current entry, which may lack the latest changes.
    if (!isFirst) history.replaceState(null, "", currentAddress());
    tab.value = name;
    if (!isFirst) history.pushState(null, "", currentAddress());
  }

  /**
   * Changes a plugin's setting.
   * @param {string} name  `plugin.setting`
   * @param {string | null} value  null restores the default
   */
  function setSetting(name, value) {
    if ((settings.value[name] ?? null) === value) return;
    const { [name]: _, ...rest } = settings.value;
    settings.value = value === null ? rest : { ...rest, [name]: value };
  }

  function toggleTheme() {
    const next = theme.value === "dark" ? "light" : "dark";
    theme.value = next;
    try {
      // The system's own theme is not stored, so that the page follows the system again.
      if (next === systemTheme().theme) localStorage.removeItem("tbcore.theme");
      else localStorage.setItem("tbcore.theme", next);
    } catch {
      // Storage is blocked: the choice applies until the page is closed.
    }
  }

  /** Sets the user's choices from the page's address. */
  function readAddress() {
    const { tab: name, values } = parseAddress(location.hash);
    const { runs: runsText, runFilter = "", tagFilter = "", group = "", ...pluginSettings } = values;
    batch(() => {
      if (name !== "") tab.value = name;
      if (selectionInAddress.peek() !== (runsText ?? null)) {
        const text = fullText(runsText);
        selection.value = selectionFromText(text);
        isSelectionMissing.value = text === null;
      }
      runFilterText.value = runFilter;
      tagFilterText.value = tagFilter;
      groupRule.value = group;
      const isChanged = JSON.stringify(settings.peek()) !== JSON.stringify(pluginSettings);
      if (isChanged) settings.value = pluginSettings;
    });
  }

  /**
   * Returns the address of the current view: its hash, or the page's path if the hash is empty.
   * @returns {string}
   */
  function currentAddress() {
    /** @type {Record<string, string>} */
    const values = {};
    const runsText = selectionInAddress.value;
    if (runFilterText.value !== "") values.runFilter = runFilterText.value;
    if (tagFilterText.value !== "") values.tagFilter = tagFilterText.value;
    if (groupRule.value !== "") values.group = groupRule.value;
    if (runsText !== null) values.runs = runsText;
    const hash = formatAddress({ tab: tab.value, values: { ...values, ...settings.value } });
    return hash === "" ? location.pathname + location.search : hash;
  }

  /** Updates the page's address after each change of the user's choices. */
  function mirrorAddress() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let written = "";
    effect(() => {
      const next = currentAddress();
      clearTimeout(timer);
      timer = setTimeout(() => {
        storeText(selectionText.peek());
        if (next !== written) history.replaceState(null, "", (written = next));
      }, ADDRESS_DELAY_MS);
    });
  }

  /** Applies the theme to the page, and follows the system's theme unless the user chose one. */
  function mirrorTheme() {
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
 * Returns the system's theme, and the media query that changes with it.
 * @returns {{ query: MediaQueryList, theme: Theme }}
 */
function systemTheme() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  return { query, theme: query.matches ? "dark" : "light" };
}
