/**
 * A whole tab of what is looked at one step at a time, such as pictures: a card for each tag, and in it what each run
 * logged at the step chosen, side by side. One slider moves all cards, and each has its own.
 *
 * The plugin's server has these routes, as those of images do: `tags`, `steps?run=R&tag=T` with the columns `index`,
 * `step` and `wall_time`, `step?run=R&tag=T&index=I` with an entry for each sample, and one for the bytes of a sample. Only
 * what is near the visible part of the page is asked for.
 *
 * In the address: `step`, of all cards; `at`, of those that have their own; `closed`, the groups that are folded.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card } from "./card.js";
import { formatStep, formatTime, plural } from "./format.js";
import { Icon } from "./icons.js";
import { useNear } from "./lazy.js";
import { Name } from "./runs-panel.js";
import { describePlace, StepSlider, stepTo } from "./step-slider.js";
import { StepStore } from "./step-store.js";
import { comparePlaces, findPlace, formatPlace, formatPlaces, parsePlace, parsePlaces, unitePlaces } from "./steps.js";
import { TagTab, watchTags } from "./tag-tab.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("./steps.js").Place} Place
 * @typedef {import("./steps.js").StepItem} StepItem
 *
 * @typedef {object} Entry  one sample of a step, as the server's `step` lists them; it may say more
 * @property {string} content_type
 * @property {string} [label]  what the writer called it
 *
 * @typedef {object} Kind  what the tab shows
 * @property {string} noun  in the singular: "picture"
 * @property {string} bytes  the route of a sample's bytes: "individualImage"
 * @property {(props: SampleProps) => unknown} Sample  a component
 * @property {(props: { host: Host }) => unknown} [Controls]  a component: what else stands in the toolbar
 * @property {(contentType: string) => string} ending  of the name of a file
 * @property {boolean} [stays]  whether samples stay when they are scrolled out of sight, as what plays must
 *
 * @typedef {object} SampleProps  what a component of one sample is given
 * @property {Host} host
 * @property {any} entry  an Entry
 * @property {string} url  of the bytes
 * @property {string} label  what it is, in words
 * @property {boolean} expanded  whether its card has the whole width
 * @property {boolean} alone  whether the step has no other sample
 * @property {() => void} onBroken  tells that the browser cannot show it, or that it is gone; the tab finds out why
 *
 * @typedef {object} Tab  what the cards share
 * @property {Host} host
 * @property {Kind} kind
 * @property {StepStore} store
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
  const [tags] = await Promise.all([watchTags(host), host.css(new URL("./step-tab.css", import.meta.url))]);
  render(html`<${Dashboard} host=${host} kind=${kind} tags=${tags} store=${new StepStore(host)} />`, host.element);
  return () => render(null, host.element);
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {Kind} props.kind
 * @param {Awaited<ReturnType<typeof watchTags>>} props.tags
 * @param {StepStore} props.store
 */
function Dashboard({ host, kind, tags, store }) {
  const runs = host.runs.value;
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const version = store.version.value;
  const places = useMemo(() => {
    const names = new Set(runs.map(({ name }) => name));
    return unitePlaces(store.known((run, tag) => names.has(run) && filter.matches(tag)));
  }, [runs, filter, version]);
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
    store,
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
    ]);
  }, []);

  const many = `${kind.noun}s`;
  const controls = html`
    ${places.length > 1 && html`<${StepSlider} places=${places} value=${place} onChange=${onMoveAll} label="Step of all ${many}" />`}
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
  const { host, store } = tab;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const [expanded, setExpanded] = useState(false);
  const [numShown, setNumShown] = useState(PAGE);
  const generations = host.generations.value;
  const version = store.version.value;
  const shown = useMemo(() => runs.slice(0, numShown), [runs, numShown]);
  const places = useMemo(() => unitePlaces(shown.map(({ name }) => store.of(name, tag)?.items ?? [])), [shown, version]);
  const isOwn = tab.own.has(tag);
  const place = isOwn ? (tab.own.get(tag) ?? null) : tab.place;

  useEffect(() => {
    if (!isNear) return undefined;
    const leaving = new AbortController();
    for (const { name } of shown) store.load(name, tag, generations.of(name), leaving.signal);
    return () => leaving.abort();
  }, [isNear, shown, generations]);

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLMediaElement) return;
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by !== 0) {
      if (places.length > 0) tab.onMove(tag, stepTo(places, findPlace(places, place) + by));
    } else if (event.key === "f") setExpanded(!expanded);
    else if (event.key === "Escape" && expanded) setExpanded(false);
    else return;
    event.preventDefault();
  };
  const rest = runs.length - numShown;
  return html`<${Card}
    title=${tag}
    dimmed=${group !== "" && tag.startsWith(`${group}/`) ? group.length + 1 : 0}
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
        ${shown.map((run) => html`<${Cell} key=${run.name} tab=${tab} run=${run} tag=${tag} place=${place} expanded=${expanded} />`)}
      </div>
      ${rest > 0 &&
      html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(numShown + PAGE)}>
        Show ${Math.min(PAGE, rest)} more of ${plural(rest, "run")}
      </button>`}
    </div>
  <//>`;
}

/**
 * What one run logged at the step, or last before it.
 * @param {object} props
 * @param {Tab} props.tab
 * @param {Run} props.run
 * @param {string} props.tag
 * @param {Place | null} props.place
 * @param {boolean} props.expanded
 */
function Cell({ tab, run, tag, place, expanded }) {
  const { host, kind, store } = tab;
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const isDrawn = isNear || kind.stays === true;
  const height = useHeight(body, isDrawn);
  const [loaded, setLoaded] = useState(/** @type {{ item: StepItem, entries: Entry[], error: string } | null} */ (null));
  const [numShown, setNumShown] = useState(SAMPLES);
  const [attempt, setAttempt] = useState(0);
  const generation = host.generations.value.of(run.name);
  const series = store.of(run.name, tag);
  const items = series?.items ?? [];
  const item = items[findPlace(items, place)];

  useEffect(() => {
    if (!isNear || !item) return undefined;
    const leaving = new AbortController();
    const settle = setTimeout(
      () =>
        store.entries(run.name, tag, item, leaving.signal).then(
          (entries) => leaving.signal.aborted || setLoaded({ item, entries, error: "" }),
          (failure) => leaving.signal.aborted || setLoaded({ item, entries: [], error: failure.message }),
        ),
      loaded ? SETTLE_MS : 0,
    );
    return () => {
      leaving.abort();
      clearTimeout(settle);
    };
  }, [isNear, item?.index, item?.wallTime, attempt]);
  useEffect(() => {
    if (loaded?.error) setAttempt(attempt + 1);
  }, [generation]);

  /** @param {Entry} entry */
  const onBroken = async (entry) => {
    if (!loaded) return;
    const { error } = await store.entries(run.name, tag, loaded.item, host.signal).then(
      () => ({ error: `The browser cannot show this ${kind.noun}. Its type is ${entry.content_type}.` }),
      (failure) => ({ error: failure.message }),
    );
    setLoaded((now) => (now?.item === loaded.item ? { ...now, error } : now));
  };

  const shown = item && loaded ? loaded : null;
  const rest = (shown?.entries.length ?? 0) - numShown;
  return html`<section
    class="tb-step-cell ${host.hoveredRun.value === run.name ? "tb-nearest" : ""} ${shown && shown.item.index !== item.index ? "tb-late" : ""}"
    aria-label=${run.name}
    ref=${body}
    onPointerEnter=${() => host.hoveredRun.set(run.name)}
    onPointerLeave=${() => host.hoveredRun.set(null)}
  >
    <header title=${run.name}>
      <i style=${{ background: run.color }}></i>
      <${Name} name=${run.name} />
      ${shown && html`<${At} item=${shown.item} place=${place} />`}
    </header>
    ${shown && expanded && html`<p class="tb-step-note">${formatTime(shown.item.wallTime)}</p>`}
    ${series?.error && html`<p class="tb-step-error" role="status">${series.error}</p>`}
    ${series?.items && !item && html`<p class="tb-step-note">Nothing up to ${place && `step ${formatStep(place.step)}`}: its first is step ${formatStep(items[0]?.step)}.</p>`}
    ${shown?.error && html`<p class="tb-step-error" role="status">${shown.error}</p>`}
    ${shown?.entries.length === 0 && !shown.error && html`<p class="tb-step-note">There is no ${kind.noun} in this step.</p>`}
    <div class="tb-step-samples" style=${isDrawn || height === 0 ? undefined : { height: `${height}px` }}>
      ${isDrawn &&
      shown?.entries.slice(0, numShown).map((entry, sample) => {
        const { index, wallTime } = shown.item;
        // The time is for the browser: what it keeps under this address is not that of a file which was replaced.
        const url = host.url(kind.bytes, { run: run.name, tag, index, sample, time: wallTime });
        const title = [entry.label, shown.entries.length > 1 && `${sample + 1} of ${shown.entries.length}`].filter(Boolean).join(" · ");
        const file = [run.name, tag, `step${shown.item.step}`, ...(shown.entries.length > 1 ? [sample + 1] : [])].join("_");
        return html`<figure key=${sample}>
          <${kind.Sample}
            host=${host}
            entry=${entry}
            url=${url}
            label="${tag}, ${run.name}, step ${formatStep(shown.item.step)}${title && `, ${title}`}"
            expanded=${expanded}
            alone=${shown.entries.length === 1}
            onBroken=${() => onBroken(entry)}
          />
          <figcaption>
            <span title=${title}>${title}</span>
            <a
              class="tb-icon-button"
              href=${url}
              download="${file.replace(/[^\w.-]+/g, "_")}${kind.ending(entry.content_type)}"
              aria-label="Download ${kind.noun} of ${run.name}, ${tag}${title && `, ${title}`}"
              title="Download the bytes that were logged"
            >
              <${Icon} name="download" />
            </a>
          </figcaption>
        </figure>`;
      })}
    </div>
    ${rest > 0 &&
    html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(Infinity)}>Show ${rest} more of this step</button>`}
  </section>`;
}

/**
 * Which step is shown, and that it is not the one asked for.
 * @param {{ item: StepItem, place: Place | null }} props
 */
function At({ item, place }) {
  const isEarlier = place !== null && comparePlaces(item, place) !== 0;
  const why = isEarlier ? `\nNothing was logged at step ${formatStep(place.step)}: this is the last before it.` : "";
  return html`<span class="tb-step-at ${isEarlier ? "tb-earlier" : ""}" title="${formatTime(item.wallTime)}${why}">
    ${describePlace(item)}
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
