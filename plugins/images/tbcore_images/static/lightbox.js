/**
 * One image at the size of the window. Left and right go through the steps, up and down through the
 * runs of the tag, and page up and page down through the images of a step. Loaded when the first image is opened.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, formatStep, toNumber } from "tbcore/format.js";
import { Answers, useAnswer } from "tbcore/requests.js";
import { StepSlider, comparePlaces, describePlace, findPlace, stepTo, usePlaces } from "tbcore/steps.js";
import { runsInGroupOrder } from "tbcore/tags.js";
import { RunLabel, runTitle } from "tbcore/text-names.js";
import { IconButton } from "tbcore/ui.js";
import { filterOf, parseDisplayOptions } from "./display-options.js";

/**
 * @typedef {import("tbcore/steps.js").Place} Place
 * @typedef {import("tbcore/steps.js").SampleProps["found"]} Found
 */

/** Shortest movement of a finger that is a swipe. */
const SWIPE_PX = 40;

/**
 * The dialog, which is open as long as it is rendered. It starts at `found`, and has steps of its
 * own: the cards do not move.
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {string} props.tag
 * @param {import("tbcore/host.js").Run} props.run  run to start with
 * @param {Found} props.found  step to start with
 * @param {number} props.sample  index of the sample to start with
 * @param {() => void} props.onClose
 */
export function Lightbox({ host, tag, run: firstRun, found: first, sample: firstSample, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [runName, setRunName] = useState(firstRun.name);
  const [place, setPlace] = useState(/** @type {Place | null} */ ({ step: first.step, nth: first.nth }));
  const [sample, setSample] = useState(firstSample);
  const [isActualSize, setActualSize] = useState(false);
  const runs = useRunsOf(host, tag, firstRun);
  const tags = useMemo(() => [tag], [tag]);
  const places = usePlaces(host, runs, tags, true);
  const answers = useMemo(() => new Answers(host, "step", (json) => ({ ...json, wall_time: toNumber(json.wall_time) })), []);
  const runIndex = Math.max(0, runs.findIndex(({ name }) => name === runName));
  const run = runs[runIndex];
  const { value, error } = useAnswer(answers, { run: run.name, tag, step: place?.step, nth: place?.nth || undefined }, true);

  const lastValue = useRef(value);
  if (value) lastValue.current = value;
  const numSamples = (lastValue.current ?? first).samples?.length ?? 0;
  const sampleIndex = Math.max(0, Math.min(sample, numSamples - 1));

  useLayoutEffect(() => dialog.current?.showModal(), []);

  const moveRun = (/** @type {number} */ by) => setRunName(runs[Math.max(0, Math.min(runs.length - 1, runIndex + by))].name);
  const moveSample = (/** @type {number} */ by) => setSample(Math.max(0, Math.min(numSamples - 1, sampleIndex + by)));
  const moveStep = (/** @type {number} */ by) => {
    if (places.length > 0) setPlace(stepTo(places, findPlace(places, place) + by));
  };
  // Keys are caught wherever the focus is: a click on the image, or a button that is disabled by its
  // last click, moves it to the page. The card and the page, which have keys of the same names, get none.
  useLayoutEffect(() => {
    const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
      event.stopPropagation();
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        ArrowLeft: () => moveStep(-1),
        ArrowRight: () => moveStep(1),
        ArrowUp: () => moveRun(-1),
        ArrowDown: () => moveRun(1),
        PageUp: () => moveSample(-1),
        PageDown: () => moveSample(1),
      }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKeyDown, true);
    return () => window.removeEventListener("keydown", onKeyDown, true);
  });
  const swipe = useSwipe((dx, dy) => (Math.abs(dx) > Math.abs(dy) ? moveStep(dx < 0 ? 1 : -1) : moveRun(dy < 0 ? 1 : -1)));

  return html`<dialog class="lightbox" ref=${dialog} aria-label="${tag}, enlarged" onClose=${onClose}>
    <header>
      <h2 title=${`${runTitle(run)}\n${formatName(tag)}`}><${RunLabel} run=${run} /><span class="tb-dim">${formatName(tag)}</span></h2>
      ${numSamples > 1 &&
      html`<${IconButton} icon="previous" label="Previous image of the step" title="Previous image of the step (Page ↑)" disabled=${sampleIndex === 0} onClick=${() => moveSample(-1)} />
        <span class="tb-dim">${sampleIndex + 1} of ${numSamples}</span>
        <${IconButton} icon="chevron" label="Next image of the step" title="Next image of the step (Page ↓)" disabled=${sampleIndex === numSamples - 1} onClick=${() => moveSample(1)} />`}
      ${runs.length > 1 &&
      html`<${IconButton} icon="up" label="Previous run" title="Previous run (↑)" disabled=${runIndex === 0} onClick=${() => moveRun(-1)} />
        <${IconButton} icon="down" label="Next run" title="Next run (↓)" disabled=${runIndex === runs.length - 1} onClick=${() => moveRun(1)} />`}
      <button type="button" class="tb-button" title="Actual size" aria-pressed=${isActualSize} onClick=${() => setActualSize(!isActualSize)}>1×</button>
      <${IconButton} icon="close" label="Close" title="Close (Escape)" autofocus onClick=${() => dialog.current?.close()} />
    </header>
    <div
      class="stage ${isActualSize ? "" : "fit"}"
      ...${isActualSize ? {} : swipe}
      onClick=${(/** @type {Event} */ event) => event.target === event.currentTarget && dialog.current?.close()}
    >
      ${error && !value ? html`<p class="tb-step-error" role="status">${error}</p>` : html`<${Picture} ...${{ host, tag, run, sample, isActualSize, value, place }} />`}
    </div>
    ${places.length > 1 && html`<${StepSlider} places=${places} value=${place} onChange=${setPlace} label="Step of the enlarged image" plays />`}
  </dialog>`;
}

/**
 * The image, or the last one while the next is loading.
 * @param {{ host: import("tbcore/host.js").Host, tag: string, run: import("tbcore/host.js").Run, sample: number,
 *   isActualSize: boolean, value: Found | undefined, place: Place | null }} props
 */
function Picture({ host, tag, run, sample, isActualSize, value, place }) {
  const image = useRef(/** @type {HTMLImageElement | null} */ (null));
  const [brokenUrl, setBrokenUrl] = useState("");
  const last = useRef({ run, value });
  if (value) last.current = { run, value };
  const { run: shownRun, value: found } = last.current;
  const display = parseDisplayOptions(host.settings.value);
  // Pixels of an enlarged image are squares, as in the cards.
  const updateSharpness = () => {
    const { current } = image;
    current?.classList.toggle("enlarged", current.clientWidth > current.naturalWidth && !display.smooth);
  };
  useEffect(updateSharpness, [isActualSize, display.smooth]);

  if (!found) return null;
  if (found.index === null || found.samples.length === 0) return html`<p class="tb-step-note" role="status">${run.label}: nothing was logged up to this step.</p>`;
  const index = Math.min(sample, found.samples.length - 1);
  const entry = /** @type {any} */ (found.samples[index]);
  const url = host.url("individualImage", { run: shownRun.name, tag, index: String(found.index), sample: index, time: found.wall_time });
  const which = found.samples.length > 1 ? `, ${index + 1} of ${found.samples.length}` : "";
  const label = `${tag}, ${shownRun.name}, ${describePlace(found)}${which}`;
  const ratio = entry.width > 0 && entry.height > 0 ? entry.width / entry.height : 0;
  const width = isActualSize ? `${entry.width}px` : `min(100cqw, calc(100cqh * ${ratio}))`;
  const isEarlier = place !== null && comparePlaces(found, place) !== 0;
  return html`
    ${brokenUrl === url
      ? html`<p class="tb-step-error" role="status">The browser cannot show this image. Its type is ${entry.content_type}.</p>`
      : html`<img
          ref=${image}
          src=${url}
          alt=${label}
          draggable="false"
          style=${{ width: ratio > 0 ? width : "auto", filter: filterOf(display) }}
          onLoad=${updateSharpness}
          onError=${() => setBrokenUrl(url)}
        />`}
    <p class="tb-hidden" role="status">${label}</p>
    ${isEarlier && html`<p class="earlier">${shownRun.name} logged nothing at step ${formatStep(place.step)}: this is ${describePlace(found)}.</p>`}
  `;
}

/**
 * Preact hook: the selected runs that logged the tag, in the order of the cards. It is only the
 * first one until all are known.
 * @param {import("tbcore/host.js").Host} host @param {string} tag @param {import("tbcore/host.js").Run} firstRun
 */
function useRunsOf(host, tag, firstRun) {
  const all = runsInGroupOrder(host);
  const [tags, setTags] = useState(/** @type {Record<string, string[]>} */ ({}));
  useEffect(() => void host.fetchJSON("tags").then(setTags, () => {}), []);
  return useMemo(() => {
    const runs = all.filter(({ name }) => Object.hasOwn(tags, name) && tags[name].includes(tag));
    return runs.length > 0 ? runs : [firstRun];
  }, [all, tags, tag]);
}

/**
 * Preact hook: handlers that call back when a finger was swiped over an element.
 * @param {(dx: number, dy: number) => void} onSwipe  called with the movement, CSS pixels
 */
function useSwipe(onSwipe) {
  const start = useRef(/** @type {PointerEvent | null} */ (null));
  return {
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      start.current = event.pointerType === "touch" && event.isPrimary ? event : null;
    },
    onPointerUp: (/** @type {PointerEvent} */ event) => {
      const { current } = start;
      start.current = null;
      if (!current || current.pointerId !== event.pointerId) return;
      const [dx, dy] = [event.clientX - current.clientX, event.clientY - current.clientY];
      if (Math.max(Math.abs(dx), Math.abs(dy)) >= SWIPE_PX) onSwipe(dx, dy);
    },
    onPointerCancel: () => {
      start.current = null;
    },
  };
}
