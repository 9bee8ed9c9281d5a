/**
 * The histograms tab: the distribution of each tag's values, step by step, with a card for each tag
 * and run.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useMemo } from "preact/hooks";
import { seriesCards } from "tbcore/cards.js";
import { Options } from "tbcore/options.js";
import { Answers } from "tbcore/requests.js";
import { TagTab, watchTags } from "tbcore/tags.js";
import { Choice, Menu, Pick } from "tbcore/ui.js";
import { readHistogram } from "./buckets.js";
import { HistogramCard } from "./histogram-card.js";

const { SAMPLES, SharedRanges, readSeries } = await seriesCards();

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} TabOptions
 */

/** @type {[value: TabOptions["mode"], title: string, why: string][]} */
const MODES = [
  ["offset", "Offset", "Stacks the histograms, the newest in front"],
  ["overlay", "Overlay", "Draws all histograms on one baseline, the newest in the strongest colour"],
];
/** @type {[value: TabOptions["y"], title: string][]} */
const Y_AXES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];
/** @type {[value: number, title: string, why: string][]} */
const TRIM_CHOICES = [
  [0, "All", "The axis shows all samples"],
  [0.1, "0.1 %", "The axis leaves out the smallest 0.1 % and the largest 0.1 % of a card's samples"],
  [1, "1 %", "The axis leaves out the smallest 1 % and the largest 1 % of a card's samples"],
  [5, "5 %", "The axis leaves out the smallest 5 % and the largest 5 % of a card's samples"],
];
/** @type {[value: boolean, title: string, why: string][]} */
const HEIGHT_SCALES = [
  [false, "Linear", "The height is the number of samples per unit of the axis"],
  [true, "Square root", "The height is the square root of the density, so that low parts are visible beside a high peak"],
];
/** @type {[value: TabOptions["bins"], title: string, why: string][]} */
const BIN_CHOICES = [
  ["equal", "About 50, equal", "Combines logged buckets that are narrower. Downloads have the logged buckets"],
  ["logged", "As logged", "Draws every logged bucket"],
];
/** @type {[value: boolean, title: string, why: string][]} */
const RANGE_CHOICES = [
  [false, "Same for a tag", "The cards of a tag have the same axis of values, so that they can be compared"],
  [true, "Each its own", "The axis of each card has the values of its run"],
];
/** @type {[value: TabOptions["size"], title: string][]} */
const CARD_SIZES = [
  ["medium", "Medium"],
  ["large", "Large"],
];

const OPTIONS = new Options(
  /** @type {TabOptions} */ ({ mode: "offset", y: "step", trim: 0, root: false, bins: "equal", own: false, samples: "", size: "medium" }),
  {
    mode: MODES.map(([mode]) => mode),
    y: Y_AXES.map(([axis]) => axis),
    trim: TRIM_CHOICES.map(([trim]) => trim),
    bins: BIN_CHOICES.map(([bins]) => bins),
    samples: SAMPLES.map(([samples]) => samples),
    size: ["medium", "large"],
  },
);

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./histograms.css")]);
    const answers = new Answers(host, "series", (json) => readSeries(json, (rows) => rows.map(readHistogram)));
    OPTIONS.recall(host);
    host.keys([
      { key: "f", label: "Show the focused card in full size" },
      { key: "← →", label: "Read the buckets of a chart; ↑ ↓ switch histograms" },
      { key: "click", label: "Show its step in all tabs (or Enter); again, the latest" },
      { key: "Esc", label: "Stop reading, then show all values" },
      { key: "drag", label: "Zoom to a range of values; double-click shows all" },
    ]);
    render(html`<${Tab} host=${host} tags=${tags} answers=${answers} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * The toolbar and the cards.
 * @param {object} props
 * @param {Host} props.host
 * @param {any} props.tags
 * @param {import("./histogram-card.js").HistogramAnswers} props.answers
 */
function Tab({ host, tags, answers }) {
  const options = OPTIONS.parse(host.settings.value);
  const ranges = useMemo(() => new SharedRanges(), []);
  /**
   * @template {keyof TabOptions & string} Name
   * @param {Name} name
   * @returns {(value: TabOptions[Name]) => void}
   */
  const setter = (name) => (value) => OPTIONS.set(host, name, value);
  const controls = html`
    <${Choice} label="Mode" name="mode" choices=${MODES} value=${options.mode} onChange=${setter("mode")} />
    <${Choice} label="Vertical axis" name="y" choices=${Y_AXES} value=${options.y} onChange=${setter("y")} />
    <${Pick} label="Trim" choices=${TRIM_CHOICES} value=${options.trim} onChange=${setter("trim")} />
    <${Pick} label="Steps" choices=${SAMPLES} value=${options.samples} onChange=${setter("samples")} />
    <${Menu}
      icon="settings"
      label="Settings"
      content=${() => html`<div class="tb-settings">
        <${Pick} label="Bins" choices=${BIN_CHOICES} value=${options.bins} onChange=${setter("bins")} />
        <${Pick} label="Axis of values" choices=${RANGE_CHOICES} value=${options.own} onChange=${setter("own")} />
        <${Pick} label="Height scale" choices=${HEIGHT_SCALES} value=${options.root} onChange=${setter("root")} />
        <${Pick} label="Card size" choices=${CARD_SIZES} value=${options.size} onChange=${setter("size")} />
      </div>`}
    />
  `;
  return html`<${TagTab}
    host=${host}
    tags=${tags}
    what="histograms"
    controls=${controls}
    size=${options.size}
    renderCard=${(/** @type {{ tag: string, run: import("./types.js").Run, group: string }} */ { tag, run, group }) =>
      html`<${HistogramCard} key=${run.name} host=${host} answers=${answers} tag=${tag} run=${run} group=${group} options=${options} ranges=${ranges} />`}
  />`;
}
