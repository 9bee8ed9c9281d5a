/**
 * A card with the histograms of a tag in one run.
 */

import { html } from "htm/preact";
import { seriesCards } from "tbcore/cards.js";
import { bucketRows, rangeOf } from "./buckets.js";
import { RidgeChart } from "./ridge-chart.js";

const { SeriesCard } = await seriesCards();

/**
 * @typedef {import("./types.js").Histogram} Histogram
 * @typedef {import("tbcore/requests.js").Answers<import("tbcore/cards.js").Series<Histogram[]>>} HistogramAnswers
 */

/**
 * The card of one tag in one run.
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {HistogramAnswers} props.answers
 * @param {string} props.tag
 * @param {import("./types.js").Run} props.run
 * @param {string} props.group  name of the section, which the title omits
 * @param {import("./types.js").Options} props.options
 * @param {import("tbcore/cards.js").SharedRanges} props.ranges
 */
export function HistogramCard({ run, options, ranges, ...props }) {
  const { host, tag } = props;
  const key = `${options.trim} ${tag}`;
  const step = options.y === "step" ? host.step.value : null;
  const shared = ranges.union(key, host.runs.value);
  /** @type {import("tbcore/cards.js").Drawing<Histogram[], RidgeChart>} */
  const drawing = {
    make: (element, label, { hover, zoom }) => new RidgeChart(element, label, (isHovered) => hover(isHovered ? run.name : null), zoom, host.step.set),
    draw(chart, histograms) {
      const own = rangeOf(histograms, options.trim);
      ranges.set(key, run.name, own);
      chart.set(histograms, run, { ...options, step }, own, options.own ? own : ranges.union(key, host.runs.value));
    },
    drawnBy: [options.mode, options.y, options.trim, options.root, options.bins, options.own, step, String(shared)],
    table: (histograms) => ({ header: ["Wall time", "Step", "Left", "Right", "Count"], rows: bucketRows(histograms) }),
  };
  return html`<${SeriesCard} ...${props} run=${run} samples=${options.samples} drawing=${drawing} />`;
}
