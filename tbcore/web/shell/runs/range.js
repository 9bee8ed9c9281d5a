/** Checks or unchecks a range of rows. Loaded for the first one. */

/** @import { State } from "../state/reader-state.js" */
/** @import { Row } from "../state/tree.js" */

/**
 * Checks or unchecks all rows from one to another, in either direction.
 * @param {State} state
 * @param {readonly Row[]} rows  of the list
 * @param {string} from  key of the row that was checked or unchecked before; if it is not there, only the other row counts
 * @param {Row} row
 * @param {boolean} isChecked
 */
export function checkRange(state, rows, from, row, isChecked) {
  const at = rows.indexOf(row);
  const first = rows.findIndex(({ key }) => key === from);
  const [start, end] = first < 0 ? [at, at] : [Math.min(first, at), Math.max(first, at)];
  // What is in an open folder has rows of its own.
  const range = rows.slice(start, end + 1).filter((each) => each === row || !each.isOpen);
  state.checkRuns(range.flatMap(({ runs }) => runs), isChecked);
}
