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

// --- colours -------------------------------------------------------------------------------------

/** The linear light of red, green and blue. @param {string} hex @returns {number[]} */
function linear(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
}

/** The relative luminance, as in WCAG. @param {string} hex */
function luminance(hex) {
  const [r, g, b] = linear(hex);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * Matrices that simulate protanopia, deuteranopia and tritanopia on linear light: Machado, Oliveira
 * and Fernandes, 2009, severity 1.
 */
const VISION = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

/** The contrast of two colours, as in WCAG: 1 to 21. @param {string} a @param {string} b */
export function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

/** The smallest distance between any two colours in OKLab. @param {number[][]} labs */
export function minDistance(labs) {
  let min = Infinity;
  for (const [i, a] of labs.entries()) {
    for (const b of labs.slice(i + 1)) min = Math.min(min, Math.hypot(...a.map((part, k) => part - b[k])));
  }
  return min;
}

/** How different two colours look: CIEDE2000 (Sharma, Wu and Dalal, 2005). @param {string} one @param {string} other */
export function ciede2000(one, other) {
  const [[L1, a1, b1], [L2, a2, b2]] = [one, other].map(cielab);
  const turn = Math.PI / 180;
  const grey = (/** @type {number} */ c) => Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  const stretch = 1 + 0.5 * (1 - grey((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2));
  const [C1, C2] = [Math.hypot(a1 * stretch, b1), Math.hypot(a2 * stretch, b2)];
  const [h1, h2] = [[a1, b1], [a2, b2]].map(([a, b]) => (Math.atan2(b, a * stretch) / turn + 360) % 360);
  const arc = ((((h2 - h1) % 360) + 540) % 360) - 180;
  const [L, C, h] = [(L1 + L2) / 2, (C1 + C2) / 2, h1 + arc / 2];
  const cos = (/** @type {number} */ degrees) => Math.cos(degrees * turn);
  const T = 1 - 0.17 * cos(h - 30) + 0.24 * cos(2 * h) + 0.32 * cos(3 * h + 6) - 0.2 * cos(4 * h - 63);
  const dL = (L2 - L1) / (1 + (0.015 * (L - 50) ** 2) / Math.sqrt(20 + (L - 50) ** 2));
  const dC = (C2 - C1) / (1 + 0.045 * C);
  const dH = (2 * Math.sqrt(C1 * C2) * Math.sin((arc / 2) * turn)) / (1 + 0.015 * C * T);
  const rotation = -2 * grey(C) * Math.sin(60 * turn * Math.exp(-(((((h + 360) % 360) - 275) / 25) ** 2)));
  return Math.sqrt(dL ** 2 + dC ** 2 + dH ** 2 + rotation * dC * dH);
}

/** A colour in CIELAB. @param {string} hex */
function cielab(hex) {
  const [r, g, b] = linear(hex);
  const rows = [[0.4124564, 0.3575761, 0.1804375, 0.95047], [0.2126729, 0.7151522, 0.072175, 1], [0.0193339, 0.119192, 0.9503041, 1.08883]];
  const [x, y, z] = rows.map(([red, green, blue, white]) => (red * r + green * g + blue * b) / white).map((t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/**
 * A colour in OKLab, as seen with a kind of colour vision.
 * @param {string} hex
 * @param {keyof typeof VISION} vision
 * @returns {number[]}
 */
export function oklab(hex, vision = "normal") {
  const light = linear(hex);
  const [r, g, b] = VISION[vision].map((row) => Math.min(1, Math.max(0, row.reduce((sum, part, k) => sum + part * light[k], 0))));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}
