/**
 * A cell of a step tab: the samples that one run logged at the selected place. If the run logged
 * none there, the cell shows the samples of the last earlier place that has any.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatStep, formatTime } from "../format.js";
import { useAnswer } from "../requests.js";
import { RunLabel, runTitle } from "../text-names.js";
import { Icon } from "../ui/controls.js";
import { useNear } from "../ui/lazy.js";
import { comparePlaces, describePlace } from "./places.js";

/**
 * @typedef {import("../../host.js").Run} Run
 * @typedef {import("./places.js").Place} Place
 * @typedef {import("./step-tab.js").Tab} Tab
 *
 * @typedef {object} Entry  one sample of a step, from the response of the route `step`; may have
 *   more fields
 * @property {string} content_type
 * @property {string} [label]  label from the log
 *
 * @typedef {object} StepResponse  the response of the route `step`: what a run logged at one place
 * @property {number | null} first_step  first step of the series
 * @property {number | null} index  index of the item on the server; null if nothing was logged up
 *   to the requested place, and then the fields below are missing
 * @property {number} step
 * @property {number} nth  index among the items that the series logged at this step, from 0
 * @property {number} wall_time  seconds since the epoch
 * @property {Entry[]} samples
 * @property {string} [display_name]  that the writer gave the tag
 * @property {string} [description]
 *
 * @typedef {object} SampleProps  the props of a plugin's component `Sample`
 * @property {import("../../host.js").Host} host
 * @property {any} entry  an Entry
 * @property {string} url  URL of the bytes; "" if there is no route for them
 * @property {string} label  accessible name
 * @property {Run} run
 * @property {string} tag
 * @property {Readonly<Record<string, string[]>>} tags  the tags of each run, as the server lists them
 * @property {StepResponse} found  everything that was logged at the same place
 * @property {boolean} expanded  whether the card is in full size
 * @property {boolean} alone  whether this is the only sample of the step
 * @property {() => void} onBroken  to be called if the browser cannot show the sample; the tab then
 *   finds out why and shows an error
 * @property {(isBusy: boolean) => void} onBusy  to be called when the sample starts and stops
 *   playing; while it plays, newly logged data does not replace it
 */

/** Number of samples that a cell shows at first. */
const NUM_SAMPLES_AT_FIRST = 12;
/** While the slider moves, a step is fetched only after it was selected for this long. */
const SETTLE_MS = 60;

/**
 * The cell. `next` is a place to fetch ahead; `onFound` is called with each response.
 * @param {{ tab: Tab, run: Run, tag: string, place: Place | null, next: Place | undefined, expanded: boolean, onFound: (run: string, found: StepResponse) => void }} props
 */
export function Cell({ tab, run, tag, place, next, expanded, onFound }) {
  const { host, kind, answers } = tab;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const isDrawn = isNear || kind.stays === true;
  const height = useHeight(body, isDrawn);
  const [numShown, setNumShown] = useState(NUM_SAMPLES_AT_FIRST);
  const [broken, setBroken] = useState({ of: /** @type {StepResponse | undefined} */ (undefined), error: "" });
  /** The parameters of the route `step`. @param {Place | null} at */
  const paramsOf = (at) => ({ run: run.name, tag, step: at?.step, nth: at?.nth || undefined });
  const settled = useSettled(place);
  const { value: found, error } = useAnswer(answers, paramsOf(settled), isNear);
  /** While a sample plays: the place that was selected when it started. */
  const [busy, setBusy] = useState(/** @type {{ place: Place | null } | null} */ (null));
  const keepsShown = busy !== null && isSamePlace(busy.place, place);
  const last = useRef(found);
  if (found && !keepsShown) last.current = found;
  /** What is on screen: an older response while the next one loads, or while a sample plays. */
  const shown = error && !found ? undefined : last.current;
  const hasItem = shown !== undefined && shown.index !== null;
  const isOutdated = shown !== undefined && (found === undefined || settled !== place);

  useEffect(() => {
    if (found) onFound(run.name, found);
  }, [found]);
  useEffect(() => {
    if (!isNear || !found || !next || !kind.fetchAhead) return undefined;
    const controller = new AbortController();
    answers.load(paramsOf(next), controller.signal).then(
      (response) => response.samples.slice(0, numShown).forEach((_, sample) => kind.fetchAhead?.(urlOf(response, sample))),
      () => {}, // if the request fails again when the place is selected, its error is shown then
    );
    return () => controller.abort();
  }, [isNear, found, next]);

  /**
   * The URL of a sample's bytes. The server ignores `time`; it keeps the browser's cache from
   * serving the bytes of a file that was replaced.
   * @param {StepResponse} of @param {number} sample
   */
  const urlOf = ({ index, wall_time }, sample) =>
    kind.bytes ? host.url(kind.bytes, { run: run.name, tag, index: String(index), sample, time: wall_time }) : "";

  /** Shows why a sample cannot be shown. @param {StepResponse} of @param {number} sample */
  const onBroken = (of, sample) =>
    import("./broken.js").then(async ({ whyBroken }) => setBroken({ of, error: await whyBroken(of.samples, sample, kind.noun, urlOf(of, sample), host.signal) }), console.warn);

  const entries = shown?.samples ?? [];
  const rest = entries.length - numShown;
  const message = error || (broken.of === shown ? broken.error : "");
  return html`<section
    role="group"
    class="tb-step-cell ${host.hoveredRun.value === run.name ? "tb-nearest" : ""} ${isOutdated ? "tb-outdated" : ""}"
    aria-label=${run.label}
    ref=${body}
    onPointerEnter=${() => host.hoveredRun.set(run.name)}
    onPointerLeave=${() => host.hoveredRun.set(null)}
  >
    <header title=${runTitle(run)}><${RunLabel} run=${run} />${hasItem && html`<${ShownStep} found=${shown} place=${place} />`}</header>
    ${hasItem && expanded && html`<p class="tb-step-note">${formatTime(shown.wall_time)}</p>`}
    ${shown?.index === null && html`<p class="tb-step-note">${nothingLoggedText(shown.first_step, settled)}</p>`}
    ${message && html`<p class="tb-step-error" role="status">${message}</p>`}
    ${hasItem && entries.length === 0 && html`<p class="tb-step-note">No ${kind.noun} at this step.</p>`}
    <div class="tb-step-samples" style=${isDrawn || height === 0 ? undefined : { height: `${height}px` }}>
      ${isDrawn &&
      shown &&
      entries.slice(0, numShown).map((entry, sample) => {
        const props = {
          ...{ host, entry, url: urlOf(shown, sample), run, tag, tags: tab.tags.value, found: shown, expanded, alone: entries.length === 1 },
          onBroken: () => onBroken(shown, sample),
          onBusy: (/** @type {boolean} */ isBusy) => setBusy(isBusy ? { place } : null),
        };
        return html`<${SampleFigure} key=${sample} kind=${kind} sample=${sample} ...${props} />`;
      })}
    </div>
    ${rest > 0 &&
    html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(Infinity)}>Show ${rest} more at this step</button>`}
  </section>`;
}

/**
 * A sample with its caption: its label, its number if the step has several, and a download.
 * @param {Omit<SampleProps, "label"> & { kind: Tab["kind"], sample: number }} props
 */
function SampleFigure({ kind, sample, ...props }) {
  const { entry, url, run, tag, found } = props;
  const numSamples = found.samples.length;
  const title = [entry.label, numSamples > 1 && `${sample + 1} of ${numSamples}`].filter(Boolean).join(" · ");
  const file = [run.name, tag, `step${found.step}`, ...(numSamples > 1 ? [sample + 1] : [])].join("_");
  return html`<figure>
    <${kind.Sample} ...${props} label="${tag}, ${run.label}, step ${formatStep(found.step)}${title && `, ${title}`}" />
    ${(title || url) &&
    html`<figcaption>
      <span title=${title}>${title}</span>
      ${url &&
      html`<a
        class="tb-icon-button"
        href=${url}
        download="${file.replace(/[^\w.-]+/g, "_")}${kind.ending?.(entry.content_type) ?? ""}"
        aria-label="Download ${kind.noun} of ${run.label}, ${tag}${title && `, ${title}`}"
        title="Download as logged"
      >
        <${Icon} name="download" />
      </a>`}
    </figcaption>`}
  </figure>`;
}

/** Preact hook: the place, delayed until it has not changed for a moment. @param {Place | null} place */
function useSettled(place) {
  const [settled, setSettled] = useState(place);
  useEffect(() => {
    const timer = setTimeout(setSettled, SETTLE_MS, place);
    return () => clearTimeout(timer);
  }, [place?.step, place?.nth]);
  return isSamePlace(settled, place) ? place : settled;
}

/** Whether two places are equal. @param {Place | null} a @param {Place | null} b */
export function isSamePlace(a, b) {
  return a === b || (a !== null && b !== null && comparePlaces(a, b) === 0);
}

/** The text of a cell whose run logged nothing yet. @param {number | null} firstStep @param {Place | null} place */
function nothingLoggedText(firstStep, place) {
  if (firstStep === null || place === null) return "Nothing was logged.";
  return `Nothing was logged up to step ${formatStep(place.step)}. The first step is ${formatStep(firstStep)}.`;
}

/** The step of the samples, emphasized if it is before the selected one. @param {{ found: StepResponse, place: Place | null }} props */
function ShownStep({ found, place }) {
  const isEarlier = place !== null && comparePlaces(found, place) !== 0;
  const why = isEarlier ? `\nNothing was logged at step ${formatStep(place.step)}. This is the last step before it.` : "";
  return html`<span class="tb-step-at ${isEarlier ? "tb-earlier" : ""}" title="${formatTime(found.wall_time)}${why}">
    ${describePlace(found)}
  </span>`;
}

/**
 * Preact hook: the height of a cell's samples when they were last rendered, CSS pixels. Cells keep
 * it when their samples are removed, so that the page does not jump.
 * @param {{ current: HTMLElement | null }} body @param {boolean} isDrawn
 */
function useHeight(body, isDrawn) {
  const { current: last } = useRef({ isDrawn, height: 0 });
  if (last.isDrawn && !isDrawn) last.height = body.current?.querySelector(".tb-step-samples")?.clientHeight ?? 0;
  last.isDrawn = isDrawn;
  return last.height;
}
