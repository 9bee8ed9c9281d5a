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
          parentPort.on("message", (data) => globalThis.onmessage({ data }));
          await import(${JSON.stringify(url.href)});`;
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

/** Resolves when a condition, which reads signals, is true. @param {() => boolean} isTrue */
export function until(isTrue) {
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1000); // a worker alone does not keep the test running
    const stop = effect(() => {
      if (isTrue()) setTimeout(() => resolve([stop(), clearInterval(alive)]));
    });
  });
}
