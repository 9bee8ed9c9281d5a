/**
 * Parallel coordinates: an axis for each column, a line for each row. Dragging along an axis filters the table.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Menu } from "tbcore/lib/card.js";
import { contextOf, paintsOf, pictureOf, useSize } from "./canvas.js";
import { AxisSettings } from "./axis-settings.js";
import { allowDrop, onDropped, startDrag } from "./column-list.js";
import { ImportanceMark } from "./importance-mark.js";
import { moveKey } from "./order.js";
import { geometryOf, hitRow, paintAll, paintLines, paintNames, shareAt, yOf } from "./parallel-paint.js";
import { useRowTip } from "./row-tip.js";
import { makeScale } from "./scales.js";

/**
 * @typedef {import("./parallel-paint.js").Geometry} Geometry
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Scale} Scale
 */

/** So wide at least is the room of an axis; what does not fit is scrolled to. */
const LEAST_SPACING = 78;
/** Room for the names of the axes in a picture. */
const NAMES_HEIGHT = 28;
/** A press that moves less is a click. */
const CLICK = 3;

/** @param {{ tab: import("./tab.js").Tab }} props */
export function ParallelPlot({ tab }) {
  const { sweep, view, rows, others, colorOf, theme } = tab;
  const { axes } = view;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const lines = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const strong = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const { width, height } = useSize(box);
  const tip = useRowTip(box, tab);

  const layout = JSON.stringify(axes.map((column) => [column.key, view.isLog(column)]));
  const scales = useMemo(() => axes.map((column) => makeScale(column, view.isLog(column))), [sweep, layout]);
  const places = useMemo(() => scales.map((scale, i) => Float64Array.from(axes[i].cells, scale.place)), [scales]);
  const hasUnplaced = scales.some(({ unplaced }) => unplaced !== "");
  const geometry = useMemo(() => geometryOf(width, height, axes.length, hasUnplaced), [width, height, axes.length, hasUnplaced]);
  const ordered = useMemo(() => tab.worstFirst(rows), [rows, tab.worstFirst]);

  useLayoutEffect(() => {
    const context = contextOf(lines.current, width, height);
    if (!context || !box.current) return;
    paintAll(context, { geometry, scales, places, rows: ordered, others, colorOf, paints: paintsOf(box.current) });
  }, [geometry, scales, places, ordered, others, colorOf, theme]);

  useEffect(() => {
    const take = () => {
      const paints = paintsOf(/** @type {HTMLElement} */ (box.current));
      return pictureOf(width, height + NAMES_HEIGHT, paints.surface, (context) => {
        paintNames(context, geometry, axes.map(({ label }) => label), NAMES_HEIGHT / 2 + 2, paints.ink);
        context.translate(0, NAMES_HEIGHT);
        paintAll(context, { geometry, scales, places, rows: ordered, others, colorOf, paints });
      });
    };
    tab.pictures.set("parallel", take);
    return () => void tab.pictures.delete("parallel");
  });

  const hovered = tab.hoveredRow.value;
  const { picked } = tab;
  useLayoutEffect(() => {
    const context = contextOf(strong.current, width, height);
    if (!context || !box.current) return;
    const marked = hovered === null || picked.includes(hovered) ? picked : [...picked, hovered];
    const { ink, surface } = paintsOf(box.current);
    if (hovered !== null) {
      context.globalAlpha = 0.55;
      context.fillStyle = surface;
      context.fillRect(0, 0, width, height);
    }
    paintLines(context, geometry, places, marked, () => surface, 6, 0.9);
    paintLines(context, geometry, places, marked, (row) => (row === hovered ? ink : colorOf(row)), 3, 1);
  }, [geometry, places, hovered, picked, colorOf, theme]);

  /** @param {PointerEvent} event */
  const rowAt = (event) => {
    const { left, top } = /** @type {HTMLElement} */ (box.current).getBoundingClientRect();
    return hitRow(geometry, places, rows, event.clientX - left, event.clientY - top);
  };
  /** @param {PointerEvent} event */
  const onPointerMove = (event) => {
    const row = event.buttons === 0 ? rowAt(event) : null;
    tab.hover(row);
    if (row === null) tip.hide();
    else tip.show(row, axes, event);
  };
  const onPointerLeave = () => {
    tab.hover(null);
    tip.hide();
  };
  /** @param {MouseEvent} event */
  const onClick = (event) => {
    const row = rowAt(/** @type {PointerEvent} */ (event));
    if (row !== null) tab.pickAndShow(row);
  };

  const keys = axes.map(({ key }) => key);
  const room = { minWidth: `${axes.length * LEAST_SPACING}px` };
  return html`<section class="plot parallel" aria-label="Parallel coordinates">
    <div class="scroller">
      <div class="axis-heads" style=${room}>
        ${width > 0 &&
        axes.map(
          (column, i) => html`<div
            key=${column.key}
            class="axis-head"
            style=${{ left: `${geometry.xs[i]}px`, width: `${headWidth(geometry, i)}px` }}
            draggable="true"
            onDragStart=${(/** @type {DragEvent} */ event) => startDrag(event, column.key)}
            onDragOver=${allowDrop}
            onDrop=${(/** @type {DragEvent} */ event) => onDropped(event, (key) => tab.setAxes(moveKey(keys, key, column.key)))}
          >
            <${Menu}
              label="Axis ${column.label}"
              className="axis-name ${tab.filterOf(column.key) ? "filtered" : ""} ${column === view.metric ? "metric" : ""}"
              text=${html`<span>${column.label}</span>`}
              content=${() => html`<${AxisSettings} tab=${tab} column=${column} />`}
            />
            <${ImportanceMark} tab=${tab} column=${column} />
          </div>`,
        )}
      </div>
      <div
        class="plot-area"
        ref=${box}
        style=${room}
        role="img"
        aria-label="${rows.length} of ${rows.length + others.length} rows over ${axes.map(({ label }) => label).join(", ")}. The table has the same values; the axes' menus filter."
        onPointerMove=${onPointerMove}
        onPointerLeave=${onPointerLeave}
        onClick=${onClick}
      >
        <canvas ref=${lines}></canvas>
        <canvas ref=${strong}></canvas>
        ${width > 0 &&
        axes.map(
          (column, i) => html`<${Brush}
            key=${column.key}
            geometry=${geometry}
            x=${geometry.xs[i]}
            scale=${scales[i]}
            filter=${tab.filterOf(column.key)}
            onFilter=${(/** @type {any} */ part) => tab.setFilter(column.key, part && { key: column.key, ...part })}
          />`,
        )}
      </div>
    </div>
  </section>`;
}

/** @param {Geometry} geometry @param {number} i */
function headWidth({ xs, width }, i) {
  const spacing = xs.length > 1 ? xs[1] - xs[0] : width;
  return Math.floor(Math.min(spacing - 4, 2 * Math.min(xs[i], width - xs[i])));
}

/**
 * The part of an axis that filters: drag to make one, drag it to move it, click to take it away.
 * @param {object} props
 * @param {Geometry} props.geometry
 * @param {number} props.x
 * @param {Scale} props.scale
 * @param {ColumnFilter | null} props.filter
 * @param {(part: object | null) => void} props.onFilter
 */
function Brush({ geometry, x, scale, filter, onFilter }) {
  const span = filter && scale.span(filter);
  const latest = useRef({ frame: 0, part: /** @type {object | null} */ (null), isUsed: false }).current;
  /** Once a frame at most. @param {object | null} part */
  const filterSoon = (part) => {
    latest.part = part;
    latest.frame ||= requestAnimationFrame(() => {
      latest.frame = 0;
      onFilter(latest.part);
    });
  };
  /** @param {PointerEvent} event */
  const onPointerDown = (event) => {
    if (event.button !== 0) return;
    const strip = /** @type {HTMLElement} */ (event.currentTarget);
    const { top } = strip.getBoundingClientRect();
    const shareOf = (/** @type {PointerEvent} */ moved) => shareAt(geometry, moved.clientY - top);
    const start = shareOf(event);
    const isInside = span !== null && start > span[0] && start < span[1] && span[1] - span[0] < 1;
    let hasMoved = false;
    latest.isUsed = filter !== null; // a click takes the filter away; without one it is for the line below
    strip.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} moved */
    const onMove = (moved) => {
      if (!hasMoved && Math.abs(moved.clientY - event.clientY) < CLICK) return;
      hasMoved = latest.isUsed = true;
      const by = shareOf(moved) - start;
      if (isInside && span) {
        const kept = Math.max(-span[0], Math.min(1 - span[1], by));
        filterSoon(scale.part(span[0] + kept, span[1] + kept));
      } else filterSoon(scale.part(start, shareOf(moved)));
    };
    const onEnd = () => {
      strip.removeEventListener("pointermove", onMove);
      if (!hasMoved && filter) onFilter(null);
    };
    strip.addEventListener("pointermove", onMove);
    strip.addEventListener("lostpointercapture", onEnd, { once: true });
  };
  return html`<div class="brush" style=${{ left: `${x}px` }} onPointerDown=${onPointerDown} onClick=${(/** @type {Event} */ event) => latest.isUsed && event.stopPropagation()}>
    ${span && html`<i style=${{ top: `${yOf(geometry, span[1]) - 2}px`, height: `${yOf(geometry, span[0]) - yOf(geometry, span[1]) + 4}px` }}></i>`}
  </div>`;
}
