/**
 * Buttons that save a chart as a picture, for a menu of downloads.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { save } from "./save.js";

/**
 * @typedef {object} Drawn  a `LineChart`, or another chart that can draw itself anew
 * @property {(note?: string) => Promise<string>} toSVG
 * @property {(scale?: number, note?: string) => Promise<Blob>} toPNG
 */

/**
 * @param {object} props
 * @param {Drawn | null} props.chart  null: there is none just now
 * @param {string} props.name  of the files, without the ending
 * @param {string} [props.note]  what the chart does not show; stands below the picture
 */
export function PictureButtons({ chart, name, note = "" }) {
  const [error, setError] = useState("");
  /** @param {Promise<string | Blob>} picture @param {string} ending @param {string} [type] */
  const keep = (picture, ending, type) =>
    void picture.then(
      (content) => save(content, `${name}.${ending}`, type),
      (failure) => setError(failure.message),
    );
  return html`
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => chart && keep(chart.toSVG(note), "svg", "image/svg+xml")}>SVG</button>
    <button type="button" class="tb-button" disabled=${!chart} onClick=${() => chart && keep(chart.toPNG(undefined, note), "png")}>PNG</button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  `;
}
