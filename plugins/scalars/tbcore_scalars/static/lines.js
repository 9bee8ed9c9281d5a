/**
 * The lines that charts draw, and a cache of their rows. The server reduces each line to what a
 * chart's pixels can show; a line sent whole needs no request when the user zooms in. Old rows stay
 * until newer ones arrive.
 */

import { signal } from "@preact/signals-core";
import { averageOf, smoothed } from "tbcore/chart.js";
import { inTurn, post, readColumns } from "tbcore/requests.js";

/** @import { Host, Options, Part, Query, Rows, ShownLines, View } from "./types.js" */

/** How far rows are fetched beyond each edge of a view, as a share of its width. */
const MARGIN = 0.5;
/** Maximum number of runs, so that the first lines appear while other lines are fetched. */
const RUNS_PER_REQUEST = 100;
/** Maximum number kept for cards that may come into view again, at 24 bytes each. */
const MAX_CACHED_POINTS = 3_000_000;
/** Maximum length of a series that the page smooths; the server smooths longer series. */
const MAX_POINTS_SMOOTHED_IN_PAGE = 1000;
/** Dash patterns of the tags that share a chart. */
export const DASHES = [undefined, [6, 3], [12, 4], [6, 8]];
/** How much the colour of each tag is lightened: dashes are invisible where a line is dense. */
const LIGHTEN_SHARES = [0, 0.4, 0.25, 0.55];
/** Maps the option for an axis to its scale. @type {Record<Options["logX"], Query["scale"]>} */
export const SCALES = { "": "linear", true: "log", symlog: "symlog" };
/** Minimum width in a request: series of up to 1,000 points are then sent whole. */
const MIN_PIXELS = 500;

/** Whether an answer said that tags have display names or descriptions. */
export const described = signal(false);
/** Names of runs without times, as far as answers have said. @type {import("@preact/signals-core").Signal<ReadonlySet<string>>} */
export const untimed = signal(new Set());

/** The rows of all charts of the tab. */
export class LinesStore {
  /** Maps query and run to rows, oldest use first. @type {Map<string, Map<string, Rows>>} */
  #rows = new Map();
  /** Keys of the queries that each chart protects. @type {Set<string[]>} */
  #retained = new Set();
  /** The averages that are loaded. @type {Record<string, Awaited<ReturnType<typeof averageOf>>>} */
  #averages = { exponential: undefined };
  #host;

  /** @param {Pick<Host, "fetch" | "generations">} host */
  constructor(host) {
    this.#host = host;
  }

  /** Protects rows from eviction until the result is called. @param {readonly Query[]} queries */
  retain(queries) {
    const keys = queries.map(keyOf);
    this.#retained.add(keys);
    return () => void this.#retained.delete(keys);
  }

  /**
   * The cached rows of a run, which may be out of date.
   * @param {Query} query
   * @param {string} run
   * @returns {Rows | undefined}
   */
  get(query, run) {
    const rows = this.#rows.get(keyOf(query))?.get(run);
    const smoothing = smoothingOf(query);
    if (rows && rows.smoothing !== smoothing && query.smoothing_kind in this.#averages && hasAllPoints(rows) && rows.numPoints <= MAX_POINTS_SMOOTHED_IN_PAGE) {
      rows.smoothed = query.smoothing > 0 ? smoothed(rows.value, query.smoothing, rows.segments, this.#averages[query.smoothing_kind]) : null;
      rows.smoothing = smoothing;
    }
    return rows;
  }

  /**
   * Fetches the rows that are missing, out of date, or do not satisfy the query.
   * @param {Query} query
   * @param {readonly string[]} runs
   * @param {AbortSignal} signal  aborted when the card is zoomed or scrolled out of view
   * @param {() => void} onChange  called after each response
   * @returns {Promise<void>} rejects with the first error, after all requests have ended
   */
  async load(query, runs, signal, onChange) {
    if (runs.length === 0) return;
    const { smoothing_kind: kind } = query;
    if (!(kind in this.#averages)) this.#averages[kind] = await averageOf(kind);
    signal.throwIfAborted();
    const key = keyOf(query);
    /** @type {Map<string, Rows>} */
    const rowsByRun = this.#rows.get(key) ?? new Map();
    this.#rows.delete(key);
    // Now the most recently used.
    this.#rows.set(key, rowsByRun);
    const { of: generationOf } = this.#host.generations.value;
    const missing = runs.filter((run) => {
      const rows = this.get(query, run);
      return !rows || rows.requested !== generationOf(run) || !satisfies(rows, query);
    });
    const requests = [];
    for (let i = 0; i < missing.length; i += RUNS_PER_REQUEST) {
      requests.push(this.#fetch(query, missing.slice(i, i + RUNS_PER_REQUEST), rowsByRun, signal).then(onChange));
    }
    for (const result of await Promise.allSettled(requests)) if (result.status === "rejected") throw result.reason;
  }

  /**
   * Fetches and stores rows, and removes the runs that the response lacks.
   * @param {Query} query
   * @param {readonly string[]} runs
   * @param {Map<string, Rows>} rowsByRun  the cached rows of the query
   * @param {AbortSignal} signal
   */
  async #fetch(query, runs, rowsByRun, signal) {
    const host = this.#host;
    const { of: generationOf } = host.generations.value;
    /** @type {Map<string, string | undefined>} */
    let known = new Map();
    const send = (/** @type {AbortSignal} */ aborted) => {
      const cached = runs.filter((run) => satisfies(rowsByRun.get(run), query));
      // The server answers "unchanged" for a run whose rows here are still current, and with later
      // points only if it has grown.
      known = new Map(cached.map((run) => [run, rowsByRun.get(run)?.known]));
      return fetchColumns(host, "window", { ...query, runs, known: Object.fromEntries(known), margin: query.from === null ? 0 : MARGIN }, aborted);
    };
    const { header, tables } = await inTurn(host, send, signal);
    const tails = header.runs.some((/** @type {any} */ entry) => entry.is_tail) ? await import("./tails.js") : null;
    const gone = new Set(runs);
    header.runs.forEach((/** @type {any} */ entry, /** @type {number} */ index) => {
      const { run, generation, unchanged, segments } = entry;
      gone.delete(run);
      let rows = rowsByRun.get(run);
      if (entry.is_tail) {
        // If not, another chart with the same lines was faster.
        if (rows && rows.known === known.get(run)) tails?.append(rows, entry, tables[index], smoothingOf(query));
        else return;
      }
      // Keep the finer rows if a smaller chart has requested the same lines.
      const hasFiner = rows && rows.generation === generation && rows.smoothing === smoothingOf(query) && rows.pixels > query.pixels;
      if (!rows || !(unchanged || entry.is_tail || hasFiner)) {
        const { step, wall_time: wallTime, value, smoothed: smooth = null, x } = tables[index];
        rows = {
          generation,
          known: entry.known,
          requested: "",
          // Copies: a subarray would keep the whole response in memory.
          step: step.slice(),
          wallTime: wallTime.slice(),
          value: value.slice(),
          x: x?.slice(),
          turns: entry.one_way === false,
          smoothed: smooth?.slice() ?? null,
          smoothing: smoothingOf(query),
          pixels: query.pixels,
          segments,
          startTime: entry.start_time ?? 0,
          numPoints: entry.num_points,
          numInside: entry.num_inside,
          numShown: entry.num_shown,
        };
        rowsByRun.set(run, rows);
      }
      rows.requested = generationOf(run);
    });
    for (const run of gone) rowsByRun.delete(run);
    this.#evict();
  }

  /** Evicts the least recently used rows above the limit. */
  #evict() {
    const retained = new Set([...this.#retained].flat());
    let numPoints = 0;
    for (const [key, rowsByRun] of [...this.#rows].reverse()) {
      for (const rows of rowsByRun.values()) numPoints += rows.value.length;
      if (numPoints > MAX_CACHED_POINTS && !retained.has(key)) this.#rows.delete(key);
    }
  }
}

/**
 * Whether the rows have every logged point, so that zooming in needs no request.
 * @param {Rows} rows  fetched without a view
 */
export function hasAllPoints(rows) {
  return rows.value.length >= rows.numPoints;
}

/**
 * Whether the rows fetched for one view cover all of another view.
 * @param {View | null} fetched  null: everything
 * @param {View | null} needed  null: everything
 * @param {Options["logX"]} logX
 * @param {number} [margin]  how far beyond each edge rows were fetched, as a share of the view's
 *   width
 */
export function covers(fetched, needed, logX, margin = MARGIN) {
  if (!fetched || !needed) return !fetched;
  const toAxis = logX === "true" ? Math.log : logX ? (/** @type {number} */ x) => Math.asinh(x / 2) : Number;
  const [from, to, first, last] = [...fetched, ...needed].map(toAxis);
  const more = (to - from) * margin;
  return first >= from - more && last <= to + more;
}

/**
 * Whether the rows have the requested smoothing and enough points for the requested width.
 * @param {Rows | undefined} rows
 * @param {Query} query
 */
function satisfies(rows, query) {
  return rows?.smoothing === smoothingOf(query) && (rows.pixels >= query.pixels || hasAllPoints(rows));
}

/** Tells smoothings apart; equal for all kinds without weight. @param {Query} query */
function smoothingOf({ smoothing, smoothing_kind: kind }) {
  return smoothing > 0 ? `${kind} ${smoothing}` : "";
}

/**
 * The cache key of a query, without smoothing and width: a chart keeps its lines while these change.
 * @param {Query} query
 */
function keyOf({ tag, x, scale, from, to }) {
  return JSON.stringify([tag, x, scale, from, to]);
}

// --- requests ------------------------------------------------------------------------------------

/**
 * Fetches columns.
 * @param {Pick<Host, "fetch">} host
 * @param {string} route
 * @param {object} body
 * @param {AbortSignal} [signal]
 */
export async function fetchColumns(host, route, body, signal) {
  const answer = readColumns(await (await post(host, route, body, signal)).arrayBuffer());
  const { described: is, untimed: names = [] } = answer.header;
  if (is) described.value = true;
  if (!names.every((/** @type {string} */ name) => untimed.value.has(name))) untimed.value = new Set([...untimed.value, ...names]);
  return answer;
}

/**
 * The query for the rows of a tag.
 * @param {string} tag
 * @param {Options} options
 * @param {View | null} view
 * @param {number} [pixels]  needed to request rows, ignored when rows are looked up
 * @returns {Query}
 */
export function queryFor(tag, { x, logX, smooth, smoothKind }, view, pixels = 0) {
  const [from, to] = view ?? [null, null];
  return { tag, x: axisOf(x).query, scale: SCALES[logX], from, to, pixels, smoothing: smooth, smoothing_kind: smoothKind };
}

/**
 * The x axis of an option: what a chart and what a request calls it.
 * @param {Options["x"]} x
 * @returns {{ xAxis: import("./types.js").XAxis, xTitle: string, query: Query["x"] }}
 */
export function axisOf(x) {
  const [, tag] = x.split(/^tag:/);
  const xTitle = tag ?? (x === "relative_step" ? "steps since start" : "");
  /** @type {any} the option itself */
  const own = x;
  return { xAxis: xTitle ? "number" : own, xTitle, query: tag ? { tag } : x === "wall_time" ? "wall" : own };
}

/**
 * The scale and the ends of the y axis of a card. Its flags may have its own: `y:log`, and `range:0:1`
 * of which an end may be empty.
 * @param {readonly string[]} flags @param {Options["logY"]} logY  the scale of all other cards
 * @returns {{ yScale: Query["scale"], limits: [from: number | null, to: number | null] | null }}
 */
export function yAxisOf(flags, logY) {
  const valueOf = (/** @type {string} */ name) => flags.find((flag) => flag.startsWith(name))?.slice(name.length) ?? "";
  const scale = valueOf("y:");
  const ends = valueOf("range:").split(":").map((text) => (text && isFinite(Number(text)) ? Number(text) : null));
  return { yScale: Object.values(SCALES).find((known) => known === scale) ?? SCALES[logY], limits: ends.length === 2 ? [ends[0], ends[1]] : null };
}

/**
 * The width to request rows for, rounded up so that a small change of size needs no new request.
 * @param {number} width  device pixels
 */
export function pixelsFor(width) {
  return Math.max(MIN_PIXELS, Math.ceil(width / 250) * 250);
}

/**
 * The view in few digits, for the page address. Bounds move by less than 1/10,000 of the view.
 * @param {View | null} view
 * @returns {View | null}
 */
export function roundView(view) {
  if (!view) return null;
  const [from, to] = view;
  const digits = 5 + Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / (to - from)));
  return /** @type {View} */ (view.map((bound) => Number(bound.toPrecision(Math.min(15, digits)))));
}

// --- lines of a chart ----------------------------------------------------------------------------

/**
 * Loads what a view needs: first an overview of each series, then, for series that were not sent
 * with all their points, the rows in the view.
 * @param {LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {AbortSignal} signal
 * @param {() => void} onChange  called after each response
 * @returns {Promise<unknown>} resolves when everything is loaded; rejects with the server's message
 */
export function loadLines(store, parts, options, view, pixels, signal, onChange) {
  return Promise.all(
    parts.map(async ({ tag, runs }) => {
      const whole = queryFor(tag, options, null, pixels);
      const names = runs.map(({ name }) => name);
      await store.load(whole, names, signal, onChange);
      if (!view) return;
      const reduced = names.filter((name) => {
        const rows = store.get(whole, name);
        return rows && !hasAllPoints(rows);
      });
      await store.load(queryFor(tag, options, view, pixels), reduced, signal, onChange);
    }),
  );
}

/**
 * The cached lines. Each run uses the first of `views` that covers the visible view and whose rows
 * are cached.
 * @param {LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {readonly (View | null)[]} views  the visible view, then views whose rows may be
 *   cached; the last is null
 * @param {string | null} [faintGroup]  group whose runs are drawn faintly
 * @returns {ShownLines}
 */
export function cachedLines(store, parts, options, views, faintGroup = null) {
  /** @type {ShownLines} */
  const shown = { lines: [], isReduced: false };
  const usable = views.filter((view) => covers(view, views[0], options.logX));
  parts.forEach(({ tag, runs }, tagIndex) => {
    const queries = usable.map((view) => queryFor(tag, options, view));
    for (const { name, label, color, group } of runs) {
      const whole = store.get(queries[queries.length - 1], name);
      if (!whole) continue;
      const found = hasAllPoints(whole) ? whole : (queries.map((query) => store.get(query, name)).find(Boolean) ?? whole);
      // Keep a line that has no points in the view.
      const rows = found.value.length > 0 ? found : whole;
      if (rows.value.length === 0) continue;
      const faint = faintGroup !== null && group === faintGroup;
      if (!faint && found.numShown < found.numInside) shown.isReduced = true;
      const style = styleOf(name, color, tag, tagIndex, parts, label);
      shown.lines.push({ ...rows, ...(untimed.value.has(name) && { wallTime: undefined }), ...style, run: name, group: JSON.stringify([group, tag]), faint, overview: rows === whole ? undefined : whole });
    }
  });
  return shown;
}

/**
 * What distinguishes a line or band from others of its chart. Its name includes the tag if the chart
 * has several, and each tag has its own dash and shade of the run's colour.
 * @param {string} name  of a run or a group, in the key
 * @param {string} color  `#rrggbb`
 * @param {string} tag
 * @param {number} tagIndex
 * @param {readonly unknown[]} parts  all tags of the chart
 * @param {string} [label]  the name to show
 */
export function styleOf(name, color, tag, tagIndex, parts, label = name) {
  const share = LIGHTEN_SHARES[tagIndex % LIGHTEN_SHARES.length];
  /** @param {string} hex */
  const lighten = (hex) => Math.round(parseInt(hex, 16) * (1 - share) + 255 * share).toString(16);
  return {
    key: JSON.stringify([name, tag]),
    name: parts.length > 1 ? `${label} · ${tag}` : label,
    color: share === 0 ? color : color.replace(/[\da-f]{2}/gi, lighten),
    dash: DASHES[tagIndex % DASHES.length],
  };
}
