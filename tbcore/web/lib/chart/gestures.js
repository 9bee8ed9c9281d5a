/**
 * Gestures that zoom and pan the x axis of a chart:
 *
 *     drag                                zooms into the selected range
 *     shift + drag, middle button drag    pans
 *     ctrl or ⌘ + wheel                   zooms at the pointer
 *     two fingers                         zoom and pan
 *     double click, 0                     show the full range
 *     + and -                             zoom at the centre
 *     shift + ← or →                      pans
 *
 * The wheel without a modifier scrolls the page, as usual.
 */

/** @typedef {import("./types.js").Range} Range */

/** A shorter drag counts as a click. */
const MIN_DRAG_PX = 5;
/** A click is reported only after this time, because it may be the first of a double click. */
const DOUBLE_CLICK_MS = 250;
/** A zoom by wheel is settled when the wheel has not moved for this long. */
const WHEEL_END_MS = 160;
/** Positions this far outside the plot count as inside, so that its edges are easy to select. */
const EDGE_TOLERANCE_PX = 6;
/** Turning the wheel by this much scales the visible range by a factor of e. */
const WHEEL_PX_PER_E_FOLD = 240;

/**
 * Adds the gestures to a chart.
 * @param {HTMLElement} element  the chart, which receives the events
 * @param {HTMLElement} plot  the area between the axes
 * @param {import("./types.js").GestureTarget} target
 * @param {AbortSignal} signal  removes the gestures when aborted
 */
export function addGestures(element, plot, target, signal) {
  const selection = plot.appendChild(document.createElement("div"));
  selection.className = "tb-chart-selection";
  selection.hidden = true;
  /** @type {{ left: number, range: Range, pans: boolean } | null} */
  let drag = null;
  /**
   * @type {{ range: Range, low: number, high: number } | null} axis coordinates under the two
   *   fingers
   */
  let pinch = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let wheelTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let clickTimer;

  /**
   * The position of an event in the plot, CSS pixels, and whether it is inside the plot.
   * @param {{ clientX: number, clientY: number }} event
   */
  const positionOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = plot.getBoundingClientRect();
    const position = { left: clientX - left, top: clientY - top, width };
    /** @param {number} offset @param {number} size */
    const isWithin = (offset, size) => offset >= -EDGE_TOLERANCE_PX && offset <= size + EDGE_TOLERANCE_PX;
    const inside = isWithin(position.left, width) && isWithin(position.top, height);
    return { ...position, inside };
  };

  /** @param {PointerEvent} event */
  const onMove = (event) => {
    if (pinch) return;
    const { left, top, width, inside } = positionOf(event);
    if (!drag) return target.point(inside ? { left, top, isTouch: event.pointerType === "touch" } : null);
    if (drag.pans) return target.show(moved(drag.range, (drag.left - left) / width), false);
    const edges = [drag.left, Math.min(width, Math.max(0, left))].sort((a, b) => a - b);
    selection.hidden = edges[1] - edges[0] < MIN_DRAG_PX;
    selection.style.left = `${edges[0]}px`;
    selection.style.width = `${edges[1] - edges[0]}px`;
  };

  /** @param {PointerEvent} event */
  const onDown = (event) => {
    const range = target.range();
    const { left, inside } = positionOf(event);
    const pans = event.button === 1 || event.shiftKey;
    if (event.button > 1 || event.pointerType === "touch" || !inside || !range) return onMove(event);
    if (pans) event.preventDefault(); // the middle button would start to scroll the page
    target.point(null);
    drag = { left, range, pans };
    element.setPointerCapture(event.pointerId);
  };

  /** @param {PointerEvent} event */
  const onUp = (event) => {
    const { left, top, width } = positionOf(event);
    const ended = drag;
    endDrag();
    if (ended?.pans) return target.show(moved(ended.range, (ended.left - left) / width), true);
    if (!ended) return;
    if (Math.abs(left - ended.left) < MIN_DRAG_PX) {
      onMove(event);
      clearTimeout(clickTimer);
      clickTimer = setTimeout(() => signal.aborted || target.click?.({ left, top }), DOUBLE_CLICK_MS);
      return;
    }
    const [from, to] = [ended.left, Math.min(width, Math.max(0, left))].sort((a, b) => a - b);
    target.show([at(ended.range, from / width), at(ended.range, to / width)], true);
  };

  const endDrag = () => {
    drag = null;
    selection.hidden = true;
  };

  const onCancel = () => {
    if (drag?.pans) target.show(target.range(), true);
    endDrag();
  };

  const onLeave = () => target.point(null);

  /** @param {WheelEvent} event */
  const onWheel = (event) => {
    const range = target.range();
    const { left, width, inside } = positionOf(event);
    if (!(event.ctrlKey || event.metaKey) || !inside || !range) return;
    event.preventDefault(); // the browser would zoom the page
    const pixels = event.deltaY * (event.deltaMode === 1 ? 20 : 1); // mode 1 counts lines of text
    const exponent = Math.max(-1, Math.min(1, pixels / WHEEL_PX_PER_E_FOLD));
    const next = zoomed(range, Math.exp(exponent), left / width);
    target.show(next, false);
    clearTimeout(wheelTimer);
    wheelTimer = setTimeout(() => target.show(next, true), WHEEL_END_MS);
  };

  /** @param {TouchEvent} event */
  const onTouch = (event) => {
    const range = target.range();
    if (event.touches.length !== 2 || !range) {
      if (pinch) target.show(pinch.range, true);
      pinch = null;
      return;
    }
    if (event.cancelable) event.preventDefault(); // the browser would zoom the page
    const { left, width } = plot.getBoundingClientRect();
    const [leftFinger, rightFinger] = [...event.touches].map(({ clientX }) => (clientX - left) / width).sort((a, b) => a - b);
    if (!pinch) {
      target.point(null);
      pinch = { range, low: at(range, leftFinger), high: at(range, rightFinger) };
      return;
    }
    // The range is chosen so that the same data stays under the fingers. The minimum distances keep
    // fingers that are one above the other from zooming: they only pan.
    const distance = Math.max(rightFinger - leftFinger, 0.02);
    const span = Math.max(pinch.high - pinch.low, 0.02 * (range[1] - range[0])) / distance;
    const from = (pinch.low + pinch.high) / 2 - ((leftFinger + rightFinger) / 2) * span;
    pinch.range = [from, from + span];
    target.show(pinch.range, false);
  };

  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const range = target.range();
    if (event.ctrlKey || event.metaKey || event.altKey || !range) return;
    if (event.key === "+" || event.key === "=") target.show(zoomed(range, 0.5, 0.5), true);
    else if (event.key === "-") target.show(zoomed(range, 2, 0.5), true);
    else if (event.key === "0") target.show(null, true);
    else if (event.shiftKey && event.key === "ArrowLeft") target.show(moved(range, -0.25), true);
    else if (event.shiftKey && event.key === "ArrowRight") target.show(moved(range, 0.25), true);
    else if (!target.key(event)) return;
    event.preventDefault();
  };

  const options = { signal };
  element.addEventListener("pointermove", onMove, options);
  element.addEventListener("pointerdown", onDown, options);
  element.addEventListener("pointerup", onUp, options);
  element.addEventListener("pointercancel", onCancel, options);
  // Lifting a finger also fires pointerleave. It is ignored, so that the tooltip stays until the
  // user touches something else.
  element.addEventListener("pointerleave", (event) => event.pointerType === "touch" || onLeave(), options);
  document.addEventListener("pointerdown", (event) => event.composedPath().includes(element) || onLeave(), options);
  element.addEventListener("blur", onLeave, options);
  const onDoubleClick = () => {
    clearTimeout(clickTimer);
    target.show(null, true);
  };
  element.addEventListener("dblclick", onDoubleClick, options);
  element.addEventListener("keydown", onKey, options);
  element.addEventListener("wheel", onWheel, { ...options, passive: false });
  for (const kind of /** @type {const} */ (["touchstart", "touchmove", "touchend", "touchcancel"])) {
    element.addEventListener(kind, onTouch, { ...options, passive: false });
  }
}

/**
 * The number at a fraction of a range: 0 is its start, 1 its end.
 * @param {Range} range
 * @param {number} share
 */
export function at([min, max], share) {
  return min + share * (max - min);
}

/**
 * A range moved by a fraction of its length.
 * @param {Range} range
 * @param {number} share
 * @returns {Range}
 */
export function moved([min, max], share) {
  return [min + share * (max - min), max + share * (max - min)];
}

/**
 * A range that is `factor` times as long, around a fixed point.
 * @param {Range} range
 * @param {number} factor
 * @param {number} share  position of the fixed point: 0 is the range's start, 1 its end
 * @returns {Range}
 */
export function zoomed(range, factor, share) {
  const fixed = at(range, share);
  const span = (range[1] - range[0]) * factor;
  return [fixed - share * span, fixed + (1 - share) * span];
}

/**
 * A range, moved so that it is inside the full range, and widened if it is too short for the
 * precision of doubles.
 * @param {Range} range
 * @param {Range | null} full  null if not known
 * @returns {Range | null} null if the range is invalid, or at least as long as the full range
 */
export function limited([min, max], full) {
  const minLength = Math.max(Math.abs(min), Math.abs(max)) * 1e-12;
  if (max - min < minLength) [min, max] = [min - minLength, max + minLength];
  if (!(max > min)) return null;
  if (!full) return [min, max];
  if (max - min >= (full[1] - full[0]) * (1 - 1e-9)) return null;
  const shift = Math.max(0, full[0] - min) || Math.min(0, full[1] - max);
  return [min + shift, max + shift];
}
