// Helpers for the tests of web modules.

import { effect } from "@preact/signals-core";
import { Worker as Thread } from "node:worker_threads";

/**
 * Milliseconds of CPU time that this process has used. Unlike wall time, it does not include
 * waiting on a busy machine.
 */
export function cpuTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * A generator of pseudo-random numbers from 0 to 1, the same in every run.
 * @param {number} seed
 */
export function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Makes `Worker` available to modules, as in a browser. It needs a module without imports from the
 * import map. A worker does not keep the process running.
 */
export function provideWorkers() {
  globalThis.Worker = /** @type {any} */ (
    class {
      static numStarted = 0;
      onmessage = (/** @type {{ data: unknown }} */ _event) => {};
      onerror = (/** @type {unknown} */ _error) => {};

      /** @param {URL} url */
      constructor(url) {
        globalThis.Worker.numStarted++;
        const source = `import { parentPort } from "node:worker_threads";
          globalThis.postMessage = (data) => parentPort.postMessage(data);
          await import(${JSON.stringify(url.href)});
          parentPort.on("message", (data) => globalThis.onmessage({ data }));`;
        this.thread = new Thread(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
        this.thread.on("message", (data) => this.onmessage({ data }));
        this.thread.on("error", (error) => this.onerror(error));
        this.thread.unref();
      }

      /** @param {unknown} data */
      postMessage(data) {
        this.thread.postMessage(data);
      }

      terminate() {
        return this.thread.terminate();
      }
    }
  );
}

/**
 * Resolves when a condition, which reads signals, is true; rejects if it throws.
 * @param {() => boolean} isTrue
 */
export function until(isTrue) {
  return new Promise((resolve, reject) => {
    const alive = setInterval(() => {}, 1000); // a worker alone does not keep the test running
    const stop = effect(() => {
      try {
        if (!isTrue()) return;
      } catch (error) {
        reject(error);
      }
      setTimeout(() => resolve([stop(), clearInterval(alive)]));
    });
  });
}

/**
 * A canvas context that records what is drawn on it: `calls` has each fill, stroke, rectangle and
 * image with the styles at that time. `provideCanvas` makes it available to modules.
 */
export class Recorder {
  /** @type {Record<string, any>[]} */ calls = [];
  /** @type {Record<string, any>} */ style = { fillStyle: "#000000", strokeStyle: "#000000", globalAlpha: 1, lineWidth: 1, dash: [] };
  /** @type {Record<string, any>[]} */ saved = [];
  canvas = { width: 0, height: 0, image: /** @type {unknown} */ (null) };

  constructor() {
    for (const name of ["fillStyle", "strokeStyle", "globalAlpha", "lineWidth"]) {
      Object.defineProperty(this, name, { get: () => this.style[name], set: (value) => void (this.style[name] = value) });
    }
    for (const name of ["fill", "stroke"]) Object.assign(this, { [name]: (/** @type {object} */ path) => this.calls.push({ name, path, ...this.style }) });
    for (const name of ["beginPath", "rect", "clip", "translate"]) Object.assign(this, { [name]() {} });
  }
  save() {
    this.saved.push({ ...this.style });
  }
  restore() {
    this.style = this.saved.pop() ?? this.style;
  }
  /** @param {number[]} dash */
  setLineDash(dash) {
    this.style.dash = dash;
  }
  /** @param {number[]} box */
  fillRect(...box) {
    this.calls.push({ name: "fillRect", box, ...this.style });
  }
  /** @param {{ image: unknown }} canvas  of another recorder */
  drawImage({ image }) {
    this.calls.push({ name: "drawImage", image, ...this.style });
  }
  /** @param {unknown} image */
  putImageData(image) {
    this.canvas.image = image;
  }
  /** The pixel of a canvas that was filled with one colour. */
  getImageData() {
    return { data: [1, 3, 5].map((at) => parseInt(this.style.fillStyle.slice(at, at + 2), 16)) };
  }
}

/** Makes canvases, paths and images available to modules, as in a browser. They record. */
export function provideCanvas() {
  const path2D = class {
    /** @type {[x: number, y: number][][]} the points of each part */ parts = [];
    constructor(data = "") {
      this.data = data;
    }
    /** @param {number} x @param {number} y */
    moveTo(x, y) {
      this.parts.push([[x, y]]);
    }
    /** @param {number} x @param {number} y */
    lineTo(x, y) {
      this.parts[this.parts.length - 1].push([x, y]);
    }
  };
  const imageData = class {
    /** @param {Uint8ClampedArray} data @param {number} width @param {number} height */
    constructor(data, width, height) {
      Object.assign(this, { data: data.slice(), width, height });
    }
  };
  Object.assign(globalThis, { Path2D: path2D, ImageData: imageData, document: { createElement: () => ({ getContext: () => new Recorder() }) } });
}
