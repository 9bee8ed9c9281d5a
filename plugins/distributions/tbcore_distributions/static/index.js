/**
 * The distributions tab: percentiles of each tag's values over the steps, with a card for each tag
 * and run.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { seriesCards } from "tbcore/cards.js";
import { makeCursor } from "tbcore/chart.js";
import { Options } from "tbcore/options.js";
import { Answers } from "tbcore/requests.js";
import { TagTab, watchTags } from "tbcore/tags.js";
import { Choice, Menu, Pick } from "tbcore/ui.js";
import { DistributionCard } from "./distribution-card.js";
import { readPercentiles } from "./percentiles.js";

const { SAMPLES, SharedRanges, readSeries } = await seriesCards();

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} TabOptions
 */

/** @type {[value: TabOptions["x"], title: string][]} */
const X_AXIS_CHOICES = [
  ["step", "Step"],
  ["relative", "Relative"],
  ["wall_time", "Wall time"],
];
/** @type {[value: boolean, title: string, why: string][]} */
const TAIL_CHOICES = [
  [true, "All samples", "Shows everything from the minimum to the maximum"],
  [false, "Without tails", "Shows the middle 87 %, so that a few outliers do not squeeze the rest"],
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

const OPTIONS = new Options(/** @type {TabOptions} */ ({ x: "step", tails: true, own: false, samples: "", size: "medium" }), {
  x: X_AXIS_CHOICES.map(([axis]) => axis),
  samples: SAMPLES.map(([samples]) => samples),
  size: ["medium", "large"],
});

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./distributions.css")]);
    const answers = new Answers(host, "series", (json) => readSeries(json, readPercentiles));
    OPTIONS.recall(host);
    host.keys([
      { key: "f", label: "Show the focused card in full size" },
      { key: "click", label: "Pin a step in all tabs (or Enter); Delete or × removes it" },
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
 * @param {import("./distribution-card.js").DistributionAnswers} props.answers
 */
function Tab({ host, tags, answers }) {
  const options = OPTIONS.parse(host.settings.value);
  const cursor = useMemo(makeCursor, [options.x]);
  const step = options.x === "step" ? host.step.value : null;
  useEffect(() => cursor.pin(step, true), [cursor, step]);
  const ranges = useMemo(() => new SharedRanges(), []);
  /**
   * @template {keyof TabOptions & string} Name
   * @param {Name} name
   * @returns {(value: TabOptions[Name]) => void}
   */
  const setter = (name) => (value) => OPTIONS.set(host, name, value);
  const controls = html`
    <${Choice} label="Horizontal axis" name="x" choices=${X_AXIS_CHOICES} value=${options.x} onChange=${setter("x")} />
    <${Choice} label="Bands" name="tails" choices=${TAIL_CHOICES} value=${options.tails} onChange=${setter("tails")} />
    <${Pick} label="Steps" choices=${SAMPLES} value=${options.samples} onChange=${setter("samples")} />
    <${Menu}
      icon="settings"
      label="Settings"
      content=${() => html`<div class="tb-settings">
        <${Pick} label="Axis of values" choices=${RANGE_CHOICES} value=${options.own} onChange=${setter("own")} />
        <${Pick} label="Card size" choices=${CARD_SIZES} value=${options.size} onChange=${setter("size")} />
      </div>`}
    />
  `;
  return html`<${TagTab}
    host=${host}
    tags=${tags}
    what="histograms to compute percentiles from"
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
        ranges=${ranges}
      />`}
  />`;
}
