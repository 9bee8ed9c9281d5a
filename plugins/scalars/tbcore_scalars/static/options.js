/**
 * How the tab shows its charts.
 */

import { Options } from "tbcore/lib/options.js";

export const OPTIONS = new Options(
  /** @type {import("./types.js").Options} */ ({
    x: "step",
    logX: false,
    logY: false,
    smooth: 0,
    clip: false,
    legend: false,
    link: false,
    size: "medium",
    spread: "range",
  }),
  {
    x: ["step", "relative", "wall_time"],
    size: ["small", "medium", "large"],
    spread: ["range", "deviation", "quartiles"],
  },
);

/**
 * @param {Readonly<Record<string, string>>} texts  of the address
 * @returns {import("./types.js").Options}
 */
export function parseOptions(texts) {
  const options = OPTIONS.parse(texts);
  return { ...options, smooth: Math.min(0.999, Math.max(0, options.smooth)) };
}
