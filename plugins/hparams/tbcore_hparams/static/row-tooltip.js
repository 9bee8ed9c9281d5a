/**
 * The tooltip for the row under the pointer.
 */

import { useEffect, useRef } from "preact/hooks";
import { formatStep } from "tbcore/format.js";
import { Tooltip, readOutNodes } from "tbcore/ui.js";
import { shortText } from "./cell-text.js";

/** @typedef {import("./types.js").Column} Column */

/** With more rows, the tooltip would be higher than the plot. */
const MAX_TOOLTIP_ROWS = 14;

/**
 * The tooltip of a plot.
 * @param {{ current: HTMLElement | null }} owner
 * @param {import("./tab.js").Tab} tab
 */
export function useRowTooltip(owner, tab) {
  const tooltip = useRef(/** @type {Tooltip | null} */ (null));
  useEffect(() => () => tooltip.current?.destroy(), []);
  return {
    /**
     * Shows the cells of a row.
     * @param {number} row
     * @param {readonly Column[]} columns
     * @param {PointerEvent} event
     */
    show(row, columns, { clientX, clientY }) {
      if (!owner.current) return;
      tooltip.current ??= new Tooltip(owner.current);
      const { label, sessions } = tab.sweep.groups[row];
      const { metric } = tab.view;
      const shown = metric && !columns.includes(metric) ? [...columns, metric] : columns;
      const more = shown.length - MAX_TOOLTIP_ROWS;
      const notes = [
        ...(sessions.length > 1 ? [`${tab.aggregationName} of ${formatStep(sessions.length)} sessions`] : []),
        ...(more > 0 ? [`${more} more in the table`] : []),
      ];
      const nodes = readOutNodes({
        name: label,
        color: tab.colorOf(row),
        rows: shown.slice(0, MAX_TOOLTIP_ROWS).map((column) => [column.label, shortText(column, column.cells[row])]),
        note: notes.join(" · "),
        spoken: "",
      });
      tooltip.current.show(nodes, { left: clientX, top: clientY });
    },
    hide: () => tooltip.current?.hide(),
  };
}
