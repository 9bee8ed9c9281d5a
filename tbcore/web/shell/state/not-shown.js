/** Which runs the charts do not show, and why. Loaded with what says it: below the run list, and in the notes of figures. */

import { plural } from "../../lib/format.js";
import { AUTO_LIMIT } from "./selection.js";

/** @import { State } from "./reader-state.js" */

/** The numbers of runs that are not shown: unchecked, among others than the newest, and not found by the filter. @typedef {{ unchecked: number, older: number, unmatched: number }} Reasons */

/**
 * The groups that are shown in part with their runs that are not shown, and the runs that are not shown of all others.
 * @param {State} state
 * @param {(run: string) => boolean} [isMeant]  whether a run counts, such as one with the tag of a chart
 * @returns {{ groups: ReadonlySet<string>, inPart: Reasons, others: Reasons }}
 */
export function notShown(state, isMeant = () => true) {
  const shown = new Set(state.shownRuns.value.map(({ name }) => name));
  const wanted = new Set(state.wantedRuns.value.map(({ name }) => name));
  const matching = new Set(state.candidates.value.matching);
  const groupOf = (/** @type {string} */ run) => state.groupOf.value?.get(run) ?? run;
  const shownGroups = new Set([...shown].filter(isMeant).map(groupOf));
  const groups = new Set();
  const none = { unchecked: 0, older: 0, unmatched: 0 };
  const [inPart, others] = [{ ...none }, { ...none }];
  for (const run of state.runs.value) {
    if (shown.has(run) || !isMeant(run)) continue;
    const isInPart = shownGroups.has(groupOf(run));
    if (isInPart) groups.add(groupOf(run));
    (isInPart ? inPart : others)[!matching.has(run) ? "unmatched" : wanted.has(run) ? "older" : "unchecked"]++;
  }
  return { groups, inPart, others };
}

/**
 * What `host.leftOut` resolves to.
 * @param {State} state
 * @param {(run: string) => boolean} [isMeant]
 * @param {(group: string) => boolean} [isSaid]  whether the picture says how many runs of a group were put away
 * @returns {string[]}
 */
export function leftOut(state, isMeant = () => true, isSaid = () => false) {
  const { groups, inPart, others } = notShown(state, isMeant);
  const { matches } = state.runFilter.value;
  const archived = [...state.archived.value].filter((run) => isMeant(run) && matches(run) && !isSaid(state.groupOf.value?.get(run) ?? run)).length;
  const runs = (/** @type {number} */ count, /** @type {string} */ what) => count > 0 && `${plural(count, "run")} ${what}`;
  const ofGroups = [runs(inPart.unchecked, "unchecked"), runs(inPart.older, "older"), runs(inPart.unmatched, "not found by the filter")].filter(Boolean);
  const what = state.groupOf.value ? "groups" : "runs";
  return [
    groups.size > 0 && `${plural(groups.size, "group")} in part: without ${ofGroups.join(", ")}`,
    runs(others.unchecked, "unchecked"),
    runs(others.older, `older than the newest ${AUTO_LIMIT} ${what}`),
    runs(archived, "archived"),
  ].filter((text) => text !== false);
}
