/** The pinned x of a chart, and how it moves to other points. `pin.js` shows it. */

import { snap } from "./hover.js";
import { nextX } from "./keyboard.js";
import { pixelScales, toAxis, valueAt } from "./ranges.js";
import { formatX } from "./words.js";

/**
 * @typedef {object} PinnedChart  the chart of a pin
 * @property {import("./chart-frame.js").ChartFrame} frame
 * @property {() => import("./types.js").Scene | null} scene  the chart as it was last drawn
 * @property {import("./types.js").Callbacks["nextX"]} nextX
 * @property {(x: number | null, settled: boolean) => void} move  moves the pin, also in other charts
 */

/** The pin of one chart. */
export class Pinned {
  #chart;
  /** @type {import("./pin.js").ChartPin | null} created when an x is first pinned */
  #pin = null;
  /** Whether a call of `nextX` is pending. */
  #isFetchingNext = false;
  /** @type {number | null} in units of the x axis; null if nothing is pinned */
  x = null;

  /** @param {PinnedChart} chart */
  constructor(chart) {
    this.#chart = chart;
  }

  /** Moves the line and the handle to the pinned x, or hides them. */
  update() {
    const scene = this.#chart.scene();
    if (this.x === null || !scene) return this.#pin?.hide();
    if (!this.#pin) return void this.#create();
    const kind = /** @type {import("./types.js").XAxis} */ (scene.x.kind);
    const left = pixelScales(scene).toX(toAxis(scene.x, this.x));
    this.#pin.place(left, this.x, formatX(kind, this.x), kind === "step" ? "step" : "time");
  }

  /** Loads the module for the line and the handle, and shows them. */
  async #create() {
    const { ChartPin } = await import("./pin.js");
    const { frame, scene, move } = this.#chart;
    this.#pin ??= new ChartPin(frame.plot, {
      drag: (left, settled) => {
        const drawn = scene();
        const x = drawn && snap(drawn, left);
        if (drawn && x !== null) move(valueAt(drawn.x, x), settled);
        else if (settled) move(this.x, true);
      },
      walk: (direction) => this.#walk(direction),
      write: (x) => move(x, true),
      remove: () => {
        move(null, true);
        frame.element.focus({ preventScroll: true });
      },
    });
    this.update();
  }

  /** Moves the pin to the next point of any line. @param {-1 | 1} direction */
  async #walk(direction) {
    const { frame, scene, move } = this.#chart;
    const from = this.x;
    const drawn = scene();
    if (from === null || !drawn || this.#isFetchingNext) return;
    const nextDrawn = nextX(drawn, toAxis(drawn.x, from), direction);
    let next = nextDrawn === null ? null : valueAt(drawn.x, nextDrawn);
    const fetched = this.#chart.nextX?.(from, direction);
    if (fetched) {
      this.#isFetchingNext = true;
      // If the request fails, use the next point that is drawn.
      next = await fetched.catch(() => next);
      this.#isFetchingNext = false;
    }
    if (next !== null && this.x === from && !frame.isClosed) move(next, true);
  }
}
