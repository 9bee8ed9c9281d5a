/**
 * A card with a chart of one series: a tag of a run, with a selectable number of steps. The chart
 * exists only while the card is near the visible part of the page. Its data is fetched again when
 * the run has changed, and can be downloaded as numbers or as a picture.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card, PictureButtons, ShowAll } from "./card.js";
import { formatStep, plural } from "../../format.js";
import { useAnswer } from "../../requests.js";
import { RunLabel } from "../../text-names.js";
import { Menu, save, toCSV, useNear } from "../../ui.js";

/**
 * @template T
 * @typedef {object} Series  a parsed response of `tbcore.http.series_response`
 * @property {number} numSteps  number of steps in the log
 * @property {number} numShown  number of steps in the response
 * @property {T} value  the rows, converted for drawing
 */

/**
 * @typedef {object} Chart  the methods of a chart that a card uses
 * @property {() => void} restyle  redraws after a change of the theme
 * @property {() => void} resetZoom
 * @property {() => void} destroy
 * @property {(note?: string) => Promise<string>} toSVG
 * @property {(scale?: number, note?: string) => Promise<Blob>} toPNG  `scale`: image pixels per CSS
 *   pixel
 */

/**
 * @typedef {object} ChartEvents  functions that the chart calls
 * @property {(isHovered: boolean) => void} hover
 * @property {(isZoomed: boolean) => void} zoom
 */

/**
 * @template T
 * @template {Chart} C
 * @typedef {object} Drawing  how a plugin draws a series
 * @property {(element: HTMLElement, label: string, on: ChartEvents) => C} make  creates the chart
 *   in an element
 * @property {(chart: C, value: T) => void} draw  draws a value
 * @property {readonly unknown[]} drawnBy  what else the drawing depends on: when any of these
 *   change, the value is drawn again
 * @property {(value: T) => string} [note]  says what the chart leaves out; may return ""
 * @property {(value: T) => { header: string[], rows: Iterable<(string | number)[]> }} table
 *   the value as a table, for CSV
 */

/**
 * Choices of the number of steps, for `Choice` or `Pick`.
 * @type {readonly (readonly [value: string, title: string, why: string])[]}
 */
export const SAMPLES = [
  ["", "Sample", "The last step and a random sample of the others; the server option --samples_per_plugin sets how many"],
  ["200", "200", "The last step and 199 others, chosen at random"],
  ["1000", "1,000", "The last step and 999 others, chosen at random"],
  ["0", "All", "All steps; slow for long series"],
];

/**
 * Makes a function that parses the JSON of `series_response`, for `new Answers`.
 * @template T
 * @param {(rows: any[]) => T} read
 * @returns {(json: { num_steps: number, rows: any[] }) => Series<T>}
 */
export function seriesOf(read) {
  return ({ num_steps, rows }) => ({ numSteps: num_steps, numShown: rows.length, value: read(rows) });
}

/**
 * A card with a chart of one series.
 * @template T
 * @template {Chart} C
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {import("../../requests.js").Answers<Series<T>>} props.answers  responses of the route `series`
 * @param {string} props.tag
 * @param {import("tbcore/host.js").Run} props.run
 * @param {string} props.group  group whose heading already shows the start of the tag
 * @param {string} props.samples  a value of SAMPLES
 * @param {Drawing<T, C>} props.drawing
 */
export function SeriesCard({ host, answers, tag, run, group, samples, drawing }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {C | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const params = { run: run.name, tag, samples: samples || undefined };
  const { value: latest, error } = useAnswer(answers, params, isNear);
  const last = useRef(latest);
  if (latest) last.current = latest;
  // When `samples` changes, the old series stays until the new one is loaded.
  const series = last.current;
  const note = useMemo(() => (series && drawing.note ? drawing.note(series.value) : ""), [series?.value]);
  const theme = host.theme.value;
  const label = `${tag} in ${run.name}`;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const created = drawing.make(body.current.appendChild(document.createElement("div")), label, {
      hover: (isHovered) => host.hoveredRun.set(isHovered ? run.name : null),
      zoom: setZoomed,
    });
    chart.current = created;
    return () => {
      created.destroy();
      body.current?.replaceChildren();
      chart.current = null;
      setZoomed(false);
    };
  }, [isNear]);
  useEffect(() => {
    if (series && chart.current) drawing.draw(chart.current, series.value);
  }, [isNear, series?.value, run.color, ...drawing.drawnBy]);
  useEffect(() => {
    chart.current?.restyle();
  }, [theme]);
  const actions = html`
    ${isZoomed && html`<${ShowAll} label=${label} onClick=${() => chart.current?.resetZoom()} />`}
    <${Menu}
      icon="download"
      label="Download ${label}"
      content=${() =>
        html`<${Downloads}
          series=${series}
          json=${host.url("series", params)}
          name="${run.name}_${tag}"
          chart=${chart.current}
          drawing=${drawing}
          note=${note}
        />`}
    />
  `;
  const hint = series ? (series.numShown > 0 ? "" : "no steps") : error ? "" : "loading";
  return html`<${Card}
    title=${tag}
    label=${label}
    group=${group}
    expanded=${expanded}
    onExpand=${setExpanded}
    actions=${actions}
  >
    <p class="tb-card-run" title=${run.name}>
      <${RunLabel} run=${run} />
      ${series && series.numShown < series.numSteps && html`<span class="tb-card-steps">${stepsText(series)}</span>`}
    </p>
    ${note && html`<p class="tb-card-note" role="note">${note}</p>`}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}

/**
 * How many steps are shown: `50 of 1,234 steps`, or `50 steps`.
 * @param {Series<unknown>} series
 * @returns {string}
 */
function stepsText({ numShown, numSteps }) {
  return numShown < numSteps ? `${formatStep(numShown)} of ${plural(numSteps, "step")}` : plural(numSteps, "step");
}

/**
 * The content of the download menu.
 * @template T
 * @template {Chart} C
 * @param {object} props
 * @param {Series<T> | undefined} props.series  undefined until it is loaded
 * @param {string} props.json  URL of the rows as JSON
 * @param {string} props.name  name of the files, without extension
 * @param {C | null} props.chart
 * @param {Drawing<T, C>} props.drawing
 * @param {string} props.note
 */
function Downloads({ series, json, name, chart, drawing, note }) {
  const file = name.replace(/[^\w.-]+/g, "_");
  if (!series) return html`<p class="tb-downloads">No data loaded yet.</p>`;
  const saveTable = () => {
    const { header, rows } = drawing.table(series.value);
    save(toCSV(header, rows), `${file}.csv`, "text/csv");
  };
  return html`<div class="tb-downloads">
    <p>${stepsText(series)}</p>
    <button type="button" class="tb-button" onClick=${saveTable}>CSV</button>
    <a class="tb-button" href=${json} download="${file}.json">JSON</a>
    <${PictureButtons} chart=${chart} name=${name} note=${note} />
  </div>`;
}
