/**
 * One card: a chart of the layout, for the selected runs. It asks the server when it comes into sight, and again when one
 * of the runs has changed.
 */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { useNear } from "tbcore/lib/lazy.js";
import { LinesCard, useColumns } from "tbcore/lib/lines-card.js";
import { sampleOf } from "tbcore/lib/marks.js";
import { bandsOf, DASHES, linesOf, notesOf, readOutOf, tagsOf, titleOf } from "./lines.js";

/**
 * @typedef {import("./types.js").Answer} Answer
 * @typedef {import("./types.js").Host} Host
 */

/** So many tags have a sample of their dashes above the chart, and so many lines are in the list of downloads. */
const MOST_TAGS = 12;
const MOST_DOWNLOADS = 50;

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {import("tbcore/lib/chart-types.js").Cursor} props.cursor  of all cards
 * @param {import("./types.js").Chart} props.chart
 * @param {readonly import("./types.js").Run[]} props.runs
 * @param {import("./types.js").Options} props.options
 */
export function ChartCard({ host, cursor, chart, runs, options }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const { multiline, margin } = chart;
  const { answer, error } = useColumns(host, margin ? "margins" : "lines", margin ? { series: margin.series } : { tags: multiline?.tag ?? [] }, runs, isNear);
  const lines = useMemo(() => (answer && !margin ? linesOf(answer, runs, options.smooth) : null), [answer, runs, options.smooth]);
  const bands = useMemo(() => (answer && margin ? bandsOf(answer, runs, options.x) : null), [answer, runs, options.x]);
  const notes = useMemo(() => (answer ? notesOf(chart, answer) : []), [chart, answer]);
  const tags = answer && !margin ? tagsOf(answer) : [];
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
    ((/** @type {import("tbcore/lib/chart-types.js").Hit[]} */ [{ band, index }]) => readOutOf(/** @type {Answer} */ (answer), /** @type {any} */ (band), index))}
    legend=${options.legend}
    notes=${notes}
    downloads=${() => html`<${Downloads} host=${host} answer=${answer} />`}
  >
    ${tags.length > 1 &&
    html`<p class="tb-card-note key">
      ${tags
        .slice(0, MOST_TAGS)
        .map((tag, place) => html`<span><i class="tb-dashed" style=${{ background: sampleOf("currentcolor", DASHES[place % DASHES.length]) }}></i>${tag}</span>`)}
      ${tags.length > MOST_TAGS && html`<span>and ${tags.length - MOST_TAGS} more tags</span>`}
    </p>`}
  <//>`;
}

/**
 * The numbers of each line.
 * @param {object} props
 * @param {Host} props.host
 * @param {Answer | null} props.answer
 */
function Downloads({ host, answer }) {
  if (!answer) return html`<p>Nothing is there yet.</p>`;
  const series = answer.header.lines.flatMap(({ run, tag, value, lower, upper }) =>
    [tag, value, lower, upper].filter((one) => one !== undefined).map((one) => ({ run, tag: one })),
  );
  return html`<ul class="downloads">
      ${series.slice(0, MOST_DOWNLOADS).map(
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
    ${series.length > MOST_DOWNLOADS && html`<p>${series.length - MOST_DOWNLOADS} more: select fewer runs to see them.</p>`}`;
}
