/**
 * Controls for a tab's settings: choices, check boxes and smoothing. They are controlled
 * components: each shows the value in its props, and calls `onChange` when the user changes it.
 */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { MAX_SMOOTHING } from "./smoothing.js";

/**
 * A choice of one from a few options, which are side by side.
 * @param {object} props
 * @param {string} props.label  accessible name; not visible
 * @param {string} props.name  name of the radio buttons, unique in the tab
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 *   `why` is a tooltip
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
 * A choice of one option from a drop-down list.
 * @param {object} props
 * @param {string} props.label
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 *   `why` is a tooltip
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
 * A check box with a label.
 * @param {object} props
 * @param {string} props.label
 * @param {string} [props.why]  tooltip
 * @param {boolean} props.checked
 * @param {(checked: boolean) => void} props.onChange
 */
export function Check({ label, why, checked, onChange }) {
  /** @param {Event} event */
  const onInput = (event) => onChange(/** @type {HTMLInputElement} */ (event.currentTarget).checked);
  return html`<label class="tb-switch" title=${why}><input type="checkbox" class="tb-check" checked=${checked} onChange=${onInput} />${label}</label>`;
}

/**
 * The weight of smoothing, as a slider and as a number.
 * @param {object} props
 * @param {number} props.value  from 0 to MAX_SMOOTHING
 * @param {string} [props.why]  tooltip
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
