// What tests of the web modules share.

/** Milliseconds that this process has computed: a busy machine may let it wait. */
export function cpuTime() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Pseudo-random numbers that are the same in every run.
 * @param {number} seed
 */
export function generator(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
