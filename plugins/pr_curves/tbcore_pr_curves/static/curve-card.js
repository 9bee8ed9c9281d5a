/**
 * The card of one tag: the curves of its runs, and a table of what they are at one threshold.
 */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { useAsking } from "tbcore/lib/answers.js";
import { Card, Menu, ShowAll } from "tbcore/lib/card.js";
import { formatStep, formatValue } from "tbcore/lib/format.js";
import { useNear } from "tbcore/lib/lazy.js";
import { PictureButtons } from "tbcore/lib/picture-buttons.js";
import { save, toCSV } from "tbcore/lib/save.js";
import { describePlace } from "tbcore/lib/step-slider.js";
import { comparePlaces } from "tbcore/lib/steps.js";
import { RunLabel } from "tbcore/lib/tag-tab.js";
import { indexOf, rowsOf } from "./curve.js";
import { pictureOf, Plot } from "./plot.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("tbcore/lib/steps.js").Place} Place
 * @typedef {import("./curve.js").Curve} Curve
 * @typedef {import("./curve.js").Found} Found
 * @typedef {import("tbcore/lib/answers.js").Answers<Found>} Answers
 *
 * @typedef {object} Line  of one run
 * @property {Run} run
 * @property {Found | undefined} found  undefined until it is known
 * @property {string} error
 * @property {number} index  of the threshold that is read; -1 for none
 *
 * @typedef {{ run: string, threshold: number }} Reading  the threshold that is read, and on whose curve
 */

/** Heading, what it is, how it is written. @type {[string, string, (curve: Curve, index: number) => string][]} */
const COLUMNS = [
  ["Threshold", "Predictions of at least this are positive", ({ thresholds }, i) => formatRate(thresholds[i])],
  ["Precision", "How many of the positive predictions are right", ({ precision }, i) => formatRate(precision[i])],
  ["Recall", "How many of those that are positive are found", ({ recall }, i) => formatRate(recall[i])],
  ["TP", "True positives", (curve, i) => formatStep(curve.true_positives[i])],
  ["FP", "False positives", (curve, i) => formatStep(curve.false_positives[i])],
  ["TN", "True negatives", (curve, i) => formatStep(curve.true_negatives[i])],
  ["FN", "False negatives", (curve, i) => formatStep(curve.false_negatives[i])],
];
/** Of a table of all points. */
const HEADER = ["Run", "Step", "Threshold", "Precision", "Recall", "TP", "FP", "TN", "FN"];
const AREA = "Area under the curve: the average precision, each threshold weighted by the recall gained";

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {Answers} props.answers
 * @param {string} props.tag
 * @param {string} props.group  whose heading says the beginning of the title
 * @param {readonly Run[]} props.runs
 * @param {Place | null} props.place  null: the end
 */
export function CurveCard({ host, answers, tag, group, runs, place }) {
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [reading, setReading] = useState(/** @type {Reading | null} */ (null));
  const [view, setView] = useState(/** @type {import("./curve.js").Range | null} */ (null));
  const answered = useFound(answers, runs, tag, place, isNear);
  const lines = answered.map((line) => ({
    ...line,
    index: reading && line.found?.curve ? indexOf(line.found.curve.thresholds, reading.threshold) : -1,
  }));
  /** @param {Reading | null} next */
  const onRead = (next) => {
    setReading(next);
    host.hoveredRun.set(next && next.run);
  };
  const named = answered.find(({ found }) => found?.curve)?.found?.curve;
  const name = named && named.display_name !== tag ? named.display_name : "";
  return html`<${Card}
    title=${tag}
    group=${group}
    expanded=${expanded}
    onExpand=${setExpanded}
    actions=${html`
      ${view && html`<${ShowAll} label=${tag} onClick=${() => setView(null)} />`}
      <${Menu} icon="download" label="Download ${tag}" content=${() => html`<${Downloads} tag=${tag} lines=${answered} view=${view} element=${body.current} />`} />
    `}
  >
    <div class="pr-card" ref=${body}>
      ${name && html`<p class="tb-dim pr-words">${name}</p>`}
      ${named?.description && html`<p class="tb-dim pr-words">${named.description}</p>`}
      <${Plot} label=${tag} lines=${lines} reading=${reading} onRead=${onRead} view=${view} onView=${setView} hovered=${host.hoveredRun.value} isDrawn=${isNear} expanded=${expanded} />
      <${Values} host=${host} label=${tag} lines=${lines} place=${place} />
    </div>
  <//>`;
}

/**
 * What is shown, as numbers and as a picture.
 * @param {object} props
 * @param {string} props.tag
 * @param {readonly Omit<Line, "index">[]} props.lines
 * @param {import("./curve.js").Range | null} props.view
 * @param {HTMLElement | null} props.element  that has the plot
 */
function Downloads({ tag, lines, view, element }) {
  const drawn = lines.filter(({ found }) => found?.curve);
  if (drawn.length === 0 || !element) return html`<p class="tb-downloads">Nothing is there yet.</p>`;
  const saveTable = () => save(toCSV(HEADER, drawn.flatMap(({ run, found }) => rowsOf(run.name, /** @type {Found} */ (found)))), `${tag}.csv`, "text/csv");
  return html`<div class="tb-downloads">
    <button type="button" class="tb-button" onClick=${saveTable}>CSV</button>
    <${PictureButtons} chart=${pictureOf(element, tag, drawn.map((line) => ({ ...line, index: -1 })), view)} name=${tag} />
  </div>`;
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {string} props.label
 * @param {readonly Line[]} props.lines
 * @param {Place | null} props.place
 */
function Values({ host, label, lines, place }) {
  return html`<div class="pr-values" tabindex="0" role="region" aria-label="Values of ${label}">
    <table>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col" title=${AREA}>AUC</th>
          <th scope="col" title="The step that the curve was logged with">Step</th>
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
            <th scope="row" title=${run.name}><span class="pr-run"><${RunLabel} run=${run} /></span></th>
            ${error || !found?.curve
              ? html`<td class="pr-why ${error ? "tb-card-error" : ""}" colspan=${COLUMNS.length + 2}>${error || whyNone(found, place)}</td>`
              : html`<td>${formatRate(found.curve.area)}</td>
                  <td
                    class=${isEarlier(found, place) ? "pr-earlier" : ""}
                    title=${isEarlier(found, place) ? `The last at or before ${describePlace(/** @type {Place} */ (place))}` : undefined}
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

/** A number from 0 to 1, as it should be. @param {number} rate */
function formatRate(rate) {
  return Number.isFinite(rate) ? rate.toFixed(4) : formatValue(rate);
}

/** @param {Found} found @param {Place | null} place */
function isEarlier(found, place) {
  return place !== null && comparePlaces(found, place) !== 0;
}

/** @param {Found | undefined} found @param {Place | null} place */
function whyNone(found, place) {
  if (!found) return "Loading …";
  if (found.first_step === null || place === null) return "Nothing was logged.";
  return `Nothing up to step ${formatStep(place.step)}: its first is step ${formatStep(found.first_step)}.`;
}

/**
 * What each run has at the place. What was there stays until what is asked for has come.
 * @param {Answers} answers
 * @param {readonly Run[]} runs
 * @param {string} tag
 * @param {Place | null} place
 * @param {boolean} isWanted
 * @returns {Omit<Line, "index">[]}
 */
function useFound(answers, runs, tag, place, isWanted) {
  const known = useRef(/** @type {Map<string, { found?: Found, error: string }>} */ (new Map()));
  const [, redraw] = useState({});
  const names = useMemo(() => runs.map(({ name }) => name), [runs]);
  const changed = names.map((name) => answers.generations.of(name)).join();
  const ask = async (/** @type {AbortSignal} */ signal) => {
    const asked = names.map((run) => {
      /** @param {{ found?: Found, error: string }} now */
      const keep = (now) => {
        if (signal.aborted) return;
        known.current.set(run, now);
        redraw({});
      };
      return answers.load({ run, tag, step: place?.step, nth: place?.nth || undefined }, signal).then(
        (found) => keep({ found, error: "" }),
        (failure) => keep({ error: failure.message }),
      );
    });
    await Promise.all(asked);
  };
  useAsking(isWanted ? ask : null, [answers, names, tag, place?.step, place?.nth], changed);
  return runs.map((run) => ({ run, found: undefined, error: "", ...known.current.get(run.name) }));
}
