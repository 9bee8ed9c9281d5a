/** Groups of all runs by any rule: by that of the run list, and by those that tabs have. Loaded with the first rule. */

import { computed } from "@preact/signals-core";
import { expressionOf } from "../../lib/queries/expressions.js";
import { formatAttribute } from "../../lib/queries/names.js";
import { attributesFor } from "./attributes.js";
import { attributesOf, groupRuns, rangeText } from "./groups.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { PartsOfRuns } from "../../host.js" */
/** @import { ServerState } from "./server-state.js" */

/** Number of hyperparameters that are read for suggestions. */
const MAX_HPARAMS = 50;
/** With more numbers than these, ranges of a hyperparameter are suggested. */
const MAX_NUMBERS = 12;

/**
 * The group of each run, also of archived ones; null without a valid rule. And why the rule is invalid. While attributes are read, or
 * nothing is known of a regular expression, the groups are those of before.
 * @param {ServerState} state @param {string} rule  "" for none
 * @param {ReadonlyMap<string, string> | null} before
 * @param {boolean} [hasClose]  whether to name close attributes
 * @returns {Pick<PartsOfRuns, "groupOf" | "error">}
 */
export function groupingBy(state, rule, before, hasClose = false) {
  const attributes = attributesFor(state);
  const error = attributesOf(rule).reduce((/** @type {string | null} */ found, text) => found ?? mistakeIn(state, text, hasClose), null);
  try {
    const isGrouped = rule !== "" && attributesOf(rule).every((text) => attributes.mistakeIn(text) === null);
    return { groupOf: isGrouped ? (groupRuns(rule, state.allRuns.value, expressionOf, attributes.valuesOf, attributes.nameOf) ?? before) : null, error };
  } catch (caught) {
    return { groupOf: null, error: caught instanceof Error ? caught.message : String(caught) };
  }
}

/** Why an attribute cannot be used; null if it can. @param {ServerState} state @param {string} text @param {boolean} hasClose  whether to name close ones */
export function mistakeIn(state, text, hasClose) {
  const attributes = attributesFor(state);
  const close = attributes.unknown.value.get(text);
  const names = hasClose && close && close.length > 0 ? `; close: ${close.join(", ")}` : "";
  return attributes.mistakeIn(text) ?? (close ? `no run has ${text}${names}` : null);
}

/**
 * The hyperparameters whose values differ, but are not all different, with their numbers of values, and of many numbers also
 * the number of ranges; empty while they are read, which is until the signal is aborted.
 * @param {ServerState} state @param {AbortSignal} signal
 * @returns {ReadonlySignal<{ name: string, numValues: number, numRanges: number }[]>}
 */
export function differingHparams(state, signal) {
  const attributes = attributesFor(state);
  attributes.areNamesWanted.value = true;
  let stop = () => {};
  const names = computed(() => attributes.names.value?.hparams.slice(0, MAX_HPARAMS).map((name) => formatAttribute({ kind: "hparam", name })) ?? []);
  const end = names.subscribe((texts) => {
    stop();
    stop = attributes.want(texts);
  });
  signal.addEventListener("abort", () => {
    end();
    stop();
  });
  return computed(() =>
    names.value.flatMap((name) => {
      const values = new Set(attributes.valuesOf(name)?.values());
      const areMany = [...values].filter((value) => typeof value === "number").length > MAX_NUMBERS;
      const numRanges = areMany ? new Set([...values].map(rangeText)).size : 0;
      return values.size > 1 && (values.size < state.allRuns.value.length || numRanges > 1) ? [{ name, numValues: values.size, numRanges }] : [];
    }),
  );
}

/**
 * What `host.groupsBy` resolves to.
 * @param {ServerState} state @param {string} rule  "" to know which there may be
 * @param {AbortSignal} signal  ends the reading of attributes
 * @returns {ReadonlySignal<PartsOfRuns>}
 */
export function groupsBy(state, rule, signal) {
  const suggested = rule === "" ? differingHparams(state, signal) : null;
  signal.addEventListener("abort", attributesFor(state).want(attributesOf(rule)));
  /** @type {PartsOfRuns["groupOf"]} */
  let before = null;
  return computed(() => {
    const found = groupingBy(state, rule, before, true);
    before = found.groupOf;
    return { ...found, suggested: suggested?.value.map(({ name, numRanges }) => `by:${name}${numRanges ? "~" : ""}`) ?? [] };
  });
}
