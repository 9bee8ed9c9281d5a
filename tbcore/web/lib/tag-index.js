/**
 * The index of tags: which runs have which tag. Pure functions, no DOM.
 */

import { groupTags } from "./names.js";

/**
 * @typedef {Record<string, string[]>} RunToTags  the tags of each run, as the server lists them
 */

/**
 * The groups of tags to show, and the runs of each tag.
 * @template {{ name: string }} R
 * @param {RunToTags} runToTags
 * @param {readonly R[]} runs  the runs to show
 * @param {(tag: string) => boolean} matches  the filter for tags
 * @returns {{ groups: import("./names.js").TagGroup[], numTags: number, runsOf: Map<string, R[]> }}
 *   `groups`: the matching tags; `numTags`: their number; `runsOf`: the runs of each tag, matching
 *   or not, in the order of `runs`
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
