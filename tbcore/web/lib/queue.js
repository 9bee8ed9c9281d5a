/**
 * `Queue` runs tasks in order, a few at a time. `takingTurns` makes a function that runs one task
 * repeatedly, but never concurrently with itself. No DOM.
 */

/**
 * @template T
 * @typedef {(signal: AbortSignal) => Promise<T>} Task
 */

/** Runs tasks in order, with a limit on how many run at the same time. */
export class Queue {
  /** Functions that start the pending tasks, in order. @type {(() => void)[]} */
  #pending = [];
  #numRunning = 0;
  #limit;

  /**
   * @param {number} limit  maximum number of concurrent tasks; browsers open at most six
   *   connections to a server
   */
  constructor(limit) {
    this.#limit = limit;
  }

  /**
   * Adds a task, which starts after all tasks that were added before it.
   * @template T
   * @param {Task<T>} task
   * @param {AbortSignal} signal  removes the task from the queue when aborted; is passed to the
   *   task, which should then stop
   * @returns {Promise<T>} the task's result; rejects with the signal's reason if the task never ran
   */
  add(task, signal) {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        const index = this.#pending.indexOf(start);
        if (index >= 0) this.#pending.splice(index, 1);
        reject(signal.reason);
      };
      const start = () => {
        signal.removeEventListener("abort", onAbort);
        this.#numRunning++;
        task(signal)
          .then(resolve, reject)
          .finally(() => {
            this.#numRunning--;
            this.#startNext();
          });
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#pending.push(start);
      this.#startNext();
    });
  }

  #startNext() {
    while (this.#numRunning < this.#limit && this.#pending.length > 0) this.#pending.shift()?.();
  }
}

/**
 * Makes a function that runs a task. If the function is called while the task runs, the task runs
 * once more afterwards, no matter how many calls there were.
 * @param {AbortSignal} signal  when aborted, the task is not run again
 * @param {() => Promise<void>} task  must not reject
 */
export function takingTurns(signal, task) {
  let isRunning = false;
  let isRequested = false;
  return async () => {
    isRequested = true;
    if (isRunning) return;
    isRunning = true;
    while (isRequested && !signal.aborted) {
      isRequested = false;
      await task();
    }
    isRunning = false;
  };
}
