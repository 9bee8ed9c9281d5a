/**
 * Runs tasks a few at a time, in the order in which they came; or one again and again, but never twice at once. Pure.
 */

/**
 * @template T
 * @typedef {(signal: AbortSignal) => Promise<T>} Task
 */

export class Queue {
  /** @type {(() => void)[]} */ #waiting = [];
  #running = 0;
  #limit;

  /** @param {number} limit  tasks at a time; browsers open six connections to one server */
  constructor(limit) {
    this.#limit = limit;
  }

  /**
   * Runs a task when its turn comes.
   * @template T
   * @param {Task<T>} task
   * @param {AbortSignal} signal  when it is aborted a waiting task is dropped, a running one is told
   * @returns {Promise<T>} what the task gives; rejects with the signal's reason when it was dropped
   */
  add(task, signal) {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        const index = this.#waiting.indexOf(start);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal.reason);
      };
      const start = () => {
        signal.removeEventListener("abort", onAbort);
        this.#running++;
        task(signal)
          .then(resolve, reject)
          .finally(() => {
            this.#running--;
            this.#next();
          });
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(start);
      this.#next();
    });
  }

  #next() {
    while (this.#running < this.#limit && this.#waiting.length > 0) this.#waiting.shift()?.();
  }
}

/**
 * A task that is not begun again while it is under way, but once more behind it.
 * @param {AbortSignal} signal  ends that
 * @param {() => Promise<void>} task  does not reject
 */
export function takingTurns(signal, task) {
  let isRunning = false;
  let isWanted = false;
  return async () => {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted && !signal.aborted) {
      isWanted = false;
      await task();
    }
    isRunning = false;
  };
}
