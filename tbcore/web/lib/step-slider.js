/**
 * A slider over the steps that there are: one place for each, however far apart they lie. The arrow keys go on by one,
 * Home and End to the first and last.
 */

import { html } from "htm/preact";
import { formatStep } from "./format.js";
import { Icon } from "./icons.js";
import { findPlace } from "./steps.js";

/** @typedef {import("./steps.js").Place} Place */

/**
 * @param {object} props
 * @param {readonly Place[]} props.places  in order, as `unitePlaces` makes them
 * @param {Place | null} props.value  null: the end, also of those that are still to come
 * @param {(value: Place | null) => void} props.onChange
 * @param {string} props.label  what it moves, for screen readers
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
    <output title=${value ? `${at + 1} of ${last + 1}` : "The latest; follows what is still to come"}>
      ${text}${!value && html`<small>latest</small>`}
    </output>
  </div>`;
}

/**
 * The place at a position of the slider; the last position is the end.
 * @param {readonly Place[]} places
 * @param {number} index  may lie outside
 * @returns {Place | null}
 */
export function stepTo(places, index) {
  return index >= places.length - 1 ? null : places[Math.max(0, index)];
}

/**
 * @param {Place} place
 * @returns {string} `step 40`, and `step 40 (2)` for the second of those
 */
export function describePlace({ step, nth }) {
  return nth > 0 ? `step ${formatStep(step)} (${nth + 1})` : `step ${formatStep(step)}`;
}
