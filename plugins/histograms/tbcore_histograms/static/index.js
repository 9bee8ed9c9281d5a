/**
 * The histograms tab: how the values of each tag are distributed, step by step, one card for each run that has the tag.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { Answers } from "tbcore/lib/answers.js";
import { Menu } from "tbcore/lib/card.js";
import { Choice, Pick } from "tbcore/lib/controls.js";
import { Options } from "tbcore/lib/options.js";
import { SAMPLES, seriesOf } from "tbcore/lib/series-card.js";
import { TagTab, watchTags } from "tbcore/lib/tag-tab.js";
import { readHistogram } from "./buckets.js";
import { HistogramCard } from "./histogram-card.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} TabOptions
 */

/** @type {[value: TabOptions["mode"], title: string, why: string][]} */
const MODES = [
  ["offset", "Offset", "One behind the other, the newest in front"],
  ["overlay", "Overlay", "Over one baseline, the newest in the strongest colour"],
];
/** @type {[value: TabOptions["y"], title: string][]} */
const AXES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];
/** @type {[value: number, title: string, why: string][]} */
const TRIMS = [
  [0, "All", "Every sample has its place"],
  [0.1, "0.1 %", "The axis leaves out the least and the greatest 0.1 % of all samples of a card"],
  [1, "1 %", "The axis leaves out the least and the greatest 1 % of all samples of a card"],
  [5, "5 %", "The axis leaves out the least and the greatest 5 % of all samples of a card"],
];
/** @type {[value: boolean, title: string, why: string][]} */
const HEIGHTS = [
  [false, "Linear", "Heights are samples for each unit of the axis"],
  [true, "Root", "Heights are the square roots of that, so that low parts are seen beside a high peak"],
];
/** @type {[value: TabOptions["size"], title: string][]} */
const SIZES = [
  ["medium", "Medium"],
  ["large", "Large"],
];

const OPTIONS = new Options(
  /** @type {TabOptions} */ ({ mode: "offset", y: "step", trim: 0, root: false, samples: "", size: "medium" }),
  {
    mode: MODES.map(([mode]) => mode),
    y: AXES.map(([axis]) => axis),
    trim: TRIMS.map(([trim]) => trim),
    samples: SAMPLES.map(([samples]) => samples),
    size: ["medium", "large"],
  },
);

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./histograms.css")]);
    const answers = new Answers(host, "series", seriesOf((rows) => rows.map(readHistogram)));
    OPTIONS.recall(host);
    host.keys([{ key: "f", label: "Full size: the card that has the focus" }]);
    render(html`<${Tab} host=${host} tags=${tags} answers=${answers} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {any} props.tags
 * @param {import("./histogram-card.js").HistogramAnswers} props.answers
 */
function Tab({ host, tags, answers }) {
  const options = OPTIONS.parse(host.settings.value);
  /** @template {keyof TabOptions & string} Name @param {Name} name @returns {(value: TabOptions[Name]) => void} */
  const setter = (name) => (value) => OPTIONS.set(host, name, value);
  const controls = html`
    <${Choice} label="Drawn as" name="mode" choices=${MODES} value=${options.mode} onChange=${setter("mode")} />
    <${Choice} label="Placed by" name="y" choices=${AXES} value=${options.y} onChange=${setter("y")} />
    <${Pick} label="Trim" choices=${TRIMS} value=${options.trim} onChange=${setter("trim")} />
    <${Pick} label="Steps" choices=${SAMPLES} value=${options.samples} onChange=${setter("samples")} />
    <${Menu}
      icon="settings"
      label="Settings"
      content=${() => html`<div class="tb-settings">
        <${Pick} label="Heights" choices=${HEIGHTS} value=${options.root} onChange=${setter("root")} />
        <${Pick} label="Cards" choices=${SIZES} value=${options.size} onChange=${setter("size")} />
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
      html`<${HistogramCard} key=${run.name} host=${host} answers=${answers} tag=${tag} run=${run} group=${group} options=${options} />`}
  />`;
}
