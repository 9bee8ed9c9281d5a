/**
 * The whole drawing, small, and which part of it is in sight; there while that is not all. A drag on it moves what is seen.
 */

import { canvasPen, paint } from "./paint.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./paint.js").Look} Look
 * @typedef {import("./camera.js").Camera} Camera
 */

/** CSS pixels. */
const MOST = { width: 170, height: 130 };
/** So that a drawing that is all length can be hit. */
const LEAST = 18;

export class Minimap {
  #element = document.createElement("div");
  #canvas = this.#element.appendChild(document.createElement("canvas"));
  #sight = this.#element.appendChild(document.createElement("i"));
  #scale = 1;
  /** Of the drawing's left top corner. */
  #offset = { x: 0, y: 0 };
  /** @type {unknown[]} */ #painted = [];

  /**
   * @param {HTMLElement} parent
   * @param {(x: number, y: number) => void} onMove  called with the place of the drawing that is to be in the middle
   */
  constructor(parent, onMove) {
    this.#element.className = "minimap";
    // The outline is there for those who cannot see it.
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
   * Follows the drawing.
   * @param {Scene} scene
   * @param {Look} look
   * @param {Camera} camera
   * @param {{ width: number, height: number }} screen
   */
  update(scene, look, { scale, x, y }, screen) {
    const isAll = x >= 0 && y >= 0 && x + scene.width * scale <= screen.width && y + scene.height * scale <= screen.height;
    this.#element.hidden = isAll;
    if (isAll) return;
    this.#paint(scene, look);
    const by = this.#scale / scale;
    const { style } = this.#sight;
    style.translate = `${this.#offset.x - x * by}px ${this.#offset.y - y * by}px`;
    style.width = `${screen.width * by}px`;
    style.height = `${screen.height * by}px`;
  }

  /** Paints what has changed since; the pointer over a box changes nothing. @param {Scene} scene @param {Look} look */
  #paint(scene, look) {
    const what = [scene, look.paintOf, look.traced, look.colors.ground, devicePixelRatio];
    if (what.every((part, i) => part === this.#painted[i])) return;
    this.#painted = what;
    const scale = Math.min(MOST.width / scene.width, MOST.height / scene.height);
    const width = Math.max(LEAST, scene.width * scale);
    const height = Math.max(LEAST, scene.height * scale);
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
    paint(canvasPen(context), scene, { ...look, selected: null, hovered: null, found: new Set() }, everything);
  }
}
