/**
 * A queue of draw calls with a time budget per animation frame. What does not fit into a frame is
 * drawn in the next one, so that twenty charts that zoom together do not delay the one under the
 * pointer.
 */

/** Time that draw calls may take in one frame; at 60 Hz a frame has 16.7 ms. */
const FRAME_BUDGET_MS = 12;

/**
 * @typedef {() => number | void} Draw  may return how many milliseconds the browser will need
 *   afterwards to paint what was drawn; they count towards the budget
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
export function scheduleDraw(draw, isFirst = false) {
  if (isFirst) queue = new Set([draw, ...queue]);
  else queue.add(draw);
  frame ||= requestAnimationFrame(drawFrame);
}

/** Cancels a scheduled draw call. @param {Draw} draw */
export function cancelDraw(draw) {
  queue.delete(draw);
}

/** Runs draw calls until the budget is used up. */
function drawFrame() {
  let deadline = performance.now() + FRAME_BUDGET_MS;
  try {
    for (const draw of queue) {
      queue.delete(draw);
      deadline -= draw() ?? 0;
      if (performance.now() > deadline) break;
    }
  } finally {
    // Request the next frame even if a draw call throws, so that the rest of the queue is drawn.
    frame = queue.size > 0 ? requestAnimationFrame(drawFrame) : 0;
  }
}
