/**
 * Which runs have which tag. Pure.
 */

import { groupTags } from "./names.js";

/**
 * @typedef {Record<string, string[]>} RunToTags  as the server lists them
 */

/**
 * The groups of tags to show, and the runs of each tag.
 * @template {{ name: string }} R
 * @param {RunToTags} runToTags
 * @param {readonly R[]} runs  those that are shown
 * @param {(tag: string) => boolean} matches
 * @returns {{ groups: import("./names.js").TagGroup[], numTags: number, runsOf: Map<string, R[]> }} groups of
 *   the tags that match, how many these are, and of all tags the runs, in the order of `runs`
 */
export function indexTags(runToTags, runs, matches) {
  /** @type {Map<string, R[]>} */
  const runsOf = new Map();
  for (const run of runs) {
    for (const tag of runToTags[run.name] ?? []) {
      const members = runsOf.get(tag);
      if (members) members.push(run);
      else runsOf.set(tag, [run]);
    }
  }
  const shown = [...runsOf.keys()].filter(matches);
  return { groups: groupTags(shown), numTags: shown.length, runsOf };
}
