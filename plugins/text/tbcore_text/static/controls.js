/**
 * What stands in the bar: how texts are shown, and the search with what it found.
 */

import { html } from "htm/preact";
import { Choice, Pick } from "tbcore/lib/controls.js";
import { FROM, options, SHOW } from "./options.js";
import { Results, SearchBox } from "./search.js";

/** @param {{ host: import("tbcore/host.js").Host, search: import("./search.js").Search }} props */
export function Controls({ host, search }) {
  const { show, from, base } = options.parse(host.settings.value);
  return html`
    <${SearchBox} search=${search} />
    <${Choice}
      label="How texts are shown"
      name="show"
      choices=${SHOW}
      value=${show}
      onChange=${(/** @type {string} */ value) => options.set(host, "show", value)}
    />
    ${show === "changes" &&
    html`<${Pick} label="since" choices=${FROM} value=${from} onChange=${(/** @type {string} */ value) => options.set(host, "from", value)} />`}
    ${show === "changes" &&
    from === "step" &&
    html`<input
      class="tb-input text-base"
      type="number"
      step="1"
      aria-label="Step to compare with"
      value=${base}
      onChange=${(/** @type {Event} */ event) => options.set(host, "base", Number(/** @type {HTMLInputElement} */ (event.currentTarget).value))}
    />`}
    <${Results} host=${host} search=${search} />
  `;
}
