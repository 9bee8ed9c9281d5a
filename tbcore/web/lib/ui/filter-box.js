/** A text box for a regular expression that filters names. What is wrong with it is shown below. */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { TOO_LONG } from "./expressions.js";
import { MAX_PATTERN_LENGTH } from "./filter.js";
import { Icon } from "./icons.js";

/**
 * A filter box.
 * @param {object} props
 * @param {import("./filter.js").Filter} props.filter  the filter to show
 * @param {(text: string) => void} props.onInput  called on every change of the text
 * @param {string} props.label  accessible name and placeholder
 */
export function FilterBox({ filter, onInput, label }) {
  const errorId = useId();
  const { text, error } = filter;
  const introduction = error === TOO_LONG ? "The regular expression" : "Not a valid regular expression:";
  return html`<div class="tb-filter">
    <${Icon} name="search" />
    <input
      class="tb-input"
      type="search"
      spellcheck="false"
      autocomplete="off"
      maxlength=${MAX_PATTERN_LENGTH}
      aria-label=${label}
      placeholder=${label}
      aria-invalid=${error ? "true" : undefined}
      aria-describedby=${error ? errorId : undefined}
      value=${text}
      onInput=${(/** @type {InputEvent} */ event) => onInput(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    ${error && html`<p class="tb-filter-error" id=${errorId} role="status">${introduction} ${error}</p>`}
  </div>`;
}
