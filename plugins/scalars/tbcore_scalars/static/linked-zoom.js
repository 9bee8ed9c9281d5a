/**
 * Charts that zoom together.
 */

/** Creates an empty set of such charts. @returns {import("./types.js").LinkedZoom} */
export function makeLinkedZoom() {
  /** @type {Set<import("./types.js").ZoomFollower>} */
  const charts = new Set();
  return {
    view: null,
    join(chart) {
      charts.add(chart);
      return () => void charts.delete(chart);
    },
    move(view, settled, from) {
      this.view = view;
      for (const chart of charts) if (chart !== from) chart.follow(view, settled);
    },
  };
}
