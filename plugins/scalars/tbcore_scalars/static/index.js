/** The scalars tab: curves of the selected runs, with a chart for each tag. */

import "@preact/signals";
import { effect, signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { render } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ChartCard, LazyCard } from "tbcore/cards.js";
import { LineChart, MAX_SMOOTHING, SMOOTHING_KINDS, Smoothing, makeCursor } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { Options } from "tbcore/options.js";
import { TagGroups, closedGroups, emptyReason, indexTags, watchTags } from "tbcore/tags.js";
import { formatLists, parseLists } from "tbcore/text-names.js";
import { Choice, FilterBox, IconButton, Lazy, Menu, useNear } from "tbcore/ui.js";
import { ChartFeed } from "./chart-feed.js";
import { DASHES, LinesStore, SCALES, axisOf, described, untimed, yAxisOf } from "./lines.js";

/** @typedef {import("./types.js").OwnOptions} OwnOptions */
/** @import { Host, Link } from "./types.js" */

/** @type {[value: OwnOptions["x"], title: string, why: string][]} */
const X_AXIS_CHOICES = [
  ["step", "Step", ""],
  ["relative", "Relative", "Time since the first value of each tag"],
  ["wall_time", "Wall time", ""],
];
/** Name of the section of pinned cards. */
const PINNED = " pinned";

export const OPTIONS = new Options(
  /** @type {OwnOptions} */ ({
    x: "step",
    logX: "",
    logY: "",
    smooth: 0,
    smoothKind: "exponential",
    clip: false,
    legend: false,
    link: false,
    size: "medium",
    ends: false,
  }),
  {
    x: { includes: (/** @type {unknown} */ x) => !!axisOf(String(x)).xTitle || X_AXIS_CHOICES.some(([axis]) => axis === x) },
    logX: Object.keys(SCALES),
    logY: Object.keys(SCALES),
    size: ["small", "medium", "large"],
    smoothKind: SMOOTHING_KINDS,
  },
  { smooth: [0, MAX_SMOOTHING] },
);

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./scalars.css")]);
    const store = new LinesStore(host);
    OPTIONS.recall(host);
    // A link looks the same for everyone, whatever is pinned there.
    const { pinned } = host.memory.value;
    if (pinned && !location.hash.includes("&")) host.settings.set("pinned", pinned);

    host.keys([
      { key: "f", label: "Show the focused or hovered card in full size", act: passToCard },
      { key: "p", label: "Pin the focused or hovered card to the top", act: passToCard },
      { key: "a", label: "All lines in the tooltip, or the nearest five" },
      { key: "← →", label: "Step through the points of a chart; ↑ ↓ switch lines" },
      { key: "click", label: "Pin a step in all tabs (or Enter); ← → or dragging moves it, Delete or × removes it" },
      { key: "+ − 0", label: "Zoom in, out, show everything; Shift ← → pans" },
      { key: "drag", label: "Zoom to a range; Shift pans, Ctrl or ⌘ and the wheel zooms, double-click shows all" },
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
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const grouping = host.groups.value;
  const { average = "mean", averageName = average, spread = "deviation" } = grouping ?? {};
  const options = { ...OPTIONS.parse(settings), average, averageName, spread };
  const isUntimed = runs.length > 0 && runs.every(({ name }) => untimed.value.has(name));
  if (isUntimed && !axisOf(options.x).xTitle) options.x = "step";
  const { groups, runsOf, numTags } = useMemo(() => indexTags(tags.value, runs, filter.matches), [tags.value, runs, filter]);
  const pinnedTags = pinsOf(host);
  const cursor = useMemo(makeCursor, []);
  const pinnedIn = useMemo(() => signal(""), []);
  const links = useMemo(() => /** @type {Map<string, Link>} */ (new Map()), [options.x, options.link]);
  useEffect(() => effect(() => cursor.highlight(host.hoveredRun.value, host.runs.value)), [cursor]);
  // A pinned step is that of all tabs; on another axis, the pinned x is of this tab alone. The page
  // address has both; while it is being dragged, only the charts know it.
  const isShared = options.x === "step";
  const at = pinnedX(host, isShared);
  // Not `at`: keys may have moved the pin since this was rendered.
  useEffect(() => cursor.pin(pinnedX(host, isShared), true), [cursor, at, options.x]);
  useEffect(() => {
    const keep = (/** @type {number | null} */ x, /** @type {boolean} */ settled) => {
      if (!settled) return;
      if (isShared) host.step.set(x);
      host.settings.set("at", isShared || x === null ? null : String(x));
    };
    return cursor.join({ showCursor() {}, highlight() {}, showPin: keep });
  }, [cursor, isShared]);
  /** @type {import("./types.js").SetOption} */
  const set = (name, value) => {
    // The tag of an axis is not kept for the next page, whose runs may not have it.
    if (String(value).startsWith("tag:")) host.settings.set(name, String(value));
    else OPTIONS.set(host, name, value);
    // A pinned x means nothing on another axis.
    if (name === "x") host.settings.set("at", null);
  };
  const { xTitle } = axisOf(options.x);
  const [axisNotes, setAxisNotes] = useState(/** @type {any} */ (null));
  useEffect(() => void (xTitle && import("./axis-notes.js").then((module) => setAxisNotes(() => module.axisNotes))), [xTitle]);
  // A key in the filter changes neither this nor `renderCard`, so that cards are not rendered again.
  /** @type {import("./types.js").Tab} */
  const tab = useMemo(
    () => ({ axisNotes, host, store, options, cursor, pinnedIn, isGrouped: grouping !== null, runTags: tags.value, tags: [...runsOf.keys()], ...stateOfCards(host) }),
    [axisNotes, settings, grouping, runsOf, isUntimed],
  );
  // Both copies of a pinned card have one zoom, so their sections zoom together.
  const linked = pinnedTags.length > 0 ? groups.filter(({ tags }) => tags.some((tag) => pinnedTags.includes(tag))).map(({ name }) => name) : [];

  const renderCard = useCallback((/** @type {string} */ tag, /** @type {string} */ group, /** @type {string} */ section, facet = {}) => {
    const shown = tab.tagsOf(tag);
    const link = linked.includes(section) ? PINNED : section;
    if (options.link && !links.has(link)) links.set(link, { view: null, feeds: new Set() });
    return html`<${ScalarsCard}
      key=${shown.join("\n")}
      id=${section === PINNED ? `${PINNED} ${tag}` : tag}
      tab=${tab}
      parts=${shown.map((name) => ({ tag: name, runs: runsOf.get(name) ?? [] }))}
      group=${group}
      pinned=${pinnedTags.includes(tag)}
      link=${links.get(link) ?? null}
      ...${facet}
    />`;
  }, [tab, linked.join("\n")]);
  const renderLazily = useCallback(
    (/** @type {string} */ tag, /** @type {string} */ group, /** @type {object} */ facet) => html`<${LazyCard} key=${tag} title=${tag} draw=${() => renderCard(tag, group, group, facet)} />`,
    [renderCard],
  );
  const shownPins = pinnedTags.filter((tag) => runsOf.has(tag));

  return html`
    <div class="tb-toolbar" role="toolbar" aria-label="Scalars">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} names=${() => ({ value: tab })} label="Filter tags" />
      <${Choice} label="Horizontal axis" name="x" choices=${X_AXIS_CHOICES.slice(0, isUntimed ? 1 : 3)} value=${options.x} onChange=${(/** @type {OwnOptions["x"]} */ x) => set("x", x)} />
      <${Menu}
        label="Other horizontal axes, x: ${xTitle || "tag …"}"
        text="x: ${xTitle || "tag …"}"
        className="tb-button x-axis ${xTitle && "on"}"
        content=${() => html`<${Lazy} load=${() => styled(host, import("./x-menu.js"))} of="AxisMenu" ...${{ x: options.x, runs }} tags=${tags.value} onChange=${(/** @type {string} */ x) => set("x", x)} />`}
      />
      <${Smoothing}
        value=${options.smooth}
        why="Exponential is TensorBoard's; the others do not lag. All hide spikes."
        onChange=${(/** @type {number} */ weight) => set("smooth", weight)}
        kind=${options.smoothKind}
        onKind=${(/** @type {OwnOptions["smoothKind"]} */ kind) => set("smoothKind", kind)}
      />
      <${Menu}
        icon="settings"
        label="Settings"
        content=${() => html`<${Lazy} load=${() => styled(host, import("./settings-menu.js"))} of="SettingsMenu" ...${{ host, options, set, runs }} isGrouped=${tab.isGrouped} tags=${groups.flatMap((group) => group.tags)} />`}
      />
      <span class="tb-summary" role="status">${plural(numTags, "tag")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content ${options.size}">
      ${numTags === 0 && html`<p class="tb-nothing">${emptyReason(tags.value, runs.length, filter, "scalars")}</p>`}
      ${shownPins.length > 0 &&
      html`<section class="tb-group tb-few pinned" aria-label="Pinned">
        <h2>Pinned</h2>
        <div class="tb-grid">${shownPins.map((tag) => renderCard(tag, "", PINNED))}</div>
      </section>`}
      <${settings.facet ? Lazy : TagGroups} load=${() => styled(host, import("./facets.js"))} of="Facets" ...${{ host, tab, runsOf, groups }} ...${closedGroups(host)} renderCard=${renderLazily} />
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
  /** @typedef {"cards" | "zoom" | "with"} ListSetting */
  // A setting has lists, which begin with a card or a tag. Zooms are by tag: both copies of a pinned
  // card show the same part.
  const listOf = (/** @type {ListSetting} */ setting, /** @type {string} */ first) =>
    parseLists(host.settings.value[setting]).find((list) => list[0] === first)?.slice(1) ?? [];
  /** @param {ListSetting} setting @param {string} first @param {string[]} rest  empty: removes the list */
  const setList = (setting, first, rest) => {
    const lists = parseLists(host.settings.value[setting]).filter((list) => list[0] !== first);
    host.settings.set(setting, formatLists(rest.length > 0 ? [...lists, [first, ...rest]] : lists));
  };
  const flagsOf = (/** @type {string} */ card) => listOf("cards", card);
  return {
    viewOf(tag) {
      const [from, to] = listOf("zoom", tag).map(Number);
      return from < to ? [from, to] : null;
    },
    onView: (tag, view) => setList("zoom", tag, view?.map(String) ?? []),
    flagsOf,
    onFlag(card, kind, flag) {
      const others = flagsOf(card).filter((old) => !kind.test(old));
      setList("cards", card, flag === null ? others : [...others, flag]);
    },
    onPin(tag) {
      const pins = pinsOf(host);
      const next = pins.includes(tag) ? pins.filter((other) => other !== tag) : [...pins, tag];
      for (const place of [host.settings, host.memory]) place.set("pinned", formatLists([next]));
    },
    tagsOf: (tag) => [tag, ...listOf("with", tag)],
    onCombine([first, ...rest], other) {
      if (first !== other && !rest.includes(other)) setList("with", first, [...rest, other]);
    },
    onSplit: ([first]) => setList("with", first, []),
  };
}

/**
 * A module of a menu, once the styles of menus are there.
 * @param {Host} host @param {Promise<unknown>} module
 */
async function styled(host, module) {
  await host.css("./menus.css").catch(console.warn);
  return module;
}

/** The pinned x; null if there is none. Links of before have a step among the settings. @param {Host} host @param {boolean} isShared */
function pinnedX({ settings, step }, isShared) {
  const x = parseFloat(settings.value.at);
  return (isShared ? step.value : null) ?? (Number.isFinite(x) ? x : null);
}

/** The tags whose cards are pinned to the top. @param {Host} host */
function pinsOf(host) {
  return parseLists(host.settings.value.pinned).flat();
}

// --- cards ---------------------------------------------------------------------------------------

/** A card with a chart of one or more tags in the selected runs. @param {import("./types.js").CardProps} props */
function ScalarsCard({ id, tab, parts, group, pinned, link }) {
  const { host, options, cursor, facet = "" } = tab;
  const tags = parts.map(({ tag }) => tag);
  const title = facet + tags.join(" + ");
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const [first] = tags;
  const feed = useMemo(() => new ChartFeed(first, tab), []);
  useEffect(() => () => feed.close(), []);
  useEffect(() => feed.show(tab, parts, link));
  const addressed = tab.viewOf(first);
  useEffect(() => feed.showAddressed(addressed), [String(addressed)]);
  // Kept in the page address, so that it survives while a filter hides the card.
  const flags = tab.flagsOf(id);
  const expanded = flags.includes("full");
  const [hasPin, setHasPin] = useState(false);
  const hasTable = flags.includes("table") || (!flags.includes("plain") && (options.legend || expanded));
  /** A click opens the table below the card, over what is there: it moves nothing. */
  const opensBelow = !hasTable && !flags.includes("plain") && hasPin && tab.pinnedIn.value === id;
  const showsTable = hasTable || opensBelow;
  /** The runs that are far out of range; they can be left out of it in this card alone. */
  const [far, setFar] = useState(/** @type {string[]} */ ([]));
  const leavesOut = flags.includes("clip");
  const axes = { ...axesOf({ ...options, clip: options.clip || leavesOut }, flags), ...tab.sharedAxes?.(feed) };
  const toggleTable = () => tab.onFlag(id, /^(table|plain)$/, showsTable ? "plain" : "table");

  /** @param {HTMLElement} element @param {import("tbcore/cards.js").ChartEvents} on */
  const make = (element, on) => {
    const chart = new LineChart(element, {
      label: title,
      ...axes,
      cursor,
      onView: (view, settled) => feed.move(view, settled),
      onHover: (hits) => {
        on.hover(hits[0]?.run ?? null, hits);
        feed.hover(hits[0]);
      },
      onPin: (x, settled, here) => {
        if (!settled) return;
        setHasPin(x !== null);
        if (here) tab.pinnedIn.value = id;
      },
      nextX: (x, direction) => feed.nextX(x, direction),
      onZoom: on.zoom,
      onFar: (names) => setFar((old) => (String(old) === String(names) ? old : names)),
    });
    feed.attach(chart, element, on.signal);
    return chart;
  };
  /** The key p pins the card. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.key !== "p" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    tab.onPin(first);
    event.preventDefault();
  };
  const actions = html`
    <${IconButton}
      icon="pin"
      class="pin"
      label="Pin ${title}"
      title=${pinned ? "Unpin from the top (p)" : "Pin to the top (p)"}
      aria-pressed=${pinned}
      onClick=${() => tab.onPin(first)}
    />
    <${IconButton} icon="table" label="Table of ${title}" title="Show the values as a table" aria-pressed=${showsTable} onClick=${toggleTable} />
  `;
  const { lines } = feed.lines.value;
  const bands = feed.bands.value;
  const numLines = tab.isGrouped ? bands.length || NaN : parts.flatMap(({ runs }) => runs).length;
  // In narrower cards there is no space for names.
  const named = numLines < 13 && feed.pixels.value > 500 * devicePixelRatio;
  const error = feed.error.value;
  const isEmpty = lines.length === 0 && bands.length === 0;
  const isOfTimes = options.x === "relative" || options.x === "wall_time";
  const numUntimed = isOfTimes ? new Set(parts.flatMap(({ runs }) => runs.map(({ name }) => name)).filter((name) => untimed.value.has(name))).size : 0;
  const untimedNote = numUntimed > 0 ? [`${plural(numUntimed, "run")} not drawn: no times in the log`] : [];
  const notes = [...untimedNote, ...(tab.axisNotes?.(tab, parts, lines, bands) ?? []), ...feed.notes.value];
  /** A note that few cards have. @param {string} of @param {object} props */
  const cardNote = (of, props) => html`<${Lazy} load=${() => styled(host, import("./card-notes.js"))} ...${{ of, tab, parts, ...props }} />`;
  return html`<${ChartCard}
    ...${{ host, body, isNear, title, make, error, actions, expanded, onKeyDown }}
    group=${parts.length === 1 ? group : ""}
    onExpand=${(/** @type {boolean} */ expand) => tab.onFlag(id, /^full$/, expand ? "full" : null)}
    dragged=${first}
    onDrop=${(/** @type {string} */ other) => tab.onCombine(tags, other)}
    draw=${(/** @type {LineChart} */ chart) => {
      chart.setAxes(axes);
      chart.nameLines(named);
    }}
    drawnBy=${[JSON.stringify(axes), named]}
    hint=${!isEmpty || !isNear || error ? "" : feed.isComplete.value ? "no points" : "loading"}
    dashes=${tags.map((tag, index) => [tag, DASHES[index % DASHES.length]])}
    menu=${{
      icon: "more",
      label: `More options for ${title}`,
      content: (/** @type {unknown} */ pictures) =>
        html`<${Lazy} load=${() => styled(host, import("./card-menu.js"))} of="CardMenu" ...${{ tab, id, parts, feed, pictures }} />`,
    }}
    notes=${notes}
    over=${far.length > 0 && !options.clip && cardNote("FarNote", { far, leavesOut, bands, id })}
    legend=${showsTable &&
    isNear &&
    ((/** @type {readonly import("tbcore/chart.js").Hit[] | null} */ hits) =>
      html`<${Lazy} load=${() => import("./card-legend.js")} of="CardLegend" ...${{ id, tab, title, lines, bands, hits, body, opensBelow }} view=${feed.view.value} />`)}
  >${described.value && cardNote("Descriptions", {})}<//>`;
}

/**
 * The settings of the chart's axes.
 * @param {import("./types.js").Options} options @param {readonly string[]} flags  of the card
 * @returns {Parameters<LineChart["setAxes"]>[0]}
 */
function axesOf({ x, logX, logY, clip }, flags) {
  const { xAxis, xTitle } = axisOf(x);
  return { xAxis, xTitle, xScale: SCALES[logX], ...yAxisOf(flags, logY), clip, tail: flags.includes("tail") };
}
