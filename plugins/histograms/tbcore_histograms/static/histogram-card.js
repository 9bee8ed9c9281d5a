/**
 * One card: the histograms of a tag in one run.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "tbcore/lib/answers.js";
import { Card, Menu } from "tbcore/lib/card.js";
import { plural } from "tbcore/lib/format.js";
import { Icon } from "tbcore/lib/icons.js";
import { useNear } from "tbcore/lib/lazy.js";
import { Name } from "tbcore/lib/runs-panel.js";
import { save, toCSV } from "tbcore/lib/save.js";
import { bucketRows } from "./buckets.js";
import { RidgeChart } from "./ridge-chart.js";

/** @typedef {import("tbcore/lib/answers.js").Answers<import("./types.js").Histogram[]>} HistogramAnswers */

/**
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {HistogramAnswers} props.answers
 * @param {string} props.tag
 * @param {import("./types.js").Run} props.run
 * @param {string} props.group  whose heading says the beginning of the tag
 * @param {import("./types.js").Options} props.options
 */
export function HistogramCard({ host, answers, tag, run, group, options }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {RidgeChart | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const { value: histograms, error } = useAnswer(answers, run.name, tag, isNear);
  const theme = host.theme.value;
  const label = `${tag} in ${run.name}`;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    /** @param {boolean} isHovered */
    const onHover = (isHovered) => host.hoveredRun.set(isHovered ? run.name : null);
    const made = new RidgeChart(body.current.appendChild(document.createElement("div")), label, onHover, setZoomed);
    chart.current = made;
    return () => {
      made.destroy();
      body.current?.replaceChildren();
      chart.current = null;
      setZoomed(false);
    };
  }, [isNear]);
  useEffect(() => {
    if (histograms) chart.current?.set(histograms, run, options);
  }, [isNear, histograms, run.color, options.mode, options.y, options.trim, options.root]);
  useEffect(() => {
    chart.current?.restyle();
  }, [theme]);
  useEffect(() => {
    if (expanded) body.current?.scrollIntoView({ block: "center" });
  }, [expanded]);

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
    if (event.key === "f") setExpanded(!expanded);
    else if (event.key === "Escape" && expanded && !event.defaultPrevented) setExpanded(false);
    else return;
    event.preventDefault();
  };

  const actions = html`
    ${isZoomed &&
    html`<button
      type="button"
      class="tb-icon-button"
      aria-label="Show all of ${label}"
      title="Show all (double-click)"
      onClick=${() => chart.current?.resetZoom()}
    >
      <${Icon} name="unzoom" />
    </button>`}
    <${Menu}
      icon="download"
      label="Download ${label}"
      content=${() => html`<${Downloads} host=${host} tag=${tag} run=${run.name} histograms=${histograms ?? []} chart=${chart.current} />`}
    />
  `;
  return html`<${Card}
    title=${tag}
    label=${label}
    dimmed=${group !== "" && tag.startsWith(`${group}/`) ? group.length + 1 : 0}
    expanded=${expanded}
    onExpand=${setExpanded}
    actions=${actions}
    onKeyDown=${onKeyDown}
  >
    <p class="tb-card-run" title=${run.name}><i style=${{ background: run.color }}></i><${Name} name=${run.name} /></p>
    <div class="tb-card-chart" ref=${body} data-hint=${histograms || error ? "" : "loading"}></div>
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}

/**
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {string} props.tag
 * @param {string} props.run
 * @param {readonly import("./types.js").Histogram[]} props.histograms
 * @param {RidgeChart | null} props.chart
 */
function Downloads({ host, tag, run, histograms, chart }) {
  const [error, setError] = useState("");
  const file = `${run}_${tag}`.replace(/[^\w.-]+/g, "_");
  const numBuckets = histograms.reduce((sum, { buckets }) => sum + buckets.count.length, 0);
  return html`<div class="downloads">
    <p>${plural(histograms.length, "histogram")}, ${plural(numBuckets, "bucket")} as they were logged</p>
    <button
      type="button"
      class="tb-button"
      onClick=${() => save(toCSV(["Wall time", "Step", "Left", "Right", "Count"], bucketRows(histograms)), `${file}.csv`, "text/csv")}
    >
      CSV
    </button>
    <a class="tb-button" href=${host.url("histograms", { run, tag })} download="${file}.json">JSON</a>
    <button
      type="button"
      class="tb-button"
      onClick=${() => chart?.toPNG().then((png) => save(png, `${file}.png`), (failure) => setError(failure.message))}
    >
      PNG
    </button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  </div>`;
}
