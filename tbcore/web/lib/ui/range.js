/** What a click with Shift means in a list. */

/**
 * The items of a list from one to another, in either direction.
 * @template T
 * @param {readonly T[]} list
 * @param {T | undefined} from  if it is not in the list, only the other counts
 * @param {T} to
 */
export function itemsBetween(list, from, to) {
  const [start, end] = [list.findIndex((item) => item === from), list.indexOf(to)].sort((a, b) => a - b);
  return start < 0 ? [to] : list.slice(start, end + 1);
}
