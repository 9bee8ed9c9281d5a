/** Runs in groups: the rows of the run list, and the newest groups. Pure functions, no DOM; loaded when runs are grouped. */

import { byName } from "../../lib/address.js";
import { findParts, groupsOf, runRow } from "./tree.js";

/** @import { Row } from "./tree.js" */

/** The runs of each group; groups are in the order of their first runs. @param {readonly string[]} runs @param {ReadonlyMap<string, string>} groupOf  run to group */
export function membersOf(runs, groupOf) {
  return groupsOf(runs, (run) => groupOf.get(run) ?? run);
}

/**
 * The runs of a number of groups: those that have the newest runs.
 * @param {readonly string[]} runs  in the order of data/runs: the newest are the last
 * @param {ReadonlyMap<string, string>} groupOf
 * @param {number} maxGroups
 * @returns {ReadonlySet<string>}
 */
export function newestGroups(runs, groupOf, maxGroups) {
  const group = (/** @type {string} */ run) => groupOf.get(run) ?? run;
  const groups = new Set();
  for (let i = runs.length - 1; i >= 0 && groups.size < maxGroups; i--) groups.add(group(runs[i]));
  return new Set(runs.filter((run) => groups.has(group(run))));
}

/**
 * Rows of runs in groups, in the order of the groups' names or of their first runs. A group of one run is shown as
 * that run, unless others of it are put away. Labels are shortened: the label of a group omits the folders that all groups have in
 * common; the label of a run omits the folders that all runs of its group have in common.
 * @param {readonly string[]} runs
 * @param {ReadonlyMap<string, string>} groupOf  run to group
 * @param {(key: string) => boolean} isOpen  whether a group is open
 * @param {ReadonlyMap<string, unknown>} [archived]  by group, if it has any
 * @param {boolean} [isByName]  the order
 * @returns {Row[]}
 */
export function groupRows(runs, groupOf, isOpen, archived, isByName) {
  const members = [...membersOf(runs, groupOf)];
  const groups = isByName ? byName(members, ([name]) => name) : members;
  const isRun = (/** @type {string} */ name, /** @type {readonly string[]} */ members) => members.length === 1 && !archived?.has(name);
  const groupPrefixLength = commonFolderLength(groups.flatMap(([name, members]) => (isRun(name, members) ? [] : [name])));
  const rows = groups.map(([name, members], i) => {
    if (isRun(name, members)) return runRow(members[0], 0, i + 1, groups.length);
    const key = `group:${name}`;
    const row = runRow(name, 0, i + 1, groups.length, name.slice(groupPrefixLength));
    return Object.assign(row, { kind: "group", key, runs: members, isOpen: isOpen(key) });
  });
  return findParts(rows).flatMap((row) => {
    if (!row.isOpen) return [row];
    const { runs } = row;
    const runPrefixLength = commonFolderLength(runs);
    return [row, ...findParts(runs.map((run, i) => runRow(run, 1, i + 1, runs.length, run.slice(runPrefixLength))))];
  });
}

/** The length of the folder that all names have in common, including its final slash. @param {readonly string[]} names */
function commonFolderLength(names) {
  if (names.length < 2) return 0;
  let { length } = names[0];
  for (const name of names) while (!name.startsWith(names[0].slice(0, length))) length--;
  return names[0].lastIndexOf("/", length - 1) + 1;
}
