/**
 * The controls in the toolbar: how texts are shown, and the search with its results.
 */

import { html } from "htm/preact";
import { formatName } from "tbcore/format.js";
import { labelOf } from "tbcore/text-names.js";
import { Choice, Pick } from "tbcore/ui.js";
import { BASE_CHOICES, SHOW_CHOICES, baseRunOf, options } from "./options.js";
import { Results, SearchBox } from "./search.js";

/**
 * The toolbar's controls for texts.
 * @param {{ host: import("tbcore/host.js").Host, search: import("./search.js").Search }} props
 */
export function Controls({ host, search }) {
  const { show, from, base } = options.parse(host.settings.value);
  return html`
    <${SearchBox} search=${search} />
    <${Choice}
      label="Show texts as"
      name="show"
      choices=${SHOW_CHOICES}
      value=${show}
      onChange=${(/** @type {string} */ value) => options.set(host, "show", value)}
    />
    ${show === "changes" &&
    html`<${Pick} label="Compared with" choices=${BASE_CHOICES} value=${from} onChange=${(/** @type {string} */ value) => options.set(host, "from", value)} />`}
    ${show === "changes" &&
    from === "step" &&
    html`<input
      class="tb-input text-base"
      type="number"
      step="1"
      aria-label="Step to compare with"
      value=${base}
      onInput=${(/** @type {any} */ { currentTarget: { value: typed } }) => typed && options.set(host, "base", Number(typed))}
    />`}
    ${show === "changes" && from === "run" && html`<${BaseRun} host=${host} />`}
    <${Results} host=${host} search=${search} />
  `;
}

/** A choice of the run that others are compared with. @param {{ host: import("tbcore/host.js").Host }} props */
function BaseRun({ host }) {
  const base = baseRunOf(host);
  const runs = host.runs.value;
  const names = new Set(runs.map(({ name }) => name)).add(base);
  return html`<${Pick} label="Run" choices=${[...names].map((name) => [name, labelOf(runs, name), formatName(name)])} value=${base} onChange=${(/** @type {string} */ name) => host.settings.set("run", name)} />`;
}
