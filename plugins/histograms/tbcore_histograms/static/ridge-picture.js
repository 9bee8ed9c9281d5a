/** The picture of a chart of histograms. Loaded for the first download. */

import { pictureTools } from "tbcore/cards.js";
import { traceRidge } from "./ridges.js";

/**
 * The chart as an SVG document.
 * @param {string} label
 * @param {import("tbcore/cards.js").ChartFrame} frame
 * @param {readonly { heights: Float64Array, baseline: number, color: string, strokes: readonly { color: string, width: number }[] }[]} ridges
 *   in drawing order, CSS pixels; all strokes but the first are drawn over the fill
 * @param {Pick<import("./types.js").Options, "mode" | "y">} options
 * @param {string} note
 * @param {{ name: string, color: string }} run
 */
export async function ridgePicture(label, { layout, colors, element }, ridges, { mode, y }, note, run) {
  const { frameSVG, PathData } = await pictureTools();
  const drawn = ridges.map(({ heights, baseline, color, strokes }) => {
    const path = new PathData();
    traceRidge(path, heights, 1 / devicePixelRatio, baseline);
    const [first, ...others] = strokes.map(({ color: ink, width }) => `<path d="${path.data}" stroke="${ink}" stroke-width="${width}"/>`);
    return first + (mode === "offset" ? `<path d="${path.data}" fill="${color}"/>` : "") + others.join("");
  });
  const { clientWidth: width, clientHeight: height } = element;
  const yTitle = mode === "overlay" ? "density" : { step: "step", relative: "relative time", wall_time: "wall time" }[y];
  /** @type {[string, string]} */
  const titles = ["value", yTitle];
  return frameSVG({ label, width, height, layout: layout ?? { left: 40, top: 10, width: 100, height: 100, xTicks: [], yTicks: [] }, titles, note, colors }, drawn, [run]);
}
