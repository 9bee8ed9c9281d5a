/**
 * Small multiples: in place of the chart of a tag, one for each part of the runs, which are the runs
 * with one value of a hyperparameter, or with one part of the name. They have one cursor, one zoom, and
 * one range of x; that of y too, unless each is to have its own. Loaded when the setting `facet` has a
 * rule, as for groups.
 */

import { effect } from "@preact/signals-core";
import { html } from "htm/preact";
import { cloneElement } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { LazyCard, seriesCards, xColumn } from "tbcore/cards.js";
import { plural } from "tbcore/format.js";
import { TagGroups } from "tbcore/tags.js";
import { compareNames } from "tbcore/text-names.js";
import { SCALES, axisOf, yAxisOf } from "./lines.js";

const { SharedRanges } = await seriesCards();

/**
 * @typedef {import("tbcore/chart.js").Range} Range
 * @typedef {import("./types.js").Tab} Tab
 * @import { Host, Link, Query, Run } from "./types.js"
 */

/** Maximum number of charts for a tag. */
const MAX_CHARTS = 24;
/** Flags that all charts of a tag have in common: those of the y axis. */
const COMMON_FLAG = /^(y:|range:|clip$|tail$)/;

/** @typedef {{ names: string[], of: (run: string) => string, error: string | null, isKnown: boolean }} Parts  the names of the parts of the shown runs, in order */

/**
 * Preact hook: the parts of the runs by the rule in the address.
 * @param {Host} host @returns {Parts}
 */
function useParts(host) {
  const { facet: rule } = host.settings.value;
  const runs = host.runs.value;
  const [found, setFound] = useState(/** @type {import("tbcore/host.js").Readable<import("tbcore/host.js").PartsOfRuns> | null} */ (null));
  useEffect(() => {
    let isCurrent = true;
    host.groupsBy(rule).then((parts) => isCurrent && setFound(parts), console.warn);
    return () => {
      isCurrent = false;
      setFound(null); // the parts of another rule
    };
  }, [rule]);
  const { groupOf = null, error = null } = found?.value ?? {};
  return useMemo(() => {
    // A run without the hyperparameter is a group of its own.
    const none = rule?.startsWith("by:") ? `no ${rule.slice(3).replace(/~$/, "")}` : "";
    const of = (/** @type {string} */ run) => (groupOf?.get(run) === run && none) || shortName(groupOf?.get(run) ?? "", rule);
    const names = [...new Set(runs.map(({ name }) => of(name)))].sort((a, b) => Number(a === none) - Number(b === none) || compareNames(a, b));
    return { names, of, error, isKnown: groupOf !== null && error === null };
  }, [groupOf, error, runs, rule]);
}

/** The name of a part: of one hyperparameter the value alone, if it is a word. @param {string} name @param {string} rule */
function shortName(name, rule) {
  const value = /^by:[^,]*$/.test(rule) ? name.replace(/^[^=]*=/, "") : name;
  return /^(-?[\d.]|true|false|nan|inf)/i.test(value) ? name : value;
}

/**
 * The sections of cards, with charts of each part in place of one chart of a tag.
 * @param {object} props
 * @param {Host} props.host
 * @param {Tab} props.tab
 * @param {ReadonlyMap<string, Run[]>} props.runsOf  by tag
 * @param {(tag: string, group: string, facet?: object) => import("preact").VNode<any>} props.renderCard  `facet`: props of a card in place of its own
 */
export function Facets({ renderCard, ...props }) {
  const { host, tab, runsOf } = props;
  const { facet: rule = "" } = host.settings.value;
  const parts = useParts(host);
  const { names, error, isKnown } = parts;
  const by = rule.replace(/^by:/, "");
  const what = error !== null ? `No charts by ${by}: ${error}` : isKnown ? `${plural(Math.min(names.length, MAX_CHARTS), "chart")} for each tag, by ${by}` : `Reading ${by} …`;
  const rest = names.length - MAX_CHARTS;
  const renderTag = useCallback(
    (/** @type {string} */ tag, /** @type {string} */ group) => {
      if (!isKnown) return error !== null && renderCard(tag, group);
      return html`<${TagCards} key=${tag} ...${{ tag, group, tab, runsOf, parts, renderCard }} />`;
    },
    [renderCard, tab, runsOf, parts],
  );
  return html`
    <p class="facet-note" role="status">
      <span>${what}${isKnown && rest > 0 && `: the first of ${names.length}. ${rest} more are not shown; filter the runs to see them`}</span>
      <button type="button" class="tb-button" onClick=${() => host.settings.set("facet", null)}>One chart for each tag</button>
    </p>
    <${TagGroups} ...${props} renderCard=${renderTag} />
  `;
}

/**
 * The charts of a tag, in rows of their own.
 * @param {{ tag: string, group: string, parts: Parts } & Pick<Parameters<typeof Facets>[0], "tab" | "runsOf" | "renderCard">} props
 */
function TagCards({ tag, group, tab, runsOf, parts: { names, of }, renderCard }) {
  const ranges = useMemo(() => new SharedRanges(), []);
  /** @type {Link} */
  const link = useMemo(() => ({ view: null, feeds: new Set(), isOfTag: true }), []);
  const cursors = useMemo(() => /** @type {Map<string, Tab["cursor"]>} */ (new Map()), []);
  // Charts keep their cursor while runs come and go.
  const latest = useRef(of);
  latest.current = of;
  const tags = tab.tagsOf(tag);
  const runsIn = (/** @type {string} */ each, /** @type {string} */ name) => (runsOf.get(each) ?? []).filter((run) => of(run.name) === name);
  const shown = names.slice(0, MAX_CHARTS).filter((name) => tags.some((each) => runsIn(each, name).length > 0));
  return html`<div class="facets" style=${{ "--num": shown.length }}>
    ${shown.map((name) => {
      if (!cursors.has(name)) cursors.set(name, cursorOf(tab.cursor, (run) => latest.current(run) === name));
      const facet = {
        id: `${tag} · ${name}`,
        key: [...tags, name].join("\n"),
        tab: { ...tabOf(tab, tag, name, of, { names: shown, ranges }), cursor: cursors.get(name) },
        parts: tags.map((each) => ({ tag: each, runs: runsIn(each, name) })),
        ...(!tab.options.link && { link }),
      };
      return cloneElement(renderCard(tag, group, facet), { key: name, title: `${name} · ${tag}` });
    })}
  </div>`;
}

/**
 * The tab as the card of a part sees it: with the runs of groups that are in the part, and flags of its own but those
 * of the axes.
 * @param {Tab} tab @param {string} tag @param {string} name @param {Parts["of"]} of
 * @param {{ names: readonly string[], ranges: InstanceType<typeof SharedRanges> }} shared
 * @returns {Tab}
 */
function tabOf(tab, tag, name, of, shared) {
  const isInPart = (/** @type {string} */ run) => of(run) === name;
  const groups = {
    ...tab.host.groups,
    get value() {
      const grouping = tab.host.groups.value;
      if (!grouping) return null;
      const parts = grouping.groups.map((group) => ({ ...group, runs: group.runs.filter((run) => isInPart(run.name)) }));
      const archived = new Map([...grouping.archived].map(([group, runs]) => [group, runs.filter(isInPart)]));
      return { ...grouping, groups: parts.filter(({ runs }) => runs.length > 0), archived };
    },
  };
  /** @type {Tab["flagsOf"]} */
  const flagsOf = (card) => tab.flagsOf(tag).filter((flag) => COMMON_FLAG.test(flag)).concat(tab.flagsOf(card).filter((flag) => !COMMON_FLAG.test(flag)));
  return {
    ...tab,
    host: Object.create(tab.host, { groups: { value: groups } }),
    facet: `${name} · `,
    isInPart,
    flagsOf,
    onFlag: (card, kind, flag) => tab.onFlag(["y:", "range:", "clip", "tail"].some((each) => kind.test(each)) ? tag : card, kind, flag),
    sharedAxes: (feed) => sharedAxes(feed, name, shared, () => yAxisOf(flagsOf(""), feed.options.value.logY).yScale, tab.host),
  };
}

/**
 * The cursor of all charts as the chart of a part has it: it does not fade for a run of another part.
 * @param {Tab["cursor"]} cursor @param {(run: string) => boolean} isInPart
 * @returns {Tab["cursor"]}
 */
function cursorOf(cursor, isInPart) {
  /** @typedef {Parameters<Tab["cursor"]["join"]>[0]} Member */
  /** @type {Map<unknown, Member>} */
  const members = new Map();
  return {
    join(member) {
      /** @type {Member} */
      const inPart = {
        showCursor: (x, run) => member.showCursor(x, run),
        showPin: (x, settled, here) => member.showPin(x, settled, here),
        highlight: (name, runs) => member.highlight(runs?.some((run) => isInPart(run.name) && (run.name === name || run.group === name)) ? name : null, runs),
      };
      members.set(member, inPart);
      const leave = cursor.join(inPart);
      return () => {
        members.delete(member);
        leave();
      };
    },
    move: (x, run, from) => cursor.move(x, run, members.get(from) ?? from),
    pin: (x, settled, from) => cursor.pin(x, settled, members.get(from)),
    highlight: cursor.highlight,
  };
}

// --- ranges --------------------------------------------------------------------------------------

/** The charts whose ranges are known. @type {WeakSet<import("./chart-feed.js").ChartFeed>} */
const watched = new WeakSet();

/**
 * The ranges that the axes of a chart cover at least.
 * @param {import("./chart-feed.js").ChartFeed} feed @param {string} name  of its part
 * @param {{ names: readonly string[], ranges: InstanceType<typeof SharedRanges> }} shared
 * @param {() => Query["scale"]} scaleOfY
 * @param {Host} host
 */
function sharedAxes(feed, name, { names, ranges }, scaleOfY, host) {
  if (!watched.has(feed)) {
    watched.add(feed);
    effect(() => {
      const { x, y } = rangesOf(feed, scaleOfY());
      const { x: axis } = feed.options.peek();
      ranges.set(`x ${axis}`, name, x);
      ranges.set("y", name, y);
    });
  }
  const all = names.map((each) => ({ name: each }));
  return { includeX: ranges.union(`x ${feed.options.value.x}`, all), include: host.settings.value.facetY === "own" ? null : ranges.union("y", all) };
}

/**
 * The ranges of what a chart draws: of all its x, and of its values in the view. They are over what sets the ranges of its
 * own axes: not over faint lines, and not over means of fewer runs than before. In axis coordinates; null
 * for a symmetric-logarithmic axis, whose linear part is that of each chart.
 * @param {import("./chart-feed.js").ChartFeed} feed @param {Query["scale"]} scaleOfY
 * @returns {{ x: Range | null, y: Range | null }}
 */
function rangesOf(feed, scaleOfY) {
  const options = feed.options.value;
  const [from, to] = feed.view.value ?? [-Infinity, Infinity];
  const { xAxis } = axisOf(options.x);
  const [x, y] = [new Extent(SCALES[options.logX]), new Extent(scaleOfY)];
  for (const line of feed.lines.value.lines) {
    if (line.faint) continue;
    x.add(xColumn(line.overview ?? line, xAxis, line.startTime));
    const xs = xColumn(line, xAxis, line.startTime);
    for (const column of [line.value, line.smoothed ?? []]) y.add(column, (i) => xs[i] >= from && xs[i] <= to);
  }
  for (const { x: xs, mean, low, high, count, overview = xs, overviewCount = count } of feed.bands.value) {
    x.add(overview);
    let most = 0;
    let before = 0;
    const isFull = Array.from(xs, (at, i) => {
      while (overview[before] <= at) most = Math.max(most, overviewCount[before++]);
      return count[i] >= most;
    });
    for (const column of [mean, low, high]) y.add(column, (i) => isFull[i] && xs[i] >= from && xs[i] <= to);
  }
  return { x: x.range, y: y.range };
}

/** The smallest and the largest number that an axis can show. */
class Extent {
  #low = Infinity;
  #high = -Infinity;
  #scale;

  /** @param {Query["scale"]} scale */
  constructor(scale) {
    this.#scale = scale;
  }

  /** @param {ArrayLike<number>} column @param {(i: number) => boolean} [counts]  whether a row counts; by default all do */
  add(column, counts = () => true) {
    for (let i = 0; i < column.length; i++) {
      const value = this.#scale === "log" ? Math.log10(column[i]) : column[i];
      if (!Number.isFinite(value) || !counts(i)) continue;
      this.#low = Math.min(this.#low, value);
      this.#high = Math.max(this.#high, value);
    }
  }

  /** In axis coordinates; null without a number. @returns {Range | null} */
  get range() {
    return this.#low <= this.#high && this.#scale !== "symlog" ? [this.#low, this.#high] : null;
  }
}
