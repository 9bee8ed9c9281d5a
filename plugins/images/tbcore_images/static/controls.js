/**
 * Size, brightness and contrast of all pictures.
 */

import { html } from "htm/preact";
import { Menu } from "tbcore/lib/card.js";
import { Check, Choice } from "tbcore/lib/controls.js";
import { Icon } from "tbcore/lib/icons.js";
import { filterOf, MOST_PERCENT, parseLook, SIZES } from "./look.js";

/** @typedef {import("tbcore/host.js").Host} Host */

/** @param {{ host: Host }} props */
export function Controls({ host }) {
  const look = parseLook(host.settings.value);
  const isChanged = filterOf(look) !== "";
  return html`
    <${Choice}
      label="Size of pictures"
      name="size"
      choices=${SIZES}
      value=${look.size}
      onChange=${(/** @type {string} */ size) => keep(host, "size", size === "fit" ? null : size)}
    />
    <${Menu} icon="sun" label="Brightness and contrast" content=${() => html`<${LookMenu} host=${host} />`} />
    ${isChanged &&
    html`<button type="button" class="tb-button changed" title="Show pictures as they were logged" onClick=${() => reset(host)}>
      Brightness ${look.brightness} %, contrast ${look.contrast} % <${Icon} name="close" />
    </button>`}
  `;
}

/** @param {{ host: Host }} props */
function LookMenu({ host }) {
  const look = parseLook(host.settings.value);
  return html`<div class="look-menu">
    <${Percent} title="Brightness" value=${look.brightness} onChange=${(/** @type {number} */ value) => setPercent(host, "bright", value)} />
    <${Percent} title="Contrast" value=${look.contrast} onChange=${(/** @type {number} */ value) => setPercent(host, "contrast", value)} />
    <button type="button" class="tb-button" onClick=${() => reset(host)}>As logged</button>
    <${Check}
      label="Blur what is enlarged"
      why="Off: every pixel of an enlarged picture is a square."
      checked=${look.smooth}
      onChange=${(/** @type {boolean} */ value) => keep(host, "smooth", value ? "true" : null)}
    />
  </div>`;
}

/**
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
      max=${MOST_PERCENT}
      step="5"
      value=${value}
      onInput=${(/** @type {InputEvent} */ event) => onChange(Number(/** @type {HTMLInputElement} */ (event.currentTarget).value))}
    />
    <output>${value} %</output>
  </label>`;
}

/**
 * @param {Host} host
 * @param {string} name
 * @param {string | null} value
 */
function keep(host, name, value) {
  host.settings.set(name, value);
  host.preferences.set(name, value);
}

/**
 * @param {Host} host
 * @param {string} name
 * @param {number} percent
 */
function setPercent(host, name, percent) {
  host.settings.set(name, percent === 100 ? null : String(percent));
}

/** @param {Host} host */
function reset(host) {
  host.settings.set("bright", null);
  host.settings.set("contrast", null);
}
