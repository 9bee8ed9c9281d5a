/** The state that charts with the same x axis share: the pointer's x, the hovered run, and the pinned x. */

/** A new cursor, for `new LineChart(element, { cursor })`. @returns {import("./types.js").Cursor} */
export function makeCursor() {
  /** @type {Set<import("./types.js").CursorMember>} */
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
