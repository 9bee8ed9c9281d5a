/**
 * Groups and colours of runs by the rules that the reader has chosen. Loaded when there is a rule.
 */

import { computed, effect } from "@preact/signals-core";
import { expressionOf } from "../../lib/queries/expressions.js";
import { colorError, colorsByRule } from "./color-rules.js";
import { attributesOf, groupRuns } from "./groups.js";

/** @import { State } from "./reader-state.js" */

/** What the rules say about all runs. */
export class Rules {
  #state;
  #lastGroups = /** @type {ReadonlyMap<string, string> | null} */ (null);
  #lastColors = /** @type {ReturnType<typeof colorsByRule>} */ (null);

  /**
   * Group of each run, null if runs are not grouped; and why the rule is invalid, as it can be in a
   * link. While attributes are read, or nothing is known of a regular expression, the groups are
   * those of the previous rule.
   */
  grouping = computed(() => {
    const { groupRule, runs, attributes } = this.#state;
    const unknown = attributesOf(groupRule.value).find((text) => attributes.unknown.value.has(text));
    let error = unknown === undefined ? null : `no run has ${unknown}`;
    try {
      this.#lastGroups = groupRule.value === "" ? null : (groupRuns(groupRule.value, runs.value, expressionOf, this.columnOf) ?? this.#lastGroups);
    } catch (caught) {
      this.#lastGroups = null;
      error = caught instanceof Error ? caught.message : String(caught);
    }
    return { groupOf: this.#lastGroups, error };
  });

  /**
   * Colours of runs or groups by the rule, and what they mean; null without a valid rule. While they
   * are not known, the colours are those of before.
   */
  colors = computed(() => {
    const { colorRule, runs, theme } = this.#state;
    const { groupOf } = this.grouping.value;
    const isUsed = colorRule.value !== "" && this.colorError.value === null;
    return (this.#lastColors = !isUsed ? null : (colorsByRule(colorRule.value, runs.value, groupOf, theme.value, this.columnOf) ?? this.#lastColors));
  });

  /** Why the rule for colours is invalid; null if it is valid. */
  colorError = computed(() => colorError(this.#state.colorRule.value, this.#state.attributes.unknown.value));

  /** @param {State} state */
  constructor(state) {
    this.#state = state;
    effect(() => state.attributes.want([state.groupRule.value, state.colorRule.value].flatMap(attributesOf)));
  }

  /** The values of an attribute by run; null while they are read. @param {string} text */
  columnOf = (text) => this.#state.attributes.columnOf(text).value;
}
