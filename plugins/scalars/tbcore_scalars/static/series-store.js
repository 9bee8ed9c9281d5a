/**
 * The series that were fetched, and the fetching of more. A series is asked for again only when its run has changed on
 * the server; what was fetched stays on the screen until the new answer is there.
 */

import { toNumber } from "tbcore/lib/format.js";
import { Queue } from "tbcore/lib/queue.js";

/**
 * @typedef {import("tbcore/lib/series.js").Columns} Columns
 *
 * @typedef {object} Entry
 * @property {Columns | null} columns  null: none yet, or the server has no such series any more
 * @property {string} generation  of the run, when it was asked for
 * @property {string | null} error
 */

/** Requests at a time: as many as a browser opens connections. */
const LIMIT = 6;
/** Points that are kept beyond those on the screen; 24 bytes each. */
const KEPT_POINTS = 4_000_000;

export class SeriesStore {
  /** @type {Map<string, Entry>} oldest first */ #entries = new Map();
  #queue = new Queue(LIMIT);
  #numPoints = 0;
  #fetchRows;

  /** @param {(run: string, tag: string, signal: AbortSignal) => Promise<Columns | null>} fetchRows */
  constructor(fetchRows) {
    this.#fetchRows = fetchRows;
  }

  /**
   * What is known of a series, however old.
   * @param {string} run
   * @param {string} tag
   * @returns {Entry | undefined}
   */
  get(run, tag) {
    return this.#entries.get(keyOf(run, tag));
  }

  /**
   * Fetches those of the series that are missing or older than their run.
   * @param {string} tag
   * @param {readonly string[]} runs
   * @param {(run: string) => string} generationOf
   * @param {AbortSignal} signal  ends the fetching: of a card that was scrolled away, or closed
   * @param {() => void} onChange  called after each series that arrived
   * @returns {Promise<void>} when none is missing any more
   */
  async load(tag, runs, generationOf, signal, onChange) {
    await Promise.all(
      runs.map(async (run) => {
        const generation = generationOf(run);
        if (this.get(run, tag)?.generation === generation) return;
        try {
          const columns = await this.#queue.add((ending) => this.#fetchRows(run, tag, ending), signal);
          this.#put(run, tag, { columns, generation, error: null });
        } catch (error) {
          if (signal.aborted) return;
          // Without a generation: asked for again with the next reload, while the old columns stay.
          const columns = this.get(run, tag)?.columns ?? null;
          this.#put(run, tag, { columns, generation: "", error: error instanceof Error ? error.message : String(error) });
        }
        onChange();
      }),
    );
  }

  /**
   * @param {string} run
   * @param {string} tag
   * @param {Entry} entry
   */
  #put(run, tag, entry) {
    const key = keyOf(run, tag);
    this.#drop(key);
    this.#entries.set(key, entry);
    this.#numPoints += entry.columns?.value.length ?? 0;
    for (const oldest of this.#entries.keys()) {
      if (this.#numPoints <= KEPT_POINTS || oldest === key) break;
      this.#drop(oldest); // charts hold on to the columns they draw
    }
  }

  /** @param {string} key */
  #drop(key) {
    this.#numPoints -= this.#entries.get(key)?.columns?.value.length ?? 0;
    this.#entries.delete(key);
  }
}

/**
 * The server's rows as columns.
 * @param {readonly [number | string, number, number | string][]} rows  wall time, step and value
 * @returns {Columns}
 */
export function columnsOf(rows) {
  const step = new Float64Array(rows.length);
  const wallTime = new Float64Array(rows.length);
  const value = new Float64Array(rows.length);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    wallTime[i] = toNumber(row[0]);
    step[i] = row[1];
    value[i] = toNumber(row[2]);
  }
  return { step, wallTime, value };
}

/**
 * @param {string} run
 * @param {string} tag
 */
function keyOf(run, tag) {
  return `${run}\n${tag}`;
}
