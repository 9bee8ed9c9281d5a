/**
 * Drawing in step with the screen: what does not fit into a frame waits for the next, so that twenty charts that move
 * together do not hold up the one under the pointer.
 */

/** Milliseconds of drawing in one frame. */
const BUDGET = 12;

/** @typedef {() => number | void} Draw  may return milliseconds that it costs later, when the browser paints */

/** @type {Set<Draw>} */
let waiting = new Set();
let frame = 0;

/**
 * Draws soon. Drawings take turns.
 * @param {Draw} draw  the same function each time
 * @param {boolean} [isFirst]  before all others
 */
export function drawSoon(draw, isFirst = false) {
  if (isFirst) waiting = new Set([draw, ...waiting]);
  else waiting.add(draw);
  frame ||= requestAnimationFrame(work);
}

/** Takes back drawSoon. @param {Draw} draw */
export function drawNever(draw) {
  waiting.delete(draw);
}

function work() {
  let end = performance.now() + BUDGET;
  try {
    for (const draw of waiting) {
      waiting.delete(draw);
      end -= draw() ?? 0;
      if (performance.now() > end) break;
    }
  } finally {
    // Also when a drawing failed: others must not wait for ever.
    frame = waiting.size > 0 ? requestAnimationFrame(work) : 0;
  }
}
