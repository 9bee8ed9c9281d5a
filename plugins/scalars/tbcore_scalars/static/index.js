/**
 * The scalars tab: the curves of the selected runs, one chart per tag, grouped by the tag's first path segment.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Menu } from "tbcore/lib/card.js";
import { Choice, Smoothing } from "tbcore/lib/controls.js";
import { makeCursor } from "tbcore/lib/cursor.js";
import { FilterBox } from "tbcore/lib/filter-box.js";
import { plural } from "tbcore/lib/format.js";
import { Later } from "tbcore/lib/later.js";
import { LazyCard } from "tbcore/lib/lazy-card.js";
import { formatLists, parseLists } from "tbcore/lib/name-lists.js";
import { post } from "tbcore/lib/post.js";
import { TagGroups } from "tbcore/lib/tag-groups.js";
import { indexTags } from "tbcore/lib/tag-index.js";
import { foldedGroups, watchTags, whyNothing } from "tbcore/lib/tags.js";
import { ChartCard } from "./chart-card.js";
import { makeLink } from "./link.js";
import { LinesStore } from "./lines-store.js";
import { OPTIONS } from "./options.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Run} Run
 */

/** @type {[value: Options["x"], title: string, why: string][]} */
const X_AXES = [
  ["step", "Step", "The number that each value was logged with"],
  ["relative", "Relative", "Time since each run's first point of the tag"],
  ["wall_time", "Wall time", "When each value was logged, on the clock"],
];
const ABOUT_SMOOTHING =
  "The debiased exponential moving average of TensorBoard, of all points; more than 1,000 are smoothed as if they were 1,000, as in its sample. The curve itself stays faint behind it. It is off at first (TensorBoard begins with 0.6), because smoothing hides spikes.";
const PINNED = " pinned";

export default {
  /** @param {Host} host */
  async render(host) {
    const [tags] = await Promise.all([watchTags(host), host.css("./scalars.css")]);
    const store = new LinesStore(async (question, ending) => (await post(host, "window", question, ending)).arrayBuffer());
    OPTIONS.recall(host);

    host.keys([
      { key: "f", label: "Full size: the card that has the focus, or is pointed at", act: passToCard },
      { key: "p", label: "Pin that card to the top", act: passToCard },
      { key: "← →", label: "Read the points of a chart; ↑ ↓ for other lines" },
      { key: "click", label: "Pin a step in all charts (Enter while reading); Delete or × unpins, ← → and dragging move its handle" },
      { key: "+ − 0", label: "Zoom in, out, show everything; Shift ← → moves" },
      { key: "drag", label: "Zoom to a part; Shift moves, Ctrl or ⌘ and the wheel zooms, double click shows everything" },
    ]);

    /** A key pressed outside of all cards is meant for the one that is pointed at. @param {KeyboardEvent} event */
    function passToCard({ key }) {
      host.element.querySelector(".tb-card:hover")?.dispatchEvent(new KeyboardEvent("keydown", { key }));
    }

    render(html`<${Dashboard} host=${host} store=${store} tags=${tags} />`, host.element);
    return () => render(null, host.element);
  },
};

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {LinesStore} props.store
 * @param {import("@preact/signals-core").ReadonlySignal<import("./types.js").RunToTags>} props.tags
 */
function Dashboard({ host, store, tags }) {
  const runs = host.runs.value;
  const grouping = host.groups.value;
  const filter = host.tagFilter.value;
  const settings = host.settings.value;
  const options = useStable(OPTIONS.parse(settings), areOptionsEqual);
  const { groups, runsOf, numTags } = useMemo(() => indexTags(tags.value, runs, filter.matches), [tags.value, runs, filter]);
  const stable = useStableRuns(runsOf);
  const { closed, onToggle } = foldedGroups(host);
  const pinned = pinsOf(host);
  const combined = combinedOf(host);
  const cursor = useMemo(makeCursor, []);
  /** @type {Map<string, import("./types.js").Link>} */
  const links = useMemo(() => new Map(), [options.x, options.link]);
  useEffect(() => host.hoveredRun.subscribe((name) => cursor.highlight(name)), [cursor]);
  // The x that is pinned is kept in the address; while it is dragged the charts alone know it.
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
    host.settings.set("at", null); // it is of the axis
  };

  /** The same list as before where it is equal: what a card has fetched is then not asked for again. */
  const partsOf = useRef(rememberParts()).current;
  const zooms = () => parseLists(host.settings.value.zoom);
  const shapes = () => parseLists(host.settings.value.cards);
  const tab = {
    host,
    store,
    options,
    cursor,
    groups: grouping?.groups ?? null,
    tags: [...runsOf.keys()],
    /** @param {string} card */
    viewOf(card) {
      const [, from, to] = zooms().find(([first]) => first === card) ?? [];
      const view = [Number(from), Number(to)];
      return view[0] < view[1] ? /** @type {import("./types.js").View} */ (view) : null;
    },
    /** @param {string} card @param {import("./types.js").View | null} view */
    onView(card, view) {
      const others = zooms().filter(([first]) => first !== card);
      host.settings.set("zoom", formatLists(view ? [...others, [card, ...view.map(String)]] : others));
    },
    /** @param {string} card */
    shapeOf: (card) => shapes().find(([first]) => first === card)?.slice(1) ?? [],
    /** @param {string} card @param {RegExp} kind @param {string | null} word */
    onShape(card, kind, word) {
      const others = shapes().filter(([first]) => first !== card);
      const words = tab.shapeOf(card).filter((old) => !kind.test(old));
      if (word !== null) words.push(word);
      host.settings.set("cards", formatLists(words.length > 0 ? [...others, [card, ...words]] : others));
    },
    /** @param {string} tag */
    onPin(tag) {
      const pinned = pinsOf(host);
      const next = pinned.includes(tag) ? pinned.filter((other) => other !== tag) : [...pinned, tag];
      host.settings.set("pinned", formatLists([next]));
    },
    /** @param {readonly string[]} into @param {string} other */
    onCombine(into, other) {
      if (into.includes(other)) return;
      host.settings.set("with", formatLists([...combinedOf(host).filter(([first]) => first !== into[0]), [...into, other]]));
    },
    /** @param {readonly string[]} parts */
    onSplit(parts) {
      host.settings.set("with", formatLists(combinedOf(host).filter(([first]) => first !== parts[0])));
    },
  };

  /** @param {string} place */
  const linkOf = (place) => {
    const link = links.get(place) ?? makeLink();
    links.set(place, link);
    return link;
  };

  /** @param {string} tag @param {string} group @param {string} place */
  const renderCard = (tag, group, place) => {
    const shown = combined.find(([first]) => first === tag) ?? [tag];
    const parts = partsOf(shown.map((name) => ({ tag: name, runs: stable.get(name) ?? [] })));
    return html`<${ChartCard}
      key=${parts.map((part) => part.tag).join("\n")}
      id=${place === PINNED ? `${PINNED} ${tag}` : tag}
      tab=${tab}
      parts=${parts}
      group=${group}
      pinned=${pinned.includes(tag)}
      link=${options.link ? linkOf(place) : null}
    />`;
  };
  const shownPins = pinned.filter((tag) => runsOf.has(tag));

  return html`
    <div class="tb-toolbar" role="toolbar" aria-label="Scalars">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter tags (regular expression)" />
      <${Choice} label="Horizontal axis" name="x" choices=${X_AXES} value=${options.x} onChange=${setAxis} />
      <${Smoothing} value=${options.smooth} why=${ABOUT_SMOOTHING} onChange=${(/** @type {number} */ weight) => OPTIONS.set(host, "smooth", weight)} />
      <${Menu}
        icon="settings"
        label="Settings"
        content=${() => html`<${Later} load=${() => import("./settings-menu.js")} of="SettingsMenu" host=${host} isGrouped=${grouping !== null} runs=${runs} tags=${groups.flatMap((group) => group.tags)} />`}
      />
      <span class="tb-summary" role="status">${plural(numTags, "tag")}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content ${options.size}">
      ${numTags === 0 && html`<p class="tb-nothing">${whyNothing(tags.value, runs.length, filter, "scalars")}</p>`}
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

// What the address has just now: a card may ask twice before it is drawn again.

/** Tags whose cards stand at the top. @param {Host} host */
function pinsOf(host) {
  return parseLists(host.settings.value.pinned).flat();
}

/** Tags that share a chart, the first of which has the card. @param {Host} host */
function combinedOf(host) {
  return parseLists(host.settings.value.with);
}

/** @returns {(parts: import("./types.js").Part[]) => import("./types.js").Part[]} */
function rememberParts() {
  /** @type {Map<string, import("./types.js").Part[]>} */
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
 * The value as it was, while a new one is equal.
 * @template T
 * @param {T} value
 * @param {(a: T, b: T) => boolean} areEqual
 * @returns {T}
 */
function useStable(value, areEqual) {
  const last = useRef(value);
  if (!areEqual(last.current, value)) last.current = value;
  return last.current;
}

/**
 * @param {Options} a
 * @param {Options} b
 */
function areOptionsEqual(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/**
 * The same lists of runs as before, where they are equal: a card whose runs did not change is not drawn again.
 * @param {Map<string, Run[]>} runsOf
 */
function useStableRuns(runsOf) {
  const last = useRef(/** @type {typeof runsOf} */ (new Map()));
  return useMemo(() => {
    /** @type {typeof runsOf} */
    const next = new Map();
    for (const [tag, runs] of runsOf) {
      const old = last.current.get(tag);
      next.set(tag, old && areRunsEqual(old, runs) ? old : runs);
    }
    last.current = next;
    return next;
  }, [runsOf]);
}

/**
 * @param {readonly Run[]} a
 * @param {readonly Run[]} b
 */
function areRunsEqual(a, b) {
  return (
    a.length === b.length &&
    a.every(({ name, color, group }, index) => name === b[index].name && color === b[index].color && group === b[index].group)
  );
}
