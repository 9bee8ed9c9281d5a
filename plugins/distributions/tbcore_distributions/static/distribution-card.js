/**
 * One card: the percentiles of a tag in one run, over the steps.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAnswer } from "tbcore/lib/answers.js";
import { Card, Menu } from "tbcore/lib/card.js";
import { plural } from "tbcore/lib/format.js";
import { Icon } from "tbcore/lib/icons.js";
import { useNear } from "tbcore/lib/lazy.js";
import { LineChart } from "tbcore/lib/line-chart.js";
import { Name } from "tbcore/lib/runs-panel.js";
import { save } from "tbcore/lib/save.js";
import { bandsOf, readOutOf } from "./percentiles.js";

/**
 * @typedef {import("./types.js").Percentiles} Percentiles
 * @typedef {import("tbcore/lib/answers.js").Answers<Percentiles>} DistributionAnswers
 */

/**
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {DistributionAnswers} props.answers
 * @param {import("tbcore/lib/chart-types.js").Cursor} props.cursor  of all cards
 * @param {string} props.tag
 * @param {import("./types.js").Run} props.run
 * @param {string} props.group  whose heading says the beginning of the tag
 * @param {import("./types.js").Options} props.options
 */
export function DistributionCard({ host, answers, cursor, tag, run, group, options }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {LineChart | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const { value: percentiles, error } = useAnswer(answers, run.name, tag, isNear);
  /** What the chart says when it is pointed at. */
  const latest = useRef({ percentiles, run });
  latest.current = { percentiles, run };
  const theme = host.theme.value;
  const label = `${tag} in ${run.name}`;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const made = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: tag,
      xAxis: options.x,
      cursor,
      readOut: ([{ index }]) => readOutOf(/** @type {Percentiles} */ (latest.current.percentiles), index, latest.current.run),
      onHover: (hits) => host.hoveredRun.set(hits.length > 0 ? run.name : null),
      onZoom: setZoomed,
    });
    chart.current = made;
    return () => {
      made.destroy();
      body.current?.replaceChildren();
      chart.current = null;
      setZoomed(false);
    };
  }, [isNear]);
  useEffect(() => {
    if (percentiles) chart.current?.setBands(bandsOf(percentiles, options.x, options.tails, run));
  }, [isNear, percentiles, run.color, options.x, options.tails]);
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
      content=${() => html`<${Downloads} host=${host} tag=${tag} run=${run.name} numSteps=${percentiles?.step.length ?? 0} chart=${chart.current} />`}
    />
  `;
  const hint = percentiles ? (percentiles.step.length > 0 ? "" : "no steps") : error ? "" : "loading";
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
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}

/**
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {string} props.tag
 * @param {string} props.run
 * @param {number} props.numSteps
 * @param {LineChart | null} props.chart
 */
function Downloads({ host, tag, run, numSteps, chart }) {
  const [error, setError] = useState("");
  const file = `${run}_${tag}`.replace(/[^\w.-]+/g, "_");
  /** @param {Promise<void> | undefined} task */
  const attempt = (task) => void task?.catch((failure) => setError(failure.message));
  return html`<div class="downloads">
    <p>Nine values at ${plural(numSteps, "step")}</p>
    <a class="tb-button" href=${host.url("distributions", { run, tag, format: "csv" })} download="${file}.csv">CSV</a>
    <a class="tb-button" href=${host.url("distributions", { run, tag })} download="${file}.json">JSON</a>
    <button
      type="button"
      class="tb-button"
      onClick=${() => attempt(chart?.toSVG().then((svg) => save(svg, `${file}.svg`, "image/svg+xml")))}
    >
      SVG
    </button>
    <button type="button" class="tb-button" onClick=${() => attempt(chart?.toPNG().then((png) => save(png, `${file}.png`)))}>PNG</button>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  </div>`;
}
