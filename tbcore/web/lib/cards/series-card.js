/**
 * A card with a chart of one series: a tag of a run, with a selectable number of steps. Its data is
 * fetched again when the run has changed, and can be downloaded as numbers or as a picture.
 */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { formatStep, plural } from "../format.js";
import { useAnswer } from "../requests.js";
import { RunLabel, runTitle } from "../text-names.js";
import { save, toCSV } from "../ui/controls.js";
import { useNear } from "../ui/lazy.js";
import { ChartCard } from "./chart-card.js";
import { Descriptions } from "./descriptions.js";
import { SharedRanges } from "./shared-ranges.js";

export { Descriptions, SharedRanges };

/**
 * @template T
 * @typedef {object} Series  a parsed response of `tbcore.http.series_response`
 * @property {number} numSteps  number of steps in the log
 * @property {number} numShown  number of steps in the response
 * @property {T} value  the rows, converted for drawing
 * @property {string} [display_name]  that the writer gave the tag
 * @property {string} [description]
 */

/**
 * @template T
 * @template {import("./chart-card.js").Chart} C
 * @typedef {object} Drawing  how a plugin draws a series
 * @property {(element: HTMLElement, label: string, on: import("./chart-card.js").ChartEvents) => C} make
 *   creates the chart in an element
 * @property {(chart: C, value: T) => void} draw  draws a value
 * @property {readonly unknown[]} drawnBy  what else the drawing depends on: when any of these
 *   change, the value is drawn again
 * @property {(value: T) => string} [note]  says what the chart leaves out; may return ""
 * @property {(value: T) => { header: string[], rows: Iterable<(string | number)[]> }} table
 *   the value as a table, for CSV
 */

/**
 * Reads a response of `tbcore.http.series_response`.
 * @template T
 * @param {any} json
 * @param {(rows: any[]) => T} read  converts the rows for drawing
 * @returns {Series<T>}
 */
export function readSeries({ num_steps: numSteps, rows, ...described }, read) {
  return { ...described, numSteps, numShown: rows.length, value: read(rows) };
}

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
 * A card with a chart of one series.
 * @template T
 * @template {import("./chart-card.js").Chart} C
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {import("../requests.js").Answers<Series<T>>} props.answers  responses of the route `series`
 * @param {string} props.tag
 * @param {import("tbcore/host.js").Run} props.run
 * @param {string} props.group  group whose heading already shows the start of the tag
 * @param {string} props.samples  a value of SAMPLES
 * @param {Drawing<T, C>} props.drawing
 */
export function SeriesCard({ host, answers, tag, run, group, samples, drawing }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const params = { run: run.name, tag, samples: samples || undefined };
  const { value: latest, error } = useAnswer(answers, params, isNear);
  const last = useRef(latest);
  if (latest) last.current = latest;
  // When `samples` changes, the old series stays until the new one is loaded.
  const series = last.current;
  const note = useMemo(() => (series && drawing.note ? drawing.note(series.value) : ""), [series?.value, ...drawing.drawnBy]);
  const label = `${tag} in ${run.label}`;
  const name = `${run.name}_${tag}`;

  /** The content of the download menu. @param {unknown} pictures */
  const downloads = (pictures) => {
    if (!series) return html`<p class="tb-downloads">No data loaded yet.</p>`;
    const file = name.replace(/[^\w.-]+/g, "_");
    const saveTable = () => {
      const { header, rows } = drawing.table(series.value);
      save(toCSV(header, rows), `${file}.csv`, "text/csv");
    };
    return html`<div class="tb-downloads">
      <p>${stepsText(series)}</p>
      <button type="button" class="tb-button" onClick=${saveTable}>CSV</button>
      <a class="tb-button" href=${host.url("series", params)} download="${file}.json">JSON</a>
      ${pictures}
    </div>`;
  };
  return html`<${ChartCard}
    ...${{ host, body, isNear, title: tag, label, group, error }}
    make=${(/** @type {HTMLElement} */ element, /** @type {import("./chart-card.js").ChartEvents} */ on) => drawing.make(element, label, on)}
    draw=${(/** @type {C} */ chart) => series && drawing.draw(chart, series.value)}
    drawnBy=${[series?.value, run.color, ...drawing.drawnBy]}
    hint=${series?.numShown === 0 ? "no steps" : series || error ? "" : "loading"}
    notes=${note ? [note] : []}
    menu=${{ content: downloads }}
    picture=${{ name }}
  >
    <p class="tb-card-run" title=${runTitle(run)}>
      <${RunLabel} run=${run} />
      ${series && series.numShown < series.numSteps && html`<span class="tb-card-steps">${stepsText(series)}</span>`}
    </p>
    ${series && html`<${Descriptions} host=${host} texts=${[{ ...series, runs: [run.name] }]} />`}
  <//>`;
}

/** How many steps are shown: `50 of 1,234 steps`, or `50 steps`. @param {Series<unknown>} series */
function stepsText({ numShown, numSteps }) {
  return numShown < numSteps ? `${formatStep(numShown)} of ${plural(numSteps, "step")}` : plural(numSteps, "step");
}
