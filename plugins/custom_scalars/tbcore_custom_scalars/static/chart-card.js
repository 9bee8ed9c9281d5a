/**
 * A card with a chart of the layout, for the selected runs. It fetches its data when it comes into
 * view, and again when one of the runs changes.
 */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { LinesCard, lineSample } from "tbcore/chart.js";
import { useColumns } from "tbcore/requests.js";
import { useNear } from "tbcore/ui.js";
import { DASHES, bandsOf, linesOf, notesOf, readOutOf, tagsOf, titleOf } from "./lines.js";

/**
 * @typedef {import("./types.js").ChartData} ChartData
 * @typedef {import("./types.js").Host} Host
 */

/** Maximum number of tags in the key above the chart. */
const MAX_TAGS_IN_KEY = 12;
/** Maximum number of series in the list of downloads. */
const MAX_DOWNLOADS = 50;

/**
 * The card of one chart.
 * @param {object} props
 * @param {Host} props.host
 * @param {import("tbcore/chart.js").Cursor} props.cursor  shared by all cards
 * @param {import("./types.js").Chart} props.chart
 * @param {readonly import("./types.js").Run[]} props.runs
 * @param {import("./types.js").Options} props.options
 */
export function ChartCard({ host, cursor, chart, runs, options }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const { multiline, margin } = chart;
  const { answer: data, error } = useColumns(host, margin ? "margins" : "lines", margin ? { series: margin.series } : { tags: multiline?.tag ?? [] }, runs, isNear);
  const lines = useMemo(() => (data && !margin ? linesOf(data, runs, options.smooth) : null), [data, runs, options.smooth]);
  const bands = useMemo(() => (data && margin ? bandsOf(data, runs, options.x) : null), [data, runs, options.x]);
  const notes = useMemo(() => (data ? notesOf(chart, data) : []), [chart, data]);
  const tags = data && !margin ? tagsOf(data) : [];
  return html`<${LinesCard}
    host=${host}
    body=${body}
    isNear=${isNear}
    title=${titleOf(chart)}
    lines=${lines}
    bands=${bands}
    error=${error}
    axes=${{ xAxis: options.x, yScale: options.logY ? "log" : "linear", clip: options.clip }}
    cursor=${cursor}
    readOut=${margin &&
    ((/** @type {import("tbcore/chart.js").Hit[]} */ [{ band, index }]) => readOutOf(/** @type {ChartData} */ (data), /** @type {any} */ (band), index))}
    legend=${options.legend}
    notes=${notes}
    downloads=${() => html`<${Downloads} host=${host} data=${data} />`}
  >
    ${tags.length > 1 &&
    html`<p class="tb-card-note key">
      ${tags
        .slice(0, MAX_TAGS_IN_KEY)
        .map((tag, index) => html`<span><i class="tb-dashed" style=${{ background: lineSample("currentcolor", DASHES[index % DASHES.length]) }}></i>${tag}</span>`)}
      ${tags.length > MAX_TAGS_IN_KEY && html`<span>and ${tags.length - MAX_TAGS_IN_KEY} more tags</span>`}
    </p>`}
  <//>`;
}

/**
 * Links to download the points of each series.
 * @param {object} props
 * @param {Host} props.host
 * @param {ChartData | null} props.data
 */
function Downloads({ host, data }) {
  if (!data) return html`<p>The chart has not been loaded yet.</p>`;
  const series = data.header.lines.flatMap(({ run, tag, value, lower, upper }) =>
    [tag, value, lower, upper].filter((one) => one !== undefined).map((one) => ({ run, tag: one })),
  );
  return html`<ul class="downloads">
      ${series.slice(0, MAX_DOWNLOADS).map(
        ({ run, tag }) => html`<li key=${JSON.stringify([run, tag])}>
          <span>${run} · ${tag}</span>
          ${["csv", "json"].map(
            (format) => html`<a
              class="tb-button"
              aria-label="${format.toUpperCase()} of ${run} · ${tag}"
              href=${host.url("download_data", { run, tag, format })}
              download=${`${run}_${tag}`.replace(/[^\w.-]+/g, "_") + `.${format}`}
              >${format.toUpperCase()}</a
            >`,
          )}
        </li>`,
      )}
    </ul>
    ${series.length > MAX_DOWNLOADS && html`<p>${series.length - MAX_DOWNLOADS} more are not listed; select fewer runs to see them.</p>`}`;
}
