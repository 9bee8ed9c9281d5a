/**
 * Charts that zoom together.
 */

/**
 * @typedef {import("./types.js").Link} Link
 * @typedef {import("./types.js").Move} Move
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
