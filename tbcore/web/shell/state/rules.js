/**
 * Groups and colours of runs by the rules that the reader has chosen. Loaded when there is a rule.
 */

import { computed, effect } from "@preact/signals-core";
import { spreadName, withArchived } from "../../lib/group-figure.js";
import { AVERAGES } from "../../lib/group-statistics.js";
import { attributesFor } from "./attributes.js";
import { colorError, colorsByRule } from "./color-rules.js";
import { compareNames } from "../../lib/address.js";
import { groupRows, membersOf, newestGroups } from "./grouped.js";
import { groupingBy, mistakeIn } from "./groupings.js";
import { attributesOf } from "./groups.js";
import { AUTO_LIMIT } from "./selection.js";
import { groupsOf } from "./tree.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { Grouping, Noted } from "../../host.js" */
/** @import { Average } from "../../lib/group-statistics.js" */
/** @import { State } from "./reader-state.js" */

/**
 * What groups can show, by its name in the address: an average and maybe a spread, in words. Tables
 * have it beside the average, and charts as bands.
 */
export const FIGURES = Object.freeze({
  mean: "mean ± deviation",
  "mean-error": "mean ± standard error",
  "mean-interval": "mean ± 95 % interval",
  "mean-quartiles": "mean, quartiles",
  "mean-range": "mean, min to max",
  median: "median, quartiles",
  "median-range": "median, min to max",
  iqm: "interquartile mean, quartiles",
  "iqm-range": "interquartile mean, min to max",
});

/** What the rules say about all runs. */
export class Rules {
  #state;
  #lastGroups = /** @type {ReadonlyMap<string, string> | null} */ (null);
  #lastColors = /** @type {ReturnType<typeof colorsByRule>} */ (null);

  /**
   * Group of each run, also of archived ones, so that no group has another colour without them; null
   * if runs are not grouped. And why the rule is invalid, as it can be in a link. While attributes are read, or nothing is known of a regular expression, the groups are
   * those of the previous rule.
   */
  grouping = computed(() => {
    const found = groupingBy(this.#state, this.#state.groupRule.value, this.#lastGroups);
    this.#lastGroups = found.groupOf;
    return found;
  });

  /**
   * The matching runs of the AUTO_LIMIT groups that have the newest of them; null if runs are not
   * grouped.
   * @param {readonly string[]} matching  in the order of data/runs: the newest are the last
   */
  newestOf(matching) {
    const { groupOf } = this.grouping.value;
    return groupOf && newestGroups(matching, groupOf, AUTO_LIMIT);
  }

  /** What groups show: the mean, if the address has no other one of FIGURES. */
  figure = computed(() => (Object.hasOwn(FIGURES, this.#state.average.value) ? this.#state.average.value : "mean"));
  average = computed(() => /** @type {Average} */ (this.figure.value.split("-")[0]));
  spread = computed(() => /** @type {Grouping["spread"]} */ (this.figure.value.split("-")[1] ?? (this.average.value === "mean" ? "deviation" : "quartiles")));

  /** Groups of the shown runs; null if runs are not grouped. @type {ReadonlySignal<Grouping | null>} */
  groups = computed(() => {
    if (!this.grouping.value.groupOf) return null;
    const byName = groupsOf(this.#state.shownRuns.value, ({ name, group }) => group ?? name);
    const groups = Array.from(byName, ([name, runs]) => ({ name, color: runs[0].color, runs }));
    if (this.#isByName.value) groups.sort((a, b) => compareNames(a.name, b.name));
    const average = this.average.value;
    return { rule: this.#state.groupRule.value, average, averageName: AVERAGES[average], spread: this.spread.value, spreadName: spreadName(this.spread.value), groups, archived: this.#archived.value };
  });

  /** Here, so that the panel has it only when runs are grouped. */
  rowsOf = (/** @type {readonly string[]} */ runs, /** @type {ReadonlyMap<string, string>} */ groupOf, /** @type {(key: string) => boolean} */ isOpen) => {
    return groupRows(runs, groupOf, isOpen, this.#archived.value, this.#isByName.value);
  };

  /** Whether the list is in the order of names. */
  #isByName = computed(() => this.#state.list.value.sort === "name" && !this.#state.isByColumn.value);

  /** Number of runs of each group, without those that are put away. */
  groupSizes = computed(() => new Map(Array.from(this.#members(this.#state.runs.value), ([name, runs]) => [name, runs.length])));

  /** The runs of each group that are put away. */
  #archived = computed(() => {
    const { archived, allRuns } = this.#state;
    return this.#members(archived.value.size ? allRuns.value.filter((run) => archived.value.has(run)) : []);
  });

  /** How many runs a group has, and in words, how many more are put away. @param {string} name @returns {[number, string]} */
  countOf = (name) => [this.groupSizes.value.get(name) ?? 0, withArchived("", this.#archived.value.get(name)?.length)];

  /** The runs of each group; none if runs are not grouped. @param {readonly string[]} runs */
  #members(runs) {
    const { groupOf } = this.grouping.value;
    return groupOf ? membersOf(runs, groupOf) : new Map();
  }

  /**
   * Colours of runs or groups by the rule, and what they mean; null without a valid rule. While they
   * are not known, the colours are those of before.
   */
  colors = computed(() => {
    const { colorRule, allRuns, runs, theme } = this.#state;
    const { groupOf } = this.grouping.value;
    const isUsed = colorRule.value !== "" && this.colorError.value === null;
    return (this.#lastColors = !isUsed ? null : (colorsByRule(colorRule.value, runs.value, groupOf, theme.value, attributesFor(this.#state).valuesOf, this.average.value, allRuns.value) ?? this.#lastColors));
  });

  /**
   * Colour of each run; if runs are grouped, the colour of its group. What was noted for a run is not
   * the colour of a group of several, and not of the values that a legend explains.
   */
  runColors = computed(() => {
    const { allRuns, noted } = this.#state;
    const { groupOf } = this.grouping.value;
    const names = groupOf ? [...new Set(groupOf.values())] : allRuns.value;
    const { colors = this.#state.colorsOf(names, groupOf), legend = null } = this.colors.value ?? {};
    const byName = Array.from(legend ? [] : noted.value, ([run, about]) => /** @type {[string, Noted]} */ ([groupOf?.get(run) ?? run, about]));
    const chosen = this.#state.withChosen(colors, byName.filter(([name]) => (this.groupSizes.value.get(name) ?? 1) < 2));
    return groupOf ? new Map([...groupOf].flatMap(([run, group]) => (chosen.has(group) ? [[run, String(chosen.get(group))]] : []))) : chosen;
  });

  /** Why the rule for colours is invalid; null if it is valid. */
  colorError = computed(() => colorError(this.#state.colorRule.value, (text) => mistakeIn(this.#state, text, true)));

  /** What the user should know of rules that are invalid, and of a wrong average. */
  errors = computed(() => {
    const { groupRule, colorRule, average } = this.#state;
    const { error } = this.grouping.value;
    return [
      error !== null && `Cannot group by “${groupRule.value}”: ${error}`,
      this.colorError.value !== null && `Cannot colour by “${colorRule.value}”: ${this.colorError.value}`,
      average.value !== "" && average.value !== this.figure.value && `Groups show the mean: “${average.value}” is not one of ${Object.keys(AVERAGES).join(", ")}`,
    ].filter((text) => text !== false);
  });

  /** @param {State} state */
  constructor(state) {
    this.#state = state;
    effect(() => attributesFor(state).want([state.groupRule.value, state.colorRule.value].flatMap(attributesOf)));
  }
}
