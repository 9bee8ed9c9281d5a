/** What charts with the same x axis share: where the pointer is, which run is pointed at, and which x is pinned. */

/** A cursor for `new LineChart(element, { cursor })`. @returns {import("./chart-types.js").Cursor} */
export function makeCursor() {
  /** @type {Set<import("./chart-types.js").CursorMember>} */
  const members = new Set();
  /** @type {number | null} */
  let pinned = null;
  return {
    join(member) {
      members.add(member);
      if (pinned !== null) member.showPin(pinned, true, false);
      return () => void members.delete(member);
    },
    move(x, run, from) {
      for (const member of members) if (member !== from) member.showCursor(x, run);
    },
    pin(x, settled, from) {
      pinned = x;
      for (const member of members) member.showPin(x, settled, member === from);
    },
    highlight(run) {
      for (const member of members) member.highlight(run);
    },
  };
}
