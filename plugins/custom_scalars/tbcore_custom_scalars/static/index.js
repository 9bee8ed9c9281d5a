/**
 * The custom scalars tab: the charts of the layouts that runs have logged, by category.
 */

import "@preact/signals"; // Without it, components are not drawn again when a signal changes.
import { effect, signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { LazyCard } from "tbcore/cards.js";
import { MAX_SMOOTHING, SMOOTHING_KINDS, Smoothing, makeCursor } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { Options } from "tbcore/options.js";
import { TagGroups, closedGroups, runsInGroupOrder } from "tbcore/tags.js";
import { Check, Choice, FilterBox, Menu } from "tbcore/ui.js";
import { CustomCard } from "./chart-card.js";
import { categoriesOf, titleOf, untimed } from "./lines.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Layout} Layout
 */

/** @type {[value: import("./types.js").XAxis, title: string][]} */
const X_AXIS_CHOICES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];
/** @type {[value: import("./types.js").Options["logY"], title: string, why: string][]} */
const SCALES = [
  ["", "Linear", "The same distance for each unit"],
  ["true", "Log", "The same distance for each power of ten. 0 or less cannot be shown on it"],
  ["symlog", "Symlog", "Logarithmic on both sides of 0, and linear near it"],
];

const OPTIONS = new Options(
  /** @type {import("./types.js").Options} */ ({ x: "step", logY: "", smooth: 0, smoothKind: "exponential", clip: false, legend: false }),
  { x: X_AXIS_CHOICES.map(([axis]) => axis), logY: SCALES.map(([scale]) => scale), smoothKind: SMOOTHING_KINDS },
  { smooth: [0, MAX_SMOOTHING] },
);

/** @type {[name: "clip" | "legend", title: string, why: string][]} */
const SWITCHES = [
  ["clip", "Ignore outliers when scaling", "The y axis is scaled to most of the values; lines that leave the chart are marked at its edge."],
  ["legend", "Table below each chart", "Shows every line's value at the pointer, or its last value."],
];

const SMOOTHING_HELP =
  "Exponential is TensorBoard's debiased moving average; window and gaussian are centred means, which do not lag behind. The original curve stays visible, faintly. Margin charts are not smoothed.";

export default {
  /** @param {Host} host */
  async render(host) {
    const [layout] = await Promise.all([watchLayout(host), host.css("./custom-scalars.css")]);
    OPTIONS.recall(host);
    // Without a function, a key is only listed in the help. The cards handle it.
    host.keys([{ key: "f", label: "Show the focused card in full size" }]);
    render(html`<${Tab} host=${host} layout=${layout} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * Fetches the layout now, and each time that the server has something new.
 * @param {Host} host
 * @returns {Promise<import("@preact/signals-core").ReadonlySignal<Layout>>} rejects if the first
 *   request fails
 */
async function watchLayout(host) {
  let lastText = "";
  const fetchLayout = async () => {
    const found = await host.fetchJSON("layout");
    const text = JSON.stringify(found);
    if (text === lastText) return; // leave the cards as they are
    lastText = text;
    layout.value = found;
  };
  const layout = signal(/** @type {Layout} */ ({}));
  await fetchLayout();
  host.onReload(fetchLayout);
  return layout;
}

/**
 * The toolbar and the categories of cards.
 * @param {object} props
 * @param {Host} props.host
 * @param {import("@preact/signals-core").ReadonlySignal<Layout>} props.layout
 */
function Tab({ host, layout }) {
  const options = OPTIONS.parse(host.settings.value);
  const runs = runsInGroupOrder(host);
  const isUntimed = runs.length > 0 && runs.every(({ name }) => untimed.value.has(name));
  if (isUntimed) options.x = "step";
  const filter = host.tagFilter.value;
  const cursor = useMemo(makeCursor, [options.x]);
  const step = options.x === "step" ? host.step.value : null;
  useEffect(() => cursor.pin(step, true), [cursor, step]);
  // Nothing fades for a run that is not selected.
  useEffect(() => effect(() => cursor.highlight(host.hoveredRun.value, host.runs.value)), [cursor]);
  const { groups, charts, foldedByDefault } = useMemo(() => categoriesOf(layout.value, filter.matches), [layout.value, filter]);
  // The cards of `TagGroups` are charts here: the "tags" of a group are keys of `charts`.
  const numCharts = groups.reduce((sum, { tags }) => sum + tags.length, 0);
  const drawChart = (/** @type {string} */ key) =>
    html`<${CustomCard} key=${`${options.x} ${key}`} host=${host} cursor=${cursor} chart=${charts.get(key)} runs=${runs} options=${options} />`;
  return html`
    <div class="tb-toolbar" role="toolbar" aria-label="Custom scalars">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter charts" />
      <${Smoothing}
          value=${options.smooth}
          why=${SMOOTHING_HELP}
          onChange=${(/** @type {number} */ weight) => OPTIONS.set(host, "smooth", weight)}
          kind=${options.smoothKind}
          onKind=${(/** @type {import("./types.js").Options["smoothKind"]} */ kind) => OPTIONS.set(host, "smoothKind", kind)}
        />
      <${Choice} label="Horizontal axis" name="x" choices=${isUntimed ? X_AXIS_CHOICES.slice(0, 1) : X_AXIS_CHOICES} value=${options.x} onChange=${(/** @type {any} */ x) => OPTIONS.set(host, "x", x)} />
      <${Menu} icon="settings" label="Settings" content=${() => html`<${Settings} host=${host} />`} />
      <span class="tb-summary" role="status">${plural(numCharts, "chart")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content">
      ${numCharts === 0 && html`<${EmptyState} layout=${layout.value} filter=${filter} />`}
      <${TagGroups}
        groups=${groups}
        ...${closedGroups(host, "toggled", foldedByDefault)}
        renderCard=${(/** @type {string} */ key) =>
          html`<${LazyCard} key=${key} title=${titleOf(/** @type {import("./types.js").Chart} */ (charts.get(key)))} draw=${() => drawChart(key)} />`}
      />
    </div>
  `;
}

/**
 * Says why there are no charts.
 * @param {{ layout: Layout, filter: import("tbcore/ui.js").Filter }} props
 */
function EmptyState({ layout, filter }) {
  if ((layout.category ?? []).some(({ chart }) => chart.length > 0)) return html`<p class="tb-nothing">No chart matches “${filter.text}”.</p>`;
  return html`<div class="tb-nothing">
    <p>${layout.category ? "The logged layout has no charts." : "No run has logged a layout."} To log one with PyTorch, call this once:</p>
    <pre><code>writer.add_custom_scalars({"Losses": {"train and eval": ["Multiline", ["loss/train", "loss/eval"]]}})</code></pre>
  </div>`;
}

/** The settings menu of the toolbar. @param {{ host: Host }} props */
function Settings({ host }) {
  const options = OPTIONS.parse(host.settings.value);
  return html`<div class="tb-settings">
    <h4 aria-hidden="true">Scale of the y axis</h4>
    <${Choice} label="Scale of the y axis" name="logY" choices=${SCALES} value=${options.logY} onChange=${(/** @type {any} */ scale) => OPTIONS.set(host, "logY", scale)} />
    ${SWITCHES.map(
      ([name, title, why]) =>
        html`<${Check} label=${title} why=${why} checked=${options[name]} onChange=${(/** @type {boolean} */ isChecked) => OPTIONS.set(host, name, isChecked)} />`,
    )}
  </div>`;
}
