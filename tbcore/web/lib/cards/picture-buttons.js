/**
 * Downloads of a chart as a picture. Loaded when a menu with them is first opened.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { svgToPNG } from "../chart/svg.js";
import { save } from "../ui/controls.js";

/** Image pixels per CSS pixel. */
const PNG_SCALE = 2;
/** The same for figures: 600 pixels per inch. */
const FIGURE_SCALE = 600 / 96;
/** Widths of figures in inches; 0 for that on the screen. @type {[inches: number, title: string][]} */
const WIDTHS = [
  [0, "as on the screen"],
  [3.4, "one column (3.4 in)"],
  [7, "two columns (7 in)"],
];

/** The width that was chosen last, for the next menu. */
let lastInches = 0;

/**
 * The buttons, for a download menu; with a choice of the width, if the chart can be a figure.
 * @param {object} props
 * @param {import("./chart-card.js").Chart | null} props.chart  null disables the buttons
 * @param {string} props.name  name of the files, without extension
 * @param {string} [props.note]  text added to the picture, such as what it leaves out
 */
export function PictureButtons({ chart, name, note = "" }) {
  const [error, setError] = useState("");
  const [inches, setInches] = useState(lastInches);
  /** @param {"svg" | "png"} extension */
  const download = async (extension) => {
    try {
      const isFigure = inches > 0 && chart?.toFigure;
      const svg = await (isFigure ? chart.toFigure?.(inches, note) : chart?.toSVG(note));
      if (svg === undefined) return;
      if (extension === "svg") save(svg, `${name}.svg`, "image/svg+xml");
      else save(await svgToPNG(svg, isFigure ? FIGURE_SCALE : PNG_SCALE), `${name}.png`);
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
    }
  };
  const choose = (/** @type {any} */ { currentTarget }) => setInches((lastInches = Number(currentTarget.value)));
  return html`
    ${chart?.toFigure &&
    html`<label style=${{ display: "flex", alignItems: "center", gap: "6px", width: "100%", marginBottom: "6px" }} title="Figures for papers have letters of 8 points, and say what lines and bands are">
      Picture
      <select class="tb-input" aria-label="Size of the picture" value=${inches} onChange=${choose}>
        ${WIDTHS.map(([width, title]) => html`<option value=${width}>${title}</option>`)}
      </select>
    </label>`}
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => download("svg")}>SVG</button>
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => download("png")}>PNG</button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  `;
}
