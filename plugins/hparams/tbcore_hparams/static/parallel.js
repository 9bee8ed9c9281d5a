/**
 * The parallel coordinates: an axis for each column, a line for each row. Dragging along an axis
 * filters the rows.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { formatName } from "tbcore/format.js";
import { Menu } from "tbcore/ui.js";
import { AxisSettings } from "./axis-settings.js";
import { dragColumn } from "./column-list.js";
import { ImportanceMark, ImportanceName } from "./importance-mark.js";
import { geometryOf, hitRow, paintAll, paintAxes, paintLines, paintNames, shareAt, yOf } from "./parallel-paint.js";
import { contextOf, followDrag, readColors, renderPNG, useExporter, useSize } from "./plot-canvas.js";
import { useRowHover } from "./row-hover.js";
import { makeScale } from "./scales.js";
import { moveKey } from "./sorting.js";

/**
 * @typedef {import("./parallel-paint.js").Geometry} Geometry
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Scale} Scale
 */

/** Minimum distance between axes; if the axes do not fit, the plot scrolls. */
const MIN_AXIS_SPACING_PX = 78;
/** Space for the names of the axes in a downloaded image. */
const NAMES_HEIGHT_PX = 28;
/** Minimum length of a drag; a shorter one is a click. */
const CLICK_TOLERANCE_PX = 3;

/** The plot. @param {{ tab: import("./tab.js").Tab }} props */
export function ParallelPlot({ tab }) {
  const { sweep, view, rows, filteredOut, colorOf, theme } = tab;
  const { axes } = view;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const lines = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const highlights = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const { width, height } = useSize(box);

  const layout = JSON.stringify(axes.map((column) => [column.key, view.isLog(column)]));
  const scales = useMemo(() => axes.map((column) => makeScale(column, view.isLog(column))), [sweep, layout]);
  const positions = useMemo(() => scales.map((scale, i) => Float64Array.from(axes[i].cells, scale.position)), [scales]);
  const hasUnplaced = scales.some(({ unplacedLabel }) => unplacedLabel !== "");
  const geometry = useMemo(() => geometryOf(width, height, axes.length, hasUnplaced), [width, height, axes.length, hasUnplaced]);
  const ordered = useMemo(() => tab.worstFirst(rows), [rows, tab.worstFirst]);

  useLayoutEffect(() => {
    const context = contextOf(lines.current, width, height);
    if (!context || !box.current) return;
    paintAll(context, { geometry, scales, positions, rows: ordered, filteredOut, colorOf, colors: readColors(box.current) });
  }, [geometry, scales, positions, ordered, filteredOut, colorOf, theme]);

  useExporter(tab, "parallel", () => {
    const colors = readColors(/** @type {HTMLElement} */ (box.current));
    return renderPNG(width, height + NAMES_HEIGHT_PX, colors.surface, (context) => {
      paintNames(context, geometry, axes.map(({ label }) => label), NAMES_HEIGHT_PX / 2 + 2, colors.ink);
      context.translate(0, NAMES_HEIGHT_PX);
      paintAll(context, { geometry, scales, positions, rows: ordered, filteredOut, colorOf, colors });
    });
  });

  const hovered = tab.hoveredRow.value;
  const { picked } = tab;
  useLayoutEffect(() => {
    const context = contextOf(highlights.current, width, height);
    if (!context || !box.current) return;
    const marked = hovered === null || picked.includes(hovered) ? picked : [...picked, hovered];
    const colors = readColors(box.current);
    const { ink, surface } = colors;
    if (hovered !== null) {
      context.globalAlpha = 0.55;
      context.fillStyle = surface;
      context.fillRect(0, 0, width, height);
    }
    paintLines(context, geometry, positions, marked, () => surface, 6, 0.9);
    paintLines(context, geometry, positions, marked, (row) => (row === hovered ? ink : colorOf(row)), 3, 1);
    if (marked.length > 0) paintAxes(context, { geometry, scales, colors });
  }, [geometry, scales, positions, hovered, picked, colorOf, theme]);

  /** The row at the pointer. @param {PointerEvent} event */
  const rowAt = (event) => {
    const { left, top } = /** @type {HTMLElement} */ (box.current).getBoundingClientRect();
    return hitRow(geometry, positions, rows, event.clientX - left, event.clientY - top);
  };
  const { onPointerMove, onPointerLeave } = useRowHover(box, tab, axes, rowAt);
  /** @param {MouseEvent} event */
  const onClick = (event) => {
    const row = rowAt(/** @type {PointerEvent} */ (event));
    if (row !== null) tab.pickAndShow(row);
  };

  const keys = axes.map(({ key }) => key);
  const minSize = { minWidth: `${axes.length * MIN_AXIS_SPACING_PX}px` };
  return html`<section class="plot parallel" aria-label="Parallel coordinates">
    <${ImportanceName} tab=${tab} />
    <div class="scroller">
      <div class="axis-heads" style=${minSize}>
        ${width > 0 &&
        axes.map(
          (column, i) => html`<div
            key=${column.key}
            class="axis-head"
            style=${{ left: `${geometry.xs[i]}px`, width: `${headWidth(geometry, i)}px` }}
            ...${dragColumn(column.key, (key) => tab.setAxes(moveKey(keys, key, column.key)))}
          >
            <${Menu}
              label="Axis ${column.label}"
              className="axis-name ${tab.filterOf(column.key) ? "filtered" : ""} ${column.key === view.metric?.key ? "metric" : ""}"
              text=${html`<span>${formatName(column.label)}</span>`}
              content=${() => html`<${AxisSettings} tab=${tab} column=${column} />`}
            />
            <${ImportanceMark} tab=${tab} column=${column} />
          </div>`,
        )}
      </div>
      <div
        class="plot-area"
        ref=${box}
        style=${minSize}
        role="img"
        aria-label="${rows.length} of ${rows.length + filteredOut.length} rows over ${axes.map(({ label }) => label).join(", ")}. The table has the same values; the menus of the axes can filter."
        onPointerMove=${onPointerMove}
        onPointerLeave=${onPointerLeave}
        onClick=${onClick}
      >
        <canvas ref=${lines}></canvas>
        <canvas ref=${highlights}></canvas>
        ${width > 0 &&
        axes.map(
          (column, i) => html`<${Brush}
            key=${column.key}
            geometry=${geometry}
            x=${geometry.xs[i]}
            scale=${scales[i]}
            filter=${tab.filterOf(column.key)}
            onFilter=${(/** @type {any} */ filter) => tab.setFilter(column.key, filter && { key: column.key, ...filter })}
          />`,
        )}
      </div>
    </div>
  </section>`;
}

/** The width of an axis's name. @param {Geometry} geometry @param {number} i  index of the axis */
function headWidth({ xs, width }, i) {
  const spacing = xs.length > 1 ? xs[1] - xs[0] : width;
  return Math.floor(Math.min(spacing - 4, 2 * Math.min(xs[i], width - xs[i])));
}

/**
 * The range of an axis that its filter lets pass: dragging creates or moves the range, and a click
 * removes it.
 * @param {object} props
 * @param {Geometry} props.geometry
 * @param {number} props.x
 * @param {Scale} props.scale
 * @param {ColumnFilter | null} props.filter
 * @param {(part: object | null) => void} props.onFilter
 */
function Brush({ geometry, x, scale, filter, onFilter }) {
  const span = filter && scale.intervalOf(filter);
  // `isHandled`: the last press changed the filter, so its click must not select a row.
  const latest = useRef({ frame: 0, part: /** @type {object | null} */ (null), isHandled: false }).current;
  /** Sets the filter, at most once per frame. @param {object | null} part */
  const scheduleFilter = (part) => {
    latest.part = part;
    latest.frame ||= requestAnimationFrame(() => {
      latest.frame = 0;
      onFilter(latest.part);
    });
  };
  /** @param {PointerEvent} event */
  const onPointerDown = (event) => {
    if (event.button !== 0) return;
    const { top } = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    const shareOf = (/** @type {PointerEvent} */ moved) => shareAt(geometry, moved.clientY - top);
    const start = shareOf(event);
    const isInside = span !== null && start > span[0] && start < span[1] && span[1] - span[0] < 1;
    let hasMoved = false;
    latest.isHandled = filter !== null; // without a filter, a click selects the row under the pointer
    /** @param {PointerEvent} moved */
    const onMove = (moved) => {
      if (!hasMoved && Math.abs(moved.clientY - event.clientY) < CLICK_TOLERANCE_PX) return;
      hasMoved = latest.isHandled = true;
      const by = shareOf(moved) - start;
      if (isInside && span) {
        const shift = Math.max(-span[0], Math.min(1 - span[1], by));
        scheduleFilter(scale.filterBetween(span[0] + shift, span[1] + shift));
      } else scheduleFilter(scale.filterBetween(start, shareOf(moved)));
    };
    followDrag(event, onMove, () => {
      if (!hasMoved && filter) onFilter(null);
    });
  };
  return html`<div class="brush" style=${{ left: `${x}px` }} onPointerDown=${onPointerDown} onClick=${(/** @type {Event} */ event) => latest.isHandled && event.stopPropagation()}>
    ${span && html`<i style=${{ top: `${yOf(geometry, span[1]) - 2}px`, height: `${yOf(geometry, span[0]) - yOf(geometry, span[1]) + 4}px` }}></i>`}
  </div>`;
}
