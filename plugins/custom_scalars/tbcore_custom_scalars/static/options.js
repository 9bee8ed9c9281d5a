/**
 * The options of the custom scalars tab, with their defaults and valid values.
 */

import { MAX_SMOOTHING } from "tbcore/chart.js";
import { Options } from "tbcore/options.js";

/** @type {[value: import("./types.js").XAxis, title: string][]} */
export const X_AXIS_CHOICES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];

export const OPTIONS = new Options(
  /** @type {import("./types.js").Options} */ ({ x: "step", logY: false, smooth: 0, clip: false, legend: false }),
  { x: X_AXIS_CHOICES.map(([axis]) => axis) },
  { smooth: [0, MAX_SMOOTHING] },
);
