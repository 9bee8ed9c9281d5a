/**
 * The menu of a card: other tags in the same chart, pictures, and the numbers behind it.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Name } from "tbcore/lib/runs-panel.js";
import { save } from "tbcore/lib/save.js";
import { saveNumbers } from "./downloads.js";

/** So many are listed; more are found by typing. */
const MOST = 60;

/**
 * @param {object} props
 * @param {import("./types.js").Tab} props.tab
 * @param {readonly import("./types.js").Part[]} props.parts
 * @param {import("tbcore/lib/line-chart.js").LineChart | null} props.chart
 */
export function CardMenu({ tab, parts, chart }) {
  const { host } = tab;
  const [error, setError] = useState("");
  const tags = parts.map(({ tag }) => tag);
  const runs = [...new Map(parts.flatMap((part) => part.runs).map((run) => [run.name, run])).values()];
  const names = runs.map(({ name }) => name);
  const file = tags.join("_");
  /** @param {Promise<void>} task */
  const attempt = (task) => void task.catch((failure) => setError(failure.message));

  return html`<div class="card-menu">
    ${error && html`<p class="error" role="alert">${error}</p>`}
    <${TagPicker} tab=${tab} tags=${tags} />
    <section>
      <h4>Picture</h4>
      <button class="tb-button" onClick=${() => chart && attempt(chart.toSVG().then((svg) => save(svg, `${file}.svg`, "image/svg+xml")))}>SVG</button>
      <button class="tb-button" onClick=${() => chart && attempt(chart.toPNG().then((png) => save(png, `${file}.png`)))}>PNG</button>
    </section>
    <section>
      <h4>All points of this chart</h4>
      ${/** @type {const} */ (["csv", "json"]).map(
        (format) => html`<button class="tb-button" onClick=${() => attempt(saveNumbers(host, tags, names, format, file))}>
          ${format.toUpperCase()}
        </button>`,
      )}
    </section>
    <ul class="downloads">
      ${parts.flatMap((part) =>
        part.runs.map(({ name, color }) => {
          const name_ = `${name}_${part.tag}`.replace(/[^\w.-]+/g, "_");
          const params = { run: name, tag: part.tag, samples: 0 };
          return html`<li>
            <i style=${{ background: color }}></i>
            <span title=${name}><${Name} name=${name} /></span>
            <a href=${host.url("scalars", { ...params, format: "csv" })} download="${name_}.csv" aria-label="CSV of ${name}">CSV</a>
            <a href=${host.url("scalars", params)} download="${name_}.json" aria-label="JSON of ${name}">JSON</a>
          </li>`;
        }),
      )}
    </ul>
  </div>`;
}

/**
 * Chooses another tag for the same chart, or gives each its own again.
 * @param {object} props
 * @param {import("./types.js").Tab} props.tab
 * @param {string[]} props.tags
 */
function TagPicker({ tab, tags }) {
  const [text, setText] = useState("");
  const others = tab.tags.filter((tag) => !tags.includes(tag) && tag.toLowerCase().includes(text.toLowerCase()));
  return html`<section>
    <h4>Draw another tag in this chart</h4>
    <input
      class="tb-input"
      type="search"
      placeholder="Find a tag, or drag its card here"
      aria-label="Find a tag"
      value=${text}
      onInput=${(/** @type {InputEvent} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <div class="picks">
      ${others.slice(0, MOST).map(
        (tag) => html`<button type="button" key=${tag} title=${tag} onClick=${() => tab.onCombine(tags, tag)}>${tag}</button>`,
      )}
    </div>
    ${tags.length > 1 &&
    html`<button class="tb-button" onClick=${() => tab.onSplit(tags)}>One chart for each tag again</button>`}
  </section>`;
}
