/**
 * The bands that a chart draws for groups of runs. The module is loaded when runs are grouped.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { plural } from "tbcore/format.js";
import { keepLoaded, rowOptions } from "./chart-feed.js";
import { covers, fetchColumns, queryFor, styleOf } from "./lines.js";

/** @typedef {import("tbcore/chart.js").Band} Band */
/** @import { Host, Options, Part, RunGroup, View } from "./types.js" */

/**
 * @typedef {{ group: string, num_runs: number, drawn: "mean" | "points" | "runs", final: Record<string, number | string>, num_without_x?: number, num_back_and_forth?: number }} GroupEntry
 *   from the server
 * @typedef {Band & { drawn: GroupEntry["drawn"], withoutX?: number, turning?: number }} GroupBand
 *   with what is drawn, the numbers of runs that are not in the mean by a tag
 *
 * @typedef {{ tag: string, groups: readonly RunGroup[] }} BandPart  a tag's groups of several runs
 */

/** How long after the last answer to ask whether runs are still being written: as long as they count as live. */
const LIVE_MS = 300_000;
/** The bands of one chart, and what it draws as lines beside them, as signals. */
export class BandFeed {
  shown = signal(/** @type {readonly GroupBand[]} */ ([]));
  /** Whether `shown` is everything that there is for the view. */
  isComplete = signal(false);
  error = signal("");
  hoveredGroup = signal(/** @type {string | null} */ (null));
  /** The runs that have lines: those alone in their group, of groups without a mean, and of the hovered group. */
  lineParts;
  notes;
  /** Draws coarser bands for a view that the drawn bands do not cover. @type {(view: View | null) => void} */
  drawUncovered = () => {};
  /** Ends all requests. */
  stop;

  /** @param {Host} host @param {import("./chart-feed.js").ChartFeed} feed  what its chart shows */
  constructor(host, { options: allOptions, parts, pixels, view }) {
    const grouped = computed(() => parts.value.map(splitByGroup));
    /** What the bands depend on, as text: not the labels of runs. */
    const members = computed(() => JSON.stringify(grouped.value.map(({ tag, groups }) => [tag, groups.map(({ name, color, runs }) => [name, color, runs.map((run) => run.name), archivedIn(host, name)])])));
    /** The keys of the bands without a line, as text, which is equal while they are. */
    const withoutLine = computed(() => JSON.stringify(this.shown.value.filter(({ drawn }) => drawn !== "mean").map(({ key }) => key)));
    this.lineParts = computed(() => {
      const hovered = this.hoveredGroup.value;
      const keys = new Set(JSON.parse(withoutLine.value));
      return grouped.value.map(({ tag, groups, alone }) => {
        const drawn = groups.filter(({ name }) => name === hovered || keys.has(styleOf(name, "", tag, 0, []).key));
        return { tag, runs: [...drawn.flatMap(({ runs }) => runs), ...alone] };
      });
    });
    this.notes = computed(() => groupNotes(this.shown.value, allOptions.value));
    const bandOptions = computed(() => `${rowOptions(allOptions.value)} ${allOptions.value.average} ${allOptions.value.spread} ${allOptions.value.ends}`);
    /** Rises when runs may no longer be live. */
    const round = signal(0);
    /** Bands of the full range, for the x axis' extent; drawn until the view's bands arrive. */
    const wholeBands = computed(() => {
      members.value;
      bandOptions.value;
      return { found: /** @type {readonly GroupBand[] | null} */ (null) };
    });
    let lastSmooth = allOptions.peek().smooth;
    /** The view whose bands are drawn. @type {View | null} */
    let drawnView = null;

    this.stop = effect(() => {
      const [width, shownView, groupedParts, whole] = [pixels.value, view.value, grouped.peek(), wholeBands.value];
      const options = allOptions.peek();
      round.value;
      let timer = 0;
      this.drawUncovered = () => {};
      if (width === 0) return undefined;
      if (groupedParts.every(({ groups }) => groups.length === 0)) {
        batch(() => {
          this.shown.value = [];
          this.isComplete.value = true;
        });
        return undefined;
      }
      /** @param {readonly GroupBand[]} found @param {View | null} bandView */
      const draw = (found, bandView) => {
        const wholes = new Map(whole.found?.map((band) => [band.key, band]));
        const withWhole = (/** @type {GroupBand} */ band) => {
          const { x, count } = wholes.get(band.key) ?? band;
          return { ...band, overview: x, overviewCount: count };
        };
        this.shown.value = found.map(withWhole);
        drawnView = bandView;
      };
      this.drawUncovered = (target) => {
        if (whole.found && !covers(drawnView, target, options.logX, 0)) draw(whole.found, null);
      };
      this.drawUncovered(shownView);
      this.isComplete.value = false;
      const stop = keepLoaded(host, shownView !== null || options.smooth !== lastSmooth, this.error, async (signal) => {
        clearTimeout(timer);
        lastSmooth = options.smooth;
        const load = async (/** @type {View | null} */ bandView) => {
          const found = await loadBands(host, groupedParts, options, bandView, width, signal);
          signal.throwIfAborted();
          if (!options.ends) return found;
          return found.map((band) => endedBand(band, bandView && whole.found)).filter(({ x, drawn }) => x.length > 0 || drawn !== "mean");
        };
        if (!shownView || !whole.found) {
          whole.found = await load(null);
          draw(whole.found, null);
        }
        if (shownView) draw(await load(shownView), shownView);
        this.isComplete.value = true;
        if (this.shown.value.some(({ final }) => final && final.live > 0)) timer = setTimeout(() => round.value++, LIVE_MS);
      });
      return () => {
        stop();
        clearTimeout(timer);
      };
    });
  }

  /** The pointer is at a point, or nowhere. @param {import("tbcore/chart.js").Hit | undefined} nearest */
  hover(nearest) {
    if (nearest?.band) this.hoveredGroup.value = nearest.band.bar ? null : groupOfBand(nearest.band);
    else if (!nearest?.line?.faint) this.hoveredGroup.value = null;
  }
}

/**
 * Notes on groups whose runs are drawn without a mean.
 * @param {readonly GroupBand[]} bands @param {Pick<Options, "x" | "averageName">} options
 */
export function groupNotes(bands, { x, averageName }) {
  const count = bands.filter(({ drawn }) => drawn === "runs").length;
  const why = x === "wall_time" ? `no ${averageName} over wall time` : "they share no x";
  return count > 0 ? [`${plural(count, "group")} drawn as runs, in the group's colour: ${why}`] : [];
}

/**
 * The part of a band before the first of its runs ends.
 * @template {Band} B
 * @param {B} band
 * @param {readonly Band[] | null} [wholes]  the parts for the full range, if the band is that of a view
 * @returns {B}
 */
export function endedBand(band, wholes) {
  const { key, x, count } = band;
  const whole = wholes?.find((other) => other.key === key);
  let most = 0;
  const isPastEnd = (/** @type {number} */ runs, /** @type {number} */ i) => {
    most = Math.max(most, runs);
    return whole ? x[i] > whole.x[whole.x.length - 1] : runs < most;
  };
  const end = count.findIndex(isPastEnd);
  if (end < 0) return band;
  const cut = (/** @type {Float64Array | undefined} */ column) => column?.subarray(0, end);
  const columns = { x, count, mean: band.mean, low: band.low, high: band.high, nonfinite: band.nonfinite };
  return { ...band, ...Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, cut(column)])) };
}

/**
 * A tag's runs by group; groups are in the order in which their first run appears. Groups of one run
 * are left out: their runs are in `alone`, and are drawn as lines.
 * @param {Part} part
 */
export function splitByGroup({ tag, runs }) {
  /** @type {Map<string, RunGroup>} */
  const groups = new Map();
  for (const run of runs) {
    const name = run.group ?? run.name;
    const group = groups.get(name);
    if (group) group.runs.push(run);
    else groups.set(name, { name, color: run.color, runs: [run] });
  }
  const all = [...groups.values()];
  return {
    tag,
    groups: all.filter((group) => group.runs.length > 1),
    alone: all.flatMap((group) => (group.runs.length > 1 ? [] : group.runs)),
  };
}

/**
 * The name of the group that a band from `loadBands` stands for.
 * @param {{ key?: string, name: string }} band
 * @returns {string}
 */
export function groupOfBand({ key, name }) {
  return key ? JSON.parse(key)[0] : name;
}

/** What a band covers, in words. @param {Float64Array} low  NaN where there are too few runs @param {string} spreadName */
function labelOf(low, spreadName) {
  return low.length > 0 && low.every(Number.isNaN) ? "no interval for fewer than 3 runs" : spreadName;
}

/** How many runs of a group were put away. @param {Pick<Host, "groups">} host @param {string} name */
function archivedIn({ groups }, name) {
  return groups?.value?.archived?.get(name)?.length ?? 0;
}

/**
 * Fetches the bands of all groups of a chart.
 * @param {Pick<Host, "fetch" | "groups">} host
 * @param {readonly BandPart[]} parts  the chart's tags, in the order of their dashes
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {AbortSignal} signal
 * @returns {Promise<GroupBand[]>}
 */
export async function loadBands(host, parts, options, view, pixels, signal) {
  const { average, averageName, spread } = options;
  const spreadName = host.groups?.value?.spreadName ?? "";
  /** The numbers of runs of the groups, of which some may lack a tag. */
  const sizes = new Map(host.groups?.value?.groups.map(({ name, runs }) => [name, runs.length]));
  const found = await Promise.all(
    parts.map(async ({ tag, groups }, tagIndex) => {
      if (groups.length === 0) return [];
      const runsInGroupOrder = Object.fromEntries(groups.map(({ name, runs }) => [name, runs.map((run) => run.name)]));
      const body = { ...queryFor(tag, options, view, pixels), average, spread, groups: runsInGroupOrder };
      const { header, tables } = await fetchColumns(host, "bands", body, signal);
      return header.groups.map((/** @type {GroupEntry} */ entry, /** @type {number} */ index) => {
        const { name, color, runs } = /** @type {RunGroup} */ (groups.find((group) => group.name === entry.group));
        const { x, average: mean, low, high, count, nonfinite } = tables[index];
        /** @type {GroupBand} */
        const band = {
          ...{ drawn: entry.drawn, bar: entry.drawn === "points", withoutX: entry.num_without_x, turning: entry.num_back_and_forth },
          // NaN and infinities are texts.
          final: /** @type {any} */ ({ ...Object.fromEntries(Object.entries(entry.final).map(([key, number]) => [key, Number(number)])), spread, missing: Math.max(0, (sizes.get(name) ?? 0) - runs.length) }),
          ...styleOf(name, color, tag, tagIndex, parts),
          run: name,
          ...{ x, mean, low, high, count, nonfinite, numRuns: entry.num_runs, archived: archivedIn(host, name), average: averageName, label: labelOf(low, spreadName) },
        };
        return band;
      });
    }),
  );
  return found.flat().filter(({ x, drawn, numRuns, withoutX, turning }) => x.length > 0 || (drawn !== "mean" && numRuns) || withoutX || turning);
}
