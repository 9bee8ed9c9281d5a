/** The columns of a comparison: runs or groups, as many as fit, with the baseline first. No DOM. */

import { formatStep } from "tbcore/format.js";

/**
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/host.js").Grouping} Grouping
 *
 * @typedef {object} Column
 * @property {string} name  of the run or of the group
 * @property {string} label  the name to show
 * @property {string} color
 * @property {readonly Run[]} runs  at least one
 * @property {boolean} isGroup
 * @property {number} [archived]  number of runs of the group that were put away
 */

/** Maximum number of columns: more would not be read side by side. */
export const MAX_COLUMNS = 20;
/** Maximum number of runs in all columns, as in a request. */
const MAX_RUNS = 1000;

/**
 * The columns of the runs that are shown.
 * @param {readonly Run[]} runs
 * @param {Grouping | null} grouping
 * @param {string | undefined} base  name of the baseline; by default it is the first
 * @returns {{ all: readonly Column[], columns: Column[] }} `columns` are those of `all` that are
 *   compared, the baseline first; a group is compared with all of its runs or left out
 */
export function columnsOf(runs, grouping, base) {
  const all = grouping
    ? grouping.groups.map(({ name, color, runs }) => {
        const archived = grouping.archived.get(name)?.length;
        // As in the list, a run that is alone in its group has its own name.
        return { name, label: runs.length === 1 && !archived ? runs[0].label : name, color, runs, isGroup: true, archived };
      })
    : runs.map((run) => ({ name: run.name, label: run.label, color: run.color, runs: [run], isGroup: false }));
  const first = all.find(({ name }) => name === base) ?? all[0];
  /** @type {Column[]} */
  const columns = [];
  let numRuns = 0;
  for (const column of first ? [first, ...all.filter((other) => other !== first)] : []) {
    if (columns.length === MAX_COLUMNS) break;
    if (numRuns + column.runs.length > MAX_RUNS) continue;
    columns.push(column);
    numRuns += column.runs.length;
  }
  return { all, columns };
}

/**
 * What is not compared, in a sentence; "" if everything is.
 * @param {readonly Column[]} all @param {readonly Column[]} columns
 */
export function leftOut(all, columns) {
  const count = all.length - columns.length;
  if (count === 0) return "";
  const what = all[0].isGroup ? "groups" : "runs";
  const [one] = all.filter((column) => !columns.includes(column));
  const which = count === 1 ? `“${one.label}” is left out` : `${formatStep(count)} are left out`;
  const most = all[0].isGroup ? `${MAX_COLUMNS} groups with ${formatStep(MAX_RUNS)} runs in all` : `${MAX_COLUMNS} runs`;
  return `${columns.length} of the ${formatStep(all.length)} ${what} that are shown are compared, ${which}: at most ${most} fit. Check fewer in the list to choose which.`;
}
