/**
 * The distributions tab: percentiles of the values of each tag over the steps, one card for each run that has the tag.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useMemo } from "preact/hooks";
import { Answers } from "tbcore/lib/answers.js";
import { Menu } from "tbcore/lib/card.js";
import { Choice, Pick } from "tbcore/lib/controls.js";
import { makeCursor } from "tbcore/lib/cursor.js";
import { Options } from "tbcore/lib/options.js";
import { SAMPLES, seriesOf } from "tbcore/lib/series-card.js";
import { TagTab, watchTags } from "tbcore/lib/tag-tab.js";
import { DistributionCard } from "./distribution-card.js";
import { readPercentiles } from "./percentiles.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} TabOptions
 */

/** @type {[value: TabOptions["x"], title: string][]} */
const AXES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];
/** @type {[value: boolean, title: string, why: string][]} */
const TAILS = [
  [true, "All samples", "From the least to the greatest"],
  [false, "Without tails", "The middle 87 %: single samples far out do not press all others together"],
];
/** @type {[value: TabOptions["size"], title: string][]} */
const SIZES = [
  ["medium", "Medium"],
  ["large", "Large"],
];

const OPTIONS = new Options(/** @type {TabOptions} */ ({ x: "step", tails: true, samples: "", size: "medium" }), {
  x: AXES.map(([axis]) => axis),
  samples: SAMPLES.map(([samples]) => samples),
  size: ["medium", "large"],
});

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./distributions.css")]);
    const answers = new Answers(host, "series", seriesOf(readPercentiles));
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
 * @param {import("./distribution-card.js").DistributionAnswers} props.answers
 */
function Tab({ host, tags, answers }) {
  const options = OPTIONS.parse(host.settings.value);
  const cursor = useMemo(makeCursor, [options.x]);
  /** @template {keyof TabOptions & string} Name @param {Name} name @returns {(value: TabOptions[Name]) => void} */
  const setter = (name) => (value) => OPTIONS.set(host, name, value);
  const controls = html`
    <${Choice} label="Horizontal axis" name="x" choices=${AXES} value=${options.x} onChange=${setter("x")} />
    <${Choice} label="Bands" name="tails" choices=${TAILS} value=${options.tails} onChange=${setter("tails")} />
    <${Pick} label="Steps" choices=${SAMPLES} value=${options.samples} onChange=${setter("samples")} />
    <${Menu}
      icon="settings"
      label="Settings"
      content=${() => html`<div class="tb-settings">
        <${Pick} label="Cards" choices=${SIZES} value=${options.size} onChange=${setter("size")} />
      </div>`}
    />
  `;
  return html`<${TagTab}
    host=${host}
    tags=${tags}
    what="histograms to make distributions of"
    controls=${controls}
    size=${options.size}
    renderCard=${(/** @type {{ tag: string, run: import("./types.js").Run, group: string }} */ { tag, run, group }) =>
      html`<${DistributionCard}
        key=${`${options.x} ${run.name}`}
        host=${host}
        answers=${answers}
        cursor=${cursor}
        tag=${tag}
        run=${run}
        group=${group}
        options=${options}
      />`}
  />`;
}
