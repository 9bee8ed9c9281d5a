/**
 * The card of one tag: a chart of its values in the runs that are shown, and links to download them.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Card, Menu } from "tbcore/lib/card.js";
import { Icon } from "tbcore/lib/icons.js";
import { useNear } from "tbcore/lib/lazy.js";
import { LineChart } from "tbcore/lib/line-chart.js";
import { Name } from "tbcore/lib/runs-panel.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("./series-store.js").SeriesStore} SeriesStore
 */

/**
 * While many series arrive the chart is not drawn for each: after the first, the second, the fourth and so on, and at
 * the latest after this time. All draws together cost about twice the last one.
 */
const DRAW_MS = 1000;

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {SeriesStore} props.store
 * @param {string} props.tag
 * @param {string} props.group
 * @param {readonly Run[]} props.runs  those shown that have this tag
 * @param {import("tbcore/lib/series.js").XAxis} props.xAxis
 * @param {import("tbcore/lib/line-chart.js").YScale} props.yScale
 */
export function ScalarCard({ host, store, tag, group, runs, xAxis, yScale }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {LineChart | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const [error, setError] = useState(/** @type {string | null} */ (null));
  /** What the place of the chart says instead of one. */
  const [hint, setHint] = useState("");
  const drawn = useRef(/** @type {import("tbcore/lib/line-chart.js").Line[]} */ ([]));
  const generations = host.generations.value;
  const theme = host.theme.value;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const made = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: tag,
      xAxis,
      yScale,
      onZoom: setZoomed,
    });
    chart.current = made;
    drawn.current = [];
    return () => {
      made.destroy();
      body.current?.replaceChildren();
      chart.current = null;
      setZoomed(false);
    };
  }, [isNear]);

  useEffect(() => {
    chart.current?.setAxes({ xAxis, yScale });
  }, [xAxis, yScale]);

  useEffect(() => {
    chart.current?.restyle();
  }, [theme]);

  useEffect(() => {
    if (!isNear) return undefined;
    const leaving = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let numArrived = 0;
    let drawAt = 1;
    /** @param {boolean} isComplete */
    const draw = (isComplete) => {
      clearTimeout(timer);
      timer = undefined;
      const entries = runs.map((run) => ({ run, entry: store.get(run.name, tag) }));
      const lines = entries.flatMap(({ run, entry }) => (entry?.columns ? [{ ...run, ...entry.columns }] : []));
      if (!areSame(lines, drawn.current)) chart.current?.setLines(lines);
      drawn.current = lines;
      setHint(lines.some(({ value }) => value.length > 0) ? "" : isComplete ? "no points" : "loading");
      setError(entries.find(({ entry }) => entry?.error)?.entry?.error ?? null);
    };
    draw(false);
    const names = runs.map(({ name }) => name);
    store
      .load(tag, names, generations.of, leaving.signal, () => {
        if (++numArrived < drawAt) timer ??= setTimeout(draw, DRAW_MS, false);
        else {
          drawAt *= 2;
          draw(false);
        }
      })
      .then(() => leaving.signal.aborted || draw(true));
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [isNear, runs, generations]);

  const actions = html`
    ${isZoomed &&
    html`<button
      type="button"
      class="tb-icon-button"
      aria-label="Show all of ${tag}"
      title="Show all (double-click)"
      onClick=${() => chart.current?.resetZoom()}
    >
      <${Icon} name="unzoom" />
    </button>`}
    <${Menu} icon="download" label="Download ${tag}" content=${() => html`<${Downloads} host=${host} tag=${tag} runs=${runs} />`} />
  `;
  const dimmed = group !== "" && tag.startsWith(`${group}/`) ? group.length + 1 : 0;
  return html`<${Card} title=${tag} dimmed=${dimmed} expanded=${expanded} onExpand=${setExpanded} actions=${actions}>
    <div class="chart" ref=${body} data-hint=${hint}></div>
    ${error && html`<p class="error" role="status">${error}</p>`}
  <//>`;
}

/**
 * Whether two lists of lines look the same: columns are never changed, only replaced.
 * @param {readonly import("tbcore/lib/line-chart.js").Line[]} a
 * @param {readonly import("tbcore/lib/line-chart.js").Line[]} b
 */
function areSame(a, b) {
  return (
    a.length === b.length &&
    a.every(({ name, color, value }, i) => name === b[i].name && color === b[i].color && value === b[i].value)
  );
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {string} props.tag
 * @param {readonly Run[]} props.runs
 */
function Downloads({ host, tag, runs }) {
  return html`<ul class="downloads">
    ${runs.map(({ name, color }) => {
      const file = `${name}_${tag}`.replace(/[^\w.-]+/g, "_");
      return html`<li>
        <i style=${{ background: color }}></i>
        <span title=${name}><${Name} name=${name} /></span>
        <a href=${host.url("scalars", { run: name, tag, format: "csv" })} download="${file}.csv" aria-label="CSV of ${name}">CSV</a>
        <a href=${host.url("scalars", { run: name, tag })} download="${file}.json" aria-label="JSON of ${name}">JSON</a>
      </li>`;
    })}
  </ul>`;
}
