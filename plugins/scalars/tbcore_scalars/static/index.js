/**
 * The scalars tab: curves of the selected runs, with a chart for each tag.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { LazyCard } from "tbcore/cards.js";
import { Smoothing, makeCursor } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { inTurn, post } from "tbcore/requests.js";
import { TagGroups, closedGroups, emptyReason, indexTags, watchTags } from "tbcore/tags.js";
import { formatLists, parseLists } from "tbcore/text-names.js";
import { Choice, FilterBox, Lazy, Menu } from "tbcore/ui.js";
import { ScalarsCard } from "./chart-card.js";
import { LinesStore } from "./lines-store.js";
import { makeLinkedZoom } from "./linked-zoom.js";
import { OPTIONS } from "./options.js";

/** @import { ReadonlySignal } from "@preact/signals-core" */
/** @import { Host, LinkedZoom, Options, Part, Run, RunToTags, Tab, View } from "./types.js" */

/** @type {[value: Options["x"], title: string, why: string][]} */
const X_AXIS_CHOICES = [
  ["step", "Step", "The step of each value"],
  ["relative", "Relative", "Time since the run's first value"],
  ["wall_time", "Wall time", "Date and time of each value"],
];
const SMOOTHING_HELP =
  "TensorBoard's debiased exponential moving average of all points. Series of more than 1,000 points are smoothed as if they had 1,000, as TensorBoard samples them. The original curve stays visible, faintly. Off by default (TensorBoard: 0.6), because smoothing hides spikes.";
/** Name of the section of pinned cards. */
const PINNED = " pinned";

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./scalars.css")]);
    const store = new LinesStore(
      async (query, signal) => (await post(host, "window", query, signal)).arrayBuffer(),
      (request, signal) => inTurn(host, request, signal),
    );
    OPTIONS.recall(host);

    host.keys([
      { key: "f", label: "Show the focused or hovered card in full size", act: passToCard },
      { key: "p", label: "Pin the focused or hovered card to the top", act: passToCard },
      { key: "← →", label: "Step through the points of a chart; ↑ ↓ switch lines" },
      { key: "click", label: "Pin a step in all charts (or Enter); ← → or dragging moves the pin, Delete or × removes it" },
      { key: "+ − 0", label: "Zoom in, out, show everything; Shift ← → pans" },
      { key: "drag", label: "Zoom to a range; Shift pans, Ctrl or ⌘ and the wheel zooms, double-click shows everything" },
    ]);

    /**
     * Sends a key that was pressed outside all cards to the hovered card.
     * @param {KeyboardEvent} event
     */
    function passToCard({ key }) {
      host.element.querySelector(".tb-card:hover")?.dispatchEvent(new KeyboardEvent("keydown", { key }));
    }

    render(html`<${Dashboard} host=${host} store=${store} tags=${tags} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * The toolbar and the sections of cards.
 * @param {{ host: Host, store: LinesStore, tags: ReadonlySignal<RunToTags> }} props
 */
function Dashboard({ host, store, tags }) {
  const runs = host.runs.value;
  const grouping = host.groups.value;
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const options = useStable(OPTIONS.parse(settings), equalOptions);
  const { groups, runsOf, numTags } = useMemo(() => indexTags(tags.value, runs, filter.matches), [tags.value, runs, filter]);
  const stable = useStableRuns(runsOf);
  const { closed, onToggle } = closedGroups(host);
  const pinnedTags = pinsOf(host);
  const combined = combinedOf(host);
  const cursor = useMemo(makeCursor, []);
  /** @type {Map<string, LinkedZoom>} */
  const links = useMemo(() => new Map(), [options.x, options.link]);
  useEffect(() => host.hoveredRun.subscribe((name) => cursor.highlight(name)), [cursor]);
  // The pinned x is in the page address; while it is being dragged, only the charts know it.
  const at = settings.at && Number.isFinite(Number(settings.at)) ? Number(settings.at) : null;
  useEffect(() => cursor.pin(at, true), [cursor, at]);
  useEffect(() => {
    const keep = (/** @type {number | null} */ x, /** @type {boolean} */ settled) => {
      const text = x === null ? null : String(x);
      if (settled && text !== (host.settings.value.at ?? null)) host.settings.set("at", text);
    };
    return cursor.join({ showCursor: () => {}, highlight: () => {}, showPin: keep });
  }, [cursor]);
  /** @param {Options["x"]} x */
  const setAxis = (x) => {
    OPTIONS.set(host, "x", x);
    host.settings.set("at", null); // a pinned x means nothing on another axis
  };

  /** Returns the previous parts if they are equal, so that a card does not request rows again. */
  const partsOf = useRef(makePartsCache()).current;
  /** @type {Tab} */
  const tab = {
    host,
    store,
    options,
    cursor,
    groups: grouping?.groups ?? null,
    tags: [...runsOf.keys()],
    ...stateOfCards(host),
  };

  /** @param {string} section */
  const linkOf = (section) => {
    const link = links.get(section) ?? makeLinkedZoom();
    links.set(section, link);
    return link;
  };

  /** @param {string} tag @param {string} group @param {string} section */
  const renderCard = (tag, group, section) => {
    const shown = combined.find(([first]) => first === tag) ?? [tag];
    const parts = partsOf(shown.map((name) => ({ tag: name, runs: stable.get(name) ?? [] })));
    return html`<${ScalarsCard}
      key=${parts.map((part) => part.tag).join("\n")}
      id=${section === PINNED ? `${PINNED} ${tag}` : tag}
      tab=${tab}
      parts=${parts}
      group=${group}
      pinned=${pinnedTags.includes(tag)}
      link=${options.link ? linkOf(section) : null}
    />`;
  };
  const shownPins = pinnedTags.filter((tag) => runsOf.has(tag));

  return html`
    <div class="tb-toolbar" role="toolbar" aria-label="Scalars">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter tags (regular expression)" />
      <${Choice} label="Horizontal axis" name="x" choices=${X_AXIS_CHOICES} value=${options.x} onChange=${setAxis} />
      <${Smoothing} value=${options.smooth} why=${SMOOTHING_HELP} onChange=${(/** @type {number} */ weight) => OPTIONS.set(host, "smooth", weight)} />
      <${Menu}
        icon="settings"
        label="Settings"
        content=${() => html`<${Lazy} load=${() => import("./settings-menu.js")} of="SettingsMenu" host=${host} isGrouped=${grouping !== null} runs=${runs} tags=${groups.flatMap((group) => group.tags)} />`}
      />
      <span class="tb-summary" role="status">${plural(numTags, "tag")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content ${options.size}">
      ${numTags === 0 && html`<p class="tb-nothing">${emptyReason(tags.value, runs.length, filter, "scalars")}</p>`}
      ${shownPins.length > 0 &&
      html`<section class="tb-group pinned" aria-label="Pinned">
        <h2>Pinned</h2>
        <div class="tb-grid">${shownPins.map((tag) => renderCard(tag, "", PINNED))}</div>
      </section>`}
      <${TagGroups}
        groups=${groups}
        closed=${closed}
        onToggle=${onToggle}
        renderCard=${(/** @type {string} */ tag, /** @type {string} */ group) =>
          html`<${LazyCard} key=${tag} title=${tag} draw=${() => renderCard(tag, group, group)} />`}
      />
    </div>
  `;
}

/**
 * What the page address has about each card, and functions that change it.
 * @param {Host} host
 * @returns {Pick<Tab, "viewOf" | "onView" | "flagsOf" | "onFlag" | "onPin" | "onCombine" | "onSplit">}
 */
function stateOfCards(host) {
  const zooms = () => parseLists(host.settings.value.zoom);
  const cardFlags = () => parseLists(host.settings.value.cards);
  const flagsOf = (/** @type {string} */ card) => cardFlags().find(([first]) => first === card)?.slice(1) ?? [];
  return {
    viewOf(card) {
      const [, from, to] = zooms().find(([first]) => first === card) ?? [];
      const view = [Number(from), Number(to)];
      return view[0] < view[1] ? /** @type {View} */ (view) : null;
    },
    onView(card, view) {
      const others = zooms().filter(([first]) => first !== card);
      host.settings.set("zoom", formatLists(view ? [...others, [card, ...view.map(String)]] : others));
    },
    flagsOf,
    onFlag(card, kind, flag) {
      const others = cardFlags().filter(([first]) => first !== card);
      const flags = flagsOf(card).filter((old) => !kind.test(old));
      if (flag !== null) flags.push(flag);
      host.settings.set("cards", formatLists(flags.length > 0 ? [...others, [card, ...flags]] : others));
    },
    onPin(tag) {
      const pins = pinsOf(host);
      const next = pins.includes(tag) ? pins.filter((other) => other !== tag) : [...pins, tag];
      host.settings.set("pinned", formatLists([next]));
    },
    onCombine(into, other) {
      if (into.includes(other)) return;
      host.settings.set("with", formatLists([...combinedOf(host).filter(([first]) => first !== into[0]), [...into, other]]));
    },
    onSplit(parts) {
      host.settings.set("with", formatLists(combinedOf(host).filter(([first]) => first !== parts[0])));
    },
  };
}

// `pinsOf` and `combinedOf` are called again for each change, since the tab may not be redrawn yet.

/** The tags whose cards are pinned to the top. @param {Host} host */
function pinsOf(host) {
  return parseLists(host.settings.value.pinned).flat();
}

/**
 * Lists of tags that share a chart; the card is in the place of the first tag.
 * @param {Host} host
 */
function combinedOf(host) {
  return parseLists(host.settings.value.with);
}

/**
 * A function that returns the previous parts for the same tags, or new parts if these differ.
 * @returns {(parts: Part[]) => Part[]}
 */
function makePartsCache() {
  /** @type {Map<string, Part[]>} */
  const known = new Map();
  return (parts) => {
    const key = JSON.stringify(parts.map(({ tag }) => tag));
    const last = known.get(key);
    if (last?.every(({ runs }, index) => runs === parts[index].runs)) return last;
    known.set(key, parts);
    return parts;
  };
}

/**
 * The previous value as long as the new one is equal to it.
 * @template T
 * @param {T} value
 * @param {(a: T, b: T) => boolean} isEqual
 * @returns {T}
 */
function useStable(value, isEqual) {
  const last = useRef(value);
  if (!isEqual(last.current, value)) last.current = value;
  return last.current;
}

/** @param {Options} a @param {Options} b */
function equalOptions(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The runs of each tag. An equal list stays the same object, so that its card is not redrawn.
 * @param {Map<string, Run[]>} runsOf
 */
function useStableRuns(runsOf) {
  const last = useRef(/** @type {typeof runsOf} */ (new Map()));
  return useMemo(() => {
    /** @type {typeof runsOf} */
    const next = new Map();
    for (const [tag, runs] of runsOf) {
      const old = last.current.get(tag);
      next.set(tag, old && equalRuns(old, runs) ? old : runs);
    }
    last.current = next;
    return next;
  }, [runsOf]);
}

/** @param {readonly Run[]} a @param {readonly Run[]} b */
function equalRuns(a, b) {
  return (
    a.length === b.length &&
    a.every(({ name, color, group }, index) => name === b[index].name && color === b[index].color && group === b[index].group)
  );
}
