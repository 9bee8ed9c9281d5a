/**
 * Cameras: from where meshes are seen. A camera is a value; `Cameras` has the one that all meshes
 * share, and those of single meshes.
 */

import { signal } from "@preact/signals-core";

/**
 * @typedef {object} Camera
 * @property {number} yaw  degrees around the vertical axis
 * @property {number} pitch  degrees above the horizon, from -90 to 90
 * @property {number} zoom  1 shows the whole frame
 * @property {number} x  of the frame's centre in the picture, in halves of the picture's shorter
 *   side, to the right of its centre
 * @property {number} y  the same, upwards
 *
 * @typedef {[center: number[], radius: number]} Sphere  in the unit of the vertices
 */

/** @type {Readonly<Camera>} */
export const START = { yaw: 30, pitch: 20, zoom: 1, x: 0, y: 0 };
/** Vertical field of view, degrees, if the log has none. */
const FOV = 40;
/** Zoom factors. */
const [MIN_ZOOM, MAX_ZOOM] = [0.05, 1000];
/** Distances of the clipping planes, in radii of the frame. */
const [NEAR, FAR] = [0.05, 100];

/** A camera that was turned by these angles. @param {Camera} camera @param {number} yaw  degrees @param {number} pitch  degrees */
export function turned(camera, yaw, pitch) {
  return { ...camera, yaw: (((camera.yaw + yaw) % 360) + 360) % 360, pitch: Math.max(-90, Math.min(90, camera.pitch + pitch)) };
}

/** A camera whose picture was moved, in the unit of `x`. @param {Camera} camera @param {number} x @param {number} y */
export function moved(camera, x, y) {
  return { ...camera, x: camera.x + x, y: camera.y + y };
}

/**
 * A camera whose picture was enlarged around a place in it, given like `x` and `y`.
 * @param {Camera} camera @param {number} factor @param {number} [x] @param {number} [y]
 */
export function zoomed(camera, factor, x = 0, y = 0) {
  const zoom = Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, camera.zoom * factor));
  const change = zoom / camera.zoom;
  return { ...camera, zoom, x: x + (camera.x - x) * change, y: y + (camera.y - y) * change };
}

/** The camera for the page address: `30,20,1.5,0.2,0.1` without its last parts if they are those of START; null for START. @param {Camera} camera */
export function formatCamera({ yaw, pitch, zoom, x, y }) {
  const texts = [yaw.toFixed(), pitch.toFixed(), ...[zoom, x, y].map((value) => String(Number(value.toPrecision(3))))];
  const defaults = Object.values(START).map(String);
  while (texts.length > 2 && texts.at(-1) === defaults[texts.length - 1]) texts.pop();
  const text = texts.join();
  return text === `${START.yaw},${START.pitch}` ? null : text;
}

/** The camera in a text of the page address; missing and invalid parts are those of START. @param {string} [text] @returns {Camera} */
export function parseCamera(text = "") {
  const values = text.split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
  const [yaw, pitch, zoom, x, y] = Object.values(START).map((value, i) => (Number.isFinite(values[i]) ? values[i] : value));
  return { ...turned(START, yaw - START.yaw, pitch - START.pitch), zoom: Math.max(MIN_ZOOM, Math.min(MAX_ZOOM, zoom)), x, y };
}

/**
 * What the shader needs to draw a frame: `center` and `scale` take vertices into a sphere with the
 * radius 1, `view` turns it in front of the camera, and `projection` draws it. The matrices have
 * shape (4, 4), by column.
 * @param {Camera} camera
 * @param {Sphere} frame
 * @param {{ aspect: number, isZUp: boolean, fov?: number }} options  `aspect` is width by height of
 *   the picture, and `fov` in degrees
 */
export function transformOf({ yaw, pitch, zoom, x, y }, [center, radius], { aspect, isZUp, fov = FOV }) {
  const [a, b] = [(yaw * Math.PI) / 180, (pitch * Math.PI) / 180];
  const [cosA, sinA, cosB, sinB] = [Math.cos(a), Math.sin(a), Math.cos(b), Math.sin(b)];
  // The rows that turn around y by the yaw, then around x by the pitch.
  const rows = [
    [cosA, 0, sinA],
    [sinB * sinA, cosB, -sinB * cosA],
    [-cosB * sinA, sinB, cosB * cosA],
  ].map(([right, up, front]) => (isZUp ? [right, -front, up] : [right, up, front]));
  const half = (fov * Math.PI) / 360;
  const distance = 1 / Math.sin(half);
  const view = [0, 1, 2].flatMap((column) => [...rows.map((row) => row[column]), 0]).concat([0, 0, -distance, 1]);
  // The shorter side of the picture is `fov` wide, so that the frame fits into it.
  const f = zoom / Math.tan(half);
  const [width, height] = [Math.min(1, 1 / aspect), Math.min(1, aspect)];
  const projection = [
    ...[f * width, 0, 0, 0],
    ...[0, f * height, 0, 0],
    ...[-x * width, -y * height, (FAR + NEAR) / (NEAR - FAR), -1],
    ...[0, 0, (2 * FAR * NEAR) / (NEAR - FAR), 0],
  ];
  return { center, scale: 1 / (radius || 1), view, projection };
}

/**
 * The cameras of a tab. The shared one is in the page address, as the setting `view`.
 */
export class Cameras {
  /** The camera that meshes share. */
  shared;
  #settings;
  #own = /** @type {Map<string, import("@preact/signals-core").Signal<Camera>>} */ (new Map());

  /** @param {import("tbcore/host.js").Host["settings"]} settings */
  constructor(settings) {
    this.#settings = settings;
    this.shared = signal(parseCamera(settings.value.view));
    let last = settings.value.view;
    settings.subscribe(({ view }) => {
      // Another setting may change during a gesture, when the camera is not in the address yet.
      if (view === last) return;
      last = view;
      if ((view ?? null) !== formatCamera(this.shared.value)) this.shared.value = parseCamera(view);
    });
  }

  /** The camera of one mesh, which begins where the shared one is. @param {string} key */
  own(key) {
    const camera = this.#own.get(key) ?? signal(this.shared.value);
    this.#own.set(key, camera);
    return camera;
  }

  /** Puts the shared camera into the page address; to be called when it has come to rest. */
  settle() {
    this.#settings.set("view", formatCamera(this.shared.value));
  }

  /** Resets all cameras. */
  reset() {
    for (const camera of [this.shared, ...this.#own.values()]) camera.value = START;
    this.settle();
  }
}
