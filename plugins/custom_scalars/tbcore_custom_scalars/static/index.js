/**
 * The custom scalars tab: the charts that runs have asked for, category by category.
 */

import "@preact/signals";
import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { render } from "preact";
import { useMemo } from "preact/hooks";
import { Menu } from "tbcore/lib/card.js";
import { Check, Choice, Smoothing } from "tbcore/lib/controls.js";
import { makeCursor } from "tbcore/lib/cursor.js";
import { FilterBox } from "tbcore/lib/filter-box.js";
import { plural } from "tbcore/lib/format.js";
import { LazyCard } from "tbcore/lib/lazy-card.js";
import { formatLists, parseLists } from "tbcore/lib/name-lists.js";
import { TagGroups } from "tbcore/lib/tag-groups.js";
import { runsByGroup } from "tbcore/lib/tag-tab.js";
import { ChartCard } from "./chart-card.js";
import { categoriesOf, titleOf } from "./lines.js";
import { AXES, OPTIONS } from "./options.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Layout} Layout
 */

/** @type {[name: "logY" | "clip" | "legend", title: string, why: string][]} */
const SWITCHES = [
  ["logY", "Logarithmic y axis", "Values of 0 and below have no place on it."],
  ["clip", "Leave out outliers", "The y axis shows the bulk of the values; lines that leave it are marked at the edge."],
  ["legend", "Table below each chart", "The value of every line at the pointer, or its last one."],
];

const ABOUT_SMOOTHING =
  "The debiased exponential moving average of TensorBoard. The curve itself stays faint behind it. Margin charts are not smoothed.";

export default {
  /** @param {Host} host */
  async render(host) {
    const [layout] = await Promise.all([watchLayout(host), host.css("./custom-scalars.css")]);
    OPTIONS.recall(host);
    host.keys([{ key: "f", label: "Full size: the card that has the focus" }]);
    render(html`<${Tab} host=${host} layout=${layout} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * The layout, now and after it has changed.
 * @param {Host} host
 * @returns {Promise<import("@preact/signals-core").ReadonlySignal<Layout>>} rejects when it cannot be had at first
 */
async function watchLayout(host) {
  let known = "";
  const ask = async () => {
    const found = await host.fetchJSON("layout");
    const text = JSON.stringify(found);
    if (text === known) return; // cards stay as they are
    known = text;
    layout.value = found;
  };
  const layout = signal(/** @type {Layout} */ ({}));
  await ask();
  host.onReload(ask);
  return layout;
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {import("@preact/signals-core").ReadonlySignal<Layout>} props.layout
 */
function Tab({ host, layout }) {
  const options = OPTIONS.parse(host.settings.value);
  const runs = runsByGroup(host);
  const filter = host.tagFilter.value;
  const cursor = useMemo(makeCursor, [options.x]);
  const { groups, charts, folded } = useMemo(() => categoriesOf(layout.value, filter.matches), [layout.value, filter]);
  const { closed, onToggle } = foldedCategories(host, folded);
  const numCharts = groups.reduce((sum, { tags }) => sum + tags.length, 0);
  const renderCard = (/** @type {string} */ key) =>
    html`<${ChartCard} key=${`${options.x} ${key}`} host=${host} cursor=${cursor} chart=${charts.get(key)} runs=${runs} options=${options} />`;
  return html`
    <div class="tb-toolbar" role="toolbar" aria-label="Custom scalars">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter charts (regular expression)" />
      <${Smoothing} value=${options.smooth} why=${ABOUT_SMOOTHING} onChange=${(/** @type {number} */ weight) => OPTIONS.set(host, "smooth", weight)} />
      <${Choice} label="Horizontal axis" name="x" choices=${AXES} value=${options.x} onChange=${(/** @type {any} */ x) => OPTIONS.set(host, "x", x)} />
      <${Menu} icon="settings" label="Settings" content=${() => html`<${Settings} host=${host} />`} />
      <span class="tb-summary" role="status">${plural(numCharts, "chart")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content">
      ${numCharts === 0 && html`<${Nothing} layout=${layout.value} filter=${filter} />`}
      <${TagGroups}
        groups=${groups}
        closed=${closed}
        onToggle=${onToggle}
        renderCard=${(/** @type {string} */ key) =>
          html`<${LazyCard} key=${key} title=${titleOf(/** @type {import("./types.js").Chart} */ (charts.get(key)))} draw=${() => renderCard(key)} />`}
      />
    </div>
  `;
}

/** @param {{ layout: Layout, filter: import("tbcore/lib/filter.js").Filter }} props */
function Nothing({ layout, filter }) {
  if ((layout.category ?? []).some(({ chart }) => chart.length > 0)) return html`<p class="tb-nothing">No chart matches “${filter.text}”.</p>`;
  return html`<div class="tb-nothing">
    <p>${layout.category ? "The layout that was logged has no charts." : "No run has logged a layout."} With PyTorch a program does it once:</p>
    <pre><code>writer.add_custom_scalars({"Losses": {"train and eval": ["Multiline", ["loss/train", "loss/eval"]]}})</code></pre>
  </div>`;
}

/**
 * Which categories are folded. The address has those that are not as the layout wants them.
 * @param {Host} host
 * @param {ReadonlySet<string>} folded
 */
function foldedCategories(host, folded) {
  // No title is "/" here but that of the category without one; a title "/" is folded with it, and nobody has one.
  const read = () => new Set(parseLists(host.settings.value.toggled).flat().map((name) => (name === "/" ? "" : name)));
  const isOther = read();
  const closed = new Set([...folded].filter((name) => !isOther.has(name)));
  for (const name of isOther) if (!folded.has(name)) closed.add(name);
  /** @param {string} name @param {boolean} open */
  const onToggle = (name, open) => {
    const others = read(); // as of now: another one may have been folded since the tab was drawn
    if (open === folded.has(name)) others.add(name);
    else others.delete(name);
    host.settings.set("toggled", formatLists([[...others].map((title) => title || "/")]));
  };
  return { closed, onToggle };
}

/** @param {{ host: Host }} props */
function Settings({ host }) {
  const options = OPTIONS.parse(host.settings.value);
  return html`<div class="tb-settings">
    ${SWITCHES.map(
      ([name, title, why]) =>
        html`<${Check} label=${title} why=${why} checked=${options[name]} onChange=${(/** @type {boolean} */ wanted) => OPTIONS.set(host, name, wanted)} />`,
    )}
  </div>`;
}
