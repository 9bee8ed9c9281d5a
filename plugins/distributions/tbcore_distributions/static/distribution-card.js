/**
 * A card with the percentiles of a tag in one run, over the steps.
 */

import { html } from "htm/preact";
import { seriesCards } from "tbcore/cards.js";
import { LineChart } from "tbcore/chart.js";
import { bandsOf, noteOf, percentileTable, readOutOf } from "./percentiles.js";

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
 */
export function DistributionCard({ cursor, run, options, ...props }) {
  /** @type {import("tbcore/cards.js").Drawing<Percentiles, LineChart>} */
  const drawing = {
    make: (element, _label, { hover, zoom }) =>
      new LineChart(element, {
        label: props.tag,
        xAxis: options.x,
        cursor,
        readOut: ([{ band, index }]) => readOutOf(/** @type {PercentileBand} */ (band), index),
        onHover: (hits) => hover(hits.length > 0 ? run.name : null),
        onZoom: zoom,
      }),
    draw: (chart, percentiles) => chart.setBands(bandsOf(percentiles, options.x, options.tails, run)),
    drawnBy: [options.x, options.tails],
    note: noteOf,
    table: percentileTable,
  };
  return html`<${SeriesCard} ...${props} run=${run} samples=${options.samples} drawing=${drawing} />`;
}
