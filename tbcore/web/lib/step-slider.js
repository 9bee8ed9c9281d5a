/**
 * A slider over logged steps. Each step takes the same space, no matter how far apart the steps
 * are. The arrow keys move by one step, Home and End to the first and last.
 */

import { html } from "htm/preact";
import { formatStep } from "./format.js";
import { Icon } from "./icons.js";
import { findPlace } from "./steps.js";

/** @typedef {import("./steps.js").Place} Place */

/**
 * The slider, with buttons for the previous and next step.
 * @param {object} props
 * @param {readonly Place[]} props.places  in order, as `usePlaces` returns them
 * @param {Place | null} props.value  null for the latest place, including ones logged later
 * @param {(value: Place | null) => void} props.onChange
 * @param {string} props.label  accessible name
 */
export function StepSlider({ places, value, onChange, label }) {
  const last = places.length - 1;
  const at = Math.max(0, findPlace(places, value));
  const shown = value ?? places[last];
  const text = shown ? describePlace(shown) : "";
  /** @param {number} next */
  const go = (next) => onChange(stepTo(places, next));
  return html`<div class="tb-steps">
    <button type="button" class="tb-icon-button" aria-label="Previous step: ${label}" title="Previous step" disabled=${at <= 0} onClick=${() => go(at - 1)}>
      <${Icon} name="previous" />
    </button>
    <input
      type="range"
      min="0"
      max=${Math.max(0, last)}
      step="1"
      value=${at}
      disabled=${last < 1}
      aria-label=${label}
      aria-valuetext="${text}, ${at + 1} of ${last + 1}"
      onInput=${(/** @type {InputEvent} */ event) => go(Number(/** @type {HTMLInputElement} */ (event.currentTarget).value))}
    />
    <button type="button" class="tb-icon-button" aria-label="Next step: ${label}" title="Next step" disabled=${at >= last} onClick=${() => go(at + 1)}>
      <${Icon} name="chevron" />
    </button>
    <output title=${value ? `${at + 1} of ${last + 1}` : "The latest step; follows new steps"}>
      ${text}${!value && html`<small>latest</small>`}
    </output>
  </div>`;
}

/**
 * The place at a position of the slider.
 * @param {readonly Place[]} places
 * @param {number} index  position from 0; may be out of range
 * @returns {Place | null} null, which is the latest place, for the last position and any after it
 */
export function stepTo(places, index) {
  return index >= places.length - 1 ? null : places[Math.max(0, index)];
}

/**
 * A place in words: `step 40`, or `step 40 (2)` for the second time that step 40 was logged.
 * @param {Place} place
 * @returns {string}
 */
export function describePlace({ step, nth }) {
  return nth > 0 ? `step ${formatStep(step)} (${nth + 1})` : `step ${formatStep(step)}`;
}
