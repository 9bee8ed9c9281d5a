/**
 * The menu of a card: downloads of the chart and its points, its y axis, and other tags to draw in the
 * same chart.
 */

import { html } from "htm/preact";
import { cloneElement } from "preact";
import { useState } from "preact/hooks";
import { formatName } from "tbcore/format.js";
import { Check, save } from "tbcore/ui.js";
import { drawnCSV, saveNumbers } from "./downloads.js";
import { yAxisOf } from "./lines.js";
import { OwnAxis } from "./own-axis.js";

/**
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").Tab} Tab
 */

/** Maximum number of tags listed in the picker; a search finds the other tags. */
const MAX_LISTED_TAGS = 60;

/**
 * @param {object} props
 * @param {Tab} props.tab
 * @param {string} props.id  of the card
 * @param {readonly Part[]} props.parts
 * @param {import("./chart-feed.js").ChartFeed} props.feed  what the chart draws
 * @param {import("preact").VNode<{ note: string }>} props.pictures  buttons to save the chart as a picture
 */
export function CardMenu({ tab, id, parts, feed, pictures }) {
  const { host } = tab;
  const [error, setError] = useState("");
  const tags = parts.map(({ tag }) => tag);
  const runs = [...new Map(parts.flatMap((part) => part.runs).map((run) => [run.name, run])).values()];
  const names = runs.map(({ name }) => name);
  const fileName = (tab.facet ?? "") + tags.join("_");
  /** @param {Promise<void>} task */
  const attempt = (task) => void task.catch((failure) => setError(failure.message));

  const saveDrawn = () => {
    const chart = { lines: feed.lines.value.lines, bands: feed.bands.value, view: feed.view.value, y: yAxisOf(tab.flagsOf(id), tab.options.logY) };
    save(drawnCSV(chart, tab.options), `${fileName}-drawn.csv`, "text/csv");
  };

  return html`<div class="card-menu">
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    <section>
      <h4>Download this chart as an image, or all its points</h4>
      ${cloneElement(pictures, /** @type {any} */ ({ name: fileName, note: () => noteOf(tab, parts, feed, pictures.props.note) }))}
      <div class="numbers">
        ${/** @type {const} */ (["csv", "json"]).map(
          (format) => html`<button class="tb-button" onClick=${() => attempt(saveNumbers(host, tags, names, format, fileName, tab.options.x))}>
            ${format.toUpperCase()}
          </button>`,
        )}
        <button class="tb-button" title="The lines that the chart shows now, with smoothed values; of groups, the average, the band and the number of runs" onClick=${saveDrawn}>
          CSV as drawn
        </button>
      </div>
    </section>
    <${OwnAxis} ...${{ tab, id, feed }} />
    <section>
      <${Check}
        label="Y axis: range of the last 20 %"
        why="Of the visible part of the x axis; marks show where lines are cut off"
        checked=${tab.flagsOf(id).includes("tail")}
        onChange=${(/** @type {boolean} */ tail) => tab.onFlag(id, /^tail$/, tail ? "tail" : null)}
      />
    </section>
    <${TagPicker} tab=${tab} tags=${tags} />
  </div>`;
}

/**
 * The note of a picture: what its card says, and what else is not as it was logged, or not shown.
 * @param {Tab} tab @param {readonly Part[]} parts @param {import("./chart-feed.js").ChartFeed} feed
 * @param {string} note  of the card
 */
async function noteOf({ host, options, runTags, isInPart }, parts, feed, note) {
  const { smooth, smoothKind, ends, averageName } = options;
  const bands = feed.bands.value.filter(({ x }) => x.length > 0);
  const groups = new Set(bands.map(({ run }) => run));
  const hasTag = (/** @type {string} */ run) => Object.hasOwn(runTags, run) && parts.some(({ tag }) => runTags[run].includes(tag)) && (!isInPart || isInPart(run));
  return [
    note,
    smooth > 0 && `smoothed by ${smooth} (${smoothKind})`,
    ends && bands.length > 0 && `${averageName} up to where the first run ends`,
    ...(await host.leftOut(hasTag, (group) => groups.has(group))),
  ].filter(Boolean).join("; ");
}

/**
 * Adds a tag to the chart, or splits the chart into one per tag.
 * @param {{ tab: Tab, tags: string[] }} props  the tags of the chart
 */
function TagPicker({ tab, tags }) {
  const [text, setText] = useState("");
  const found = tab.tags.filter((tag) => !tags.includes(tag) && tag.toLowerCase().includes(text.toLowerCase()));
  /** Down and up move between the box and the tags; Enter in the box adds the first one. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const items = /** @type {HTMLElement[]} */ ([.../** @type {Element} */ (event.currentTarget).querySelectorAll("input, .picks button")]);
    const index = items.indexOf(/** @type {HTMLElement} */ (event.target));
    const next = items[index + ({ ArrowDown: 1, ArrowUp: -1 }[event.key] ?? NaN)];
    if (next) {
      event.preventDefault();
      next.focus();
    } else if (event.key === "Enter" && index === 0 && text && found.length > 0) tab.onCombine(tags, found[0]);
  };
  return html`<section onKeyDown=${onKeyDown}>
    <h4>Add another tag to this chart</h4>
    <input
      class="tb-input"
      type="search"
      placeholder="Find a tag, or drag its title onto the chart"
      aria-label="Find a tag"
      value=${text}
      onInput=${(/** @type {InputEvent} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <div class="picks">
      ${found.slice(0, MAX_LISTED_TAGS).map(
        (tag) => html`<button type="button" key=${tag} title=${formatName(tag)} onClick=${() => tab.onCombine(tags, tag)}>${formatName(tag)}</button>`,
      )}
    </div>
    ${tags.length > 1 &&
    html`<button class="tb-button" onClick=${() => tab.onSplit(tags)}>Split into one chart per tag</button>`}
  </section>`;
}
