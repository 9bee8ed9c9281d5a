/**
 * Controls for the size, brightness and contrast of all images.
 */

import { html } from "htm/preact";
import { formatName } from "tbcore/format.js";
import { labelOf } from "tbcore/text-names.js";
import { Check, Choice, Icon, Menu, Pick } from "tbcore/ui.js";
import { COMPARISONS, MAX_PERCENT, SIZES, comparisonOf, filterOf, parseDisplayOptions } from "./display-options.js";

/** @typedef {import("tbcore/host.js").Host} Host */

/** The toolbar's controls for images. @param {{ host: Host }} props */
export function Controls({ host }) {
  const display = parseDisplayOptions(host.settings.value);
  const isChanged = filterOf(display) !== "";
  return html`
    <${Choice}
      label="Image size"
      name="size"
      choices=${SIZES}
      value=${display.size}
      onChange=${(/** @type {string} */ size) => setAndRemember(host, "size", size === "fit" ? null : size)}
    />
    <${Check}
      label="Steps across"
      why="A row for each run, with images from the first step to the selected one."
      checked=${host.settings.value.across === "true"}
      onChange=${(/** @type {boolean} */ value) => setAndRemember(host, "across", value ? "true" : null)}
    />
    <${Comparison} host=${host} />
    <${Menu} icon="sun" label="Brightness and contrast" content=${() => html`<${DisplayMenu} host=${host} />`} />
    ${isChanged &&
    html`<button type="button" class="tb-button changed" title="Reset brightness and contrast" onClick=${() => reset(host)}>
      Brightness ${display.brightness} %, contrast ${display.contrast} % <${Icon} name="close" />
    </button>`}
  `;
}

/** The choice of a run that others are compared with. @param {{ host: Host }} props */
function Comparison({ host }) {
  const { comparison, base } = comparisonOf(host);
  const runs = host.runs.value;
  const names = new Set(runs.map(({ name }) => name)).add(base);
  return html`
    <${Pick} label="Images" choices=${COMPARISONS} value=${comparison} onChange=${(/** @type {string} */ value) => host.settings.set("compared", value || null)} />
    ${comparison && html`<${Pick} label="Run" choices=${[...names].map((name) => [name, labelOf(runs, name), formatName(name)])} value=${base} onChange=${(/** @type {string} */ name) => host.settings.set("run", name)} />`}
  `;
}

/** The menu with sliders. @param {{ host: Host }} props */
function DisplayMenu({ host }) {
  const display = parseDisplayOptions(host.settings.value);
  return html`<div class="display-menu">
    <${Percent} title="Brightness" value=${display.brightness} onChange=${(/** @type {number} */ value) => setPercent(host, "bright", value)} />
    <${Percent} title="Contrast" value=${display.contrast} onChange=${(/** @type {number} */ value) => setPercent(host, "contrast", value)} />
    <button type="button" class="tb-button" onClick=${() => reset(host)}>Reset</button>
    <${Check}
      label="Smooth enlarged images"
      why="If off, every pixel of an enlarged image is drawn as a square."
      checked=${display.smooth}
      onChange=${(/** @type {boolean} */ value) => setAndRemember(host, "smooth", value ? "true" : null)}
    />
  </div>`;
}

/**
 * A slider of percentages.
 * @param {object} props
 * @param {string} props.title
 * @param {number} props.value
 * @param {(value: number) => void} props.onChange
 */
function Percent({ title, value, onChange }) {
  return html`<label class="percent">
    <span>${title}</span>
    <input
      type="range"
      min="0"
      max=${MAX_PERCENT}
      step="5"
      value=${value}
      onInput=${(/** @type {InputEvent} */ event) => onChange(Number(/** @type {HTMLInputElement} */ (event.currentTarget).value))}
    />
    <output>${value} %</output>
  </label>`;
}

/**
 * Sets a setting in the page address, and as the default for pages opened later.
 * @param {Host} host
 * @param {string} name
 * @param {string | null} value  null for the default
 */
function setAndRemember(host, name, value) {
  host.settings.set(name, value);
  host.preferences.set(name, value);
}

/**
 * Sets brightness or contrast in the page address.
 * @param {Host} host
 * @param {string} name
 * @param {number} percent
 */
function setPercent(host, name, percent) {
  host.settings.set(name, percent === 100 ? null : String(percent));
}

/** Resets brightness and contrast. @param {Host} host */
function reset(host) {
  host.settings.set("bright", null);
  host.settings.set("contrast", null);
}
