/**
 * Charts that zoom together.
 */

/**
 * @typedef {import("./feed.js").View} View
 * @typedef {(view: View | null, settled: boolean) => void} Move
 *
 * @typedef {object} Link
 * @property {View | null} view  of all its charts
 * @property {(follow: { current: Move }) => () => void} join  returns what leaves again
 * @property {(view: View | null, settled: boolean, from: { current: Move }) => void} move  tells the other charts
 */

/** @returns {Link} */
export function makeLink() {
  /** @type {Set<{ current: Move }>} */
  const charts = new Set();
  return {
    view: null,
    join(follow) {
      charts.add(follow);
      return () => void charts.delete(follow);
    },
    move(view, settled, from) {
      this.view = view;
      for (const follow of charts) if (follow !== from) follow.current(view, settled);
    },
  };
}
