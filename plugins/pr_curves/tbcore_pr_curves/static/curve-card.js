/**
 * The card of one tag: the curves of its runs, and a table of their values at one threshold.
 */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { ChartCard, seriesCards } from "tbcore/cards.js";
import { formatStep, formatValue } from "tbcore/format.js";
import { useRefetch } from "tbcore/requests.js";
import { comparePlaces, describePlace } from "tbcore/steps.js";
import { RunLabel, runTitle } from "tbcore/text-names.js";
import { save, toCSV, useNear } from "tbcore/ui.js";
import { linesAt, rowsOf, sortedByArea } from "./curve.js";
import { OPTIONS } from "./options.js";
import { CurveChart } from "./plot.js";

const { Descriptions } = await seriesCards();

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/steps.js").Place} Place
 * @typedef {import("./curve.js").Curve} Curve
 * @typedef {import("./curve.js").CurveAtStep} CurveAtStep
 * @typedef {import("tbcore/requests.js").Answers<CurveAtStep>} Answers
 *
 * @typedef {object} Line  the curve of one run
 * @property {Run} run
 * @property {CurveAtStep | undefined} found  undefined until it is loaded
 * @property {string} error
 * @property {number} index  of the selected threshold; -1 for none
 *
 * @typedef {{ run: string, threshold: number }} Reading  the selected threshold, and the run on
 *   whose curve it was selected
 */

/**
 * The table's columns: heading, tooltip, and a function that formats the cell at an index.
 * @type {[string, string, (curve: Curve, index: number) => string][]}
 */
const COLUMNS = [
  ["Threshold", "Predictions of at least this value count as positive", ({ thresholds }, i) => formatRate(thresholds[i])],
  ["Precision", "The share of positive predictions that are correct", ({ precision }, i) => formatRate(precision[i])],
  ["Recall", "The share of actual positives that are predicted as positive", ({ recall }, i) => formatRate(recall[i])],
  ["TP", "True positives", (curve, i) => formatStep(curve.true_positives[i])],
  ["FP", "False positives", (curve, i) => formatStep(curve.false_positives[i])],
  ["TN", "True negatives", (curve, i) => formatStep(curve.true_negatives[i])],
  ["FN", "False negatives", (curve, i) => formatStep(curve.false_negatives[i])],
];
/** The header of the CSV download, which has all points. */
const CSV_HEADER = ["Run", "Step", "Threshold", "Precision", "Recall", "TP", "FP", "TN", "FN"];
const AP_HELP = "Average precision: the area under the curve, with each threshold weighted by the gain in recall";

/**
 * The card.
 * @param {object} props
 * @param {Host} props.host
 * @param {Answers} props.answers
 * @param {string} props.tag
 * @param {string} props.group  name of the section, which the title omits
 * @param {readonly Run[]} props.runs
 * @param {Place | null} props.place  null: the latest step of each run
 */
export function CurveCard({ host, answers, tag, group, runs, place }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [reading, setReading] = useState(/** @type {Reading | null} */ (null));
  const results = useCurves(answers, runs, tag, place, isNear);
  const options = OPTIONS.parse(host.settings.value);
  const lines = sortedByArea(linesAt(results, reading), options.auc);
  const hovered = host.hoveredRun.value;
  /** @param {HTMLElement} element @param {import("tbcore/cards.js").ChartEvents} on */
  const make = (element, on) =>
    new CurveChart(element, tag, on.zoom, (next) => {
      setReading(next);
      on.hover(next && next.run);
    });

  /** The content of the download menu. @param {unknown} pictures */
  const downloads = (pictures) => {
    const drawn = results.filter(({ found }) => found?.curve);
    if (drawn.length === 0) return html`<p class="tb-downloads">No curve has been loaded yet.</p>`;
    const saveTable = () => save(toCSV(CSV_HEADER, drawn.flatMap(({ run, found }) => rowsOf(run.name, /** @type {CurveAtStep} */ (found)))), `${tag}.csv`, "text/csv");
    return html`<div class="tb-downloads">
      <button type="button" class="tb-button" onClick=${saveTable}>CSV</button>
      ${pictures}
    </div>`;
  };
  return html`<${ChartCard}
    ...${{ host, body, isNear, title: tag, group, expanded, make }}
    onExpand=${setExpanded}
    draw=${(/** @type {CurveChart} */ chart) => chart.set({ results, hovered, expanded, isFitted: options.fit })}
    drawnBy=${[results]}
    menu=${{ content: downloads }}
    below=${html`<${Values} host=${host} label=${tag} lines=${lines} order=${options.auc} place=${place} />`}
  >
    <${Descriptions} host=${host} texts=${results.map(({ run, found }) => ({ ...found, runs: [run.name] }))} />
  <//>`;
}

/**
 * The table below the plot.
 * @param {object} props
 * @param {Host} props.host
 * @param {string} props.label
 * @param {readonly Line[]} props.lines
 * @param {"" | "ascending" | "descending"} props.order  by the area under the curve
 * @param {Place | null} props.place
 */
function Values({ host, label, lines, order, place }) {
  const next = /** @type {const} */ ({ "": "descending", descending: "ascending", ascending: "" })[order];
  return html`<div class="pr-values" tabindex="0" role="region" aria-label="Values of ${label}">
    <table>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col" aria-sort=${order || "none"}>
            <button type="button" title="${AP_HELP}. Click to sort" onClick=${() => OPTIONS.set(host, "auc", next)}>AP</button>
          </th>
          <th scope="col" title="The step at which the curve was logged">Step</th>
          ${COLUMNS.map(([title, what]) => html`<th scope="col" key=${title} title=${what}>${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${lines.map(
          ({ run, found, error, index }) => html`<tr
            key=${run.name}
            class=${host.hoveredRun.value === run.name ? "pr-hovered" : ""}
            onPointerEnter=${() => host.hoveredRun.set(run.name)}
            onPointerLeave=${() => host.hoveredRun.set(null)}
          >
            <th scope="row" title=${runTitle(run)}><span class="pr-run"><${RunLabel} run=${run} /></span></th>
            ${error || !found?.curve
              ? html`<td class="pr-why ${error ? "tb-card-error" : ""}" colspan=${COLUMNS.length + 2}>${error || emptyReason(found, place)}</td>`
              : html`<td>${formatRate(found.curve.area)}</td>
                  <td
                    class=${isEarlier(found, place) ? "pr-earlier" : ""}
                    title=${isEarlier(found, place) ? `The latest at or before ${describePlace(/** @type {Place} */ (place))}` : undefined}
                  >
                    ${formatStep(found.step)}
                  </td>
                  ${COLUMNS.map(([title, , write]) => html`<td key=${title}>${index < 0 ? "–" : write(/** @type {Curve} */ (found.curve), index)}</td>`)}`}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/**
 * A rate from 0 to 1 with four decimals; other numbers are formatted as values.
 * @param {number} rate
 */
function formatRate(rate) {
  return Number.isFinite(rate) ? rate.toFixed(4) : formatValue(rate);
}

/**
 * Whether the curve is from before the selected step.
 * @param {CurveAtStep} found
 * @param {Place | null} place
 */
function isEarlier(found, place) {
  return place !== null && comparePlaces(found, place) !== 0;
}

/** Why a row has no values. @param {CurveAtStep | undefined} found @param {Place | null} place */
function emptyReason(found, place) {
  if (!found) return "Loading …";
  if (found.first_step === null || place === null) return "Nothing was logged.";
  return `Nothing was logged up to step ${formatStep(place.step)}. The first step is ${formatStep(found.first_step)}.`;
}

/**
 * The curve of each run at a step. When the step changes, the curve of a run stays until its next
 * one is loaded.
 * @param {Answers} answers
 * @param {readonly Run[]} runs
 * @param {string} tag
 * @param {Place | null} place
 * @param {boolean} isEnabled
 * @returns {Omit<Line, "index">[]} one per run
 */
function useCurves(answers, runs, tag, place, isEnabled) {
  const latest = useRef(/** @type {Map<string, { found?: CurveAtStep, error: string }>} */ (new Map()));
  const [, redraw] = useState({});
  const names = useMemo(() => runs.map(({ name }) => name), [runs]);
  const generations = names.map((name) => answers.generations.of(name)).join();
  const loadAll = async (/** @type {AbortSignal} */ signal) => {
    const loads = names.map((run) => {
      /** @param {{ found?: CurveAtStep, error: string }} now */
      const keep = (now) => {
        if (signal.aborted) return;
        latest.current.set(run, now);
        redraw({});
      };
      return answers.load({ run, tag, step: place?.step, nth: place?.nth || undefined }, signal).then(
        (found) => keep({ found, error: "" }),
        (failure) => keep({ error: failure.message }),
      );
    });
    await Promise.all(loads);
  };
  useRefetch(isEnabled ? loadAll : null, [answers, names, tag, place?.step, place?.nth], generations);
  return runs.map((run) => ({ run, found: undefined, error: "", ...latest.current.get(run.name) }));
}
