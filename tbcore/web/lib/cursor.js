/** What charts with the same x axis share: where the pointer is, and which run is pointed at. */

/** A cursor for `new LineChart(element, { cursor })`. @returns {import("./chart-types.js").Cursor} */
export function makeCursor() {
  /** @type {Set<import("./chart-types.js").CursorMember>} */
  const members = new Set();
  return {
    join(member) {
      members.add(member);
      return () => void members.delete(member);
    },
    move(x, run, from) {
      for (const member of members) if (member !== from) member.showCursor(x, run);
    },
    highlight(run) {
      for (const member of members) member.highlight(run);
    },
  };
}
