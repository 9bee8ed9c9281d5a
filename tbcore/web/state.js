/**
 * What the page knows and what its reader has chosen, as signals; the choices are mirrored in the address.
 *
 * The shell's parts read these signals and call the functions at the end; `sync.js` keeps the first half equal to the
 * server.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { formatAddress, parseAddress } from "./lib/address.js";
import { colorsOf } from "./lib/colors.js";
import { makeFilter } from "./lib/filter.js";
import { keepText, longText, shortText } from "./lib/kept-selections.js";
import { compareNames } from "./lib/names.js";
import { openPreferences } from "./lib/preferences.js";
import { AUTO, checkedRuns, onlyRuns, selectionFromText, selectionToText, setChecked } from "./lib/selection.js";

/**
 * @typedef {import("./updates.js").Status} Status
 * @typedef {import("./updates.js").Connection} Connection
 * @typedef {import("./lib/selection.js").Selection} Selection
 * @typedef {import("./types.js").Theme} Theme
 * @typedef {import("./types.js").Plugin} Plugin
 * @typedef {import("./types.js").Unshown} Unshown
 * @typedef {import("./types.js").Frontends} Frontends
 * @typedef {import("./types.js").Generations} Generations
 * @typedef {import("./types.js").Run} Run
 * @typedef {import("./types.js").RunGroup} RunGroup
 * @typedef {import("./types.js").Grouping} Grouping
 * @typedef {import("./types.js").Key} Key
 * @typedef {import("./types.js").RunDetails} RunDetails
 *
 * @typedef {ReturnType<typeof createState>} State
 */

/** The tab that is no plugin's: no plugin has this name. */
export const PLUGINS_PAGE = "plugins";

/** How long to wait for more before the address is written: browsers slow down pages that write it often. */
const ADDRESS_MS = 150;

/** Makes the state of a page; call it once. */
export function createState() {
  // --- what the server says
  /** @type {import("@preact/signals-core").Signal<Status | null>} */
  const status = signal(null);
  /** @type {import("@preact/signals-core").Signal<Connection>} */
  const connection = signal("connecting");
  /** @type {import("@preact/signals-core").Signal<string | null>} what the server said instead of an answer */
  const refusal = signal(null);
  /** @type {import("@preact/signals-core").Signal<Frontends | null>} */
  const frontends = signal(null);
  /** @type {import("@preact/signals-core").Signal<string[]>} in the order of data/runs */
  const runs = signal([]);
  /** @type {import("@preact/signals-core").Signal<ReadonlyMap<string, RunDetails>>} */
  const runDetails = signal(new Map());
  /** The server's clock in seconds, as of a few seconds ago. */
  const now = signal(Date.now() / 1000);
  /** @type {import("@preact/signals-core").Signal<Generations>} */
  const generations = signal({ all: "", lists: "", of: () => "" });

  // --- what the reader has chosen
  const tab = signal("");
  /** @type {import("@preact/signals-core").Signal<Selection>} */
  const selection = signal(AUTO);
  /** Whether the address had a selection that this browser does not know. */
  const isSelectionLost = signal(false);
  const runFilterText = signal("");
  const tagFilterText = signal("");
  const groupRule = signal("");
  /** What compiles rules; loaded with the first one. @type {import("@preact/signals-core").Signal<typeof import("./lib/run-groups.js") | null>} */
  const grouping = signal(null);
  /** @type {import("@preact/signals-core").Signal<Record<string, string>>} `plugin.setting` to value */
  const settings = signal({});
  /** @type {import("@preact/signals-core").Signal<string | null>} the run pointed at, in the list or in a chart */
  const hoveredRun = signal(null);
  /** @type {import("@preact/signals-core").Signal<readonly Key[]>} of the open tab */
  const pluginKeys = signal([]);
  /** @type {Map<string, import("./lib/preferences.js").Preferences>} */
  const preferences = new Map();
  /** @type {import("@preact/signals-core").Signal<Theme>} */
  const theme = signal(document.documentElement.dataset.theme === "dark" ? "dark" : "light");

  // --- what follows from both
  const sortedRuns = computed(() => [...runs.value].sort(compareNames));
  const runFilter = computed(successive(runFilterText));
  const tagFilter = computed(successive(tagFilterText));
  const checked = computed(() => checkedRuns(selection.value, runs.value));
  const selectionText = computed(() => selectionToText(selection.value));
  /** As the address has it. */
  const selectionShort = computed(() => shortText(selectionText.value));
  const overrides = openPreferences("#colors"); // no plugin has such a name
  const runColors = computed(() => colored(runs.value));
  /** @type {import("@preact/signals-core").ReadonlySignal<{ group?: (run: string) => string, error?: string }>} */
  const grouper = computed(() => {
    if (groupRule.value === "" || !grouping.value) return {};
    try {
      return { group: grouping.value.compileRule(groupRule.value) };
    } catch (error) {
      return { error: error instanceof Error ? error.message : String(error) }; // a rule from a link that is none
    }
  });
  const groupError = computed(() => grouper.value.error ?? null);
  /** Group of each run; null: not grouped. @type {import("@preact/signals-core").ReadonlySignal<ReadonlyMap<string, string> | null>} */
  const groupOf = computed(() => {
    const { group } = grouper.value;
    return group ? new Map(runs.value.map((run) => [run, group(run)])) : null;
  });
  /** Of every run; where runs are grouped, that of its group. */
  const colors = computed(() => {
    if (!groupOf.value) return runColors.value;
    const byGroup = colored([...new Set(groupOf.value.values())]);
    return new Map(Array.from(groupOf.value, ([run, group]) => [run, byGroup.get(group) ?? "#888888"]));
  });
  /** Without the limit that holds while nobody has chosen. @type {import("@preact/signals-core").ReadonlySignal<readonly Run[]>} */
  const wantedRuns = computed(() => {
    const isChecked = (/** @type {string} */ name) => selection.value.base === "auto" || checked.value.has(name);
    return sortedRuns.value
      .filter((name) => isChecked(name) && runFilter.value.matches(name))
      .map((name) => ({ name, color: colors.value.get(name) ?? "#888888", group: groupOf.value?.get(name) ?? null }));
  });
  /** @type {import("@preact/signals-core").ReadonlySignal<readonly Run[]>} checked and let through by the filter */
  const shownRuns = computed(() => wantedRuns.value.filter(({ name }) => checked.value.has(name)));
  /** @type {import("@preact/signals-core").ReadonlySignal<Grouping | null>} of the shown runs; null: not grouped */
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
    if (groupRule.value !== "" && !grouping.peek()) {
      import("./lib/run-groups.js").then((module) => (grouping.value = module), console.warn);
    }
  });

  readAddress();
  window.addEventListener("hashchange", readAddress);
  mirrorAddress();
  mirrorTheme();

  return {
    status,
    connection,
    refusal,
    frontends,
    runs,
    runDetails,
    now,
    generations,
    tab,
    selection,
    isSelectionLost,
    isSelectionKept: computed(() => selectionShort.value !== selectionText.value),
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
    colorOverrides: overrides.values,
    hoveredRun,
    pluginKeys,

    /** A plugin's preferences. @param {string} plugin */
    preferencesOf(plugin) {
      const own = preferences.get(plugin) ?? openPreferences(plugin);
      preferences.set(plugin, own);
      return own;
    },
    /** @param {string} text */
    setRunFilter: (text) => void (runFilterText.value = text),
    /** @param {string} text */
    setTagFilter: (text) => void (tagFilterText.value = text),
    /** @param {readonly string[]} names @param {boolean} isChecked */
    checkRuns: (names, isChecked) => void (selection.value = setChecked(selection.value, names, isChecked, runs.value)),
    /** @param {string} name */
    checkOnly: (name) => void (selection.value = onlyRuns([name], runs.value)),
    /** @param {readonly string[]} names */
    checkOnlyThese: (names) => void (selection.value = onlyRuns(names, runs.value)),
    /** @param {string} rule  "": not grouped */
    setGroupRule: (rule) => void (groupRule.value = rule),
    /** @param {string} name  of a run or a group @param {string | null} color  null: its own again */
    setColor: (name, color) => overrides.set(name, color),
    /** A link to what the page shows. */
    link: () => new URL(currentAddress(), location.href).href,
    openTab,
    setSetting,
    toggleTheme,
  };

  /** @param {readonly string[]} names */
  function colored(names) {
    const all = colorsOf(names, theme.value);
    for (const [name, color] of Object.entries(overrides.values.value)) {
      if (all.has(name) && /^#[0-9a-f]{6}$/i.test(color)) all.set(name, color);
    }
    return all;
  }

  /**
   * Opens a tab, in a step of the browser's history of its own.
   * @param {string} name
   */
  function openTab(name) {
    if (name === tab.value) return;
    const isFirst = tab.value === "";
    if (!isFirst) history.replaceState(null, "", currentAddress()); // what "back" returns to, with its latest changes
    tab.value = name;
    if (!isFirst) history.pushState(null, "", currentAddress());
  }

  /**
   * @param {string} name  with the plugin's name before it
   * @param {string | null} value  null: back to the default
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
      // The choice is forgotten when it is what the system says anyway, and the page follows the system again.
      if (next === systemTheme().theme) localStorage.removeItem("tbcore.theme");
      else localStorage.setItem("tbcore.theme", next);
    } catch {
      // storage is blocked: the choice holds for this page
    }
  }

  function readAddress() {
    const { tab: name, values } = parseAddress(location.hash);
    const { runs: runsText, runFilter: runText = "", tagFilter: tagText = "", group = "", ...rest } = values;
    batch(() => {
      if (name !== "") tab.value = name;
      if (selectionShort.peek() !== (runsText ?? null)) {
        const text = longText(runsText);
        selection.value = selectionFromText(text);
        isSelectionLost.value = text === null;
      }
      runFilterText.value = runText;
      tagFilterText.value = tagText;
      groupRule.value = group;
      if (JSON.stringify(settings.peek()) !== JSON.stringify(rest)) settings.value = rest;
    });
  }

  /** @returns {string} */
  function currentAddress() {
    /** @type {Record<string, string>} */
    const values = {};
    const runsText = selectionShort.value;
    if (runFilterText.value !== "") values.runFilter = runFilterText.value;
    if (tagFilterText.value !== "") values.tagFilter = tagFilterText.value;
    if (groupRule.value !== "") values.group = groupRule.value;
    if (runsText !== null) values.runs = runsText;
    const hash = formatAddress({ tab: tab.value, values: { ...values, ...settings.value } });
    return hash === "" ? location.pathname + location.search : hash;
  }

  function mirrorAddress() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let written = "";
    effect(() => {
      const next = currentAddress();
      clearTimeout(timer);
      timer = setTimeout(() => {
        keepText(selectionText.peek());
        if (next !== written) history.replaceState(null, "", (written = next));
      }, ADDRESS_MS);
    });
  }

  function mirrorTheme() {
    effect(() => {
      document.documentElement.dataset.theme = theme.value;
    });
    systemTheme().query.addEventListener("change", () => {
      try {
        if (localStorage.getItem("tbcore.theme") !== null) return;
      } catch {
        // storage is blocked: follow the system
      }
      theme.value = systemTheme().theme;
    });
  }
}

/**
 * Makes the filter of a text, each with the one before it in mind.
 * @param {import("@preact/signals-core").ReadonlySignal<string>} text
 */
function successive(text) {
  /** @type {import("./lib/filter.js").Filter | undefined} */
  let last;
  return () => (last = makeFilter(text.value, last));
}

/** @returns {{ query: MediaQueryList, theme: Theme }} */
function systemTheme() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  return { query, theme: query.matches ? "dark" : "light" };
}
