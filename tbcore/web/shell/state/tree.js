/**
 * The rows of the run list: runs in folders by path, or a flat list; grouped.js has those of groups.
 * Pure functions, no DOM.
 *
 *     exp/a/train, exp/a/eval, exp/b/train   ->   exp/
 *                                                   a/
 *                                                     train
 *                                                     eval
 *                                                   b/train      a folder with one child has no row
 */

import { commonLengths } from "../../lib/format.js";

/** @import { RunDetails } from "../../host.js" */

/**
 * @typedef {object} Row
 * @property {"run" | "folder" | "group"} kind
 * @property {string} key  unique among all rows
 * @property {string} name  name of the run or group, or path of the folder
 * @property {string} label  the name without the part that the rows above it already show
 * @property {readonly [start: number, end: number]} part  the part of the label that tells the row
 *   from its siblings: all of them start and end with what is left out
 * @property {number} depth  0 at the top level
 * @property {number} position  position among its siblings, from 1
 * @property {number} numSiblings  number of siblings, including itself
 * @property {readonly string[]} runs  all runs in the folder or group, or the run itself
 * @property {boolean} isOpen  whether the rows inside it are shown
 */

/**
 * Rows of runs in folders. Runs keep their order; a folder is at the position of its first run.
 * @param {readonly string[]} runs
 * @param {(key: string) => boolean} isOpen  whether a folder is open
 */
export function treeRows(runs, isOpen) {
  /** @type {Row[]} */
  const rows = [];
  addRows(childrenOf(runs, 0), 0, 0);
  return rows;

  /**
   * Adds the rows of a folder's children.
   * @param {Map<string, string[]>} children
   * @param {number} length  length of the folder's path
   * @param {number} depth
   */
  function addRows(children, length, depth) {
    /** @type {Row[]} */
    const siblings = [];
    for (let [key, members] of children) {
      let inside = childrenOfKey(key, members);
      // A folder with one child is merged with the child.
      while (inside?.size === 1) {
        [[key, members]] = inside;
        inside = childrenOfKey(key, members);
      }
      const name = inside ? key.slice(FOLDER.length) : key;
      const row = runRow(name, depth, siblings.length + 1, children.size, name.slice(length));
      rows.push(row);
      siblings.push(row);
      if (!inside) continue;
      Object.assign(row, { kind: "folder", key, runs: members, isOpen: isOpen(key) });
      if (row.isOpen) addRows(inside, name.length, depth + 1);
    }
    findParts(siblings);
  }
}

/** Start of the keys of folders. */
const FOLDER = "folder:";

/** What is inside of a folder; null for a run. @param {string} key @param {string[]} runs */
function childrenOfKey(key, runs) {
  const isRun = runs.length === 1 && runs[0] === key;
  return isRun ? null : childrenOf(runs, key.length - FOLDER.length);
}

/** What is in a folder whose path has this length: runs by the key of their row. @param {readonly string[]} runs @param {number} length */
function childrenOf(runs, length) {
  return groupsOf(runs, (run) => {
    const slash = run.indexOf("/", length);
    return slash >= 0 && slash < run.length - 1 ? FOLDER + run.slice(0, slash + 1) : run;
  });
}

/**
 * The runs of each group; groups are in the order of their first runs.
 * @type {<T>(runs: readonly T[], group: (run: T) => string) => Map<string, T[]>}
 */
export function groupsOf(runs, group) {
  const groups = new Map();
  for (const run of runs) {
    const name = group(run);
    const members = groups.get(name);
    if (members) members.push(run);
    else groups.set(name, [run]);
  }
  return groups;
}

/** Rows of a flat list, one per run. @param {readonly string[]} runs */
export function flatRows(runs) {
  return findParts(runs.map((run, i) => runRow(run, 0, i + 1, runs.length)));
}

/** The row of a run. @type {(run: string, depth: number, position: number, numSiblings: number, label?: string) => Row} */
export function runRow(run, depth, position, numSiblings, label = run) {
  return { kind: "run", key: run, name: run, label, part: [0, label.length], depth, position, numSiblings, runs: [run], isOpen: false };
}

/** Sets the part of the label that tells each row from its siblings; returns the rows. @param {Row[]} siblings */
export function findParts(siblings) {
  const [start, end] = commonLengths(siblings.map(({ label }) => label));
  for (const row of siblings) row.part = [start, row.label.length - end];
  return siblings;
}

// --- when runs were written ----------------------------------------------------------------------

/** A run is live if it was written to within this time. Most training loops log more often. */
export const LIVE_SECONDS = 300;
/**
 * For sorting, the times of last events are rounded down to multiples of this time, so that the
 * rows of live runs do not keep moving.
 */
const ORDER_SECONDS = 60;

/**
 * `finished` or `failed` if another program logged how the run ended; "" if it logged neither that
 * nor times; otherwise `live` or `quiet`. A run is live, being written, if its files were changed recently, and its last event was
 * logged shortly before that change. File times alone are not enough, because copied files are new
 * whatever they contain. Event times alone are not enough either, because the clocks of machines
 * differ.
 * @param {RunDetails} details
 * @param {number} now  seconds since the epoch
 */
export function runState({ last, modified, source }, now) {
  if (source && (source.state ? source.state !== "running" : !source.has_times)) return source.state;
  if (last === null) return "quiet";
  const written = modified ?? last;
  return Math.abs(now - written) < LIVE_SECONDS && written - last < LIVE_SECONDS ? "live" : "quiet";
}

/**
 * The runs in the order of the list. When sorted by time, the newest runs come first, and runs
 * without a time come last.
 * @param {readonly string[]} runs  in the order of names
 * @param {string} sort  "name", "start" or "last"
 * @param {{ readonly value: ReadonlyMap<string, RunDetails> }} details  not read if the order is that of names
 */
export function orderRuns(runs, sort, details) {
  if (sort !== "start" && sort !== "last") return runs;
  const known = details.value;
  const timeOf = (/** @type {string} */ run) => {
    const time = known.get(run)?.[sort] ?? -Infinity;
    return sort === "last" ? Math.floor(time / ORDER_SECONDS) : time;
  };
  return [...runs].sort((a, b) => (timeOf(a) === timeOf(b) ? 0 : timeOf(b) - timeOf(a)));
}

/** An age in two or three characters. @param {number} seconds */
export function shortAge(seconds) {
  const minutes = Math.max(0, seconds) / 60;
  if (minutes < 1) return "now";
  if (minutes < 60) return `${Math.floor(minutes)}m`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h`;
  const days = Math.floor(minutes / 1440);
  return days < 366 ? `${days}d` : `${Math.floor(days / 365.25)}y`;
}
