/**
 * The settings of the tab, and a download of all points that it shows.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Check } from "tbcore/ui.js";
import { saveNumbers } from "./downloads.js";
import { OPTIONS } from "./options.js";

/** @import { Host, Options, Run, Spread } from "./types.js" */

/** @type {[name: "logX" | "logY" | "clip" | "legend" | "link", title: string, why: string][]} */
const SWITCHES = [
  ["logY", "Logarithmic y axis", "Values of 0 or less cannot be shown on it."],
  ["logX", "Logarithmic x axis", "Steps of 0 or less cannot be shown on it."],
  ["clip", "Ignore outliers when scaling", "The y axis is scaled to most of the values; lines that leave the chart are marked at its edge. Off by default, unlike in TensorBoard, because an outlier may be what you are looking for."],
  ["legend", "Table below each chart", "Shows every run's value at the pointer, or its last value."],
  ["link", "Zoom charts of a section together", "Zooming one chart also zooms all other charts of its section."],
];

/** @type {[value: Options["size"], title: string][]} */
const SIZES = [["small", "Small"], ["medium", "Medium"], ["large", "Large"]];

/** @type {[value: Spread, title: string, why: string][]} */
const SPREADS = [
  ["range", "Min to max", "From the smallest value of all runs to the largest"],
  ["deviation", "± deviation", "The mean plus and minus the standard deviation of the runs (n − 1)"],
  ["quartiles", "Quartiles", "The middle half of the runs"],
];

/**
 * The settings menu of the toolbar.
 * @param {{ host: Host, isGrouped: boolean, runs: readonly Run[], tags: readonly string[] }} props
 */
export function SettingsMenu({ host, isGrouped, runs, tags }) {
  const options = OPTIONS.parse(host.settings.value);
  const [error, setError] = useState("");
  const names = runs.map(({ name }) => name);
  return html`<div class="card-menu">
    ${SWITCHES.map(
      ([name, title, why]) =>
        html`<${Check} label=${title} why=${why} checked=${options[name]} onChange=${(/** @type {boolean} */ isChecked) => OPTIONS.set(host, name, isChecked)} />`,
    )}
    <${Choice} title="Card size" name="size" choices=${SIZES} value=${options.size} onChange=${(/** @type {any} */ size) => OPTIONS.set(host, "size", size)} />
    ${isGrouped &&
    html`<${Choice} title="What the band of a run group shows" name="spread" choices=${SPREADS} value=${options.spread} onChange=${(/** @type {any} */ spread) => OPTIONS.set(host, "spread", spread)} />`}
    <section>
      <h4>Download all points of the tags and runs shown</h4>
      ${/** @type {const} */ (["csv", "json"]).map(
        (format) => html`<button
          type="button"
          class="tb-button"
          onClick=${() => saveNumbers(host, tags, names, format, "scalars").catch((failure) => setError(failure.message))}
        >
          ${format.toUpperCase()}
        </button>`,
      )}
      ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    </section>
  </div>`;
}

/**
 * A row of radio buttons.
 * @param {{ title: string, name: string, value: string, onChange: (value: string) => void,
 *   choices: [value: string, title: string, why?: string][] }} props
 */
function Choice({ title, name, choices, value, onChange }) {
  return html`<fieldset class="choice">
    <legend>${title}</legend>
    <div class="tb-segments">
      ${choices.map(
        ([choice, label, why]) => html`<label title=${why}>
          <input type="radio" name=${name} checked=${value === choice} onChange=${() => onChange(choice)} />${label}
        </label>`,
      )}
    </div>
  </fieldset>`;
}
