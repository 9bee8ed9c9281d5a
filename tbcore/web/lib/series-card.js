/**
 * A card with a chart of one series: a tag in a run, at as many steps as the reader wants. It exists while it is near the
 * visible part of the page, asks the server when its run has changed, and can be saved as numbers and as a picture.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAnswer } from "./answers.js";
import { Card, Menu, ShowAll } from "./card.js";
import { formatStep, plural } from "./format.js";
import { useNear } from "./lazy.js";
import { PictureButtons } from "./picture-buttons.js";
import { save, toCSV } from "./save.js";
import { RunLabel } from "./tag-tab.js";

/**
 * @template T
 * @typedef {object} Series  what `tbcore.http.series_response` answers, read
 * @property {number} numSteps  there are
 * @property {number} numShown
 * @property {T} value
 */

/**
 * @typedef {object} Chart
 * @property {() => void} restyle  the theme has changed
 * @property {() => void} resetZoom
 * @property {() => void} destroy
 * @property {(note?: string) => Promise<string>} toSVG  the note is that of the Drawing
 * @property {(scale?: number, note?: string) => Promise<Blob>} toPNG
 */

/**
 * @template T
 * @template {Chart} C
 * @typedef {object} Drawing
 * @property {(element: HTMLElement, label: string, on: { hover: (isHovered: boolean) => void, zoom: (isZoomed: boolean) => void }) => C} make
 * @property {(chart: C, value: T) => void} draw
 * @property {readonly unknown[]} drawnBy  it is drawn again when one of these changes
 * @property {(value: T) => string} [note]  what the chart does not show, unless it says so itself; may be empty
 * @property {(value: T) => { header: string[], rows: Iterable<(string | number)[]> }} table  of what is drawn
 */

/** @type {readonly (readonly [value: string, title: string, why: string])[]} */
export const SAMPLES = [
  ["", "Sample", "The last step, and others at random: how many, the server's option --samples_per_plugin says"],
  ["200", "200", "The last step, and 199 others at random"],
  ["1000", "1,000", "The last step, and 999 others at random"],
  ["0", "All", "Every step; long series take a while"],
];

/**
 * @template T
 * @param {(rows: any[]) => T} read
 * @returns {(json: { num_steps: number, rows: any[] }) => Series<T>}
 */
export function seriesOf(read) {
  return ({ num_steps, rows }) => ({ numSteps: num_steps, numShown: rows.length, value: read(rows) });
}

/**
 * @template T
 * @template {Chart} C
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {import("./answers.js").Answers<Series<T>>} props.answers  of the route `series`
 * @param {string} props.tag
 * @param {import("tbcore/host.js").Run} props.run
 * @param {string} props.group  whose heading says the beginning of the tag
 * @param {string} props.samples  one of SAMPLES
 * @param {Drawing<T, C>} props.drawing
 */
export function SeriesCard({ host, answers, tag, run, group, samples, drawing }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {C | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const question = { run: run.name, tag, samples: samples || undefined };
  const { value: latest, error } = useAnswer(answers, question, isNear);
  const last = useRef(latest);
  if (latest) last.current = latest;
  const series = last.current; // of another number of steps, until they are there
  const note = useMemo(() => (series && drawing.note ? drawing.note(series.value) : ""), [series?.value]);
  const theme = host.theme.value;
  const label = `${tag} in ${run.name}`;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const made = drawing.make(body.current.appendChild(document.createElement("div")), label, {
      hover: (isHovered) => host.hoveredRun.set(isHovered ? run.name : null),
      zoom: setZoomed,
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
          json=${host.url("series", question)}
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
      ${series && series.numShown < series.numSteps && html`<span class="tb-card-steps">${numShown(series)}</span>`}
    </p>
    ${note && html`<p class="tb-card-note" role="note">${note}</p>`}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}

/** @param {Series<unknown>} series @returns {string} `50 of 1,234 steps` */
function numShown({ numShown, numSteps }) {
  return numShown < numSteps ? `${formatStep(numShown)} of ${plural(numSteps, "step")}` : plural(numSteps, "step");
}

/**
 * @template T
 * @template {Chart} C
 * @param {object} props
 * @param {Series<T> | undefined} props.series
 * @param {string} props.json  address of the rows as they are served
 * @param {string} props.name  of the files
 * @param {C | null} props.chart
 * @param {Drawing<T, C>} props.drawing
 * @param {string} props.note
 */
function Downloads({ series, json, name, chart, drawing, note }) {
  const file = name.replace(/[^\w.-]+/g, "_");
  if (!series) return html`<p class="tb-downloads">Nothing is there yet.</p>`;
  const saveTable = () => {
    const { header, rows } = drawing.table(series.value);
    save(toCSV(header, rows), `${file}.csv`, "text/csv");
  };
  return html`<div class="tb-downloads">
    <p>${numShown(series)}</p>
    <button type="button" class="tb-button" onClick=${saveTable}>CSV</button>
    <a class="tb-button" href=${json} download="${file}.json">JSON</a>
    <${PictureButtons} chart=${chart} name=${name} note=${note} />
  </div>`;
}
