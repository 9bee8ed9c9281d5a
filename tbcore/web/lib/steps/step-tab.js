/**
 * A complete tab for media that are shown one step at a time, such as images. There is a card for
 * each tag, with a cell for each run. One slider sets the place of all cards, and each of several cards
 * has a slider of its own. When the user moves through the steps, the next one is fetched ahead.
 *
 * The plugin's server must have the routes of `tbcore.media`: `tags`, `steps`, `step`, and one for
 * the bytes of a sample.
 *
 * Settings in the URL: `at` has the places of the cards that the user moved by their own sliders,
 * and `closed` has the collapsed groups. All other cards show the step of all tabs, as `useSharedPlace` says.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card } from "../cards/card.js";
import { Descriptions } from "../cards/descriptions.js";
import { TagTab } from "../cards/tag-tab.js";
import { runsInGroupOrder, watchTags } from "../cards/tags.js";
import { plural, toNumber } from "../format.js";
import { Answers } from "../requests.js";
import { RunLabel, runTitle } from "../text-names.js";
import { IconButton } from "../ui/controls.js";
import { useNear } from "../ui/lazy.js";
import { Cell, isSamePlace } from "./cell.js";
import { StepSlider, findPlace, formatPlaces, parsePlaces, stepTo, useSharedPlace, usePlaces } from "./places.js";

/**
 * @typedef {import("../../host.js").Host} Host
 * @typedef {import("../../host.js").Run} Run
 * @typedef {import("./places.js").Place} Place
 * @typedef {import("./cell.js").StepResponse} StepResponse
 *
 * @typedef {object} MediaKind  the kind of media that the tab shows
 * @property {string} noun  singular: "image"
 * @property {string} [nouns]  plural, if it is not the noun with an s: "matrices"
 * @property {string} [bytes]  route of a sample's bytes: "individualImage". Not needed if the
 *   samples' fields are all there is to show
 * @property {(props: import("./cell.js").SampleProps) => unknown} Sample  shows one sample
 * @property {(props: { host: Host }) => unknown} [Controls]  more controls for the toolbar
 * @property {Parameters<Host["keys"]>[0]} [keys]  keys of the controls, in addition to the tab's
 * @property {(contentType: string) => string} [ending]  returns the extension of downloaded files:
 *   ".png"
 * @property {Parameters<typeof watchTags>[1]} [readTags]  converts the response of the route `tags`, if
 *   it has another form
 * @property {(url: string) => void} [fetchAhead]  fetches the bytes of a sample that may be shown
 *   next
 * @property {boolean} [plays]  whether the slider of all cards has a button that plays the steps
 * @property {(settings: Readonly<Record<string, string>>) => number} [numSteps]  how many steps a
 *   card shows side by side, with a row for each run; 1 by default
 * @property {(tag: string, tags: ReadonlySet<string>) => string} [titleOf]  returns a tag's title, by
 *   which cards are sorted into sections; `tags` are all tags. Different tags must have different titles
 * @property {boolean} [stays]  whether samples stay rendered when they are scrolled out of view;
 *   needed for media that play
 *
 * @typedef {object} Tab  what the cards share
 * @property {Host} host
 * @property {MediaKind} kind
 * @property {Answers<StepResponse>} answers
 * @property {Place | null} place  place of the cards that have none of their own; null for the
 *   latest
 * @property {number} numSteps  number of steps side by side
 * @property {Awaited<ReturnType<typeof watchTags>>} tags  of each run
 * @property {ReadonlyMap<string, Place | null>} ownPlaces  places of the other cards, by tag
 * @property {boolean} isAlone  whether there is one tag, whose card needs no slider of its own
 * @property {(tag: string, place: Place | null | undefined) => void} onMove  gives a card its own
 *   place; undefined takes its own place away
 */

/** Number of runs that a card shows at first, and that each click adds. */
const PAGE_SIZE = 24;

/** Renders the tab; resolves to a function that removes it. @param {Host} host @param {MediaKind} kind */
export async function renderStepTab(host, kind) {
  for (const part of /** @type {const} */ (["noun", "Sample"])) {
    if (!kind[part]) throw new Error(`renderStepTab(host, kind): kind.${part} is missing`);
  }
  const [tags] = await Promise.all([watchTags(host, kind.readTags), host.css(new URL("./step-tab.css", import.meta.url))]);
  /** @param {any} json @returns {StepResponse} */
  const parse = (json) => ({ ...json, wall_time: toNumber(json.wall_time) });
  const answers = new Answers(host, "step", parse);
  render(html`<${Dashboard} host=${host} kind=${kind} tags=${tags} answers=${answers} />`, host.element);
  return () => render(null, host.element);
}

/** The tab. @param {Pick<Tab, "host" | "kind" | "answers" | "tags">} props */
function Dashboard({ host, kind, tags, answers }) {
  const runs = runsInGroupOrder(host);
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const shownTags = useMemo(
    () => [...new Set(runs.flatMap(({ name }) => (Object.hasOwn(tags.value, name) ? tags.value[name] : [])))].filter(filter.matches),
    [tags.value, runs, filter],
  );
  const places = usePlaces(host, runs, shownTags, shownTags.length > 0);
  const [place, onMoveShared] = useSharedPlace(host);
  const ownPlaces = parsePlaces(settings.at);

  /** @param {Place | null} next */
  const onMoveAll = (next) => {
    onMoveShared(next);
    host.settings.set("at", null);
  };
  const isAlone = new Set(Object.values(tags.value).flat()).size === 1;
  /** @type {Tab["onMove"]} */
  const onMove = (tag, next) => {
    if (isAlone) return onMoveAll(next ?? null);
    ownPlaces.delete(tag);
    // If all cards are at the latest place, a card that moves there needs no place of its own.
    if (next !== undefined && !(next === null && place === null)) ownPlaces.set(tag, next);
    host.settings.set("at", formatPlaces(ownPlaces));
  };
  const numSteps = kind.numSteps?.(settings) ?? 1;
  const tab = { host, kind, answers, tags, place, ownPlaces, isAlone, onMove, numSteps };

  // The keys are set only once; their actions call the latest version of this function.
  const move = useRef(/** @type {(by: number) => void} */ (() => {}));
  move.current = (by) => places.length > 0 && onMoveAll(stepTo(places, findPlace(places, place) + by, place));
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
  const hasSlider = shownTags.length > 0 && places.length > 1;
  const numOwn = shownTags.filter((tag) => ownPlaces.has(tag)).length;
  const controls = html`
    ${hasSlider && html`<${StepSlider} places=${places} value=${place} onChange=${onMoveAll} label="Step of all ${nouns}" plays=${kind.plays} />`}
    ${numOwn > 0 && html`<button type="button" class="tb-button" title="Cards that were moved by their own sliders. A click shows one step in all cards." onClick=${() => host.settings.set("at", null)}>${plural(numOwn, "card")} elsewhere</button>`}
    ${kind.Controls && html`<${kind.Controls} host=${host} />`}
  `;
  const renderTag = (/** @type {Omit<Parameters<typeof StepCard>[0], "tab">} */ card) => html`<${StepCard} key=${card.tag} tab=${tab} ...${card} />`;
  return html`<${TagTab} host=${host} tags=${tags} what=${nouns} controls=${controls} size="tb-step-tab ${numSteps > 1 ? "tb-step-grid" : ""}" titleOf=${kind.titleOf} renderTag=${renderTag} />`;
}

/** The card of a tag. @param {{ tab: Tab, tag: string, title: string, group: string, runs: readonly Run[] }} props */
function StepCard({ tab, tag, title, group, runs }) {
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
  const [described, setDescribed] = useState(/** @type {ReadonlyMap<string, import("../cards/descriptions.js").Description>} */ (new Map()));
  const shownPlaces = useMemo(() => [...placesUpTo(places, place, tab.numSteps - 1), place], [places, place?.step, place?.nth, tab.numSteps]);

  /** @param {string} run @param {StepResponse} found */
  const onFound = (run, { display_name, description }) => {
    const old = described.get(run);
    if (old?.display_name === display_name && old?.description === description) return;
    setDescribed((all) => new Map(all).set(run, { display_name, description, runs: [run] }));
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (by === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLMediaElement) return;
    if (places.length > 0) tab.onMove(tag, stepTo(places, findPlace(places, place) + by, place));
    event.preventDefault();
  };
  const rest = runs.length - numShown;
  return html`<${Card}
    ...${{ title: tag, shown: title, group, expanded, onExpand: setExpanded, onKeyDown }}
    actions=${hasOwnPlace &&
    html`<${IconButton}
      icon="reload"
      label="${tag}: back to the step of all cards"
      title="Back to the step of all cards"
      onClick=${() => tab.onMove(tag, undefined)}
    />`}
  >
    <${Descriptions} host=${host} texts=${shownRuns.flatMap(({ name }) => described.get(name) ?? [])} />
    <div class="tb-step-card" ref=${body}>
      ${places.length > 1 &&
      (hasOwnPlace || !tab.isAlone) &&
      html`<${StepSlider} places=${places} value=${place} onChange=${(/** @type {Place | null} */ to) => tab.onMove(tag, to)} label="Step of ${tag}" />`}
      <div class="tb-step-cells" style=${{ "--num-steps": shownPlaces.length }}>
        ${shownRuns.flatMap((run) => [
          tab.numSteps > 1 && html`<p key="run ${run.name}" class="tb-card-run" title=${runTitle(run)}><${RunLabel} run=${run} /></p>`,
          ...shownPlaces.map((at, column) => {
            const isLast = column === shownPlaces.length - 1;
            return html`<${Cell} key="${isLast ? "" : column} ${run.name}" ...${{ tab, run, tag, expanded, onFound }} place=${at} next=${isLast ? next : undefined} />`;
          }),
        ])}
      </div>
      ${rest > 0 &&
      html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(numShown + PAGE_SIZE)}>
        Show ${Math.min(PAGE_SIZE, rest)} more of ${plural(rest, "run")}
      </button>`}
    </div>
  <//>`;
}

/**
 * Places before a place, evenly spread from the first one.
 * @param {readonly Place[]} places @param {Place | null} place  null for the latest
 * @param {number} count  the result has fewer if there are fewer
 */
function placesUpTo(places, place, count) {
  const end = findPlace(places, place);
  const number = Math.max(0, Math.min(count, end));
  return Array.from({ length: number }, (_, k) => places[Math.floor((k * end) / number)]);
}

/**
 * Preact hook: the place after the current one, in the direction of the last move. It is undefined
 * before the first move, and at either end.
 * @param {readonly Place[]} places @param {Place | null} place
 */
function useNextPlace(places, place) {
  const { current: last } = useRef({ place, next: /** @type {Place | undefined} */ (undefined) });
  if (!isSamePlace(last.place, place)) {
    const [from, to] = [findPlace(places, last.place), findPlace(places, place)];
    last.place = place;
    last.next = to === from ? undefined : places[to + Math.sign(to - from)];
  }
  return last.next;
}
