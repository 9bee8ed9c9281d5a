/**
 * What users point at in a line chart, with the pointer or the keys: the tooltip, the cursor,
 * highlighted lines, and the pin. Loaded when it is first needed.
 */

import { Tooltip, readOutNodes } from "../ui/tooltip.js";
import { at, valueAt } from "./axes.js";
import { placeBeside, spokenOf, tooltipNodes } from "./hover-tooltip.js";
import { drawOverlay, endsOf, hitAt, hitsAt, hitsUnder, snap } from "./hover.js";
import { itemOf, selectionAfter } from "./keyboard.js";
import { ChartPin } from "./pin.js";

/**
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").PointerPosition} PointerPosition
 * @typedef {import("./types.js").Selection} Selection
 */

/** Whether tooltips list all points; otherwise the nearest. The key a changes it, in all charts. */
let listsAll = false;
/** @type {typeof import("./words.js") | null} null until a chart has had the focus */
let words = null;

/** What users point at in one chart. */
export class Pointing {
  #chart;
  #frame;
  #options;
  #scene;
  #tooltip;
  /** @type {Omit<import("./hover.js").Overlay, "hits">} */
  #shown = { pointer: null, remote: null, pinned: null, highlighted: null };
  /** @type {Selection | null} the point selected with the keys */ #selected = null;
  /** @type {ChartPin | null} created when an x is first pinned */ #pin = null;
  /** Whether the last call of `#notify` had any points. */
  #wasHovering = false;
  /** Describes the chart for screen readers. */
  #updateDescription = () => {};
  /** Handles the keys for the open tooltip, wherever the focus is. @type {AbortController | null} */
  #keys = null;

  /**
   * @param {import("./line-chart.js").LineChart} chart
   * @param {import("./chart-frame.js").ChartFrame} frame
   * @param {import("./types.js").Callbacks} options
   * @param {() => import("./types.js").Scene | null} scene  returns the chart as it was last drawn
   */
  constructor(chart, frame, options, scene) {
    this.#chart = chart;
    this.#frame = frame;
    this.#options = options;
    this.#scene = scene;
    this.#tooltip = new Tooltip(frame.element);
  }

  destroy() {
    this.#notify([]);
    this.hideTooltip();
    this.#tooltip.destroy();
  }

  hideTooltip() {
    this.#tooltip.hide();
    this.#keys?.abort();
    this.#keys = null;
  }

  /** The key a lists all points in the tooltip, or the nearest again. @param {KeyboardEvent} event */
  #onTooltipKey(event) {
    const [target] = /** @type {Element[]} */ (event.composedPath());
    if (event.key !== "a" || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, textarea")) return;
    listsAll = !listsAll;
    this.#updateHover();
  }

  /** Describes the chart while it has the focus, also when its lines change. @param {() => void} update  calls `sentence` */
  async describe(update) {
    words ??= await import("./words.js").catch(() => null);
    this.#updateDescription = update;
    update();
  }

  /** What the lines do, and their last values; undefined while the chart does not have the focus. @param {string} values */
  sentence(values) {
    const scene = this.#frame.element.matches(":focus") && this.#scene();
    return scene ? words?.descriptionOf(scene, values) : undefined;
  }

  // --- pointer and keys -------------------------------------------------------------------------

  /** Moves the pointer, or selects a point. @param {PointerPosition | null} pointer @param {Selection | null} [selected] */
  point(pointer, selected = null) {
    this.#shown.pointer = pointer;
    this.#selected = selected;
    this.#updateHover();
  }

  /** Pins the x under the pointer after a click. @param {PointerPosition} pointer */
  click({ left, top }) {
    const scene = this.#scene();
    const x = scene && snap(scene, left);
    if (scene && x !== null && hitsAt(scene, x, top).length > 0) this.#movePin(valueAt(scene.x, x), true);
  }

  /** Handles a key. @param {string} key @returns {boolean} whether the chart uses it */
  press(key) {
    const scene = this.#scene();
    if (!scene) return false;
    const selected = this.#selected;
    const next = selectionAfter(scene, selected, key, this.#hits()[0], this.#chart.isZoomed);
    if (next) this.point(null, next);
    else if (key === "Escape") {
      if (!selected && !this.#chart.isZoomed) return false;
      if (!selected) this.#chart.resetZoom();
      this.point(null);
    } else if (key === "Enter" && selected && this.#options.onPin) {
      const item = /** @type {import("./types.js").Item} */ (itemOf(scene, selected));
      const x = valueAt(scene.x, item.xs[selected.index]);
      this.#movePin(x === this.#shown.pinned ? null : x, true);
    } else if ((key === "Delete" || key === "Backspace") && this.#shown.pinned !== null) this.#movePin(null, true);
    else return false;
    return true;
  }

  /** Updates everything after the chart was drawn. */
  update() {
    this.#updatePin();
    this.#updateHover();
    if (this.#frame.element.matches(":focus")) this.#updateDescription();
  }

  /** The points under the pointer, nearest first, or the selected point. @returns {Hit[]} */
  #hits() {
    const scene = this.#scene();
    const selected = this.#selected;
    if (!scene) return [];
    if (!selected) return this.#shown.pointer ? hitsUnder(scene, this.#shown.pointer) : [];
    const item = itemOf(scene, selected);
    return item && selected.index < item.xs.length ? [hitAt(scene, item, selected.index)] : [];
  }

  /** Updates tooltip and overlay for the points under the pointer, or for the selected point. */
  #updateHover() {
    const hits = this.#hits();
    const scene = this.#scene();
    if (scene && hits.length > 0) this.#showTooltip(hits, scene.x);
    else this.hideTooltip();
    this.#drawOverlay(hits);
    this.#notify(hits);
  }

  /** Draws what depends on the pointer. @param {Hit[]} [hits] */
  #drawOverlay(hits = this.#hits()) {
    const scene = this.#scene();
    const context = this.#frame.clearOverlay();
    if (context && scene) drawOverlay(context, scene, { hits, ...this.#shown });
  }

  /** @param {Hit[]} hits @param {import("./types.js").Scene["x"]} axis */
  #showTooltip(hits, axis) {
    const { element, plot } = this.#frame;
    const { readOut, onPin } = this.#options;
    const { pointer, pinned } = this.#shown;
    const isKeyboard = this.#selected !== null;
    const hint = onPin && pinned === null && !pointer?.isTouch ? `${isKeyboard ? "Enter" : "click"} to pin` : "";
    const custom = readOut?.(hits);
    const scene = this.#scene();
    // With the keys, one point is selected.
    const listed = listsAll && isKeyboard && scene ? hitsAt(scene, at(scene.x.range, hits[0].left / scene.width), hits[0].top) : hits;
    const content = custom ? readOutNodes(custom) : tooltipNodes(listed, axis, hint, listsAll);
    const spoken = isKeyboard ? (custom?.spoken ?? spokenOf(hits[0], axis)) : null;
    if (!this.#keys) {
      this.#keys = new AbortController();
      document.addEventListener("keydown", (event) => this.#onTooltipKey(event), { signal: this.#keys.signal });
    }
    const box = plot.getBoundingClientRect();
    const { left, top } = pointer ?? hits[0];
    // The tooltip is placed outside the card and its table, or at least outside the chart.
    const card = element.closest(".tb-card") ?? element;
    const avoid = [card, element].map((area) => area.getBoundingClientRect());
    const table = card.querySelector(".tb-legend")?.getBoundingClientRect();
    if (table) avoid.unshift(around(avoid[0], table));
    const points = [...listed, ...(scene ? endsOf(scene) : [])].map((point) => ({ left: box.left + point.left, top: box.top + point.top }));
    this.#tooltip.show(content, { left: box.left + left, top: box.top + (top || 0) }, spoken, avoid, placeBeside(points));
  }

  /** Notifies `onHover` and the shared cursor. @param {Hit[]} hits */
  #notify(hits) {
    const isHovered = hits.length > 0;
    if (!isHovered && !this.#wasHovering) return;
    this.#wasHovering = isHovered;
    this.#options.onHover?.(hits);
    const { cursor } = this.#options;
    const { pointer } = this.#shown;
    const scene = this.#scene();
    if (!cursor) return;
    if (!isHovered || !scene) return cursor.move(null, null, this.#chart);
    const x = pointer ? snap(scene, pointer.left) : at(scene.x.range, hits[0].left / scene.width);
    if (x !== null) cursor.move(valueAt(scene.x, x), hits[0].run, this.#chart);
  }

  // --- other charts, and the pin ----------------------------------------------------------------

  /** @type {import("./types.js").Cursor["highlight"]} */
  highlight(name, runs) {
    const isMeant = (/** @type {{ name: string, group: string | null }} */ run) => run.name === name || run.group === name;
    const meant = runs && name !== null ? runs.filter(isMeant).flatMap((run) => [name, run.name]) : [name];
    const names = name === null || meant.length === 0 ? null : meant;
    if (String(names) === String(this.#shown.highlighted)) return;
    this.#shown.highlighted = names;
    this.#drawOverlay();
  }

  /** @param {number | null} x @param {string | null} run */
  showCursor(x, run) {
    this.#shown.remote = x === null ? null : { x, run };
    this.#drawOverlay();
  }

  /** @param {number | null} x @param {boolean} here */
  showPin(x, here) {
    this.#shown.pinned = x;
    this.#updatePin();
    this.#drawOverlay();
    // It may cover the values that appear for the pin.
    if (here) this.hideTooltip();
  }

  #updatePin() {
    if (this.#shown.pinned !== null) this.#pin ??= new ChartPin(this.#frame, this.#options.nextX, (x, settled) => this.#movePin(x, settled));
    this.#pin?.update(this.#scene(), this.#shown.pinned);
  }

  /**
   * Moves the pin after an action of the user, in all charts with the same cursor.
   * @param {number | null} x  in units of the x axis; null removes the pin
   * @param {boolean} settled
   */
  #movePin(x, settled) {
    const { cursor, onPin } = this.#options;
    if (!onPin) return;
    if (cursor) cursor.pin(x, settled, this.#chart);
    else this.#chart.showPin(x, settled, true);
  }
}

/** The area around two others. @param {DOMRect} a @param {DOMRect} b */
function around(a, b) {
  const [left, top] = [Math.min(a.left, b.left), Math.min(a.top, b.top)];
  return new DOMRect(left, top, Math.max(a.right, b.right) - left, Math.max(a.bottom, b.bottom) - top);
}
