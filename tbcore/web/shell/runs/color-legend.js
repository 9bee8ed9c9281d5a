/** What the colours of runs mean while they show an attribute. Loaded when it is first needed. */

import { html } from "htm/preact";
import { formatDuration, formatValue } from "../../lib/format.js";
import { attributesFor } from "../state/attributes.js";
import { attributesOf } from "../state/groups.js";

/** @import { State } from "../state/reader-state.js" */

/** Number of values that are listed. */
const MAX_LISTED = 12;

/** A list of values with their colours, or a scale. @param {{ state: State }} props */
export function ColorLegend({ state }) {
  const legend = state.colorLegend.value;
  if (!legend) return null;
  const { values, isScale, hasMissing } = legend;
  const [text = ""] = attributesOf(state.colorRule.value);
  const attribute = attributesFor(state).nameOf(text);
  const format = attribute === "age" || attribute === "took" ? formatDuration : formatValue;
  const texts = values.map(([value]) => (typeof value === "number" ? format(value) : String(value)));
  return html`<div class="tb-legend" role="group" aria-label="Colours by ${attribute}">
    <b>${attribute}</b>
    ${isScale
      ? html`<span class="tb-legend-scale" role="img" aria-label="from ${texts[0]} to ${texts[texts.length - 1]}" title="Numbers in order: ${texts[Math.floor(texts.length / 2)]} is in the middle">
          <span>${texts[0]}</span><i style=${{ background: `linear-gradient(90deg, ${values.map(([, color]) => color).join(", ")})` }}></i><span>${texts[texts.length - 1]}</span>
        </span>`
      : values.slice(0, MAX_LISTED).map(([, color], i) => html`<span><i style=${{ background: color }}></i>${texts[i]}</span>`)}
    ${!isScale && values.length > MAX_LISTED && html`<span>and ${values.length - MAX_LISTED} more</span>`}
    ${hasMissing && html`<span><i class="tb-legend-missing"></i>none</span>`}
  </div>`;
}
