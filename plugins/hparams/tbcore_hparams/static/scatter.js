/**
 * A scatter plot of any two columns. Dragging over a part of it filters the table by both.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { plural } from "tbcore/lib/format.js";
import { LogSwitch } from "./axis-settings.js";
import { contextOf, paintsOf, pictureOf, useSize } from "./canvas.js";
import { useRowTip } from "./row-tip.js";
import { canBeLog, makeScale } from "./scales.js";
import { dot, frameOf, hitDot, paintScatter, paintTitles, placesOf, unpadded } from "./scatter-paint.js";

/** @typedef {import("./types.js").Column} Column */

/** Room above and below the plot for the names of the axes in a picture. */
const TITLE_HEIGHT = 18;
/** A press that moves less is a click. */
const CLICK = 4;

/** @param {{ tab: import("./tab.js").Tab }} props */
export function ScatterPlot({ tab }) {
  const { sweep, view, rows, others, colorOf, theme } = tab;
  const { x, y } = view;
  if (!x || !y) return null;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const dots = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const strong = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [drag, setDrag] = useState(/** @type {{ left: number, top: number, right: number, bottom: number } | null} */ (null));
  const { width, height } = useSize(box);
  const tip = useRowTip(box, tab);
  const [xLog, yLog] = [view.isLog(x), view.isLog(y)];
  const scales = useMemo(() => /** @type {const} */ ([makeScale(x, xLog), makeScale(y, yLog)]), [sweep, x, y, xLog, yLog]);
  const places = useMemo(() => /** @type {const} */ ([placesOf(scales[0], x.cells, 0), placesOf(scales[1], y.cells, 1)]), [scales]);
  const frame = useMemo(() => frameOf(width, height), [width, height]);
  const ordered = useMemo(() => tab.worstFirst(rows), [rows, tab.worstFirst]);
  const numUnplaced = rows.filter((row) => Number.isNaN(places[0][row] + places[1][row])).length;

  /** @param {CanvasRenderingContext2D} context @param {HTMLElement} element */
  const paint = (context, element) => {
    const grid = getComputedStyle(element).getPropertyValue("--tb-grid");
    paintScatter(context, { frame, scales, places, rows: ordered, others, colorOf, paints: paintsOf(element), grid });
  };
  useLayoutEffect(() => {
    const context = contextOf(dots.current, width, height);
    if (context && box.current) paint(context, box.current);
  }, [frame, scales, places, ordered, others, colorOf, theme]);
  useEffect(() => {
    const take = () => {
      const element = /** @type {HTMLElement} */ (box.current);
      const { ink, surface } = paintsOf(element);
      return pictureOf(width, height + 2 * TITLE_HEIGHT, surface, (context) => {
        context.translate(0, TITLE_HEIGHT);
        paint(context, element);
        paintTitles(context, frame, x.label, y.label, ink);
      });
    };
    tab.pictures.set("scatter", take);
    return () => void tab.pictures.delete("scatter");
  });

  const hovered = tab.hoveredRow.value;
  useLayoutEffect(() => {
    const context = contextOf(strong.current, width, height);
    if (!context || !box.current) return;
    const { ink } = paintsOf(box.current);
    for (const row of tab.picked) dot(context, frame, places[0][row], places[1][row], colorOf(row), ink, 6);
    if (hovered !== null) dot(context, frame, places[0][hovered], places[1][hovered], colorOf(hovered), ink, 7);
  }, [frame, places, hovered, tab.picked, colorOf, theme]);

  /** @param {PointerEvent | MouseEvent} event */
  const placeOf = (event) => {
    const { left, top } = /** @type {HTMLElement} */ (box.current).getBoundingClientRect();
    return { left: event.clientX - left, top: event.clientY - top };
  };
  /** @param {PointerEvent} event */
  const onPointerMove = (event) => {
    const at = placeOf(event);
    const row = event.buttons === 0 ? hitDot(frame, places, rows, at.left, at.top) : null;
    tab.hover(row);
    if (row === null) tip.hide();
    else tip.show(row, [...new Set([x, y, ...view.axes])], event);
  };
  /** @param {PointerEvent} event */
  const onPointerDown = (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const area = /** @type {HTMLElement} */ (event.currentTarget);
    const start = placeOf(event);
    let last = start;
    area.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} moved */
    const onMove = (moved) => {
      last = placeOf(moved);
      if (Math.hypot(last.left - start.left, last.top - start.top) < CLICK) return;
      setDrag({
        left: Math.min(start.left, last.left),
        right: Math.max(start.left, last.left),
        top: Math.min(start.top, last.top),
        bottom: Math.max(start.top, last.top),
      });
    };
    const onEnd = () => {
      area.removeEventListener("pointermove", onMove);
      setDrag(null);
      if (Math.hypot(last.left - start.left, last.top - start.top) < CLICK) {
        const row = hitDot(frame, places, rows, last.left, last.top);
        if (row !== null) tab.pickAndShow(row);
        return;
      }
      /** @param {number} at */
      const xShare = (at) => unpadded((at - frame.left) / frame.width);
      /** @param {number} at */
      const yShare = (at) => unpadded(1 - (at - frame.top) / frame.height);
      const parts = [
        { key: x.key, part: scales[0].part(xShare(start.left), xShare(last.left)) },
        { key: y.key, part: scales[1].part(yShare(start.top), yShare(last.top)) },
      ];
      tab.setFilters(parts.map(({ key, part }) => [key, part && /** @type {any} */ ({ key, ...part })]));
    };
    area.addEventListener("pointermove", onMove);
    area.addEventListener("lostpointercapture", onEnd, { once: true });
  };

  return html`<section class="plot scatter" aria-label="Scatter plot">
    <header>
      <${ColumnSelect} label="Vertical" tab=${tab} column=${y} onChange=${(/** @type {string} */ key) => tab.set("y", key)} />
      <${ColumnSelect} label="Horizontal" tab=${tab} column=${x} onChange=${(/** @type {string} */ key) => tab.set("x", key)} />
      ${numUnplaced > 0 && html`<small class="tb-dim">${plural(numUnplaced, "row")} without a place here</small>`}
    </header>
    <div
      class="plot-area"
      ref=${box}
      role="img"
      aria-label="${y.label} over ${x.label}, ${plural(rows.length, "row")}. The table has the same values."
      onPointerMove=${onPointerMove}
      onPointerDown=${onPointerDown}
      onPointerLeave=${() => {
        tab.hover(null);
        tip.hide();
      }}
    >
      <canvas ref=${dots}></canvas>
      <canvas ref=${strong}></canvas>
      ${drag &&
      html`<i class="selection" style=${{ left: `${drag.left}px`, top: `${drag.top}px`, width: `${drag.right - drag.left}px`, height: `${drag.bottom - drag.top}px` }}></i>`}
    </div>
  </section>`;
}

/**
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
        ${tab.sweep.columns.map(({ key, label: title }) => html`<option value=${key} selected=${key === column.key}>${title}</option>`)}
      </select>
    </label>
    ${canBeLog(column) && html`<${LogSwitch} tab=${tab} column=${column} short />`}
  </span>`;
}
