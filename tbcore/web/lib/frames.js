/**
 * A queue of draw calls with a time budget per animation frame. What does not fit into a frame is
 * drawn in the next one, so that twenty charts that zoom together do not delay the one under the
 * pointer.
 */

const FRAME_BUDGET_MS = 12;

/**
 * @typedef {() => number | void} Draw  may return the milliseconds that the browser needs later, to
 *   paint
 */

/** @type {Set<Draw>} */
let queue = new Set();
/** Handle of the requested animation frame; 0 if none is requested. */
let frame = 0;

/**
 * Schedules a draw call for one of the next frames. A function that is already in the queue is not
 * added again.
 * @param {Draw} draw  the same function object each time
 * @param {boolean} [isFirst]  whether to draw before all others
 */
export function drawSoon(draw, isFirst = false) {
  if (isFirst) queue = new Set([draw, ...queue]);
  else queue.add(draw);
  frame ||= requestAnimationFrame(drawFrame);
}

/** Cancels a scheduled draw call. @param {Draw} draw */
export function drawNever(draw) {
  queue.delete(draw);
}

function drawFrame() {
  let deadline = performance.now() + FRAME_BUDGET_MS;
  try {
    for (const draw of queue) {
      queue.delete(draw);
      deadline -= draw() ?? 0;
      if (performance.now() > deadline) break;
    }
  } finally {
    // Also if a draw call throws, or the rest of the queue would never be drawn.
    frame = queue.size > 0 ? requestAnimationFrame(drawFrame) : 0;
  }
}
