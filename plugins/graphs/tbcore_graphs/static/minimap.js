/**
 * A small map of the whole drawing with the visible part marked. It appears while only a part is
 * visible; dragging on it pans the drawing.
 */

import { canvasPen, paint } from "./paint.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./paint.js").Appearance} Appearance
 * @typedef {import("./camera.js").Camera} Camera
 */

/** Largest size of the map. */
const MAX_SIZE_PX = { width: 170, height: 130 };
/** Smallest width and height, so that the map of a very long drawing can be hit. */
const MIN_LENGTH_PX = 18;

export class Minimap {
  #element = document.createElement("div");
  #canvas = this.#element.appendChild(document.createElement("canvas"));
  #viewport = this.#element.appendChild(document.createElement("i"));
  #scale = 1;
  /** The drawing's top left corner in the map. */
  #offset = { x: 0, y: 0 };
  /** What the map was last painted from. @type {unknown[]} */ #paintedFrom = [];

  /**
   * @param {HTMLElement} parent
   * @param {(x: number, y: number) => void} onMove  called with the point of the drawing to centre
   */
  constructor(parent, onMove) {
    this.#element.className = "minimap";
    // Screen readers have the outline.
    this.#element.ariaHidden = "true";
    this.#element.hidden = true;
    parent.append(this.#element);
    /** @param {PointerEvent} event */
    const go = (event) => {
      if (!this.#element.hasPointerCapture(event.pointerId)) return;
      const { left, top } = this.#canvas.getBoundingClientRect();
      onMove((event.clientX - left - this.#offset.x) / this.#scale, (event.clientY - top - this.#offset.y) / this.#scale);
    };
    this.#element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.#element.setPointerCapture(event.pointerId);
      go(event);
    });
    this.#element.addEventListener("pointermove", go);
  }

  /**
   * Updates the map after the drawing or the camera changed.
   * @param {Scene} scene
   * @param {Appearance} appearance
   * @param {Camera} camera
   * @param {{ width: number, height: number }} screen
   */
  update(scene, appearance, { scale, x, y }, screen) {
    const isAll = x >= 0 && y >= 0 && x + scene.width * scale <= screen.width && y + scene.height * scale <= screen.height;
    this.#element.hidden = isAll;
    if (isAll) return;
    this.#paint(scene, appearance);
    const by = this.#scale / scale;
    const { style } = this.#viewport;
    style.translate = `${this.#offset.x - x * by}px ${this.#offset.y - y * by}px`;
    style.width = `${screen.width * by}px`;
    style.height = `${screen.height * by}px`;
  }

  /**
   * Repaints the map if its inputs changed. Hovering over a box is not among them.
   * @param {Scene} scene
   * @param {Appearance} appearance
   */
  #paint(scene, appearance) {
    const what = [scene, appearance.paintOf, appearance.traced, appearance.colors.background, devicePixelRatio];
    if (what.every((part, i) => part === this.#paintedFrom[i])) return;
    this.#paintedFrom = what;
    const scale = Math.min(MAX_SIZE_PX.width / scene.width, MAX_SIZE_PX.height / scene.height);
    const width = Math.max(MIN_LENGTH_PX, scene.width * scale);
    const height = Math.max(MIN_LENGTH_PX, scene.height * scale);
    this.#scale = scale;
    this.#offset = { x: (width - scene.width * scale) / 2, y: (height - scene.height * scale) / 2 };
    const ratio = devicePixelRatio || 1;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#canvas.style.width = `${width}px`;
    this.#canvas.style.height = `${height}px`;
    const context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    context.setTransform(scale * ratio, 0, 0, scale * ratio, this.#offset.x * ratio, this.#offset.y * ratio);
    const everything = { scale, left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    paint(canvasPen(context), scene, { ...appearance, selected: null, hovered: null, found: new Set() }, everything);
  }
}
