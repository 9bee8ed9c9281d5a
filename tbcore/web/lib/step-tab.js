/**
 * A whole tab of what is looked at one step at a time, such as pictures: a card for each tag, and in it what each run
 * logged at the step chosen, side by side. One slider moves all cards, and each has its own.
 *
 * The plugin's server has the routes of `tbcore.media`: `tags`, `steps`, `step`, and one for the bytes of a sample. Only
 * what is near the visible part of the page is asked for, and once a reader goes over the steps, the next one ahead.
 *
 * In the address: `step`, of all cards; `at`, of those that have their own; `closed`, the groups that are folded.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Answers, useAnswer } from "./answers.js";
import { Card } from "./card.js";
import { formatStep, formatTime, plural, toNumber } from "./format.js";
import { Icon } from "./icons.js";
import { useNear } from "./lazy.js";
import { describePlace, StepSlider, stepTo } from "./step-slider.js";
import { usePlaces } from "./step-places.js";
import { comparePlaces, findPlace, formatPlace, formatPlaces, parsePlace, parsePlaces } from "./steps.js";
import { RunLabel, runsByGroup, TagTab, watchTags } from "./tag-tab.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("./steps.js").Place} Place
 *
 * @typedef {object} Entry  one sample of a step, as the server's `step` lists them; it may say more
 * @property {string} content_type
 * @property {string} [label]  what the writer called it
 *
 * @typedef {object} Found  what was logged together, as the server's `step` has it
 * @property {number | null} first_step  of the series
 * @property {number | null} index  as the server counts; null: nothing was logged so early
 * @property {number} step
 * @property {number} nth
 * @property {number} wall_time  seconds since the epoch
 * @property {Entry[]} samples
 *
 * @typedef {object} Kind  what the tab shows
 * @property {string} noun  in the singular: "picture"
 * @property {string} [nouns]  of many, where that is not the noun with an s: "matrices"
 * @property {string} [bytes]  the route of a sample's bytes: "individualImage"; none where its fields say everything
 * @property {(props: SampleProps) => unknown} Sample  a component
 * @property {(props: { host: Host }) => unknown} [Controls]  a component: what else stands in the toolbar
 * @property {Parameters<Host["keys"]>[0]} [keys]  of the controls, beside those of the tab
 * @property {(contentType: string) => string} [ending]  of the name of a file with the bytes
 * @property {(url: string) => void} [fetchAhead]  fetches the bytes of a sample that may be shown next
 * @property {boolean} [stays]  whether samples stay when they are scrolled out of sight, as what plays must
 *
 * @typedef {object} SampleProps  what a component of one sample is given
 * @property {Host} host
 * @property {any} entry  an Entry
 * @property {string} url  of the bytes; empty where they have no route
 * @property {string} label  what it is, in words
 * @property {Run} run
 * @property {string} tag
 * @property {Found} found  the step, and all that was logged with it
 * @property {boolean} expanded  whether its card has the whole width
 * @property {boolean} alone  whether the step has no other sample
 * @property {() => void} onBroken  tells that the browser cannot show it, or that it is gone; the tab finds out why
 * @property {(isBusy: boolean) => void} onBusy  tells that it plays: it stays then, whatever is logged, until the reader moves
 *
 * @typedef {object} Tab  what the cards share
 * @property {Host} host
 * @property {Kind} kind
 * @property {Answers<Found>} answers
 * @property {Place | null} place  of all cards; null: the end
 * @property {ReadonlyMap<string, Place | null>} own  of the cards that have their own
 * @property {(tag: string, place: Place | null | undefined) => void} onMove  undefined: as all
 */

/** So many runs of a card are shown at first. */
const PAGE = 24;
/** So many samples of a step are. */
const SAMPLES = 12;
/** How long a step must stand until it is fetched, while the slider moves. */
const SETTLE_MS = 60;

/**
 * Draws the tab. What it returns is for `render` of a plugin to return.
 * @param {Host} host
 * @param {Kind} kind
 * @returns {Promise<() => void>}
 */
export async function renderStepTab(host, kind) {
  for (const part of /** @type {const} */ (["noun", "Sample"])) {
    if (!kind[part]) throw new Error(`renderStepTab(host, kind): kind.${part} is missing`);
  }
  const [tags] = await Promise.all([watchTags(host), host.css(new URL("./step-tab.css", import.meta.url))]);
  render(html`<${Dashboard} host=${host} kind=${kind} tags=${tags} answers=${new Answers(host, "step", readFound)} />`, host.element);
  return () => render(null, host.element);
}

/** @param {any} json @returns {Found} */
function readFound(json) {
  return { ...json, wall_time: toNumber(json.wall_time) };
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {Kind} props.kind
 * @param {Awaited<ReturnType<typeof watchTags>>} props.tags
 * @param {Answers<Found>} props.answers
 */
function Dashboard({ host, kind, tags, answers }) {
  const runs = runsByGroup(host);
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const shown = useMemo(() => {
    const all = new Set(runs.flatMap(({ name }) => tags.value[name] ?? []));
    return [...all].filter(filter.matches);
  }, [tags.value, runs, filter]);
  const places = usePlaces(host, runs, shown, shown.length > 0);
  const place = parsePlace(settings.step);
  const own = parsePlaces(settings.at);

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
    own,
    /** @type {Tab["onMove"]} */
    onMove(tag, next) {
      own.delete(tag);
      // The end is where all are at first: a card that is there needs no place of its own.
      if (next !== undefined && !(next === null && place === null)) own.set(tag, next);
      host.settings.set("at", formatPlaces(own));
    },
  };

  const move = useRef(/** @type {(by: number) => void} */ (() => {}));
  move.current = (by) => places.length > 0 && onMoveAll(stepTo(places, findPlace(places, place) + by));
  useEffect(() => {
    host.keys([
      { key: "[", label: "Previous step, in all cards", act: () => move.current(-1) },
      { key: "]", label: "Next step, in all cards", act: () => move.current(1) },
      { key: "←", label: "Previous step, in the card that has the focus; → the next" },
      { key: "f", label: "Full size: the card that has the focus" },
      ...(kind.keys ?? []),
    ]);
  }, []);

  const many = kind.nouns ?? `${kind.noun}s`;
  const controls = html`
    ${shown.length > 0 &&
    places.length > 1 &&
    html`<${StepSlider} places=${places} value=${place} onChange=${onMoveAll} label="Step of all ${many}" />`}
    ${kind.Controls && html`<${kind.Controls} host=${host} />`}
  `;
  return html`<${TagTab}
    host=${host}
    tags=${tags}
    what=${many}
    controls=${controls}
    size="tb-step-tab"
    renderTag=${(/** @type {{ tag: string, runs: readonly Run[], group: string }} */ { tag, runs: members, group }) =>
      html`<${StepCard} key=${tag} tab=${tab} tag=${tag} group=${group} runs=${members} />`}
  />`;
}

/**
 * @param {object} props
 * @param {Tab} props.tab
 * @param {string} props.tag
 * @param {string} props.group  whose heading says the beginning of the title
 * @param {readonly Run[]} props.runs
 */
function StepCard({ tab, tag, group, runs }) {
  const { host } = tab;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [numShown, setNumShown] = useState(PAGE);
  const shown = useMemo(() => runs.slice(0, numShown), [runs, numShown]);
  const tags = useMemo(() => [tag], [tag]);
  const places = usePlaces(host, shown, tags, isNear);
  const isOwn = tab.own.has(tag);
  const place = isOwn ? (tab.own.get(tag) ?? null) : tab.place;
  const ahead = useAhead(places, place);

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
    actions=${isOwn &&
    html`<button
      type="button"
      class="tb-icon-button"
      aria-label="${tag}: the step of all cards"
      title="Back to the step of all cards"
      onClick=${() => tab.onMove(tag, undefined)}
    >
      <${Icon} name="reload" />
    </button>`}
  >
    <div class="tb-step-card" ref=${body}>
      ${places.length > 1 &&
      html`<${StepSlider} places=${places} value=${place} onChange=${(/** @type {Place | null} */ next) => tab.onMove(tag, next)} label="Step of ${tag}" />`}
      <div class="tb-step-cells">
        ${shown.map((run) => html`<${Cell} key=${run.name} tab=${tab} run=${run} tag=${tag} place=${place} ahead=${ahead} expanded=${expanded} />`)}
      </div>
      ${rest > 0 &&
      html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(numShown + PAGE)}>
        Show ${Math.min(PAGE, rest)} more of ${plural(rest, "run")}
      </button>`}
    </div>
  <//>`;
}

/**
 * The place that comes next, when the reader goes on in the same direction.
 * @param {readonly Place[]} places
 * @param {Place | null} place
 * @returns {Place | undefined} undefined while nobody moves
 */
function useAhead(places, place) {
  const moved = useRef({ place, ahead: /** @type {Place | undefined} */ (undefined) });
  const { current } = moved;
  if (!isSame(current.place, place)) {
    const [from, to] = [findPlace(places, current.place), findPlace(places, place)];
    current.place = place;
    current.ahead = to === from ? undefined : places[to + Math.sign(to - from)];
  }
  return current.ahead;
}

/**
 * What one run logged at the step, or last before it.
 * @param {object} props
 * @param {Tab} props.tab
 * @param {Run} props.run
 * @param {string} props.tag
 * @param {Place | null} props.place
 * @param {Place | undefined} props.ahead  what may be asked for next
 * @param {boolean} props.expanded
 */
function Cell({ tab, run, tag, place, ahead, expanded }) {
  const { host, kind, answers } = tab;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const isDrawn = isNear || kind.stays === true;
  const height = useHeight(body, isDrawn);
  const [numShown, setNumShown] = useState(SAMPLES);
  const [broken, setBroken] = useState({ of: /** @type {Found | undefined} */ (undefined), error: "" });
  /** @param {Place | null} at */
  const questionOf = (at) => ({ run: run.name, tag, step: at?.step, nth: at?.nth || undefined });
  const settled = useSettled(place);
  const { value: found, error } = useAnswer(answers, questionOf(settled), isNear);
  const [busy, setBusy] = useState(/** @type {{ place: Place | null } | null} */ (null));
  const isHeld = busy !== null && isSame(busy.place, place);
  const last = useRef(found);
  if (found && !isHeld) last.current = found;
  const shown = error && !found ? undefined : last.current;
  const isLate = shown !== undefined && (found === undefined || settled !== place);

  useEffect(() => {
    if (!isNear || !found || !ahead || !kind.fetchAhead) return undefined;
    const leaving = new AbortController();
    answers.load(questionOf(ahead), leaving.signal).then(
      (next) => next.samples.slice(0, numShown).forEach((_, sample) => kind.fetchAhead?.(urlOf(next, sample))),
      () => {}, // it says so when it is shown
    );
    return () => leaving.abort();
  }, [isNear, found, ahead]);

  // The time is for the browser: what it keeps under this address is not that of a file which was replaced.
  /** @param {Found} of @param {number} sample */
  const urlOf = ({ index, wall_time }, sample) =>
    kind.bytes ? host.url(kind.bytes, { run: run.name, tag, index: String(index), sample, time: wall_time }) : "";

  /** @param {Found} of @param {Entry} entry @param {number} sample */
  const onBroken = async (of, entry, sample) => {
    const fault = kind.bytes && (await whyBroken(urlOf(of, sample), host.signal));
    const which = of.samples.length > 1 ? `${sample + 1} of ${of.samples.length}: ` : "";
    setBroken({ of, error: which + (fault || `The browser cannot show this ${kind.noun}. Its type is ${entry.content_type}.`) });
  };

  const entries = shown?.samples ?? [];
  const rest = entries.length - numShown;
  const fault = error || (broken.of === shown ? broken.error : "");
  return html`<section
    class="tb-step-cell ${host.hoveredRun.value === run.name ? "tb-nearest" : ""} ${isLate ? "tb-late" : ""}"
    aria-label=${run.name}
    ref=${body}
    onPointerEnter=${() => host.hoveredRun.set(run.name)}
    onPointerLeave=${() => host.hoveredRun.set(null)}
  >
    <header title=${run.name}>
      <${RunLabel} run=${run} />
      ${shown && shown.index !== null && html`<${At} found=${shown} place=${place} />`}
    </header>
    ${shown && shown.index !== null && expanded && html`<p class="tb-step-note">${formatTime(shown.wall_time)}</p>`}
    ${shown?.index === null && html`<p class="tb-step-note">${whyNone(shown.first_step, settled)}</p>`}
    ${fault && html`<p class="tb-step-error" role="status">${fault}</p>`}
    ${shown && shown.index !== null && entries.length === 0 && html`<p class="tb-step-note">There is no ${kind.noun} in this step.</p>`}
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
              title="Download what was logged"
            >
              <${Icon} name="download" />
            </a>`}
          </figcaption>`}
        </figure>`;
      })}
    </div>
    ${rest > 0 &&
    html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(Infinity)}>Show ${rest} more of this step</button>`}
  </section>`;
}

/**
 * A place once it stands still.
 * @param {Place | null} place
 */
function useSettled(place) {
  const [settled, setSettled] = useState(place);
  useEffect(() => {
    const timer = setTimeout(setSettled, SETTLE_MS, place);
    return () => clearTimeout(timer);
  }, [place?.step, place?.nth]);
  return isSame(settled, place) ? place : settled;
}

/** @param {Place | null} a @param {Place | null} b */
function isSame(a, b) {
  return a === b || (a !== null && b !== null && comparePlaces(a, b) === 0);
}

/**
 * Why the server does not give the bytes.
 * @param {string} url
 * @param {AbortSignal} signal
 * @returns {Promise<string>} "" when it does
 */
async function whyBroken(url, signal) {
  try {
    const response = await fetch(url, { signal, headers: { Range: "bytes=0-0" } });
    return response.ok || response.status === 416 ? "" : await response.text();
  } catch {
    return "The server cannot be reached.";
  }
}

/**
 * @param {number | null} first
 * @param {Place | null} place
 */
function whyNone(first, place) {
  if (first === null || place === null) return "Nothing was logged.";
  return `Nothing up to step ${formatStep(place.step)}: its first is step ${formatStep(first)}.`;
}

/**
 * Which step is shown, and that it is not the one asked for.
 * @param {{ found: Found, place: Place | null }} props
 */
function At({ found, place }) {
  const isEarlier = place !== null && comparePlaces(found, place) !== 0;
  const why = isEarlier ? `\nNothing was logged at step ${formatStep(place.step)}: this is the last before it.` : "";
  return html`<span class="tb-step-at ${isEarlier ? "tb-earlier" : ""}" title="${formatTime(found.wall_time)}${why}">
    ${describePlace(found)}
  </span>`;
}

/**
 * How high the samples of a cell were when it went out of sight, so that the page does not move when they are dropped.
 * @param {{ current: HTMLElement | null }} body
 * @param {boolean} isDrawn
 */
function useHeight(body, isDrawn) {
  const last = useRef({ isDrawn, height: 0 });
  if (last.current.isDrawn && !isDrawn) {
    last.current.height = /** @type {HTMLElement | null} */ (body.current?.querySelector(".tb-step-samples") ?? null)?.offsetHeight ?? 0;
  }
  last.current.isDrawn = isDrawn;
  return last.current.height;
}
