/**
 * A complete tab for media that are shown one step at a time, such as images. There is a card for
 * each tag, with a cell for each run. A cell shows the samples that the run logged at the selected
 * place: a step, and an index among the items of this step. One slider sets the place of all cards,
 * and each card has a slider of its own.
 *
 * The plugin's server must have the routes of `tbcore.media`: `tags`, `steps`, `step`, and one for
 * the bytes of a sample. Samples are requested only for cards near the visible part of the page.
 * When the user moves through the steps, the next one is fetched ahead.
 *
 * Settings in the URL: `at` has the places of the cards that the user moved by their own sliders,
 * `step` is the place of all other cards, and `closed` has the collapsed groups.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card } from "../cards/card.js";
import { formatStep, formatTime, plural, toNumber } from "../../format.js";
import { Answers, useAnswer } from "../../requests.js";
import { StepSlider, comparePlaces, describePlace, findPlace, formatPlace, formatPlaces, parsePlace, parsePlaces, stepTo, usePlaces } from "../../steps.js";
import { TagTab, runsInGroupOrder, watchTags } from "../../tags.js";
import { RunLabel } from "../../text-names.js";
import { useNear } from "../../ui.js";
import { Icon } from "../ui/icons.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("../../steps.js").Place} Place
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
 *
 * @typedef {object} MediaKind  the kind of media that the tab shows
 * @property {string} noun  singular: "image"
 * @property {string} [nouns]  plural, if it is not the noun with an s: "matrices"
 * @property {string} [bytes]  route of a sample's bytes: "individualImage". Not needed if the
 *   samples' fields are all there is to show
 * @property {(props: SampleProps) => unknown} Sample  component that shows one sample
 * @property {(props: { host: Host }) => unknown} [Controls]  component with more controls for the
 *   toolbar
 * @property {Parameters<Host["keys"]>[0]} [keys]  keys of the controls, in addition to those of the
 *   tab
 * @property {(contentType: string) => string} [ending]  returns the extension of downloaded files:
 *   ".png"
 * @property {(url: string) => void} [fetchAhead]  fetches the bytes of a sample that may be shown
 *   next
 * @property {boolean} [stays]  whether samples stay rendered when they are scrolled out of view;
 *   needed for media that play
 *
 * @typedef {object} SampleProps  the props of the component `Sample`
 * @property {Host} host
 * @property {any} entry  an Entry
 * @property {string} url  URL of the bytes; "" if there is no route for them
 * @property {string} label  accessible name
 * @property {Run} run
 * @property {string} tag
 * @property {StepResponse} found  everything that was logged at the same place
 * @property {boolean} expanded  whether the card is in full size
 * @property {boolean} alone  whether this is the only sample of the step
 * @property {() => void} onBroken  to be called if the browser cannot show the sample; the tab then
 *   finds out why and shows an error
 * @property {(isBusy: boolean) => void} onBusy  to be called when the sample starts and stops
 *   playing; while it plays, newly logged data does not replace it
 *
 * @typedef {object} Tab  what the cards share
 * @property {Host} host
 * @property {MediaKind} kind
 * @property {Answers<StepResponse>} answers
 * @property {Place | null} place  place of the cards that do not have their own; null for the
 *   latest
 * @property {ReadonlyMap<string, Place | null>} ownPlaces  places of the cards that have their own,
 *   by tag
 * @property {(tag: string, place: Place | null | undefined) => void} onMove  gives a card its own
 *   place; undefined takes its own place away, so that `place` applies to the card
 */

/** Number of runs that a card shows at first, and that each click adds. */
const PAGE_SIZE = 24;
/** Number of samples that a cell shows at first. */
const NUM_SAMPLES_AT_FIRST = 12;
/** While the slider moves, a step is fetched only after it was selected for this long. */
const SETTLE_MS = 60;

/**
 * Renders the tab. A plugin's `render` returns the result of this function.
 * @param {Host} host
 * @param {MediaKind} kind
 * @returns {Promise<() => void>} resolves to a function that removes the tab
 */
export async function renderStepTab(host, kind) {
  for (const part of /** @type {const} */ (["noun", "Sample"])) {
    if (!kind[part]) throw new Error(`renderStepTab(host, kind): kind.${part} is missing`);
  }
  const [tags] = await Promise.all([watchTags(host), host.css(new URL("./step-tab.css", import.meta.url))]);
  const answers = new Answers(host, "step", parseStepResponse);
  render(html`<${Dashboard} host=${host} kind=${kind} tags=${tags} answers=${answers} />`, host.element);
  return () => render(null, host.element);
}

/** Parses the JSON of the route `step`. @param {any} json @returns {StepResponse} */
function parseStepResponse(json) {
  return { ...json, wall_time: toNumber(json.wall_time) };
}

/**
 * The tab.
 * @param {object} props
 * @param {Host} props.host
 * @param {MediaKind} props.kind
 * @param {Awaited<ReturnType<typeof watchTags>>} props.tags
 * @param {Answers<StepResponse>} props.answers
 */
function Dashboard({ host, kind, tags, answers }) {
  const runs = runsInGroupOrder(host);
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const shownTags = useMemo(() => {
    const all = new Set(runs.flatMap(({ name }) => tags.value[name] ?? []));
    return [...all].filter(filter.matches);
  }, [tags.value, runs, filter]);
  const places = usePlaces(host, runs, shownTags, shownTags.length > 0);
  const place = parsePlace(settings.step);
  const ownPlaces = parsePlaces(settings.at);

  /** @param {Place | null} next */
  const onMoveAll = (next) => {
    host.settings.set("step", next && formatPlace(next));
    host.settings.set("at", null);
  };
  const tab = {
    host,
    kind,
    answers,
    place,
    ownPlaces,
    /** @type {Tab["onMove"]} */
    onMove(tag, next) {
      ownPlaces.delete(tag);
      // If all cards are at the latest place, a card that moves there does not need a place of its
      // own.
      if (next !== undefined && !(next === null && place === null)) ownPlaces.set(tag, next);
      host.settings.set("at", formatPlaces(ownPlaces));
    },
  };

  // The keys are set only once; their actions call the latest version of this function.
  const move = useRef(/** @type {(by: number) => void} */ (() => {}));
  move.current = (by) => places.length > 0 && onMoveAll(stepTo(places, findPlace(places, place) + by));
  useEffect(() => {
    host.keys([
      { key: "[", label: "Previous step, in all cards", act: () => move.current(-1) },
      { key: "]", label: "Next step, in all cards", act: () => move.current(1) },
      { key: "← →", label: "Previous or next step, in the focused card" },
      { key: "f", label: "Show the focused card in full size" },
      ...(kind.keys ?? []),
    ]);
  }, []);

  const nouns = kind.nouns ?? `${kind.noun}s`;
  const controls = html`
    ${shownTags.length > 0 &&
    places.length > 1 &&
    html`<${StepSlider} places=${places} value=${place} onChange=${onMoveAll} label="Step of all ${nouns}" />`}
    ${kind.Controls && html`<${kind.Controls} host=${host} />`}
  `;
  return html`<${TagTab}
    host=${host}
    tags=${tags}
    what=${nouns}
    controls=${controls}
    size="tb-step-tab"
    renderTag=${(/** @type {{ tag: string, runs: readonly Run[], group: string }} */ { tag, runs: members, group }) =>
      html`<${StepCard} key=${tag} tab=${tab} tag=${tag} group=${group} runs=${members} />`}
  />`;
}

/**
 * The card of a tag.
 * @param {object} props
 * @param {Tab} props.tab
 * @param {string} props.tag
 * @param {string} props.group  group whose heading already shows the start of the tag
 * @param {readonly Run[]} props.runs
 */
function StepCard({ tab, tag, group, runs }) {
  const { host } = tab;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [numShown, setNumShown] = useState(PAGE_SIZE);
  const shownRuns = useMemo(() => runs.slice(0, numShown), [runs, numShown]);
  const tags = useMemo(() => [tag], [tag]);
  const places = usePlaces(host, shownRuns, tags, isNear);
  const hasOwnPlace = tab.ownPlaces.has(tag);
  const place = hasOwnPlace ? (tab.ownPlaces.get(tag) ?? null) : tab.place;
  const next = useNextPlace(places, place);

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLMediaElement) return;
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by === 0) return;
    if (places.length > 0) tab.onMove(tag, stepTo(places, findPlace(places, place) + by));
    event.preventDefault();
  };
  const rest = runs.length - numShown;
  return html`<${Card}
    title=${tag}
    group=${group}
    expanded=${expanded}
    onExpand=${setExpanded}
    onKeyDown=${onKeyDown}
    actions=${hasOwnPlace &&
    html`<button
      type="button"
      class="tb-icon-button"
      aria-label="${tag}: back to the step of all cards"
      title="Back to the step of all cards"
      onClick=${() => tab.onMove(tag, undefined)}
    >
      <${Icon} name="reload" />
    </button>`}
  >
    <div class="tb-step-card" ref=${body}>
      ${places.length > 1 &&
      html`<${StepSlider} places=${places} value=${place} onChange=${(/** @type {Place | null} */ to) => tab.onMove(tag, to)} label="Step of ${tag}" />`}
      <div class="tb-step-cells">
        ${shownRuns.map((run) => html`<${Cell} key=${run.name} tab=${tab} run=${run} tag=${tag} place=${place} next=${next} expanded=${expanded} />`)}
      </div>
      ${rest > 0 &&
      html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(numShown + PAGE_SIZE)}>
        Show ${Math.min(PAGE_SIZE, rest)} more of ${plural(rest, "run")}
      </button>`}
    </div>
  <//>`;
}

/**
 * Preact hook: the place after the current one, in the direction of the last move.
 * @param {readonly Place[]} places
 * @param {Place | null} place
 * @returns {Place | undefined} undefined before the first move, and at either end
 */
function useNextPlace(places, place) {
  const last = useRef({ place, next: /** @type {Place | undefined} */ (undefined) });
  const { current } = last;
  if (!isSamePlace(current.place, place)) {
    const [from, to] = [findPlace(places, current.place), findPlace(places, place)];
    current.place = place;
    current.next = to === from ? undefined : places[to + Math.sign(to - from)];
  }
  return current.next;
}

/**
 * The samples of one run at a place. If the run logged none there, the cell shows the samples of
 * the last earlier place that has any.
 * @param {object} props
 * @param {Tab} props.tab
 * @param {Run} props.run
 * @param {string} props.tag
 * @param {Place | null} props.place
 * @param {Place | undefined} props.next  a place to fetch ahead
 * @param {boolean} props.expanded
 */
function Cell({ tab, run, tag, place, next, expanded }) {
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
  /**
   * What is on screen: an older response while the next one is loading, or while a sample plays.
   */
  const shown = error && !found ? undefined : last.current;
  const isOutdated = shown !== undefined && (found === undefined || settled !== place);

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
   * @param {StepResponse} of
   * @param {number} sample
   */
  const urlOf = ({ index, wall_time }, sample) =>
    kind.bytes ? host.url(kind.bytes, { run: run.name, tag, index: String(index), sample, time: wall_time }) : "";

  /**
   * Shows why a sample cannot be shown.
   * @param {StepResponse} of
   * @param {Entry} entry
   * @param {number} sample
   */
  const onBroken = async (of, entry, sample) => {
    const serverError = kind.bytes && (await serverErrorOf(urlOf(of, sample), host.signal));
    const which = of.samples.length > 1 ? `${sample + 1} of ${of.samples.length}: ` : "";
    setBroken({ of, error: which + (serverError || `The browser cannot show this ${kind.noun}. Its type is ${entry.content_type}.`) });
  };

  const entries = shown?.samples ?? [];
  const rest = entries.length - numShown;
  const message = error || (broken.of === shown ? broken.error : "");
  return html`<section
    class="tb-step-cell ${host.hoveredRun.value === run.name ? "tb-nearest" : ""} ${isOutdated ? "tb-outdated" : ""}"
    aria-label=${run.name}
    ref=${body}
    onPointerEnter=${() => host.hoveredRun.set(run.name)}
    onPointerLeave=${() => host.hoveredRun.set(null)}
  >
    <header title=${run.name}>
      <${RunLabel} run=${run} />
      ${shown && shown.index !== null && html`<${ShownStep} found=${shown} place=${place} />`}
    </header>
    ${shown && shown.index !== null && expanded && html`<p class="tb-step-note">${formatTime(shown.wall_time)}</p>`}
    ${shown?.index === null && html`<p class="tb-step-note">${nothingLoggedText(shown.first_step, settled)}</p>`}
    ${message && html`<p class="tb-step-error" role="status">${message}</p>`}
    ${shown && shown.index !== null && entries.length === 0 && html`<p class="tb-step-note">No ${kind.noun} at this step.</p>`}
    <div class="tb-step-samples" style=${isDrawn || height === 0 ? undefined : { height: `${height}px` }}>
      ${isDrawn &&
      shown &&
      entries.slice(0, numShown).map((entry, sample) => {
        const url = urlOf(shown, sample);
        const title = [entry.label, entries.length > 1 && `${sample + 1} of ${entries.length}`].filter(Boolean).join(" · ");
        const file = [run.name, tag, `step${shown.step}`, ...(entries.length > 1 ? [sample + 1] : [])].join("_");
        return html`<figure key=${sample}>
          <${kind.Sample}
            host=${host}
            entry=${entry}
            url=${url}
            label="${tag}, ${run.name}, step ${formatStep(shown.step)}${title && `, ${title}`}"
            run=${run}
            tag=${tag}
            found=${shown}
            expanded=${expanded}
            alone=${entries.length === 1}
            onBroken=${() => onBroken(shown, entry, sample)}
            onBusy=${(/** @type {boolean} */ isBusy) => setBusy(isBusy ? { place } : null)}
          />
          ${(title || url) &&
          html`<figcaption>
            <span title=${title}>${title}</span>
            ${url &&
            html`<a
              class="tb-icon-button"
              href=${url}
              download="${file.replace(/[^\w.-]+/g, "_")}${kind.ending?.(entry.content_type) ?? ""}"
              aria-label="Download ${kind.noun} of ${run.name}, ${tag}${title && `, ${title}`}"
              title="Download as logged"
            >
              <${Icon} name="download" />
            </a>`}
          </figcaption>`}
        </figure>`;
      })}
    </div>
    ${rest > 0 &&
    html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(Infinity)}>Show ${rest} more at this step</button>`}
  </section>`;
}

/**
 * Preact hook: the place, delayed until it has not changed for a moment.
 * @param {Place | null} place
 */
function useSettled(place) {
  const [settled, setSettled] = useState(place);
  useEffect(() => {
    const timer = setTimeout(setSettled, SETTLE_MS, place);
    return () => clearTimeout(timer);
  }, [place?.step, place?.nth]);
  return isSamePlace(settled, place) ? place : settled;
}

/** Whether two places are equal. @param {Place | null} a @param {Place | null} b */
function isSamePlace(a, b) {
  return a === b || (a !== null && b !== null && comparePlaces(a, b) === 0);
}

/**
 * The server's error message for the bytes of a sample.
 * @param {string} url
 * @param {AbortSignal} signal
 * @returns {Promise<string>} "" if there is no error
 */
async function serverErrorOf(url, signal) {
  try {
    const response = await fetch(url, { signal, headers: { Range: "bytes=0-0" } });
    // Status 416: the sample has no bytes, so there is no first byte.
    return response.ok || response.status === 416 ? "" : await response.text();
  } catch {
    return "The server cannot be reached.";
  }
}

/**
 * The text of a cell whose run logged nothing up to a place.
 * @param {number | null} firstStep  first step of the series
 * @param {Place | null} place
 */
function nothingLoggedText(firstStep, place) {
  if (firstStep === null || place === null) return "Nothing was logged.";
  return `Nothing was logged up to step ${formatStep(place.step)}. The first step is ${formatStep(firstStep)}.`;
}

/**
 * The step whose samples are shown; emphasized if it is earlier than the selected one.
 * @param {{ found: StepResponse, place: Place | null }} props
 */
function ShownStep({ found, place }) {
  const isEarlier = place !== null && comparePlaces(found, place) !== 0;
  const why = isEarlier ? `\nNothing was logged at step ${formatStep(place.step)}. This is the last step before it.` : "";
  return html`<span class="tb-step-at ${isEarlier ? "tb-earlier" : ""}" title="${formatTime(found.wall_time)}${why}">
    ${describePlace(found)}
  </span>`;
}

/**
 * Preact hook: the height of a cell's samples when they were last rendered, CSS pixels. Cells keep
 * this height when their samples are removed, so that the page does not jump.
 * @param {{ current: HTMLElement | null }} body
 * @param {boolean} isDrawn  whether the samples are rendered
 */
function useHeight(body, isDrawn) {
  const last = useRef({ isDrawn, height: 0 });
  if (last.current.isDrawn && !isDrawn) {
    last.current.height = /** @type {HTMLElement | null} */ (body.current?.querySelector(".tb-step-samples") ?? null)?.offsetHeight ?? 0;
  }
  last.current.isDrawn = isDrawn;
  return last.current.height;
}
