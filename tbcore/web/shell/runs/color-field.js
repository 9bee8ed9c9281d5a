/** The field in the form for groups that sets the rule for the colours of runs. */

import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { formatName } from "../../lib/format.js";
import { attributesFor } from "../state/attributes.js";
import { attributesOf } from "../state/groups.js";
import { keepColors } from "./seeds-offer.js";

/** @import { State } from "../state/reader-state.js" */

/** Value of the choice for attributes that are not listed. */
const OTHER = "by:";

/**
 * The field: each run, families, a hyperparameter, or any other attribute by name. A choice applies
 * at once.
 * @param {{ state: State, hparams: readonly string[] }} props  `hparams` are attributes that differ
 */
export function ColorField({ state, hparams }) {
  const listId = useId();
  const rule = state.colorRule.value;
  const [isOther, setOther] = useState(false);
  /** What is typed and not applied yet; null if nothing is. */
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const [attribute = ""] = attributesOf(rule);
  const isListed = rule === "" || rule === "family" || hparams.some((name) => rule === `by:${name}`);
  const choice = isOther || !isListed ? OTHER : rule;
  const names = attributesFor(state).names.value;
  const close = attributesFor(state).unknown.value.get(attribute);
  return html`<div class="tb-group-colors">
    <label>
      Colour by
      <select
        value=${choice}
        onChange=${(/** @type {Event} */ event) => {
          const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
          keepColors(state);
          setOther(value === OTHER);
          if (value !== OTHER) state.colorRule.value = value;
        }}
      >
        <option value="" selected=${choice === ""}>${state.groupRule.value === "" ? "run" : "group"}</option>
        <option value="family" selected=${choice === "family"}>family, in shades</option>
        ${hparams.map((name) => html`<option value="by:${name}" selected=${choice === `by:${name}`}>${formatName(name)}</option>`)}
        <option value=${OTHER} selected=${choice === OTHER}>another attribute…</option>
      </select>
    </label>
    ${choice === OTHER &&
    html`<input
        class="tb-input"
        aria-label="Attribute for colours"
        placeholder="lr or val/loss:last"
        list=${listId}
        spellcheck="false"
        autocomplete="off"
        maxlength="200"
        value=${draft ?? attribute}
        onInput=${(/** @type {Event} */ event) => setDraft(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
        onChange=${(/** @type {Event} */ event) => {
          const name = /** @type {HTMLInputElement} */ (event.currentTarget).value.trim();
          setDraft(null);
          state.colorRule.value = name === "" ? "" : `by:${name}`;
        }}
      />
      <datalist id=${listId}>
        ${[...(names?.hparams ?? []), ...(names?.tags.slice(0, 100).map((tag) => `${tag}:last`) ?? []), "step", "took"].map((name) => html`<option value=${name} />`)}
      </datalist>`}
    ${close && html`<p class="tb-filter-error">No run has ${attribute}.${close.length > 0 ? ` Close: ${close.join(", ")}` : ""}</p>`}
  </div>`;
}
