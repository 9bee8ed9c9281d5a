/**
 * One card: a chart of the layout, for the selected runs. It exists while it is near the visible part of the page, and asks
 * the server when one of the runs has changed.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card, Menu, ShowAll } from "tbcore/lib/card.js";
import { readColumns } from "tbcore/lib/columns.js";
import { useNear } from "tbcore/lib/lazy.js";
import { Legend, legendRows } from "tbcore/lib/legend.js";
import { LineChart } from "tbcore/lib/line-chart.js";
import { sampleOf } from "tbcore/lib/marks.js";
import { PictureButtons } from "tbcore/lib/picture-buttons.js";
import { post } from "tbcore/lib/post.js";
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
 * @param {import("tbcore/lib/queue.js").Queue} props.queue  of all cards
 * @param {import("tbcore/lib/chart-types.js").Cursor} props.cursor  of all cards
 * @param {import("./types.js").Chart} props.chart
 * @param {readonly import("./types.js").Run[]} props.runs
 * @param {import("./types.js").Options} props.options
 */
export function ChartCard({ host, queue, cursor, chart, runs, options }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const drawn = useRef(/** @type {LineChart | null} */ (null));
  const shown = useRef(/** @type {Answer | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const [hits, setHits] = useState(/** @type {readonly import("tbcore/lib/chart-types.js").Hit[] | null} */ (null));
  const { answer, error } = useChart(host, queue, chart, runs, isNear);
  const isMargin = chart.margin !== undefined;
  const title = titleOf(chart);
  const theme = host.theme.value;
  const hovered = host.hoveredRun.value;
  const lines = useMemo(() => (answer && !isMargin ? linesOf(answer, runs, options.smooth) : []), [answer, runs, options.smooth]);
  const bands = useMemo(() => (answer && isMargin ? bandsOf(answer, runs, options.x) : []), [answer, runs, options.x]);
  const notes = useMemo(() => (answer ? notesOf(chart, answer) : []), [chart, answer]);
  const tags = answer && !isMargin ? tagsOf(answer) : [];
  shown.current = answer;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const made = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: title,
      cursor,
      readOut: isMargin ? ([hit]) => readOutOf(/** @type {Answer} */ (shown.current), /** @type {any} */ (hit.band), hit.index) : undefined,
      onHover: (found) => {
        host.hoveredRun.set(found[0]?.line?.run ?? null);
        setHits(found.length > 0 ? found : null);
      },
      onZoom: setZoomed,
    });
    drawn.current = made;
    return () => {
      made.destroy();
      body.current?.replaceChildren();
      drawn.current = null;
      setZoomed(false);
      setHits(null);
    };
  }, [isNear, isMargin]);
  useEffect(() => {
    drawn.current?.setAxes({ xAxis: options.x, xScale: "linear", yScale: options.logY ? "log" : "linear", clip: options.clip });
  }, [isNear, isMargin, options.x, options.logY, options.clip]);
  useEffect(() => {
    if (isMargin) drawn.current?.setBands(bands);
    else drawn.current?.setLines(lines);
  }, [isNear, isMargin, lines, bands]);
  useEffect(() => {
    drawn.current?.restyle();
  }, [theme]);
  useEffect(() => {
    drawn.current?.highlight(hovered);
  }, [isNear, hovered]);

  const actions = html`
    ${isZoomed && html`<${ShowAll} label=${title} onClick=${() => drawn.current?.resetZoom()} />`}
    <${Menu}
      icon="download"
      label="Download ${title}"
      content=${() => html`<${Downloads} host=${host} title=${title} answer=${answer} chart=${drawn.current} note=${notes.join("; ")} />`}
    />
  `;
  const numDrawn = lines.length + bands.length;
  const hint = answer ? (numDrawn > 0 ? "" : "nothing to draw") : error ? "" : "loading";
  return html`<${Card} title=${title} expanded=${expanded} onExpand=${setExpanded} actions=${actions}>
    ${tags.length > 1 &&
    html`<p class="tb-card-note key">
      ${tags
        .slice(0, MOST_TAGS)
        .map((tag, place) => html`<span><i class="tb-dashed" style=${{ background: sampleOf("currentcolor", DASHES[place % DASHES.length]) }}></i>${tag}</span>`)}
      ${tags.length > MOST_TAGS && html`<span>and ${tags.length - MOST_TAGS} more tags</span>`}
    </p>`}
    ${notes.map((note) => html`<p class="tb-card-note" role="note">${note}</p>`)}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${options.legend &&
    lines.length > 0 &&
    html`<${Legend}
      label=${`Values of ${title}`}
      rows=${legendRows(lines, hits, options.x)}
      isLast=${!hits}
      onHover=${(/** @type {{ run: string } | null} */ row) => host.hoveredRun.set(row?.run ?? null)}
      highlighted=${hovered}
    />`}
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}

/**
 * What the server has for a chart, now and whenever one of the runs changes. What was fetched stays until what is newer is
 * there.
 * @param {Host} host
 * @param {import("tbcore/lib/queue.js").Queue} queue
 * @param {import("./types.js").Chart} chart
 * @param {readonly import("./types.js").Run[]} runs
 * @param {boolean} isWanted
 * @returns {{ answer: Answer | null, error: string }}
 */
function useChart(host, queue, { multiline, margin }, runs, isWanted) {
  const [answer, setAnswer] = useState(/** @type {Answer | null} */ (null));
  const [error, setError] = useState("");
  const names = runs.map(({ name }) => name);
  const question = JSON.stringify(margin ? { runs: names, series: margin.series } : { runs: names, tags: multiline?.tag ?? [] });
  const generations = host.generations.value;
  const generation = names.map((name) => generations.of(name)).join(" ");
  useEffect(() => {
    if (!isWanted) return undefined;
    const leaving = new AbortController();
    const ask = async (/** @type {AbortSignal} */ ending) => {
      const response = await post(host, margin ? "margins" : "lines", JSON.parse(question), ending);
      return readColumns(await response.arrayBuffer());
    };
    queue.add(ask, leaving.signal).then(
      (found) => {
        if (leaving.signal.aborted) return;
        setAnswer(found);
        setError("");
      },
      (failure) => leaving.signal.aborted || setError(failure.message),
    );
    return () => leaving.abort();
  }, [question, generation, isWanted]);
  return { answer, error };
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {string} props.title
 * @param {Answer | null} props.answer
 * @param {LineChart | null} props.chart
 * @param {string} props.note
 */
function Downloads({ host, title, answer, chart, note }) {
  if (!answer) return html`<p class="tb-downloads">Nothing is there yet.</p>`;
  const series = answer.header.lines.flatMap(({ run, tag, value, lower, upper }) =>
    [tag, value, lower, upper].filter((one) => one !== undefined).map((one) => ({ run, tag: one })),
  );
  return html`<div class="tb-downloads downloads">
    <${PictureButtons} chart=${chart} name=${title} note=${note} />
    <ul>
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
    ${series.length > MOST_DOWNLOADS && html`<p>${series.length - MOST_DOWNLOADS} more: select fewer runs to see them.</p>`}
  </div>`;
}
