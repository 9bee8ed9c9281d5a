/** The choice of small multiples, in the settings of the tab. */

import { html } from "htm/preact";
import { useCallback, useEffect, useId, useState } from "preact/hooks";
import { Check } from "tbcore/ui.js";

/** @import { Host, Run } from "./types.js" */

/** Number of parts of the name that are offered, and of their values in a title. */
const [MAX_PARTS, MAX_VALUES] = [4, 3];

/**
 * The rules by a part of the name that differs, and what is in it.
 * @param {readonly Run[]} runs
 * @returns {[rule: string, title: string][]}
 */
export function rulesOfNames(runs) {
  return Array.from({ length: MAX_PARTS }, (_, index) => {
    const values = [...new Set(runs.flatMap(({ name }) => name.split("/")[index] ?? []))];
    const rule = index === 0 ? "re:^[^/]+" : `re:^(?:[^/]+/){${index}}([^/]+)`;
    const more = values.length > MAX_VALUES ? `, … (${values.length})` : "";
    return /** @type {[string, string]} */ (values.length > 1 && values.length < runs.length ? [rule, `part of the name: ${values.slice(0, MAX_VALUES).join(", ")}${more}`] : ["", ""]);
  }).filter(([rule]) => rule);
}

/** @param {{ host: Host, runs: readonly Run[] }} props */
export function FacetMenu({ host, runs }) {
  const { facet = "", facetY } = host.settings.value;
  const [found, setFound] = useState(/** @type {Awaited<ReturnType<Host["groupsBy"]>> | null} */ (null));
  const help = useId();
  useEffect(() => void host.groupsBy("").then(setFound, console.warn), []);
  /** @type {[rule: string, title: string][]} */
  const choices = [["", "one chart"], ...(found?.value.suggested.map((rule) => /** @type {[string, string]} */ ([rule, rule.slice(3)])) ?? []), ...rulesOfNames(runs)];
  if (!choices.some(([rule]) => rule === facet)) choices.push([facet, facet]);
  const set = (/** @type {string} */ rule) => host.settings.set("facet", rule.trim() || null);
  // Only a new rule is shown: what is being typed stays when the page is drawn again.
  const show = useCallback((/** @type {HTMLInputElement | null} */ box) => void (box && (box.value = facet)), [facet]);
  return html`<section class="facet-menu">
    <h4>Small multiples</h4>
    <label>For each tag, <select class="tb-input" onChange=${(/** @type {any} */ { currentTarget }) => set(currentTarget.value)}>
      ${choices.map(([rule, title]) => html`<option value=${rule} selected=${rule === facet}>${rule ? `a chart for each ${title}` : title}</option>`)}
    </select></label>
    <input
      class="tb-input"
      aria-label="Rule of small multiples"
      aria-describedby=${help}
      placeholder="by:model,lr or */{seed}"
      spellcheck="false"
      autocomplete="off"
      ref=${show}
      onChange=${(/** @type {any} */ { currentTarget }) => set(currentTarget.value)}
    />
    <small id=${help} class="tb-dim">A rule as for groups: hyperparameters, or a pattern of the name</small>
    ${facet &&
    html`<${Check} label="Each chart has its own y axis" why="Otherwise the charts of a tag have one, so that they can be compared" checked=${facetY === "own"} onChange=${(/** @type {boolean} */ own) => host.settings.set("facetY", own ? "own" : null)} />`}
  </section>`;
}
