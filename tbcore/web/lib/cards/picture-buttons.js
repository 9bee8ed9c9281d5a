/**
 * Downloads of a chart as a picture. Loaded when a menu with them is first opened.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { save } from "../../ui.js";
import { svgToPNG } from "../chart/svg.js";

/** Image pixels per CSS pixel. */
const PNG_SCALE = 2;

/**
 * The buttons, for a download menu.
 * @param {object} props
 * @param {import("../../cards.js").Chart | null} props.chart  null disables the buttons
 * @param {string} props.name  name of the files, without extension
 * @param {string} [props.note]  text added to the picture, such as what it leaves out
 */
export function PictureButtons({ chart, name, note = "" }) {
  const [error, setError] = useState("");
  /** @param {"svg" | "png"} extension */
  const download = async (extension) => {
    try {
      const svg = await chart?.toSVG(note);
      if (svg === undefined) return;
      if (extension === "svg") save(svg, `${name}.svg`, "image/svg+xml");
      else save(await svgToPNG(svg, PNG_SCALE), `${name}.png`);
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
    }
  };
  return html`
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => download("svg")}>SVG</button>
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => download("png")}>PNG</button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  `;
}
