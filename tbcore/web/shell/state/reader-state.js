/**
 * The page's state, as signals: the server's data and the reader's choices. Most choices are also
 * kept in the page's address, so that a link restores them.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { byName, formatAddress, parseAddress } from "../../lib/address.js";
import { Matcher, makeFilter } from "../../lib/queries/filter.js";
import { parseLists } from "../../lib/text-names.js";
import { colorsOf, linesInSight } from "../../lib/ui/colors.js";
import { AUTO, AUTO_LIMIT, addressText, checkedRuns, fullText, onlyRuns, readStored, selectionFromText, selectionToText, setChecked, store, storeText } from "./selection.js";
import { ServerState } from "./server-state.js";
import { orderRuns } from "./tree.js";

/** @import { ReadonlySignal, Signal } from "@preact/signals-core" */
/** @import { Rules } from "./rules.js" */
/** @import { Grouping, Key, Noted, Run, Theme } from "../../host.js" */
/** @import { Filter } from "../../lib/queries/filter.js" */
/** @import { Selection } from "./selection.js" */

/** Name of the tab that lists the plugins. No plugin can have this name. */
export const PLUGINS_PAGE = "plugins";
/** Time from the last change until the address is written. Browsers throttle pages that write their address often. */
const ADDRESS_DELAY_MS = 150;
/** Colour of a run until one is computed for it. */
const DEFAULT_COLOR = "#888888";
/** The run list as it is without a choice. @type {ListLayout} */
const BY_NAME = { view: "tree", sort: "name", column: "" };
// No plugin has these preferences, because `#` cannot occur in a plugin's name.
const LIST = "#runs";
const ownList = () => ({ ...BY_NAME, ...openPreferences(LIST).values.value });
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
  runQuery = signal("");
  #tagFilterText = signal("");
  /** Rule by which runs are grouped; "" if they are not grouped. */
  groupRule = signal("");
  /** Which average groups show; "" for the mean. */
  average = signal("");
  /** Rule by which runs have colours: "" for the default, "family", or `by:<attribute>`. */
  colorRule = signal("");
  /** Attributes that the run list shows as columns, as `formatLists` writes them. */
  columnsText = signal("");
  #stepText = signal("");
  /** The step that all tabs show; null for the latest. Other texts than numbers say nothing. */
  step = computed(() => {
    const step = Math.floor(parseFloat(this.#stepText.value));
    return Number.isFinite(step) ? step : null;
  });
  /** Plugins' settings, with keys `plugin.setting`. @type {Signal<Record<string, string>>} */
  settings = signal({});
  /** Name of the run under the pointer, in the run list or in a chart. @type {Signal<string | null>} */
  hoveredRun = signal(null);
  /** Keys of the open tab. @type {Signal<readonly Key[]>} */
  pluginKeys = signal([]);
  /** @type {Signal<Theme>} */
  theme = signal(document.documentElement.dataset.theme === "dark" ? "dark" : "light");
  /** The layout and order of the run list: as in a link, or as the reader last chose if the address has no choices. */
  list = signal(ownList());
  isByColumn = computed(() => parseLists(this.columnsText.value).flat().includes(this.list.value.column.slice(1)));
  /** Colours that the reader has chosen, by run or group. */
  colorOverrides = openPreferences("#colors");
  /** Those of the address in their place, as `picture.js` writes them; "" if it has none. */
  linkedColors = signal("");
  /** Those that show: of the address, or else the reader's. */
  chosenColors = computed(() => {
    const linked = this.linkedColors.value;
    return new Map(linked ? parseLists(linked).flatMap(([name, color]) => (color ? [[name, `#${color}`]] : [])) : Object.entries(this.colorOverrides.values.value));
  });

  // --- computed from these and the server's data

  sortedRuns = computed(() => byName(this.runs.value));
  #runMatcher = new Matcher(async (attempt) => (await import(`./query-reader.js${attempt}`)).keepAsking(this));
  /**
   * The filter for runs before its query was typed; false from Enter on, after a pause in which it finds
   * nothing, and when the box loses the focus. @type {Signal<Filter | false>}
   */
  beforeTyping = signal(false);
  runFilter = computed(withPrevious(this.runQuery, "runs", this.#runMatcher, (matches) => !this.runs.value.some(matches) && this.beforeTyping.value));
  tagFilter = computed(withPrevious(this.#tagFilterText, "tags"));
  /** The runs that a selection applies to: all, those that match the run filter, and the newest of these. */
  candidates = computed(() => {
    const runs = this.runs.value;
    const matching = runs.filter(this.runFilter.value.matches);
    return { runs, matching, newest: this.rules.value?.newestOf(matching) ?? new Set(matching.slice(-AUTO_LIMIT)) };
  });
  /** Names of the checked runs. */
  checked = computed(() => checkedRuns(this.selection.value, this.candidates.value));
  #selectionText = computed(() => selectionToText(this.selection.value));
  /** The selection in the address: its text, or the key under which the browser stores a text that is too long. */
  #selectionInAddress = computed(() => {
    const { matching } = this.candidates.value;
    const areAllChecked = matching.length > 0 && matching.every((run) => this.checked.value.has(run));
    return addressText(this.#selectionText.value, areAllChecked);
  });
  /** Whether a link to this page shows other runs in other browsers. */
  isSelectionStored = computed(() => /^~kept.*[^!]$/.test(this.#selectionInAddress.value ?? ""));
  /** What the rules say, once there is a rule. */
  rules = signal(/** @type {Rules | null} */ (null));
  /** Group of each run; null if runs are not grouped. */
  groupOf = computed(() => this.rules.value?.grouping.value.groupOf ?? null);
  /** What is wrong with the rules and the average, as it can be in a link. */
  ruleErrors = computed(() => this.rules.value?.errors.value ?? []);
  /** What the colours mean, if they show an attribute. */
  colorLegend = computed(() => this.rules.value?.colors.value?.legend ?? null);
  /** Colour of each run; if runs are grouped, the colour of its group. */
  colors = computed(() => this.rules.value?.runColors.value ?? this.withChosen(this.colorsOf(this.allRuns.value), this.noted.value));
  /** Sorts runs by a column, if the list is. @type {Signal<(runs: readonly string[]) => readonly string[]>} */
  sortByColumn = signal((runs) => runs);
  /** The result of `listed` before. @type {readonly string[]} */
  #last = [];
  /** The runs that match the run filter, in the order of the list. @type {ReadonlySignal<readonly string[]>} */
  listed = computed(() => {
    const runs = this.sortByColumn.value(orderRuns(this.sortedRuns.value, this.list.value.sort, this.runDetails).filter(this.runFilter.value.matches));
    return (this.#last = runs.join("\0") === this.#last.join("\0") ? this.#last : runs);
  });
  /** Whether a run is checked, or would be if it were among the newest. @param {string} name */
  #wants = (name) => this.selection.value.except.get(name) ?? this.selection.value.base !== "none";
  #wanted = computed(() => this.listed.value.filter(this.#wants));
  /** All runs that the page has had. @type {Set<string>} */
  #seen = new Set();
  /**
   * The runs that match the run filter and that are checked, in the order of the list. If the newest are
   * checked by default, these are all that match and that the reader has not unchecked.
   * @type {ReadonlySignal<readonly Run[]>}
   */
  wantedRuns = computed(() => this.#wanted.value.map((name) => ({
    name,
    label: this.noted.value.get(name)?.label ?? name,
    color: this.colors.value.get(name) ?? DEFAULT_COLOR,
    group: this.groupOf.value?.get(name) ?? null,
  })));
  /** The wanted runs that are checked: if the newest are by default, not all of them. @type {ReadonlySignal<readonly Run[]>} */
  shownRuns = computed(() => this.wantedRuns.value.filter(({ name }) => this.checked.value.has(name)));
  /** Groups of the shown runs; null if runs are not grouped. @type {ReadonlySignal<Grouping | null>} */
  groups = computed(() => this.rules.value?.groups.value ?? null);

  constructor() {
    super();
    this.#readAddress();
    // Not "hashchange", which comes later: a change of before could be written to the address first.
    window.addEventListener("popstate", () => rewriteAddress()?.then(() => this.#readAddress()) ?? this.#readAddress());
    this.#mirrorAddress();
    const stop = effect(() => {
      if (this.groupRule.value + this.colorRule.value === "") return;
      import("./rules.js").then(({ Rules }) => {
        stop();
        this.rules.value ??= new Rules(this);
      }, console.warn);
    });
    effect(() => void (document.documentElement.dataset.theme = this.theme.value));
    this.#dark.addEventListener("change", () => {
      if (readStored(THEME_KEY, String) === null) this.theme.value = this.#systemTheme;
    });
  }

  /** Loads what queries for runs need. */
  loadQueries = () => void this.#runMatcher.load().catch(() => {});
  /** @param {string} text @param {boolean} [isTyped] */
  setRunFilter = (text, isTyped = false) => batch(() => {
    this.beforeTyping.value = isTyped && (this.beforeTyping.value || this.runFilter.value);
    this.runQuery.value = text;
  });
  /** @param {string} text */
  setTagFilter = (text) => void (this.#tagFilterText.value = text);
  /** @param {number | null} step */
  setStep = (step) => void (this.#stepText.value = step === null ? "" : String(Math.floor(step)));

  /** Checks or unchecks runs. @param {readonly string[]} names @param {boolean} isChecked */
  checkRuns(names, isChecked) {
    this.selection.value = setChecked(this.selection.value, names, isChecked, this.candidates.value);
  }

  /** Checks these runs and unchecks all others. @param {readonly string[]} names */
  checkOnly(names) {
    this.selection.value = onlyRuns(names, this.candidates.value);
  }

  /** Changes the layout or order of the run list; null restores the default. @param {keyof ListLayout} name @param {string | null} value */
  setList(name, value) {
    this.list.value = { ...this.list.value, [name]: value ?? BY_NAME[name] };
    openPreferences(LIST).set(name, value);
  }

  /** Changes a plugin's setting; null restores the default. @param {string} name  `plugin.setting` @param {string | null} value */
  setSetting(name, value) {
    const settings = this.settings.value;
    if ((Object.hasOwn(settings, name) ? settings[name] : null) === value) return;
    const { [name]: _, ...rest } = settings;
    this.settings.value = value === null ? rest : { ...rest, [name]: value };
  }

  /** Opens a tab and adds an entry to the browser's history, except for the first tab. @param {string} name */
  openTab(name) {
    if (name === this.tab.value) return;
    const isFirst = this.tab.value === "";
    // "Back" returns to the current entry, which may lack the latest changes.
    if (!isFirst) this.#writeAddress();
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
    store(THEME_KEY, this.theme.value === this.#systemTheme ? null : this.theme.value);
  };

  /**
   * The colours of runs or groups. Those in sight differ, and keep their colours when others are put
   * away or deleted, as long as there are enough colours.
   * @param {readonly string[]} names @param {ReadonlyMap<string, string> | null} [groupOf]
   */
  colorsOf(names, groupOf) {
    this.allRuns.value.forEach((run) => this.#seen.add(run));
    const all = [...this.#seen];
    return colorsOf(names, this.theme.value, linesInSight([all, all.filter(this.#wants).filter(this.runFilter.value.matches), this.#wanted.value], groupOf));
  }

  /**
   * Colours by name, with those that were noted for runs, and the reader's choice before all others.
   * @param {ReadonlyMap<string, string>} colors @param {Iterable<[name: string, noted: Noted]>} noted
   */
  withChosen(colors, noted) {
    const chosen = new Map(colors);
    for (const [name, color] of [...Array.from(noted, ([name, { color }]) => [name, color ?? ""]), ...this.chosenColors.value]) {
      if (chosen.has(name) && /^#[0-9a-f]{6}$/i.test(color)) chosen.set(name, color);
    }
    return chosen;
  }

  #dark = matchMedia("(prefers-color-scheme: dark)");
  /** @returns {Theme} */
  get #systemTheme() {
    return this.#dark.matches ? "dark" : "light";
  }

  /** The choices that are texts, with their names in the address. */
  get #texts() {
    const texts = { query: this.runQuery, tagQuery: this.#tagFilterText, columns: this.columnsText, group: this.groupRule, average: this.average, color: this.colorRule, colors: this.linkedColors, step: this.#stepText };
    return /** @type {[keyof typeof texts, Signal<string>][]} */ (Object.entries(texts));
  }

  /** Sets the reader's choices from the page's address. */
  #readAddress() {
    const { tab, values } = parseAddress(location.hash);
    const { runs, view, sort, write, ...settings } = values;
    for (const [name] of this.#texts) delete settings[name];
    // The secret of the printed address, with which notes can be changed, goes from the address at once. Alone, it changes no choice.
    if (write) store("tbcore.write.new", write);
    if (!write || location.hash.includes("&")) batch(() => {
      if (tab !== "") this.tab.value = tab;
      if (this.#selectionInAddress.peek() !== (runs ?? null)) {
        const text = fullText(runs);
        this.selection.value = selectionFromText(text);
        this.isSelectionMissing.value = text === null;
      }
      for (const [name, text] of this.#texts) text.value = values[name] ?? "";
      this.list.value = location.hash.includes("&") ? {
        view: view === "list" ? view : "tree",
        sort: /^(start|last)$/.test(sort) ? sort : "name",
        column: /^[+-]./.test(sort) ? sort : "",
      } : ownList();
      if (JSON.stringify(this.settings.peek()) !== JSON.stringify(settings)) this.settings.value = settings;
      this.#writtenRule = this.groupRule.value;
    });
    if (write) history.replaceState(null, "", this.#address());
  }

  /** Returns the address of the current view: its hash, or the page's path if the hash is empty. */
  #address() {
    /** @type {Record<string, string>} */
    const values = {};
    const { shown } = this.runFilter.value;
    for (const [name, { value }] of this.#texts) {
      // The query is that of the runs that are shown; without one, what was typed.
      const text = name === "query" ? shown ?? value : value;
      if (text) values[name] = text;
    }
    const { view, sort, column } = this.list.value;
    const order = this.isByColumn.value ? column : sort;
    if (view !== "tree") values.view = view;
    if (order !== "name") values.sort = order;
    const runs = this.#selectionInAddress.value;
    if (runs !== null) values.runs = runs;
    const hash = formatAddress({ tab: this.tab.value, values: { ...values, ...this.settings.value } });
    return hash === "" ? location.pathname + location.search : hash;
  }

  /** The address that the page wrote last. */
  #written = "";
  /** The rule for groups in the address. */
  #writtenRule = "";

  /** Updates the page's address after each change of the reader's choices. */
  #mirrorAddress() {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    effect(() => {
      this.#address();
      clearTimeout(timer);
      timer = setTimeout(() => this.#writeAddress(), ADDRESS_DELAY_MS);
    });
  }

  /** Writes the page's address; after the runs were grouped in another way, in a new entry of the history, so that "Back" undoes that. */
  #writeAddress() {
    storeText(this.#selectionText.peek());
    const next = this.#address();
    const { value } = this.groupRule;
    if (next !== this.#written) history[value === this.#writtenRule ? "replaceState" : "pushState"](null, "", (this.#written = next));
    this.#writtenRule = value;
  }
}

/** Rewrites an address that may be of another kind: a link of before, one with the name of a view, or with a sort order by a column that it does not show. Returns nothing if it is not. */
export function rewriteAddress() {
  const { href } = location;
  return /^[^#]*view=|(Filter|regexInput)=|&sort=(?!name|start|last|[+-])|(?<!columns=.*)&sort=[+-]/.test(href) ? import("./other-addresses.js").then(({ rewrite }) => rewrite(href)).catch(console.warn) : undefined;
}

/**
 * The layout and order of the run list.
 * @typedef {object} ListLayout
 * @property {string} view  "tree" or "list"
 * @property {string} sort  "name", "start" or "last"
 * @property {string} column  the column that the list is sorted by, after + or -; "" for none. The
 *   list has the order of `sort` if it has no such column
 */

/**
 * A function that makes a filter from the signal's current text. It passes the previous filter to
 * `makeFilter`, which uses it while the text is not a valid query.
 * @param {ReadonlySignal<string>} text
 * @param {"runs" | "tags"} subject
 * @param {Matcher} [matcher]
 * @param {(matches: Filter["matches"]) => Filter | false} [heldFor]
 */
function withPrevious(text, subject, matcher, heldFor) {
  /** @type {Filter | undefined} */
  let previous;
  return () => (previous = makeFilter(text.value, previous, subject, matcher, heldFor));
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
