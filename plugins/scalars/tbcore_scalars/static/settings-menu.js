/**
 * The settings of the tab, and a download of all points that it shows.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Check, Choice } from "tbcore/ui.js";
import { FacetMenu } from "./facet-menu.js";
import { saveNumbers } from "./downloads.js";

/** @import { Host, Options, Run, SetOption } from "./types.js" */

/** @type {[value: Options["logX"], title: string, why: string][]} */
const SCALES = [
  ["", "Linear", "The same distance for each unit"],
  ["true", "Log", "The same distance for each power of ten. 0 or less cannot be shown on it"],
  ["symlog", "Symlog", "Logarithmic on both sides of 0, and linear near it. On the x axis that is up to the smallest step, time or value other than 0; on the y axis up to a power of ten below which about a tenth of the values are"],
];

/** @type {[name: "clip" | "legend" | "link", title: string, why: string][]} */
const SWITCHES = [
  ["clip", "Ignore outliers when scaling", "The y axis is scaled to most of the values; lines that leave the chart are marked at its edge. Off by default, unlike in TensorBoard, because an outlier may be what you are looking for."],
  ["legend", "Table below each chart", "Shows every run's value at the pointer, or its last value."],
  ["link", "Zoom charts of a section together", "Zooming one chart also zooms all other charts of its section."],
];

/** @type {[value: Options["size"], title: string][]} */
const SIZES = [["small", "Small"], ["medium", "Medium"], ["large", "Large"]];

/**
 * The settings menu of the toolbar.
 * @param {{ host: Host, options: Options, set: SetOption, isGrouped: boolean, runs: readonly Run[], tags: readonly string[] }} props
 */
export function SettingsMenu({ host, options, set, isGrouped, runs, tags }) {
  const [error, setError] = useState("");
  const names = runs.map(({ name }) => name);
  const average = options.average === "iqm" ? "IQM" : options.average;
  const averages = `${average}s`;
  /** @param {"logX" | "logY" | "size"} name @param {string} title @param {import("tbcore/ui.js").Choices} choices */
  const choiceOf = (name, title, choices) => html`<section>
    <h4 aria-hidden="true">${title}</h4>
    <${Choice} label=${title} name=${name} choices=${choices} value=${options[name]} onChange=${(/** @type {any} */ value) => set(name, value)} />
  </section>`;
  /** @param {(typeof SWITCHES)[number][0] | "ends"} name @param {string} title @param {string} why */
  const checkOf = (name, title, why) =>
    html`<${Check} label=${title} why=${why} checked=${options[name]} onChange=${(/** @type {boolean} */ isChecked) => set(name, isChecked)} />`;
  return html`<div class="card-menu">
    ${choiceOf("logY", "Scale of the y axis", SCALES)} ${choiceOf("logX", "Scale of the x axis", SCALES)}
    ${SWITCHES.map((each) => checkOf(...each))}
    <${FacetMenu} host=${host} runs=${runs} />
    ${choiceOf("size", "Card size", SIZES)}
    ${isGrouped && checkOf("ends", `End ${averages} where the first run ends`, `Or where its values are no longer finite. Otherwise the ${average} goes on, dotted, over fewer runs, and may jump although no run does.`)}
    <section>
      <h4>Download all points of the tags and runs shown</h4>
      ${/** @type {const} */ (["csv", "json"]).map(
        (format) => html`<button
          type="button"
          class="tb-button"
          onClick=${() => saveNumbers(host, tags, names, format, "scalars", options.x).catch((failure) => setError(failure.message))}
        >
          ${format.toUpperCase()}
        </button>`,
      )}
      ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    </section>
  </div>`;
}
