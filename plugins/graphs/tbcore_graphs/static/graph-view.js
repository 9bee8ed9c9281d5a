/**
 * The canvas with the drawing: it pans, zooms, knows what is under the pointer, and moves from one scene to the next.
 */

import { between, centred, fit, reveal, zoom } from "./camera.js";
import { Minimap } from "./minimap.js";
import { FONT, canvasPen, isOnMark, paint } from "./paint.js";
import { SIZES } from "./scene.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Box} Box
 * @typedef {import("./paint.js").Look} Look
 * @typedef {import("./camera.js").Camera} Camera
 *
 * @typedef {object} Callbacks
 * @property {(name: string | null) => void} onSelect
 * @property {(name: string) => void} onToggle  a scope is to be opened or closed
 * @property {(box: Box | null, at: { left: number, top: number }) => void} onHover
 */

/** Nothing can be told apart below this scale. */
const LEAST_FIRST = 0.08;
/** Texts can be read at this scale. */
const READABLE = 0.5;
const MOVE_MS = 260;
/** How far an arrow key moves the drawing: shares of the screen to the right and down. @type {Record<string, [number, number]>} */
const ARROWS = { ArrowUp: [0, -0.15], ArrowDown: [0, 0.15], ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0] };
/** A move shorter than this is a click, CSS pixels. */
const DRAG = 4;

export class GraphView {
  /** @type {HTMLCanvasElement} */ #canvas;
  /** @type {CanvasRenderingContext2D} */ #context;
  /** @type {Callbacks} */ #callbacks;
  /** @type {Minimap} */ #minimap;
  /** @type {Scene | null} */ #scene = null;
  /** @type {Look | null} */ #look = null;
  /** @type {Camera} */ #camera = { scale: 1, x: 0, y: 0 };
  #screen = { width: 0, height: 0 };
  #frame = 0;
  /** @type {{ start: number, from: Camera, to: Camera, boxes: Map<string, Box> } | null} */ #move = null;
  #resizes = new ResizeObserver(() => this.#resize());
  #isFitted = true;
  #listening = new AbortController();
  /** @type {Map<number, { x: number, y: number }>} */ #pointers = new Map();
  #dragged = 0;
  #wasOnMark = false;

  /**
   * @param {HTMLElement} element  the canvas fills it
   * @param {Callbacks} callbacks
   */
  constructor(element, callbacks) {
    this.#callbacks = callbacks;
    this.#canvas = element.appendChild(document.createElement("canvas"));
    this.#canvas.tabIndex = 0;
    this.#canvas.role = "img";
    this.#canvas.ariaLabel = "Drawing of the graph; arrow keys move it, and the outline lists what is in it";
    this.#context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    this.#minimap = new Minimap(element, (x, y) => this.#centre(x, y));
    this.#resizes.observe(element);
    this.#listen();
  }

  /** What the next scene is laid out by. @param {string} text @param {"label" | "small"} font */
  measure(text, font) {
    this.#context.font = `${font === "label" ? "600 " : ""}${SIZES[font]}px ${FONT}`;
    return this.#context.measureText(text).width;
  }

  /**
   * Shows a scene.
   * @param {Scene} scene
   * @param {{ keep?: string | null, show?: string | null, chosen?: string | null }} [how]  `keep`: the box that stays where it is;
   *   `show`: the one that is brought into sight, in another scene into the middle; without either everything is shown, or `chosen` where that is too much
   */
  setScene(scene, { keep = null, show = null, chosen = null } = {}) {
    const before = this.#scene;
    this.#scene = scene;
    const from = this.#camera;
    const [old, now] = [keep === null ? undefined : before?.boxes.get(keep), keep === null ? undefined : scene.boxes.get(keep)];
    const shown = show === null ? undefined : scene.boxes.get(show);
    let to = this.#fitted();
    // A drawing that is all length says nothing from that far away: it is shown from where data comes in, or what a link names.
    const first = chosen === null ? undefined : scene.boxes.get(chosen);
    if (to.scale < LEAST_FIRST && first) to = centred(first, READABLE, this.#screen);
    else if (to.scale < LEAST_FIRST) {
      const { x, y } = bottomOf(scene);
      const height = this.#screen.height / READABLE - 60;
      to = centred({ x, y: y - height, width: 0, height }, READABLE, this.#screen);
    }
    // In a drawing that stays the same nothing moves but to bring it into sight.
    if (shown && before === scene && from.scale >= READABLE) to = reveal(from, shown, this.#screen);
    else if (shown) to = centred(shown, Math.max(0.8, Math.min(1.25, from.scale)), this.#screen);
    else if (old && now) {
      const { scale } = from;
      // The mark that was clicked stays under the pointer.
      const middle = (/** @type {Box} */ box) => [box.x + 15, box.y + (box.open ? SIZES.header : box.height) / 2];
      const [[oldX, oldY], [newX, newY]] = [middle(old), middle(now)];
      const still = { scale, x: from.x + (oldX - newX) * scale, y: from.y + (oldY - newY) * scale };
      to = reveal(still, now, this.#screen);
      // What is too large for the screen is looked at in parts: texts stay readable.
      if (to.scale < READABLE && scale >= READABLE) to = zoom(still, READABLE / scale, still.x + newX * scale, still.y + newY * scale);
    } else if (before && keep !== null) to = from;
    this.#isFitted = !shown && !(old && now);
    this.#go(to, before?.boxes ?? new Map(), before === null);
  }

  /** @param {Look} look */
  setLook(look) {
    this.#look = look;
    this.#drawSoon();
  }

  /** Brings a box into sight. @param {string} name */
  reveal(name) {
    const box = this.#scene?.boxes.get(name);
    if (box) this.#go(reveal(this.#camera, box, this.#screen));
    this.#isFitted = false;
  }

  fit() {
    this.#isFitted = true;
    this.#go(this.#fitted());
  }

  /** @param {number} factor */
  zoomBy(factor) {
    this.#isFitted = false;
    this.#go(zoom(this.#move?.to ?? this.#camera, factor, this.#screen.width / 2, this.#screen.height / 2));
  }

  /** @param {KeyboardEvent} event */
  #onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in ARROWS)) return;
    event.preventDefault();
    const [x, y] = ARROWS[event.key];
    const { scale, ...place } = this.#move?.to ?? this.#camera;
    this.#isFitted = false;
    this.#go({ scale, x: place.x - x * this.#screen.width, y: place.y - y * this.#screen.height });
  }

  /** Brings a place of the drawing into the middle, at once. @param {number} x @param {number} y */
  #centre(x, y) {
    this.#move = null;
    this.#isFitted = false;
    this.#camera = centred({ x, y, width: 0, height: 0 }, this.#camera.scale, this.#screen);
    this.#drawSoon();
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

  #fitted() {
    const { width, height } = this.#scene ?? { width: 0, height: 0 };
    return fit({ x: 0, y: 0, width, height }, this.#screen);
  }

  /**
   * @param {Camera} to
   * @param {Map<string, Box>} [boxes]  where boxes were, when they move too
   * @param {boolean} [isFirst]  there is nothing to move from
   */
  #go(to, boxes = new Map(), isFirst = false) {
    const isStill = isFirst || matchMedia("(prefers-reduced-motion: reduce)").matches || this.#screen.width === 0;
    this.#move = isStill ? null : { start: performance.now(), from: this.#camera, to, boxes };
    if (isStill) this.#camera = to;
    this.#drawSoon();
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = /** @type {HTMLElement} */ (this.#canvas.parentElement);
    const wasNothing = this.#screen.width === 0;
    this.#screen = { width, height };
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    if (this.#isFitted && (wasNothing || !this.#move)) {
      this.#move = null;
      this.#camera = this.#fitted();
    }
    this.#draw(performance.now());
  }

  #drawSoon() {
    this.#frame ||= requestAnimationFrame((now) => {
      this.#frame = 0;
      this.#draw(now);
    });
  }

  /** @param {number} now */
  #draw(now) {
    const context = this.#context;
    const ratio = devicePixelRatio || 1;
    const move = this.#move;
    let share = 1;
    if (move) {
      const passed = Math.min(1, Math.max(0, (now - move.start) / MOVE_MS));
      share = 1 - (1 - passed) ** 3;
      this.#camera = between(move.from, move.to, share);
      if (passed >= 1) this.#move = null;
      else this.#drawSoon();
    }
    const { scale, x, y } = this.#camera;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    if (!this.#scene || !this.#look) return;
    context.setTransform(scale * ratio, 0, 0, scale * ratio, x * ratio, y * ratio);
    const part = { scale, left: -x / scale, top: -y / scale, right: (this.#screen.width - x) / scale, bottom: (this.#screen.height - y) / scale };
    const scene = move && move.boxes.size > 0 && share < 1 ? moving(this.#scene, move.boxes, share) : this.#scene;
    paint(canvasPen(context), scene, this.#look, part);
    this.#minimap.update(this.#scene, this.#look, this.#camera, this.#screen);
  }

  /** The box under a point of the viewport. @param {{ clientX: number, clientY: number }} event */
  #boxAt({ clientX, clientY }) {
    const { left, top } = this.#canvas.getBoundingClientRect();
    const x = (clientX - left - this.#camera.x) / this.#camera.scale;
    const y = (clientY - top - this.#camera.y) / this.#camera.scale;
    const items = this.#scene?.items ?? [];
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i];
      if (item.type !== "box" || x < item.x || y < item.y || x > item.x + item.width || y > item.y + item.height) continue;
      return { box: item, onMark: isOnMark(item, x, y) };
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

  /** @param {PointerEvent} event */
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
    if (this.#dragged < DRAG) return;
    this.#move = null;
    this.#isFitted = false;
    this.#canvas.style.cursor = "grabbing";
    this.#callbacks.onHover(null, { left: 0, top: 0 });
    if (others.length === 0) this.#camera = { ...this.#camera, x: this.#camera.x + x, y: this.#camera.y + y };
    else {
      const { left, top } = this.#canvas.getBoundingClientRect();
      const far = (/** @type {{ x: number, y: number }} */ place) => Math.max(10, Math.hypot(place.x - others[0].x, place.y - others[0].y));
      this.#camera = zoom(this.#camera, far({ x: event.clientX, y: event.clientY }) / far(last), others[0].x - left, others[0].y - top);
    }
    this.#drawSoon();
  }

  /** @param {PointerEvent} event */
  #onUp(event) {
    this.#pointers.delete(event.pointerId);
    if (this.#dragged >= DRAG) this.#canvas.style.cursor = "grab";
  }

  /** One click on the mark of a scope opens or closes it, two do anywhere on it. @param {MouseEvent} event */
  #onClick(event) {
    if (this.#dragged >= DRAG) return;
    const hit = this.#boxAt(event);
    const isGroup = hit !== null && hit.box.kind !== "op";
    if (event.detail === 2) {
      if (isGroup && !this.#wasOnMark) this.#toggle(hit.box.name);
      return;
    }
    this.#wasOnMark = hit?.onMark ?? false;
    if (isGroup && hit.onMark) this.#toggle(hit.box.name);
    else this.#callbacks.onSelect(hit?.box.name ?? null);
  }

  /** @param {string} name */
  #toggle(name) {
    this.#callbacks.onHover(null, { left: 0, top: 0 }); // what was said of it holds no longer
    this.#callbacks.onToggle(name);
  }

  /** @param {WheelEvent} event */
  #onWheel(event) {
    event.preventDefault();
    const { left, top } = this.#canvas.getBoundingClientRect();
    // Lines and pages are as many pixels as browsers take them for; a pinch comes as small steps with ctrl.
    const unit = [1, 16, 400][event.deltaMode] ?? 1;
    const factor = Math.exp(-Math.max(-240, Math.min(240, event.deltaY * unit)) * (event.ctrlKey ? 0.01 : 0.0018));
    this.#move = null;
    this.#isFitted = false;
    this.#camera = zoom(this.#camera, factor, event.clientX - left, event.clientY - top);
    this.#drawSoon();
  }
}

/** The lowest box that is not in another. @param {Scene} scene */
function bottomOf(scene) {
  const outer = [...scene.boxes.values()].filter(({ depth }) => depth === 0);
  const { x, y, width, height } = outer.reduce((a, b) => (b.y + b.height > a.y + a.height ? b : a));
  return { x: x + width / 2, y: y + height };
}

/**
 * A scene on its way: boxes are between where they were and where they will be, lines appear at the end.
 * @param {Scene} scene
 * @param {Map<string, Box>} before
 * @param {number} share
 * @returns {Scene}
 */
function moving(scene, before, share) {
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
