// Helpers for the tests of web modules.

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
