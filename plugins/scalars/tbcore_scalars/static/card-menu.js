/**
 * The menu of a card: downloads of the chart and its points, and other tags to draw in the same
 * chart.
 */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { formatName } from "tbcore/format.js";
import { Name, runTitle } from "tbcore/text-names.js";
import { Check, VirtualList, save } from "tbcore/ui.js";
import { drawnCSV, saveNumbers } from "./downloads.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").Tab} Tab
 */

/** Maximum number of tags listed in the picker; a search finds the other tags. */
const MAX_LISTED_TAGS = 60;
const ROW_HEIGHT_PX = 26;
const VISIBLE_ROWS = 8;

/**
 * @param {object} props
 * @param {Tab} props.tab
 * @param {string} props.id  of the card
 * @param {readonly Part[]} props.parts
 * @param {import("./chart-feed.js").ChartFeed} props.feed  what the chart draws
 * @param {unknown} props.pictures  buttons to save the chart as a picture
 */
export function CardMenu({ tab, id, parts, feed, pictures }) {
  const { host } = tab;
  const [error, setError] = useState("");
  const tags = parts.map(({ tag }) => tag);
  const runs = [...new Map(parts.flatMap((part) => part.runs).map((run) => [run.name, run])).values()];
  const names = runs.map(({ name }) => name);
  const fileName = tags.join("_");
  /** @param {Promise<void>} task */
  const attempt = (task) => void task.catch((failure) => setError(failure.message));

  const saveDrawn = () => {
    const chart = { lines: feed.lines.value.lines, bands: feed.bands.value, view: feed.view.value };
    save(drawnCSV(chart, tab.options), `${fileName}-drawn.csv`, "text/csv");
  };

  return html`<div class="card-menu">
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    <section>
      <h4>Download this chart as an image, or all its points</h4>
      ${pictures}
      ${/** @type {const} */ (["csv", "json"]).map(
        (format) => html`<button class="tb-button" onClick=${() => attempt(saveNumbers(host, tags, names, format, fileName, tab.options.x))}>
          ${format.toUpperCase()}
        </button>`,
      )}
      <button class="tb-button" title="The lines that the chart shows now, with smoothed values; of groups, the average, the band and the number of runs" onClick=${saveDrawn}>
        CSV as drawn
      </button>
    </section>
    <section>
      <${Check}
        label="Y axis: range of the last 20 %"
        why="Of the visible part of the x axis; marks show where lines are cut off"
        checked=${tab.flagsOf(id).includes("tail")}
        onChange=${(/** @type {boolean} */ tail) => tab.onFlag(id, /^tail$/, tail ? "tail" : null)}
      />
    </section>
    <${TagPicker} tab=${tab} tags=${tags} />
    <${Downloads} host=${host} parts=${parts} />
  </div>`;
}

/**
 * Links to download the points of each run. Only visible rows are rendered, since there may be
 * thousands.
 * @param {{ host: Host, parts: readonly Part[] }} props
 */
function Downloads({ host, parts }) {
  const [text, setText] = useState("");
  const all = useMemo(() => parts.flatMap(({ tag, runs }) => runs.map(({ name, label, color }) => ({ tag, name, label, color }))), [parts]);
  const found = useMemo(() => all.filter(({ name, label }) => `${label}\n${name}`.toLowerCase().includes(text.toLowerCase())), [all, text]);
  const height = `${Math.min(found.length, VISIBLE_ROWS) * ROW_HEIGHT_PX + 8}px`;
  return html`<section>
    <h4>Download all points of one run</h4>
    ${all.length > VISIBLE_ROWS && html`<${SearchBox} label="Find a run" value=${text} onInput=${setText} />`}
    <div class="downloads" style=${{ height }}>
      <${VirtualList}
        items=${found}
        rowHeight=${ROW_HEIGHT_PX}
        keyOf=${(/** @type {Row} */ { tag, name }) => JSON.stringify([tag, name])}
        label="Runs"
        renderRow=${(/** @type {Row} */ row) => html`<${Download} host=${host} row=${row} title=${parts.length > 1 ? `${row.label} · ${row.tag}` : row.label} />`}
      />
    </div>
  </section>`;
}

/** @typedef {{ tag: string, name: string, label: string, color: string }} Row  one tag in one run */

/** The links of one row. @param {{ host: Host, row: Row, title: string }} props */
function Download({ host, row: { tag, name, color }, title }) {
  const file = `${name}_${tag}`.replace(/[^\w.-]+/g, "_");
  const params = { run: name, tag, samples: 0 };
  return html`<div class="download">
    <i style=${{ background: color }}></i>
    <span title=${runTitle({ name, label: title })}><${Name} name=${title} /></span>
    <a href=${host.url("scalars", { ...params, format: "csv" })} download="${file}.csv" aria-label="CSV of ${title}">CSV</a>
    <a href=${host.url("scalars", params)} download="${file}.json" aria-label="JSON of ${title}">JSON</a>
  </div>`;
}

/**
 * @param {object} props
 * @param {string} props.label
 * @param {string} [props.hint]  the placeholder, if it says more than the label
 * @param {string} props.value
 * @param {(text: string) => void} props.onInput
 */
function SearchBox({ label, hint = label, value, onInput }) {
  return html`<input
    class="tb-input"
    type="search"
    placeholder=${hint}
    aria-label=${label}
    value=${value}
    onInput=${(/** @type {InputEvent} */ event) => onInput(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
  />`;
}

/**
 * Adds a tag to the chart, or splits the chart into one per tag.
 * @param {{ tab: Tab, tags: string[] }} props  the tags of the chart
 */
function TagPicker({ tab, tags }) {
  const [text, setText] = useState("");
  const found = tab.tags.filter((tag) => !tags.includes(tag) && tag.toLowerCase().includes(text.toLowerCase()));
  return html`<section>
    <h4>Add another tag to this chart</h4>
    <${SearchBox} label="Find a tag" hint="Find a tag, or drag its title onto the chart" value=${text} onInput=${setText} />
    <div class="picks">
      ${found.slice(0, MAX_LISTED_TAGS).map(
        (tag) => html`<button type="button" key=${tag} title=${formatName(tag)} onClick=${() => tab.onCombine(tags, tag)}>${formatName(tag)}</button>`,
      )}
    </div>
    ${tags.length > 1 &&
    html`<button class="tb-button" onClick=${() => tab.onSplit(tags)}>Split into one chart per tag</button>`}
  </section>`;
}
