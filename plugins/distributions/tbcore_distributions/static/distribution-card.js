/**
 * A card with the percentiles of a tag in one run, over the steps.
 */

import { html } from "htm/preact";
import { seriesCards } from "tbcore/cards.js";
import { LineChart } from "tbcore/chart.js";
import { bandsOf, noteOf, percentileTable, rangeOf, readOutOf } from "./percentiles.js";

const { SeriesCard } = await seriesCards();

/**
 * @typedef {import("./types.js").PercentileBand} PercentileBand
 * @typedef {import("./types.js").Percentiles} Percentiles
 * @typedef {import("tbcore/requests.js").Answers<import("tbcore/cards.js").Series<Percentiles>>} DistributionAnswers
 */

/**
 * The card of one tag in one run.
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {DistributionAnswers} props.answers
 * @param {import("tbcore/chart.js").Cursor} props.cursor  shared by all cards
 * @param {string} props.tag
 * @param {import("./types.js").Run} props.run
 * @param {string} props.group  name of the section, which the title omits
 * @param {import("./types.js").Options} props.options
 * @param {import("tbcore/cards.js").SharedRanges} props.ranges
 */
export function DistributionCard({ cursor, run, options, ranges, ...props }) {
  const { host, tag } = props;
  const key = `${options.tails} ${tag}`;
  const step = options.x === "step" ? host.step.value : null;
  const shared = ranges.union(key, host.runs.value);
  /** @type {import("tbcore/cards.js").Drawing<Percentiles, LineChart>} */
  const drawing = {
    make: (element, _label, { hover, zoom }) =>
      new LineChart(element, {
        label: tag,
        xAxis: options.x,
        cursor,
        readOut: ([{ band, index }]) => readOutOf(/** @type {PercentileBand} */ (band), index),
        onHover: (hits) => hover(hits.length > 0 ? run.name : null),
        onZoom: zoom,
        // Only a step is the same in all tabs; on another axis, nothing can be pinned.
        onPin: options.x === "step" ? (x, settled) => settled && host.step.set(x) : undefined,
      }),
    draw(chart, percentiles) {
      ranges.set(key, run.name, rangeOf(percentiles, options.tails));
      chart.setAxes({ include: options.own ? null : ranges.union(key, host.runs.value) });
      chart.setBands(bandsOf(percentiles, options.x, options.tails, run));
    },
    drawnBy: [options.x, options.tails, options.own, step, String(shared)],
    note: (percentiles) => noteOf(percentiles, step),
    table: percentileTable,
  };
  return html`<${SeriesCard} ...${props} run=${run} samples=${options.samples} drawing=${drawing} />`;
}
