/**
 * A cache of fetched lines. The server reduces each line to what a chart's pixels can show; a line
 * sent whole needs no request when the user zooms in. Old rows stay until newer ones arrive.
 */

import { smoothed } from "tbcore/chart.js";
import { readColumns } from "tbcore/requests.js";

/**
 * @typedef {import("./types.js").Query} Query
 * @typedef {import("./types.js").Rows} Rows
 * @typedef {import("./types.js").View} View
 */

/** How far rows are fetched beyond each edge of a view, as a share of its width. */
const MARGIN = 0.5;
/** Maximum number of runs, so that the first lines appear while other lines are fetched. */
const RUNS_PER_REQUEST = 100;
/** Maximum number kept for cards that may come into view again, at 24 bytes each. */
const MAX_CACHED_POINTS = 3_000_000;
/** Maximum length of a series that the page smooths; the server smooths longer series. */
const MAX_POINTS_SMOOTHED_IN_PAGE = 1000;

export class LinesStore {
  /** Maps query and run to rows, oldest use first. @type {Map<string, Map<string, Rows>>} */
  #rows = new Map();
  /** Maps rows to their run's generation at the request. @type {WeakMap<Rows, string>} */
  #requestGenerations = new WeakMap();
  /** Maps each protected query to its number of charts. @type {Map<string, number>} */
  #retained = new Map();
  #fetchRows;
  #inTurn;

  /** @param {import("./types.js").FetchRows} fetchRows @param {import("./types.js").InTurn} inTurn */
  constructor(fetchRows, inTurn) {
    this.#fetchRows = fetchRows;
    this.#inTurn = inTurn;
  }

  /**
   * Protects the rows of these queries from eviction.
   * @param {readonly Query[]} queries
   * @returns {() => void} ends the protection
   */
  retain(queries) {
    const keys = queries.map(keyOf);
    for (const key of keys) this.#retained.set(key, (this.#retained.get(key) ?? 0) + 1);
    return () => {
      for (const key of keys) {
        const count = (this.#retained.get(key) ?? 1) - 1;
        if (count > 0) this.#retained.set(key, count);
        else this.#retained.delete(key);
      }
    };
  }

  /**
   * The cached rows of a run, which may be out of date.
   * @param {Query} query
   * @param {string} run
   * @returns {Rows | undefined}
   */
  get(query, run) {
    const rows = this.#rows.get(keyOf(query))?.get(run);
    if (rows && rows.weight !== query.smoothing && isSmoothedInPage(rows)) {
      rows.smoothed = query.smoothing > 0 ? smoothSegments(rows, query.smoothing) : null;
      rows.weight = query.smoothing;
    }
    return rows;
  }

  /**
   * Fetches the rows that are missing, out of date, or do not satisfy the query.
   * @param {Query} query
   * @param {readonly string[]} runs
   * @param {(run: string) => string} generationOf  its result changes whenever the run changes
   * @param {AbortSignal} signal  aborted when the card is zoomed or scrolled out of view
   * @param {() => void} onChange  called after each response
   * @returns {Promise<void>} rejects with the last error, after all requests have ended
   */
  async load(query, runs, generationOf, signal, onChange) {
    if (runs.length === 0) return;
    const rowsByRun = this.#use(query);
    const missing = runs.filter((run) => {
      const rows = this.get(query, run);
      return !rows || this.#requestGenerations.get(rows) !== generationOf(run) || !satisfies(rows, query);
    });
    /** @type {unknown} */
    let failure = null;
    const chunks = [];
    for (let i = 0; i < missing.length; i += RUNS_PER_REQUEST) chunks.push(missing.slice(i, i + RUNS_PER_REQUEST));
    await Promise.all(
      chunks.map(async (chunk) => {
        const generations = new Map(chunk.map((run) => [run, generationOf(run)]));
        try {
          const response = await this.#inTurn((ending) => this.#fetchRows(bodyOf(query, chunk, rowsByRun), ending), signal);
          this.#put(query, rowsByRun, generations, readColumns(response));
        } catch (error) {
          if (signal.aborted) return;
          failure = error;
        }
        onChange();
      }),
    );
    if (failure) throw failure;
  }

  /**
   * Stores the rows of a response, and removes the requested runs that it lacks.
   * @param {Query} query
   * @param {Map<string, Rows>} rowsByRun
   * @param {Map<string, string>} generations  of the requested runs
   * @param {ReturnType<typeof readColumns>} response
   */
  #put(query, rowsByRun, generations, { header, tables }) {
    const gone = new Set(generations.keys());
    header.runs.forEach((/** @type {any} */ entry, /** @type {number} */ index) => {
      gone.delete(entry.run);
      let rows = rowsByRun.get(entry.run);
      // Keep the finer rows if a smaller chart has requested the same lines.
      const hasFiner = rows && rows.generation === entry.generation && rows.weight === query.smoothing && rows.pixels > query.pixels;
      if (!rows || !(entry.unchanged || hasFiner)) {
        const { step, wall_time: wallTime, value, smoothed: smooth = null } = tables[index];
        rows = {
          generation: entry.generation,
          // Copies: a subarray would keep the whole response in memory.
          step: step.slice(),
          wallTime: wallTime.slice(),
          value: value.slice(),
          smoothed: smooth?.slice() ?? null,
          weight: query.smoothing,
          pixels: query.pixels,
          segments: entry.segments,
          startTime: entry.start_time ?? 0,
          ...{ numPoints: entry.num_points, numInside: entry.num_inside, numShown: entry.num_shown },
        };
        rowsByRun.set(entry.run, rows);
      }
      this.#requestGenerations.set(rows, generations.get(entry.run) ?? "");
    });
    for (const run of gone) rowsByRun.delete(run);
    this.#trim(rowsByRun);
  }

  /** The rows of a query by run, now the most recently used. @param {Query} query */
  #use(query) {
    const key = keyOf(query);
    const rowsByRun = this.#rows.get(key) ?? new Map();
    this.#rows.delete(key);
    this.#rows.set(key, rowsByRun);
    return rowsByRun;
  }

  /**
   * Evicts the least recently used rows above the limit.
   * @param {Map<string, Rows>} kept  never evicted
   */
  #trim(kept) {
    let numPoints = 0;
    for (const [key, rowsByRun] of [...this.#rows].reverse()) {
      for (const rows of rowsByRun.values()) numPoints += rows.value.length;
      if (numPoints > MAX_CACHED_POINTS && rowsByRun !== kept && !this.#retained.has(key)) this.#rows.delete(key);
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
 * @param {Query["scale"]} scale
 * @param {number} [margin]  how far beyond each edge rows were fetched, as a share of the view's
 *   width
 */
export function covers(fetched, needed, scale, margin = MARGIN) {
  if (!fetched || !needed) return !fetched;
  const [from, to, first, last] = [...fetched, ...needed].map(scale === "log" ? Math.log : Number);
  const more = (to - from) * margin;
  return first >= from - more && last <= to + more;
}

/**
 * Smooths each segment separately, because a restarted job starts over.
 * @param {Rows} rows
 * @param {number} weight
 */
function smoothSegments({ value, segments }, weight) {
  const result = new Float64Array(value.length);
  segments.forEach((from, part) => result.set(smoothed(value.subarray(from, segments[part + 1] ?? value.length), weight), from));
  return result;
}

/** @param {Rows} rows */
function isSmoothedInPage(rows) {
  return hasAllPoints(rows) && rows.numPoints <= MAX_POINTS_SMOOTHED_IN_PAGE;
}

/**
 * Whether the rows have the requested smoothing weight and enough points for the requested width.
 * @param {Rows} rows
 * @param {Query} query
 */
function satisfies(rows, { smoothing, pixels }) {
  return rows.weight === smoothing && (rows.pixels >= pixels || hasAllPoints(rows));
}

/**
 * The cache key of a query, without smoothing and width: a chart keeps its lines while these change.
 * @param {Query} query
 */
function keyOf({ tag, x, scale, view }) {
  return JSON.stringify([tag, x, scale, view]);
}

/**
 * The body of a request, with the generations of cached rows that may still be up to date.
 * @param {Query} query
 * @param {string[]} runs
 * @param {Map<string, Rows>} rowsByRun
 */
function bodyOf(query, runs, rowsByRun) {
  const { tag, x, scale, view, pixels, smoothing } = query;
  // Object.fromEntries, not assignment: a run may be called `__proto__`.
  const known = Object.fromEntries(
    runs.flatMap((run) => {
      const rows = rowsByRun.get(run);
      return rows && satisfies(rows, query) ? [[run, rows.generation]] : [];
    }),
  );
  const margin = view ? MARGIN : 0;
  return { tag, runs, x, scale, from: view?.[0] ?? null, to: view?.[1] ?? null, pixels, margin, smoothing, known };
}
