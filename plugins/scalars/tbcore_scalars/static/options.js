/** The options of the scalars tab, with their defaults and valid values. */

import { MAX_SMOOTHING } from "tbcore/chart.js";
import { Options } from "tbcore/options.js";

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
  { smooth: [0, MAX_SMOOTHING] },
);
