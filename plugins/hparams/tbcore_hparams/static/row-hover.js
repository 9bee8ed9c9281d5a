/**
 * The row under the pointer: it is hovered, and has a tooltip.
 */

import { useEffect, useRef } from "preact/hooks";
import { formatName, formatStep } from "tbcore/format.js";
import { withArchived } from "tbcore/groups.js";
import { Tooltip, readOutNodes } from "tbcore/tooltip.js";
import { cellText } from "./cell-text.js";

/** @typedef {import("./types.js").Column} Column */

/** With more rows, the tooltip would be higher than the plot. */
const MAX_TOOLTIP_ROWS = 14;

/**
 * Handlers for the pointer over a plot.
 * @param {{ current: HTMLElement | null }} plot
 * @param {import("./tab.js").Tab} tab
 * @param {readonly Column[]} columns  whose cells the tooltip has
 * @param {(event: PointerEvent) => number | null} rowAt  the row at the pointer
 */
export function useRowHover(plot, tab, columns, rowAt) {
  const tooltip = useRef(/** @type {Tooltip | null} */ (null));
  useEffect(() => () => tooltip.current?.destroy(), []);
  return {
    /** @param {PointerEvent} event */
    onPointerMove(event) {
      const row = event.buttons === 0 ? rowAt(event) : null;
      tab.hover(row);
      if (row === null) tooltip.current?.hide();
      if (row === null || !plot.current) return;
      tooltip.current ??= new Tooltip(plot.current);
      const { label, sessions, archived } = tab.sweep.groups[row];
      const { metric } = tab.view;
      const shown = metric && !columns.includes(metric) ? [...columns, metric] : columns;
      const more = shown.length - MAX_TOOLTIP_ROWS;
      const notes = [
        ...(sessions.length > 1 ? [`${tab.aggregationName} of ${withArchived(`${formatStep(sessions.length)} sessions`, archived)}`] : []),
        ...(more > 0 ? [`${more} more in the table`] : []),
      ];
      const nodes = readOutNodes({
        name: formatName(label),
        color: tab.colorOf(row),
        rows: shown.slice(0, MAX_TOOLTIP_ROWS).map((column) => [formatName(column.label), cellText(column, row)]),
        note: notes.join(" · "),
        spoken: "",
      });
      tooltip.current.show(nodes, { left: event.clientX, top: event.clientY });
    },
    onPointerLeave() {
      tab.hover(null);
      tooltip.current?.hide();
    },
  };
}
