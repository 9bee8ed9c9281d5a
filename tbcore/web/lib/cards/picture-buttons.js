/**
 * Downloads of a chart as a picture. Loaded when a menu with them is first opened.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { save } from "../../ui.js";

/**
 * @typedef {object} Exportable  a `LineChart`, or another chart that can be exported
 * @property {(note?: string) => Promise<string>} toSVG
 * @property {(scale?: number, note?: string) => Promise<Blob>} toPNG
 */

/**
 * The buttons, for a download menu.
 * @param {object} props
 * @param {Exportable | null} props.chart  null disables the buttons
 * @param {string} props.name  name of the files, without extension
 * @param {string} [props.note]  text added to the picture, such as what it leaves out
 */
export function PictureButtons({ chart, name, note = "" }) {
  const [error, setError] = useState("");
  /** @param {Promise<string | Blob>} picture @param {string} extension @param {string} [type] */
  const download = (picture, extension, type) =>
    void picture.then(
      (content) => save(content, `${name}.${extension}`, type),
      (failure) => setError(failure.message),
    );
  return html`
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => chart && download(chart.toSVG(note), "svg", "image/svg+xml")}>SVG</button>
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => chart && download(chart.toPNG(undefined, note), "png")}>PNG</button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  `;
}
