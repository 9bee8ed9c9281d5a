/** How the page keeps up to date what it has from the server. */

/** Time from a failed update to the next attempt. */
const RETRY_DELAY_MS = 3000;

/**
 * Makes a function that updates something, soon. Only one update runs at a time: calls during an
 * update lead to one more after it, however many there are. A failed update is tried again.
 * @param {() => Promise<unknown>} update
 * @param {object} [options]
 * @param {() => number} [options.interval]  minimum time from the end of an update to the next one, in milliseconds
 * @param {(error: unknown) => void} [options.onError]  called with the reason of each failure
 * @param {AbortSignal} [options.signal]  when aborted, no further update starts
 */
export function keepUpToDate(update, { interval = () => 0, onError, signal } = {}) {
  let isBusy = false;
  let isWanted = false;
  /** When the last update ended, on the clock of `performance.now()`, in milliseconds. */
  let lastEnd = -Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @returns {Promise<void>} */
  async function run() {
    isBusy = true;
    let hasFailed = false;
    // Calls in one go are one, and an effect that calls does not depend on what the update reads.
    await null;
    isWanted = false;
    try {
      await update();
    } catch (error) {
      hasFailed = true;
      onError?.(error);
    }
    isBusy = false;
    lastEnd = performance.now();
    if (isWanted) await request();
    else if (hasFailed && !signal?.aborted) timer = setTimeout(run, RETRY_DELAY_MS);
  }

  /** Resolves after the updates that it starts at once. */
  async function request() {
    isWanted = true;
    if (isBusy || signal?.aborted) return;
    clearTimeout(timer);
    const wait = lastEnd + interval() - performance.now();
    if (wait > 0) timer = setTimeout(run, wait);
    else await run();
  }
  return request;
}
