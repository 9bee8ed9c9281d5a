/** Gestures: turning, moving and zooming a mesh by pointer, wheel, touch and keys. */

import { START, moved, turned, zoomed } from "./camera.js";

/** @typedef {import("./camera.js").Camera} Camera */

const DEGREES_PER_PIXEL = 0.5;
const DEGREES_PER_KEY = 5;
const MOVE_PER_KEY = 0.1;
const ZOOM_PER_KEY = 1.2;
const ZOOM_PER_PIXEL = 0.002;
/** Pixels in a line, for wheels that count in lines. */
const LINE_PIXELS = 16;
/** A turn of the wheel is over after this time. */
const SETTLE_MS = 300;

/**
 * Listens to a canvas. Returns a function that ends it.
 * @param {HTMLCanvasElement} canvas
 * @param {() => { value: Camera }} cameraOf  the camera to change
 * @param {() => void} onSettled  called when a gesture is over
 */
export function addGestures(canvas, cameraOf, onSettled) {
  const controller = new AbortController();
  /** The pointers that are down, by id. @type {Map<number, { x: number, y: number }>} */
  const pointers = new Map();
  let hasMoved = false;
  let timer = 0;
  const change = (/** @type {(camera: Camera) => Camera} */ to) => {
    const camera = cameraOf();
    camera.value = to(camera.value);
  };
  const settleSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(onSettled, SETTLE_MS);
  };
  /** A place in the picture, in the unit of the camera. @param {{ x: number, y: number }} place  in CSS pixels of the window */
  const placeOf = ({ x, y }) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const half = Math.min(width, height) / 2;
    return { x: (x - left - width / 2) / half, y: (top + height / 2 - y) / half };
  };
  /** The centre of all pointers that are down, and their distance from it. */
  const spread = () => {
    const all = [...pointers.values()].map(placeOf);
    const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value / values.length, 0);
    const [x, y] = [mean(all.map((place) => place.x)), mean(all.map((place) => place.y))];
    return { x, y, distance: mean(all.map((place) => Math.hypot(place.x - x, place.y - y))) };
  };

  /** @type {{ [Name in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Name]) => void }} */
  const listeners = {
    pointerdown(event) {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      hasMoved = false;
    },
    pointermove(event) {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const before = spread();
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      const after = spread();
      hasMoved ||= dx !== 0 || dy !== 0;
      if (pointers.size > 1) {
        const factor = before.distance > 0 ? after.distance / before.distance : 1;
        change((camera) => moved(zoomed(camera, factor, before.x, before.y), after.x - before.x, after.y - before.y));
      } else if (event.shiftKey || event.buttons & 6) change((camera) => moved(camera, after.x - before.x, after.y - before.y));
      else change((camera) => turned(camera, dx * DEGREES_PER_PIXEL, dy * DEGREES_PER_PIXEL));
    },
    pointerup: (event) => void (pointers.delete(event.pointerId) && onSettled()),
    pointercancel: (event) => void (pointers.delete(event.pointerId) && onSettled()),
    contextmenu(event) {
      if (hasMoved) event.preventDefault();
    },
    wheel(event) {
      // The page scrolls, unless the wheel is meant for the mesh.
      const isFocused = /** @type {ShadowRoot} */ (canvas.getRootNode()).activeElement === canvas;
      if (!event.ctrlKey && !event.metaKey && !isFocused) return;
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PIXELS : 1);
      const { x, y } = placeOf({ x: event.clientX, y: event.clientY });
      change((camera) => zoomed(camera, Math.exp(-pixels * ZOOM_PER_PIXEL), x, y));
      settleSoon();
    },
    dblclick() {
      change(() => START);
      onSettled();
    },
    keydown(event) {
      const to = event.ctrlKey || event.metaKey || event.altKey ? undefined : cameraAfter(event);
      if (!to) return;
      event.preventDefault();
      event.stopPropagation(); // The arrow keys of the card select another step.
      change(to);
      settleSoon();
    },
  };
  for (const [name, listener] of Object.entries(listeners)) {
    canvas.addEventListener(name, /** @type {EventListener} */ (listener), { passive: false, signal: controller.signal });
  }
  return () => {
    clearTimeout(timer);
    controller.abort();
  };
}

/** How a key changes the camera; undefined for other keys. @param {KeyboardEvent} event @returns {((camera: Camera) => Camera) | undefined} */
function cameraAfter({ key, shiftKey }) {
  if (key === "0") return () => START;
  if (key === "+" || key === "=") return (camera) => zoomed(camera, ZOOM_PER_KEY);
  if (key === "-" || key === "_") return (camera) => zoomed(camera, 1 / ZOOM_PER_KEY);
  const directions = new Map([["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, -1]], ["ArrowDown", [0, 1]]]);
  const [x, y] = directions.get(key) ?? [];
  if (x === undefined) return undefined;
  if (shiftKey) return (camera) => moved(camera, x * MOVE_PER_KEY, -y * MOVE_PER_KEY);
  return (camera) => turned(camera, x * DEGREES_PER_KEY, y * DEGREES_PER_KEY);
}
