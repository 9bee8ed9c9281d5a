/**
 * A card with a chart of the layout, for the selected runs. It fetches its data when it comes into
 * view, and again when one of the runs changes.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ChartCard } from "tbcore/cards.js";
import { Legend, LineChart } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { useColumns } from "tbcore/requests.js";
import { labelOf } from "tbcore/text-names.js";
import { useNear } from "tbcore/ui.js";
import { DASHES, bandsOf, linesOf, notesOf, readOutOf, tagsOf, titleOf, untimed } from "./lines.js";

/**
 * @typedef {import("tbcore/chart.js").Hit} Hit
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
export function CustomCard({ host, cursor, chart, runs, options }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const { multiline, margin } = chart;
  const params = margin ? { series: margin.series } : { tags: multiline?.tag ?? [], smoothing: options.smooth, smoothing_kind: options.smoothKind };
  const { answer: data, error } = useColumns(host, margin ? "margins" : "lines", params, runs, isNear);
  const lines = useMemo(() => (data && !margin ? linesOf(data, runs, options.x) : null), [data, runs, options.x]);
  const bands = useMemo(() => (data && margin ? bandsOf(data, runs, options.x) : null), [data, runs, options.x]);
  const notes = useMemo(() => (data ? notesOf(chart, data, options.x) : []), [chart, data, options.x]);
  useEffect(() => {
    /** @type {readonly string[]} */
    const found = data?.header.untimed ?? [];
    if (!found.every((run) => untimed.value.has(run))) untimed.value = new Set([...untimed.value, ...found]);
  }, [data]);
  /** The lines that are far out of range; they can be left out of it in this card alone. */
  const [far, setFar] = useState(/** @type {readonly string[]} */ ([]));
  const [leavesOut, setLeavesOut] = useState(false);
  const clip = options.clip || leavesOut;
  const title = titleOf(chart);
  const isEmpty = !(lines ?? bands)?.length;
  /** @param {HTMLElement} element @param {import("tbcore/cards.js").ChartEvents} on */
  const make = (element, on) =>
    new LineChart(element, {
      label: title,
      cursor,
      readOut: margin && (([{ band, index }]) => readOutOf(/** @type {import("./types.js").MarginBand} */ (band), index)),
      onHover: (hits) => on.hover(hits[0]?.line ? hits[0].run : null, hits),
      onZoom: on.zoom,
      onFar: setFar,
      onPin: options.x === "step" ? (x, settled) => settled && host.step.set(x) : undefined,
    });
  /** @param {LineChart} drawn */
  const draw = (drawn) => {
    drawn.setAxes({ xAxis: options.x, yScale: options.logY === "true" ? "log" : options.logY || "linear", clip });
    drawn.setBands(bands ?? []);
    drawn.setLines(lines ?? []);
  };
  const legend = (/** @type {readonly Hit[] | null} */ hits) => html`<${Legend}
    label="Values of ${title}"
    lines=${lines}
    xAxis=${options.x}
    hits=${hits}
    highlighted=${host.hoveredRun.value}
    onHover=${(/** @type {{ run: string } | null} */ row) => host.hoveredRun.set(row?.run ?? null)}
  />`;
  const farNote = html`<button type="button" class="far" title=${far.join("\n")} onClick=${() => setLeavesOut(!leavesOut)}>
    ${plural(far.length, "line")} far from the others: fit the axis to ${leavesOut ? "all" : "the others"}
  </button>`;
  return html`<${ChartCard}
    ...${{ host, body, isNear, title, make, draw, error, notes }}
    drawnBy=${[lines, bands, options.x, options.logY, clip]}
    hint=${isEmpty && data ? "nothing to draw" : data || error ? "" : "loading"}
    dashes=${data && !margin ? keyOf(tagsOf(data)) : []}
    over=${far.length > 0 && !options.clip && farNote}
    legend=${options.legend && lines && !isEmpty && legend}
    menu=${{ content: (/** @type {unknown} */ pictures) => html`<div class="tb-downloads">${pictures}<${Downloads} ...${{ host, data, runs }} /></div>` }}
  />`;
}

/**
 * What the dashes of the lines stand for.
 * @param {readonly string[]} tags
 * @returns {(readonly [name: string, dash: number[] | null | undefined])[]}
 */
function keyOf(tags) {
  /** @type {(readonly [string, number[] | null | undefined])[]} */
  const key = tags.slice(0, MAX_TAGS_IN_KEY).map((tag, index) => [tag, DASHES[index % DASHES.length]]);
  if (tags.length > MAX_TAGS_IN_KEY) key.push([`and ${tags.length - MAX_TAGS_IN_KEY} more tags`, null]);
  return key;
}

/**
 * Links to download the points of each series.
 * @param {object} props
 * @param {Host} props.host
 * @param {ChartData | null} props.data
 * @param {readonly import("./types.js").Run[]} props.runs
 */
function Downloads({ host, data, runs }) {
  if (!data) return html`<p>The chart has not been loaded yet.</p>`;
  const series = data.header.lines.flatMap(({ run, tag, value, lower, upper }) =>
    [tag, value, lower, upper].filter((one) => one !== undefined).map((one) => ({ run, tag: one })),
  );
  return html`<ul class="downloads">
      ${series.slice(0, MAX_DOWNLOADS).map(
        ({ run, tag }) => html`<li key=${JSON.stringify([run, tag])}>
          <span title=${`${run} · ${tag}`}>${labelOf(runs, run)} · ${tag}</span>
          ${["csv", "json"].map(
            (format) => html`<a
              class="tb-button"
              aria-label="${format.toUpperCase()} of ${labelOf(runs, run)} · ${tag}"
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
