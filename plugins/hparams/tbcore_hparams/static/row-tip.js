/**
 * What is said of the row under the pointer, beside it.
 */

import { useEffect, useRef } from "preact/hooks";
import { formatStep } from "tbcore/lib/format.js";
import { readOutNodes, Tooltip } from "tbcore/lib/tooltip.js";
import { shortText } from "./texts.js";

/** @typedef {import("./types.js").Column} Column */

/** Of more columns the window would be higher than the chart. */
const MOST_ROWS = 14;

/**
 * @param {{ current: HTMLElement | null }} owner
 * @param {import("./tab.js").Tab} tab
 */
export function useRowTip(owner, tab) {
  const tip = useRef(/** @type {Tooltip | null} */ (null));
  useEffect(() => () => tip.current?.destroy(), []);
  return {
    /** @param {number} row @param {readonly Column[]} columns @param {PointerEvent} event */
    show(row, columns, { clientX, clientY }) {
      if (!owner.current) return;
      tip.current ??= new Tooltip(owner.current);
      const { label, sessions } = tab.sweep.groups[row];
      const { metric } = tab.view;
      const shown = metric && !columns.includes(metric) ? [...columns, metric] : columns;
      const more = shown.length - MOST_ROWS;
      const notes = [
        ...(sessions.length > 1 ? [`${tab.aggregationName} of ${formatStep(sessions.length)} sessions`] : []),
        ...(more > 0 ? [`${more} more in the table`] : []),
      ];
      const nodes = readOutNodes({
        name: label,
        color: tab.colorOf(row),
        rows: shown.slice(0, MOST_ROWS).map((column) => [column.label, shortText(column, column.cells[row])]),
        note: notes.join(" · "),
        spoken: "",
      });
      tip.current.show(nodes, { left: clientX, top: clientY });
    },
    hide: () => tip.current?.hide(),
  };
}
