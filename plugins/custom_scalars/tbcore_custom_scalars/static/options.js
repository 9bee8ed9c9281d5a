/**
 * How the tab shows its charts.
 */

import { Options } from "tbcore/lib/options.js";

/** @type {[value: import("./types.js").XAxis, title: string][]} */
export const AXES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];

export const OPTIONS = new Options(
  /** @type {import("./types.js").Options} */ ({ x: "step", logY: false, smooth: 0, clip: false, legend: false }),
  { x: AXES.map(([axis]) => axis) },
);

/**
 * @param {Readonly<Record<string, string>>} texts  of the address
 * @returns {import("./types.js").Options}
 */
export function parseOptions(texts) {
  const options = OPTIONS.parse(texts);
  return { ...options, smooth: Math.min(0.999, Math.max(0, options.smooth)) };
}
