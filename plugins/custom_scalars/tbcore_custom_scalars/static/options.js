/**
 * How the tab shows its charts.
 */

import { Options } from "tbcore/lib/options.js";
import { MAX_SMOOTHING } from "tbcore/lib/smoothing.js";

/** @type {[value: import("./types.js").XAxis, title: string][]} */
export const AXES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];

export const OPTIONS = new Options(
  /** @type {import("./types.js").Options} */ ({ x: "step", logY: false, smooth: 0, clip: false, legend: false }),
  { x: AXES.map(([axis]) => axis) },
  { smooth: [0, MAX_SMOOTHING] },
);
