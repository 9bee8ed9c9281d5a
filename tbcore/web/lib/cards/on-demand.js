/** What only some tabs and cards need, loaded when it is first asked for. */

import { html } from "htm/preact";
import { Lazy } from "../ui/lazy.js";

/** @typedef {Awaited<ReturnType<typeof pictureTools>>} PictureTools */

/**
 * Loads `SeriesCard`, a card with a chart of one series; `SAMPLES`, the choices of its number of
 * steps; `readSeries`, which reads its data; `SharedRanges`, the ranges that cards of a tag have in
 * common; and `Descriptions`, which shows the description that writers of runs gave a tag.
 */
export function seriesCards() {
  return import("./series-card.js");
}

/**
 * Loads the tools for saving a drawing as a picture: `frameSVG`, the frame of a chart as SVG;
 * `PathData`, which records a path as SVG; `tenth` and `escapeXML`, numbers and text in SVG;
 * `svgToPNG`.
 */
export function pictureTools() {
  return import("../chart/svg.js");
}

/**
 * A complete tab with one card for each tag, or for each tag and run. It needs either `renderCard` or
 * `renderTag`.
 * @param {import("./tag-tab.js").TagTabProps} props
 */
export function TagTab(props) {
  return html`<${Lazy} load=${() => import("./tag-tab.js")} of="TagTab" ...${props} />`;
}
