/**
 * Zooming and panning a chart: drag selects a part, shift and drag (or the middle button) moves, ctrl or ⌘ and the wheel
 * zooms at the pointer, two fingers pinch, double click shows everything, and + - 0 and shift with the arrow keys do it
 * without a pointer. The wheel alone scrolls the page, as everywhere on it.
 */

/** @typedef {import("./chart-types.js").Range} Range */

/** A drag shorter than this is a click, CSS pixels. */
const DRAG = 5;
/** A second click so soon makes it a double click, milliseconds. */
const TWICE = 250;
/** A wheel that stood still so long has come to its end, milliseconds. */
const WHEEL_END = 160;

/**
 * @param {HTMLElement} element  takes the focus
 * @param {HTMLElement} plot  the area between the axes
 * @param {import("./chart-types.js").GestureTarget} target
 * @param {AbortSignal} signal
 */
export function addGestures(element, plot, target, signal) {
  const selection = plot.appendChild(document.createElement("div"));
  selection.className = "tb-chart-selection";
  selection.hidden = true;
  /** @type {{ left: number, range: Range, pans: boolean } | null} */
  let drag = null;
  /** @type {{ range: Range, low: number, high: number } | null} places that two fingers hold */
  let pinch = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let wheeling;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let clicking;

  /** @param {{ clientX: number, clientY: number }} event */
  const placeOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = plot.getBoundingClientRect();
    const place = { left: clientX - left, top: clientY - top, width };
    const inside = place.left >= -6 && place.left <= width + 6 && place.top >= -6 && place.top <= height + 6;
    return { ...place, inside };
  };

  /** @param {PointerEvent} event */
  const onMove = (event) => {
    if (pinch) return;
    const { left, top, width, inside } = placeOf(event);
    if (!drag) return target.point(inside ? { left, top, isTouch: event.pointerType === "touch" } : null);
    if (drag.pans) return target.show(moved(drag.range, (drag.left - left) / width), false);
    const edges = [drag.left, Math.min(width, Math.max(0, left))].sort((a, b) => a - b);
    selection.hidden = edges[1] - edges[0] < DRAG;
    selection.style.left = `${edges[0]}px`;
    selection.style.width = `${edges[1] - edges[0]}px`;
  };

  /** @param {PointerEvent} event */
  const onDown = (event) => {
    const range = target.range();
    const { left, inside } = placeOf(event);
    const pans = event.button === 1 || event.shiftKey;
    if (event.button > 1 || event.pointerType === "touch" || !inside || !range) return onMove(event);
    if (pans) event.preventDefault(); // the middle button would begin to scroll
    target.point(null);
    drag = { left, range, pans };
    element.setPointerCapture(event.pointerId);
  };

  /** @param {PointerEvent} event */
  const onUp = (event) => {
    const { left, top, width } = placeOf(event);
    const was = drag;
    endDrag();
    if (was?.pans) return target.show(moved(was.range, (was.left - left) / width), true);
    if (!was) return;
    if (Math.abs(left - was.left) < DRAG) {
      onMove(event);
      clearTimeout(clicking);
      clicking = setTimeout(() => signal.aborted || target.click?.({ left, top }), TWICE);
      return;
    }
    const [from, to] = [was.left, Math.min(width, Math.max(0, left))].sort((a, b) => a - b);
    target.show([at(was.range, from / width), at(was.range, to / width)], true);
  };

  const endDrag = () => {
    drag = null;
    selection.hidden = true;
  };

  const onCancel = () => {
    if (drag?.pans) target.show(target.range(), true);
    endDrag();
  };

  const leave = () => target.point(null);

  /** @param {WheelEvent} event */
  const onWheel = (event) => {
    const range = target.range();
    const { left, width, inside } = placeOf(event);
    if (!(event.ctrlKey || event.metaKey) || !inside || !range) return;
    event.preventDefault(); // the page as a whole would become larger
    const pixels = event.deltaY * (event.deltaMode === 1 ? 20 : 1);
    const next = zoomed(range, Math.exp(Math.max(-1, Math.min(1, pixels / 240))), left / width);
    target.show(next, false);
    clearTimeout(wheeling);
    wheeling = setTimeout(() => target.show(next, true), WHEEL_END);
  };

  /** @param {TouchEvent} event */
  const onTouch = (event) => {
    const range = target.range();
    if (event.touches.length !== 2 || !range) {
      if (pinch) target.show(pinch.range, true);
      pinch = null;
      return;
    }
    if (event.cancelable) event.preventDefault(); // two fingers are meant for the chart
    const { left, width } = plot.getBoundingClientRect();
    const [one, other] = [...event.touches].map(({ clientX }) => (clientX - left) / width).sort((a, b) => a - b);
    if (!pinch) {
      target.point(null);
      pinch = { range, low: at(range, one), high: at(range, other) };
      return;
    }
    // What lay under the fingers stays under them; those that stand one above the other only move.
    const apart = Math.max(other - one, 0.02);
    const span = Math.max(pinch.high - pinch.low, 0.02 * (range[1] - range[0])) / apart;
    const from = (pinch.low + pinch.high) / 2 - ((one + other) / 2) * span;
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
  // A finger leaves when it is lifted; what it pointed at stays until it touches something else.
  element.addEventListener("pointerleave", (event) => event.pointerType === "touch" || leave(), options);
  document.addEventListener("pointerdown", (event) => event.composedPath().includes(element) || leave(), options);
  element.addEventListener("blur", leave, options);
  const onDoubleClick = () => {
    clearTimeout(clicking);
    target.show(null, true);
  };
  element.addEventListener("dblclick", onDoubleClick, options);
  element.addEventListener("keydown", onKey, options);
  element.addEventListener("wheel", onWheel, { ...options, passive: false });
  for (const kind of /** @type {const} */ (["touchstart", "touchmove", "touchend", "touchcancel"])) {
    element.addEventListener(kind, onTouch, { ...options, passive: false });
  }
}

/** The place at a share of a range. @param {Range} range @param {number} share */
export function at([min, max], share) {
  return min + share * (max - min);
}

/** A range moved by a share of itself. @param {Range} range @param {number} share @returns {Range} */
export function moved([min, max], share) {
  return [min + share * (max - min), max + share * (max - min)];
}

/**
 * A range that is `factor` times as long; the place at a share of it stays there.
 * @param {Range} range
 * @param {number} factor
 * @param {number} share
 * @returns {Range}
 */
export function zoomed(range, factor, share) {
  const still = at(range, share);
  const span = (range[1] - range[0]) * factor;
  return [still - share * span, still + (1 - share) * span];
}

/**
 * A range that is not beyond the whole, and not so short that numbers cannot tell its ends apart.
 * @param {Range} range
 * @param {Range | null} whole  null: not known
 * @returns {Range | null} null: everything
 */
export function limited([min, max], whole) {
  const least = Math.max(Math.abs(min), Math.abs(max)) * 1e-12;
  if (max - min < least) [min, max] = [min - least, max + least];
  if (!(max > min)) return null;
  if (!whole) return [min, max];
  if (max - min >= (whole[1] - whole[0]) * (1 - 1e-9)) return null;
  const shift = Math.max(0, whole[0] - min) || Math.min(0, whole[1] - max);
  return [min + shift, max + shift];
}
