/**
 * The settings of the tab, and the download of everything that is shown.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Check } from "tbcore/lib/controls.js";
import { saveNumbers } from "./downloads.js";
import { OPTIONS } from "./options.js";

/** @type {[name: "logX" | "logY" | "clip" | "legend" | "link", title: string, why: string][]} */
const SWITCHES = [
  ["logY", "Logarithmic y axis", "Values of 0 and below have no place on it."],
  ["logX", "Logarithmic x axis", "Steps of 0 and below have no place on it."],
  ["clip", "Leave out outliers", "The y axis shows the bulk of the values; lines that leave it are marked at the edge. Off at first, unlike in TensorBoard, because an outlier may be what you look for."],
  ["legend", "Table below each chart", "The value of every run at the pointer, or its last one."],
  ["link", "Zoom charts of a section together", "A part chosen in one chart is shown in all charts under the same heading."],
];

/** @type {[value: import("./types.js").Options["size"], title: string][]} */
const SIZES = [
  ["small", "Small"],
  ["medium", "Medium"],
  ["large", "Large"],
];

/** @type {[value: import("./types.js").Spread, title: string, why: string][]} */
const SPREADS = [
  ["range", "Min to max", "From the least value of all runs to the greatest"],
  ["deviation", "± deviation", "The standard deviation of the runs, over n − 1"],
  ["quartiles", "Quartiles", "Half of the runs lie between them"],
];

/**
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {boolean} props.isGrouped
 * @param {readonly import("./types.js").Run[]} props.runs
 * @param {readonly string[]} props.tags
 */
export function SettingsMenu({ host, isGrouped, runs, tags }) {
  const options = OPTIONS.parse(host.settings.value);
  const [error, setError] = useState("");
  const names = runs.map(({ name }) => name);
  return html`<div class="card-menu">
    ${SWITCHES.map(
      ([name, title, why]) =>
        html`<${Check} label=${title} why=${why} checked=${options[name]} onChange=${(/** @type {boolean} */ wanted) => OPTIONS.set(host, name, wanted)} />`,
    )}
    <${Choice} title="Cards" name="size" choices=${SIZES} value=${options.size} onChange=${(/** @type {any} */ size) => OPTIONS.set(host, "size", size)} />
    ${isGrouped &&
    html`<${Choice} title="Band of a group of runs" name="spread" choices=${SPREADS} value=${options.spread} onChange=${(/** @type {any} */ spread) => OPTIONS.set(host, "spread", spread)} />`}
    <section>
      <h4>All points of all tags shown, in all runs shown</h4>
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
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.name
 * @param {[value: string, title: string, why?: string][]} props.choices
 * @param {string} props.value
 * @param {(value: string) => void} props.onChange
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
