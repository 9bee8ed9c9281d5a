/**
 * The canvas with the drawing: panning, zooming, hit tests, and animated transitions between
 * scenes.
 */

import { between, centred, fit, reveal, zoom } from "./camera.js";
import { Minimap } from "./minimap.js";
import { FONT, canvasPen, isOnToggle, paint } from "./paint.js";
import { SIZES } from "./scope-layout.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Box} Box
 * @typedef {import("./paint.js").Appearance} Appearance
 * @typedef {import("./camera.js").Camera} Camera
 *
 * @typedef {object} Callbacks
 * @property {(name: string | null) => void} onSelect
 * @property {(name: string) => void} onToggle  opens or closes a scope
 * @property {(box: Box | null, at: { left: number, top: number }) => void} onHover
 */

/** Minimum scale at which a whole graph is shown. Nothing could be recognized at smaller scales. */
const MIN_FIT_SCALE = 0.08;
/** Minimum scale at which texts are readable. */
const READABLE_SCALE = 0.5;
const ANIMATION_MS = 260;
/**
 * How far an arrow key moves the view: shares of the screen to the right and down.
 * @type {Record<string, [number, number]>}
 */
const ARROWS = { ArrowUp: [0, -0.15], ArrowDown: [0, 0.15], ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0] };
/** Minimum movement of the pointer in a drag; a shorter one is a click. */
const DRAG_THRESHOLD_PX = 4;

export class GraphView {
  /** @type {HTMLCanvasElement} */ #canvas;
  /** @type {CanvasRenderingContext2D} */ #context;
  /** @type {Callbacks} */ #callbacks;
  /** @type {Minimap} */ #minimap;
  /** @type {Scene | null} */ #scene = null;
  /** @type {Appearance | null} */ #appearance = null;
  /** @type {Camera} */ #camera = { scale: 1, x: 0, y: 0 };
  #screen = { width: 0, height: 0 };
  /** Id of the requested animation frame; 0 if none is requested. */
  #frame = 0;
  /**
   * The transition that is running; `boxes` are the boxes of the previous scene.
   * @type {{ start: number, from: Camera, to: Camera, boxes: Map<string, Box> } | null}
   */
  #animation = null;
  #resizes = new ResizeObserver(() => this.#resize());
  /** Whether the whole scene is shown, so that it is fitted again when the size changes. */
  #isFitted = true;
  #listening = new AbortController();
  /** Pressed pointers by id. @type {Map<number, { x: number, y: number }>} */ #pointers = new Map();
  /** CSS pixels that pointers have moved since the first one was pressed. */
  #dragged = 0;
  /** Whether the last single click was on a toggle, so that a second one is not a double click. */
  #wasOnToggle = false;

  /**
   * @param {HTMLElement} element  the canvas fills it
   * @param {Callbacks} callbacks
   */
  constructor(element, callbacks) {
    this.#callbacks = callbacks;
    this.#canvas = element.appendChild(document.createElement("canvas"));
    this.#canvas.tabIndex = 0;
    this.#canvas.role = "img";
    this.#canvas.ariaLabel = "Drawing of the graph; the arrow keys pan it, and the outline lists its nodes";
    this.#context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    this.#minimap = new Minimap(element, (x, y) => this.#centre(x, y));
    this.#resizes.observe(element);
    this.#listen();
  }

  /**
   * The width of a text in the drawing, in pixels of the drawing.
   * @param {string} text
   * @param {"label" | "small"} font
   */
  measure(text, font) {
    this.#context.font = `${font === "label" ? "600 " : ""}${SIZES[font]}px ${FONT}`;
    return this.#context.measureText(text).width;
  }

  /**
   * Shows a scene.
   * @param {Scene} scene
   * @param {{ anchor?: string | null, show?: string | null, selected?: string | null }} [how]
   *   `anchor`: the box that stays where it is. `show`: the box to bring into view, in a new scene
   *   to the centre. Without either, the whole scene is shown, or only the box `selected` if the
   *   scene is too large.
   */
  setScene(scene, { anchor = null, show = null, selected = null } = {}) {
    // The first case that applies decides where the camera moves to:
    // 1. `show` is in the scene: that box.
    // 2. `anchor` is in both scenes: the box stays in place, and its new size is brought into view.
    // 3. `anchor` is given, but not in both scenes: the camera stays.
    // 4. Otherwise the whole scene or, if that is unreadable, a part of it.
    // For the first scene, only 1 and 4 apply.
    const before = this.#scene;
    this.#scene = scene;
    const from = this.#camera;
    const [old, now] = [anchor === null ? undefined : before?.boxes.get(anchor), anchor === null ? undefined : scene.boxes.get(anchor)];
    const shown = show === null ? undefined : scene.boxes.get(show);
    let to = this.#fittingCamera();
    // A very long graph would be unreadable as a whole: show the selected node of a link, or the
    // end where data enters.
    const selectedBox = selected === null ? undefined : scene.boxes.get(selected);
    if (to.scale < MIN_FIT_SCALE && selectedBox) to = centred(selectedBox, READABLE_SCALE, this.#screen);
    else if (to.scale < MIN_FIT_SCALE) {
      const { x, y } = bottomOf(scene);
      const height = this.#screen.height / READABLE_SCALE - 60;
      to = centred({ x, y: y - height, width: 0, height }, READABLE_SCALE, this.#screen);
    }
    // In an unchanged scene, move only as far as needed.
    if (shown && before === scene && from.scale >= READABLE_SCALE) to = reveal(from, shown, this.#screen);
    else if (shown) to = centred(shown, Math.max(0.8, Math.min(1.25, from.scale)), this.#screen);
    else if (old && now) {
      const { scale } = from;
      // The clicked toggle stays under the pointer.
      const middle = (/** @type {Box} */ box) => [box.x + 15, box.y + (box.open ? SIZES.header : box.height) / 2];
      const [[oldX, oldY], [newX, newY]] = [middle(old), middle(now)];
      const still = { scale, x: from.x + (oldX - newX) * scale, y: from.y + (oldY - newY) * scale };
      to = reveal(still, now, this.#screen);
      // A box that is too large for the screen is shown in part, so that texts stay readable.
      if (to.scale < READABLE_SCALE && scale >= READABLE_SCALE) to = zoom(still, READABLE_SCALE / scale, still.x + newX * scale, still.y + newY * scale);
    } else if (before && anchor !== null) to = from;
    this.#isFitted = !shown && !(old && now);
    this.#moveTo(to, before?.boxes ?? new Map(), before === null);
  }

  /** Sets colours and highlights. @param {Appearance} appearance */
  setAppearance(appearance) {
    this.#appearance = appearance;
    this.#scheduleDraw();
  }

  /** Brings a box into view. @param {string} name */
  reveal(name) {
    const box = this.#scene?.boxes.get(name);
    if (box) this.#moveTo(reveal(this.#camera, box, this.#screen));
    this.#isFitted = false;
  }

  /** Shows the whole scene. */
  fit() {
    this.#isFitted = true;
    this.#moveTo(this.#fittingCamera());
  }

  /** Zooms around the centre. @param {number} factor */
  zoomBy(factor) {
    this.#isFitted = false;
    this.#moveTo(zoom(this.#animation?.to ?? this.#camera, factor, this.#screen.width / 2, this.#screen.height / 2));
  }

  /** Pans by arrow keys. @param {KeyboardEvent} event */
  #onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in ARROWS)) return;
    event.preventDefault();
    const [x, y] = ARROWS[event.key];
    const { scale, ...place } = this.#animation?.to ?? this.#camera;
    this.#isFitted = false;
    this.#moveTo({ scale, x: place.x - x * this.#screen.width, y: place.y - y * this.#screen.height });
  }

  /**
   * Moves a point of the drawing to the centre, without animation.
   * @param {number} x
   * @param {number} y
   */
  #centre(x, y) {
    this.#animation = null;
    this.#isFitted = false;
    this.#camera = centred({ x, y, width: 0, height: 0 }, this.#camera.scale, this.#screen);
    this.#scheduleDraw();
  }

  get scene() {
    return this.#scene;
  }

  destroy() {
    this.#listening.abort();
    this.#resizes.disconnect();
    cancelAnimationFrame(this.#frame);
    this.#canvas.remove();
  }

  /** The camera that shows the whole scene. */
  #fittingCamera() {
    const { width, height } = this.#scene ?? { width: 0, height: 0 };
    return fit({ x: 0, y: 0, width, height }, this.#screen);
  }

  /**
   * Moves the camera, animated unless the user prefers reduced motion.
   * @param {Camera} to
   * @param {Map<string, Box>} [boxes]  boxes of the previous scene, if they move as well
   * @param {boolean} [isFirst]  whether this is the first scene, which is shown without animation
   */
  #moveTo(to, boxes = new Map(), isFirst = false) {
    const isStill = isFirst || matchMedia("(prefers-reduced-motion: reduce)").matches || this.#screen.width === 0;
    this.#animation = isStill ? null : { start: performance.now(), from: this.#camera, to, boxes };
    if (isStill) this.#camera = to;
    this.#scheduleDraw();
  }

  /** Adapts the canvas to the size of its element. */
  #resize() {
    const { clientWidth: width, clientHeight: height } = /** @type {HTMLElement} */ (this.#canvas.parentElement);
    const wasEmpty = this.#screen.width === 0;
    this.#screen = { width, height };
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    if (this.#isFitted && (wasEmpty || !this.#animation)) {
      this.#animation = null;
      this.#camera = this.#fittingCamera();
    }
    this.#draw(performance.now());
  }

  /** Draws in the next animation frame. */
  #scheduleDraw() {
    this.#frame ||= requestAnimationFrame((now) => {
      this.#frame = 0;
      this.#draw(now);
    });
  }

  /** Draws a frame. @param {number} now */
  #draw(now) {
    const context = this.#context;
    const ratio = devicePixelRatio || 1;
    const animation = this.#animation;
    let share = 1;
    if (animation) {
      const passed = Math.min(1, Math.max(0, (now - animation.start) / ANIMATION_MS));
      share = 1 - (1 - passed) ** 3;
      this.#camera = between(animation.from, animation.to, share);
      if (passed >= 1) this.#animation = null;
      else this.#scheduleDraw();
    }
    const { scale, x, y } = this.#camera;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    if (!this.#scene || !this.#appearance) return;
    context.setTransform(scale * ratio, 0, 0, scale * ratio, x * ratio, y * ratio);
    const part = { scale, left: -x / scale, top: -y / scale, right: (this.#screen.width - x) / scale, bottom: (this.#screen.height - y) / scale };
    const scene = animation && animation.boxes.size > 0 && share < 1 ? inBetween(this.#scene, animation.boxes, share) : this.#scene;
    paint(canvasPen(context), scene, this.#appearance, part);
    this.#minimap.update(this.#scene, this.#appearance, this.#camera, this.#screen);
  }

  /**
   * The innermost box at a point of the viewport.
   * @param {{ clientX: number, clientY: number }} event
   */
  #boxAt({ clientX, clientY }) {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const x = (clientX - left - this.#camera.x) / this.#camera.scale;
    const y = (clientY - top - this.#camera.y) / this.#camera.scale;
    const items = this.#scene?.items ?? [];
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i];
      if (item.type !== "box" || x < item.x || y < item.y || x > item.x + item.width || y > item.y + item.height) continue;
      return { box: item, isOnToggle: isOnToggle(item, x, y) };
    }
    return null;
  }

  #listen() {
    const canvas = this.#canvas;
    const options = { signal: this.#listening.signal };
    canvas.addEventListener("pointerdown", (event) => this.#onDown(event), options);
    canvas.addEventListener("pointermove", (event) => this.#onMove(event), options);
    canvas.addEventListener("pointerup", (event) => this.#onUp(event), options);
    canvas.addEventListener("click", (event) => this.#onClick(event), options);
    canvas.addEventListener("pointercancel", (event) => void this.#pointers.delete(event.pointerId), options);
    canvas.addEventListener("pointerleave", () => this.#callbacks.onHover(null, { left: 0, top: 0 }), options);
    canvas.addEventListener("keydown", (event) => this.#onKeyDown(event), options);
    canvas.addEventListener("wheel", (event) => this.#onWheel(event), { ...options, passive: false });
  }

  /** @param {PointerEvent} event */
  #onDown(event) {
    if (event.button > 1) return;
    this.#canvas.setPointerCapture(event.pointerId);
    if (this.#pointers.size === 0) this.#dragged = 0;
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  /** Hovers without a pressed pointer, pans with one, zooms with two. @param {PointerEvent} event */
  #onMove(event) {
    const last = this.#pointers.get(event.pointerId);
    if (!last) {
      const hit = this.#boxAt(event);
      this.#canvas.style.cursor = hit ? "pointer" : "grab";
      this.#callbacks.onHover(hit?.box ?? null, { left: event.clientX, top: event.clientY });
      return;
    }
    const [x, y] = [event.clientX - last.x, event.clientY - last.y];
    this.#dragged += Math.hypot(x, y);
    const others = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (this.#dragged < DRAG_THRESHOLD_PX) return;
    this.#animation = null;
    this.#isFitted = false;
    this.#canvas.style.cursor = "grabbing";
    this.#callbacks.onHover(null, { left: 0, top: 0 });
    if (others.length === 0) this.#camera = { ...this.#camera, x: this.#camera.x + x, y: this.#camera.y + y };
    else {
      const { left, top } = this.#canvas.getBoundingClientRect();
      const distance = (/** @type {{ x: number, y: number }} */ place) => Math.max(10, Math.hypot(place.x - others[0].x, place.y - others[0].y));
      this.#camera = zoom(this.#camera, distance({ x: event.clientX, y: event.clientY }) / distance(last), others[0].x - left, others[0].y - top);
    }
    this.#scheduleDraw();
  }

  /** @param {PointerEvent} event */
  #onUp(event) {
    this.#pointers.delete(event.pointerId);
    if (this.#dragged >= DRAG_THRESHOLD_PX) this.#canvas.style.cursor = "grab";
  }

  /**
   * A click on a scope's toggle, or a double click anywhere on the scope, opens or closes it.
   * @param {MouseEvent} event
   */
  #onClick(event) {
    if (this.#dragged >= DRAG_THRESHOLD_PX) return;
    const hit = this.#boxAt(event);
    const isGroup = hit !== null && hit.box.kind !== "op";
    if (event.detail === 2) {
      if (isGroup && !this.#wasOnToggle) this.#toggle(hit.box.name);
      return;
    }
    this.#wasOnToggle = hit?.isOnToggle ?? false;
    if (isGroup && hit.isOnToggle) this.#toggle(hit.box.name);
    else this.#callbacks.onSelect(hit?.box.name ?? null);
  }

  /** Opens or closes a scope. @param {string} name */
  #toggle(name) {
    this.#callbacks.onHover(null, { left: 0, top: 0 }); // the tooltip would be out of date
    this.#callbacks.onToggle(name);
  }

  /** Zooms at the pointer. @param {WheelEvent} event */
  #onWheel(event) {
    event.preventDefault();
    const { left, top } = this.#canvas.getBoundingClientRect();
    // Browsers scroll about 16 pixels per line and 400 per page. A pinch arrives as small wheel
    // steps with Ctrl.
    const unit = [1, 16, 400][event.deltaMode] ?? 1;
    const factor = Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * (event.ctrlKey ? 0.01 : 0.0018));
    this.#animation = null;
    this.#isFitted = false;
    this.#camera = zoom(this.#camera, factor, event.clientX - left, event.clientY - top);
    this.#scheduleDraw();
  }
}

/** The bottom centre of the lowest outermost box. @param {Scene} scene */
function bottomOf(scene) {
  const outer = [...scene.boxes.values()].filter(({ depth }) => depth === 0);
  const { x, y, width, height } = outer.reduce((a, b) => (b.y + b.height > a.y + a.height ? b : a));
  return { x: x + width / 2, y: y + height };
}

/**
 * A frame of the transition between two scenes: boxes are between their old and new positions, new
 * boxes appear near the end, and lines are left out.
 * @param {Scene} scene
 * @param {Map<string, Box>} before
 * @param {number} share
 * @returns {Scene}
 */
function inBetween(scene, before, share) {
  const items = scene.items.flatMap((item) => {
    if (item.type !== "box") return [];
    const old = before.get(item.name);
    if (!old) return share > 0.6 ? [item] : [];
    /** @param {"x" | "y" | "width" | "height"} side */
    const at = (side) => old[side] + (item[side] - old[side]) * share;
    return [{ ...item, x: at("x"), y: at("y"), width: at("width"), height: at("height") }];
  });
  return { ...scene, items };
}
