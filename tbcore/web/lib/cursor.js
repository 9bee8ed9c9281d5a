/**
 * What charts with the same x axis share: where the pointer is, and which run is pointed at.
 */

/**
 * @typedef {object} CursorMember  a chart
 * @property {(x: number | null, name: string | null) => void} showCursor  another chart is pointed at, at this x and at
 *   the line of this name; null: no longer
 * @property {(name: string | null) => void} highlight
 *
 * @typedef {object} Cursor
 * @property {(member: CursorMember) => () => void} join  returns what leaves again
 * @property {(x: number | null, name: string | null, from: CursorMember) => void} move  tells all others
 * @property {(name: string | null) => void} highlight  draws the lines of a run strong in all charts, others faint
 */

/**
 * A cursor for `new LineChart(element, { cursor })`.
 * @returns {Cursor}
 */
export function makeCursor() {
  /** @type {Set<CursorMember>} */
  const members = new Set();
  return {
    join(member) {
      members.add(member);
      return () => void members.delete(member);
    },
    move(x, name, from) {
      for (const member of members) if (member !== from) member.showCursor(x, name);
    },
    highlight(name) {
      for (const member of members) member.highlight(name);
    },
  };
}
