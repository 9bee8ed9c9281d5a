/**
 * What tabs are set with: choices, check boxes and the smoothing of curves. Each shows the value that it is given, and tells
 * what the reader wants.
 */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { MAX_SMOOTHING } from "./smoothing.js";

/**
 * A choice of a few in the bar.
 * @param {object} props
 * @param {string} props.label  for those who cannot see what it is about
 * @param {string} props.name  unlike those of the other choices in the tab
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 * @param {unknown} props.value
 * @param {(value: any) => void} props.onChange
 */
export function Choice({ label, name, choices, value, onChange }) {
  return html`<fieldset class="tb-segments">
    <legend class="tb-hidden">${label}</legend>
    ${choices.map(
      ([choice, title, why]) => html`<label title=${why}>
        <input type="radio" name=${name} checked=${value === choice} onChange=${() => onChange(choice)} />${title}
      </label>`,
    )}
  </fieldset>`;
}

/**
 * A choice of several in the bar, of which one is seen.
 * @param {object} props
 * @param {string} props.label
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 * @param {unknown} props.value
 * @param {(value: any) => void} props.onChange
 */
export function Pick({ label, choices, value, onChange }) {
  const at = choices.findIndex(([choice]) => choice === value);
  /** @param {Event} event */
  const onInput = (event) => onChange(choices[/** @type {HTMLSelectElement} */ (event.currentTarget).selectedIndex][0]);
  return html`<label class="tb-pick" title=${choices[at]?.[2]}>
    ${label}
    <select class="tb-input" onChange=${onInput}>
      ${choices.map(([choice, title, why], i) => html`<option value=${String(choice)} title=${why} selected=${i === at}>${title}</option>`)}
    </select>
  </label>`;
}

/**
 * What is on or off, in the bar or in a menu.
 * @param {object} props
 * @param {string} props.label
 * @param {string} [props.why]
 * @param {boolean} props.checked
 * @param {(checked: boolean) => void} props.onChange
 */
export function Check({ label, why, checked, onChange }) {
  /** @param {Event} event */
  const onInput = (event) => onChange(/** @type {HTMLInputElement} */ (event.currentTarget).checked);
  return html`<label class="tb-switch" title=${why}><input type="checkbox" class="tb-check" checked=${checked} onChange=${onInput} />${label}</label>`;
}

/**
 * How much curves are smoothed, as a slider and as a number.
 * @param {object} props
 * @param {number} props.value  from 0 to MAX_SMOOTHING
 * @param {string} [props.why]
 * @param {(value: number) => void} props.onChange
 */
export function Smoothing({ value, why, onChange }) {
  const id = useId();
  /** @param {Event} event */
  const onInput = (event) =>
    onChange(Math.min(MAX_SMOOTHING, Math.max(0, Number(/** @type {HTMLInputElement} */ (event.currentTarget).value) || 0)));
  return html`<div class="tb-smoothing" title=${why}>
    <span id=${id}>Smoothing</span>
    <input type="range" min="0" max="0.99" step="0.01" value=${value} aria-labelledby=${id} onInput=${onInput} />
    <input class="tb-input" type="number" min="0" max=${MAX_SMOOTHING} step="0.01" value=${value} aria-labelledby=${id} onChange=${onInput} />
  </div>`;
}
