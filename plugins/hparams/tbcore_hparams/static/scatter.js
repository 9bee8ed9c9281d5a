/**
 * The scatter plot of any two columns. Dragging over an area filters rows by both columns.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, plural } from "tbcore/format.js";
import { LogSwitch } from "./axis-settings.js";
import { contextOf, followDrag, readColors, renderPNG, useExporter, useSize } from "./plot-canvas.js";
import { useRowHover } from "./row-hover.js";
import { canBeLog, makeScale } from "./scales.js";
import { dot, frameOf, hitDot, paintScatter, paintTitles, positionsOf, withoutPadding } from "./scatter-paint.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {{ left: number, top: number, right: number, bottom: number }} Area  in CSS pixels
 */

/** Space above and below the plot for the names of the axes, in a downloaded image. */
const TITLE_HEIGHT_PX = 18;
/** A shorter drag is a click. */
const CLICK_TOLERANCE_PX = 4;

/** The plot. @param {{ tab: import("./tab.js").Tab }} props */
export function ScatterPlot({ tab }) {
  const { sweep, view, rows, filteredOut, colorOf, theme } = tab;
  const { x, y } = view;
  if (!x || !y) return null;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const dots = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const highlights = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [drag, setDrag] = useState(/** @type {Area | null} */ (null));
  const { width, height } = useSize(box);
  const [xLog, yLog] = [view.isLog(x), view.isLog(y)];
  const scales = useMemo(() => /** @type {const} */ ([makeScale(x, xLog), makeScale(y, yLog)]), [sweep, x, y, xLog, yLog]);
  const positions = useMemo(() => /** @type {const} */ ([positionsOf(scales[0], x.cells, 0), positionsOf(scales[1], y.cells, 1)]), [scales]);
  const frame = useMemo(() => frameOf(width, height), [width, height]);
  const ordered = useMemo(() => tab.worstFirst(rows), [rows, tab.worstFirst]);
  const numUnplaced = rows.filter((row) => Number.isNaN(positions[0][row] + positions[1][row])).length;

  /** @param {CanvasRenderingContext2D} context @param {HTMLElement} element */
  const paint = (context, element) => {
    const grid = getComputedStyle(element).getPropertyValue("--tb-grid");
    paintScatter(context, { frame, scales, positions, rows: ordered, filteredOut, colorOf, colors: readColors(element), grid });
  };
  useLayoutEffect(() => {
    const context = contextOf(dots.current, width, height);
    if (context && box.current) paint(context, box.current);
  }, [frame, scales, positions, ordered, filteredOut, colorOf, theme]);
  useExporter(tab, "scatter", () => {
    const element = /** @type {HTMLElement} */ (box.current);
    const { ink, surface } = readColors(element);
    return renderPNG(width, height + 2 * TITLE_HEIGHT_PX, surface, (context) => {
      context.translate(0, TITLE_HEIGHT_PX);
      paint(context, element);
      paintTitles(context, frame, formatName(x.label), formatName(y.label), ink);
    });
  });

  const hovered = tab.hoveredRow.value;
  useLayoutEffect(() => {
    const context = contextOf(highlights.current, width, height);
    if (!context || !box.current) return;
    const { ink } = readColors(box.current);
    for (const row of tab.picked) dot(context, frame, positions[0][row], positions[1][row], colorOf(row), ink, 6);
    if (hovered !== null) dot(context, frame, positions[0][hovered], positions[1][hovered], colorOf(hovered), ink, 7);
  }, [frame, positions, hovered, tab.picked, colorOf, theme]);

  /** @param {PointerEvent} event */
  const pointOf = (event) => {
    const { left, top } = /** @type {HTMLElement} */ (box.current).getBoundingClientRect();
    return { left: event.clientX - left, top: event.clientY - top };
  };
  /** @param {{ left: number, top: number }} at */
  const rowAt = (at) => hitDot(frame, positions, rows, at.left, at.top);
  const { onPointerMove, onPointerLeave } = useRowHover(box, tab, [...new Set([x, y, ...view.axes])], (event) => rowAt(pointOf(event)));
  /** @param {PointerEvent} event */
  const onPointerDown = (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const start = pointOf(event);
    let last = start;
    const isClick = () => Math.hypot(last.left - start.left, last.top - start.top) < CLICK_TOLERANCE_PX;
    /** @param {PointerEvent} moved */
    const onMove = (moved) => {
      last = pointOf(moved);
      if (!isClick()) setDrag(areaBetween(start, last));
    };
    followDrag(event, onMove, () => {
      setDrag(null);
      const row = isClick() ? rowAt(last) : null;
      if (row !== null) tab.pickAndShow(row);
      if (!isClick()) tab.setFilters(filtersOf(areaBetween(start, last)));
    });
  };
  /** The filters of both columns for an area. @param {Area} area @returns {[string, ColumnFilter | null][]} */
  const filtersOf = ({ left, right, top, bottom }) => {
    /** @param {number} at */
    const xShare = (at) => withoutPadding((at - frame.left) / frame.width);
    /** @param {number} at */
    const yShare = (at) => withoutPadding(1 - (at - frame.top) / frame.height);
    const parts = [
      { key: x.key, filter: scales[0].filterBetween(xShare(left), xShare(right)) },
      { key: y.key, filter: scales[1].filterBetween(yShare(top), yShare(bottom)) },
    ];
    return parts.map(({ key, filter }) => [key, filter && /** @type {any} */ ({ key, ...filter })]);
  };

  return html`<section class="plot scatter" aria-label="Scatter plot">
    <header>
      <${ColumnSelect} label="Vertical" tab=${tab} column=${y} onChange=${(/** @type {string} */ key) => tab.set("y", key)} />
      <${ColumnSelect} label="Horizontal" tab=${tab} column=${x} onChange=${(/** @type {string} */ key) => tab.set("x", key)} />
      ${numUnplaced > 0 && html`<small class="tb-dim">${plural(numUnplaced, "row")} not shown: no position on these axes</small>`}
    </header>
    <div
      class="plot-area"
      ref=${box}
      role="img"
      aria-label="${y.label} over ${x.label}, ${plural(rows.length, "row")}. The table has the same values."
      onPointerMove=${onPointerMove}
      onPointerDown=${onPointerDown}
      onPointerLeave=${onPointerLeave}
    >
      <canvas ref=${dots}></canvas>
      <canvas ref=${highlights}></canvas>
      ${drag &&
      html`<i class="selection" style=${{ left: `${drag.left}px`, top: `${drag.top}px`, width: `${drag.right - drag.left}px`, height: `${drag.bottom - drag.top}px` }}></i>`}
    </div>
  </section>`;
}

/**
 * The area with two points in opposite corners.
 * @param {{ left: number, top: number }} a
 * @param {{ left: number, top: number }} b
 * @returns {Area}
 */
function areaBetween(a, b) {
  return { left: Math.min(a.left, b.left), right: Math.max(a.left, b.left), top: Math.min(a.top, b.top), bottom: Math.max(a.top, b.top) };
}

/**
 * Selects the column of an axis, and its scale.
 * @param {object} props
 * @param {string} props.label
 * @param {import("./tab.js").Tab} props.tab
 * @param {Column} props.column
 * @param {(key: string) => void} props.onChange
 */
function ColumnSelect({ label, tab, column, onChange }) {
  return html`<span class="column-select">
    <label>
      <span>${label}</span>
      <select class="tb-input" onChange=${(/** @type {Event} */ event) => onChange(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
        ${tab.sweep.columns.map(({ key, label: title }) => html`<option value=${key} selected=${key === column.key}>${formatName(title)}</option>`)}
      </select>
    </label>
    ${canBeLog(column) && html`<${LogSwitch} tab=${tab} column=${column} short />`}
  </span>`;
}
