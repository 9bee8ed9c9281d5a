/**
 * Charts that zoom together.
 */

/** @import { LinkedZoom, Move } from "./types.js" */

/** Creates an empty set of such charts. @returns {LinkedZoom} */
export function makeLinkedZoom() {
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
