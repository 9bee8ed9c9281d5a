/** The scalars tab: curves of the selected runs, with a chart for each tag. */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { LazyCard } from "tbcore/cards.js";
import { Smoothing, makeCursor } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { inTurn, post } from "tbcore/requests.js";
import { TagGroups, closedGroups, emptyReason, indexTags, watchTags } from "tbcore/tags.js";
import { formatLists, parseLists } from "tbcore/text-names.js";
import { Choice, FilterBox, Lazy, Menu } from "tbcore/ui.js";
import { ScalarsCard } from "./chart-card.js";
import { LinkedZoom } from "./chart-feed.js";
import { LinesStore } from "./lines-store.js";
import { OPTIONS } from "./options.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Part} Part
 */

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

    /** Sends a key that was pressed outside all cards to the hovered card. @param {KeyboardEvent} event */
    function passToCard({ key }) {
      host.element.querySelector(".tb-card:hover")?.dispatchEvent(new KeyboardEvent("keydown", { key }));
    }

    render(html`<${Dashboard} host=${host} store=${store} tags=${tags} />`, host.element);
    return () => render(null, host.element);
  },
};

/** The toolbar and the sections of cards. @param {import("./types.js").DashboardProps} props */
function Dashboard({ host, store, tags }) {
  const runs = host.runs.value;
  const grouping = host.groups.value;
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const parsed = OPTIONS.parse(settings);
  const options = useMemo(() => parsed, [JSON.stringify(parsed)]);
  const { groups, runsOf, numTags } = useMemo(() => indexTags(tags.value, runs, filter.matches), [tags.value, runs, filter]);
  const { closed, onToggle } = closedGroups(host);
  const pinnedTags = pinsOf(host);
  /** Lists of tags that share a chart; the card is in the place of the first tag. */
  const combined = parseLists(settings.with);
  const cursor = useMemo(makeCursor, []);
  const links = useMemo(() => /** @type {Map<string, LinkedZoom>} */ (new Map()), [options.x, options.link]);
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
  const partsOf = useMemo(makePartsCache, []);
  /** @type {import("./types.js").Tab} */
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
    const link = links.get(section) ?? new LinkedZoom();
    links.set(section, link);
    return link;
  };

  /** @param {string} tag @param {string} group @param {string} section */
  const renderCard = (tag, group, section) => {
    const shown = combined.find(([first]) => first === tag) ?? [tag];
    return html`<${ScalarsCard}
      key=${shown.join("\n")}
      id=${section === PINNED ? `${PINNED} ${tag}` : tag}
      tab=${tab}
      parts=${partsOf(shown.map((name) => ({ tag: name, runs: runsOf.get(name) ?? [] })))}
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
 * What the page address has about each card. Each change parses the address again, since the tab may
 * not be redrawn yet.
 * @param {Host} host
 * @returns {import("./types.js").StateOfCards}
 */
function stateOfCards(host) {
  // A setting has lists, which begin with a card or a tag.
  const listOf = (/** @type {string} */ setting, /** @type {string} */ first) =>
    parseLists(host.settings.value[setting]).find((list) => list[0] === first)?.slice(1) ?? [];
  /** @param {string} setting @param {string} first @param {string[]} rest  empty: removes the list */
  const setList = (setting, first, rest) => {
    const lists = parseLists(host.settings.value[setting]).filter((list) => list[0] !== first);
    host.settings.set(setting, formatLists(rest.length > 0 ? [...lists, [first, ...rest]] : lists));
  };
  const flagsOf = (/** @type {string} */ card) => listOf("cards", card);
  return {
    viewOf(card) {
      const [from, to] = listOf("zoom", card).map(Number);
      return from < to ? [from, to] : null;
    },
    onView: (card, view) => setList("zoom", card, view?.map(String) ?? []),
    flagsOf,
    onFlag(card, kind, flag) {
      const others = flagsOf(card).filter((old) => !kind.test(old));
      setList("cards", card, flag === null ? others : [...others, flag]);
    },
    onPin(tag) {
      const pins = pinsOf(host);
      const next = pins.includes(tag) ? pins.filter((other) => other !== tag) : [...pins, tag];
      host.settings.set("pinned", formatLists([next]));
    },
    onCombine([first, ...rest], other) {
      if (first !== other && !rest.includes(other)) setList("with", first, [...rest, other]);
    },
    onSplit: ([first]) => setList("with", first, []),
  };
}

/** The tags whose cards are pinned to the top. @param {Host} host */
function pinsOf(host) {
  return parseLists(host.settings.value.pinned).flat();
}

/** Makes a function that returns the previous parts if they are equal: their card is not redrawn. */
function makePartsCache() {
  /** @type {Map<string, Part[]>} */
  const known = new Map();
  return (/** @type {Part[]} */ parts) => {
    const key = JSON.stringify(parts.map(({ tag }) => tag));
    const last = known.get(key);
    if (last?.every(({ runs }, index) => equalRuns(runs, parts[index].runs))) return last;
    known.set(key, parts);
    return parts;
  };
}

/** @param {Part["runs"]} a @param {Part["runs"]} b */
function equalRuns(a, b) {
  return (
    a === b ||
    (a.length === b.length &&
      a.every(({ name, color, group }, index) => name === b[index].name && color === b[index].color && group === b[index].group))
  );
}
