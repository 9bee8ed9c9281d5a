/**
 * Downloads of a chart as a picture. Loaded when a menu with them is first opened.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { svgToPNG } from "../chart/svg.js";
import { save } from "../ui/controls.js";
import { FigureFields, wishesOf } from "./figure-fields.js";

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
/** The setting with the width that was chosen last. */
const WIDTH = "figure.width";

/**
 * The content of a menu, all at once: buttons that come later would push those that are being clicked away.
 * @param {Parameters<typeof PictureButtons>[0] & { content: (pictures: unknown) => unknown }} props
 */
export function WithPictures({ content, ...props }) {
  return content(html`<${PictureButtons} ...${props} />`);
}

/**
 * The buttons, for a download menu; with a choice of the width and of what a figure has, if the chart can be one.
 * @param {object} props
 * @param {import("./chart-card.js").Chart | null} props.chart  null disables the buttons
 * @param {string} props.name  name of the files, without extension
 * @param {string | (() => Promise<string>)} [props.note]  text added to the picture, such as what it leaves out
 * @param {import("tbcore/host.js").Settings} props.memory  of the tab
 */
function PictureButtons({ chart, name, note = "", memory }) {
  const [error, setError] = useState("");
  const chosen = Number(new Map(Object.entries(memory.value)).get(WIDTH));
  const inches = chart?.toFigure && WIDTHS.some(([width]) => width === chosen) ? chosen : 0;
  /** The picture as SVG. @param {import("../chart/types.js").FigureWishes} wishes */
  const draw = async (wishes) => {
    const text = typeof note === "string" ? note : await note();
    return (inches > 0 ? chart?.toFigure?.(inches, text, wishes) : chart?.toSVG(text)) ?? "";
  };
  /** @param {"svg" | "png" | "pdf"} extension */
  const download = async (extension) => {
    try {
      const svg = await draw(wishesOf(memory));
      if (extension === "svg") save(svg, `${name}.svg`, "image/svg+xml");
      else if (extension === "png") save(await svgToPNG(svg, inches > 0 ? FIGURE_SCALE : PNG_SCALE), `${name}.png`);
      else (await import("./print-picture.js")).printPicture(svg, name);
      setError("");
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
    }
  };
  const choose = (/** @type {any} */ { currentTarget }) => memory.set(WIDTH, Number(currentTarget.value) ? currentTarget.value : null);
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
    <button type="button" class="tb-button" disabled=${!chart} title="In the browser's print dialog, choose “Save as PDF”" onClick=${() => download("pdf")}>PDF (opens the print dialog)</button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    ${inches > 0 && html`<div role="group" aria-label="Figure" style=${{ width: "100%", marginTop: "6px" }}><${FigureFields} ...${{ draw, memory }} drawnBy=${`${inches} ${name}`} /></div>`}
  `;
}
