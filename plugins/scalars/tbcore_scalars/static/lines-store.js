/**
 * The lines that were fetched. The server reduces each to what a chart's pixels can show, from all points; what comes
 * whole is never asked for again, however far somebody zooms in. What was fetched stays on the screen until newer rows
 * are there.
 */

import { readColumns } from "tbcore/lib/columns.js";
import { Queue } from "tbcore/lib/queue.js";
import { smoothed } from "tbcore/lib/smoothing.js";

/**
 * @typedef {import("./types.js").Question} Question
 * @typedef {import("./types.js").Rows} Rows
 */

/** Of a part of a chart so much is fetched beyond its edges, as a share of it: panning finds lines there. */
const MARGIN = 0.5;
/** Runs in one request: lines appear while others are on their way. */
const CHUNK = 100;
/** Requests at a time: a browser opens six connections, and the page needs one. */
const LIMIT = 5;
/** Points that are kept for cards that may come back; 24 bytes each. */
const KEPT_POINTS = 3_000_000;
/** Up to here the page smooths, as TensorBoard does; longer series are smoothed by the server, from all points. */
const SMOOTHED_HERE = 1000;

export class LinesStore {
  /** @type {Map<string, Map<string, Rows>>} question to run to rows, least recently used first */ #answers = new Map();
  /** @type {WeakMap<Rows, string>} the page's generation of their run when rows were asked for */ #seen = new WeakMap();
  /** @type {Map<string, number>} questions of charts on the screen, which are not forgotten */ #held = new Map();
  #queue = new Queue(LIMIT);
  #ask;

  /** @param {(body: object, signal: AbortSignal) => Promise<ArrayBuffer>} ask */
  constructor(ask) {
    this.#ask = ask;
  }

  /**
   * Keeps the answers of these questions.
   * @param {readonly Question[]} questions
   * @returns {() => void} lets them go
   */
  hold(questions) {
    const keys = questions.map(keyOf);
    for (const key of keys) this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
    return () => {
      for (const key of keys) {
        const count = (this.#held.get(key) ?? 1) - 1;
        if (count > 0) this.#held.set(key, count);
        else this.#held.delete(key);
      }
    };
  }

  /**
   * What is known of a run, however old.
   * @param {Question} question
   * @param {string} run
   * @returns {Rows | undefined}
   */
  get(question, run) {
    const rows = this.#answers.get(keyOf(question))?.get(run);
    if (rows && rows.weight !== question.smoothing && isSmoothedHere(rows)) {
      rows.smoothed = question.smoothing > 0 ? smoothedParts(rows, question.smoothing) : null;
      rows.weight = question.smoothing;
    }
    return rows;
  }

  /**
   * Fetches the runs that are missing, older than on the server, smoothed otherwise, or known for fewer pixels.
   * @param {Question} question
   * @param {readonly string[]} runs
   * @param {(run: string) => string} generationOf  changes whenever the run does
   * @param {AbortSignal} signal  ends the fetching: of a card that was scrolled away, or zoomed further
   * @param {() => void} onChange  called after each answer
   * @returns {Promise<void>} when nothing is missing any more
   * @throws what the last request that failed said; others are asked all the same
   */
  async load(question, runs, generationOf, signal, onChange) {
    if (runs.length === 0) return;
    const answers = this.#use(question);
    const wanted = runs.filter((run) => {
      const rows = this.get(question, run);
      return !rows || this.#seen.get(rows) !== generationOf(run) || !answersTo(rows, question);
    });
    /** @type {unknown} */
    let failure = null;
    const chunks = [];
    for (let i = 0; i < wanted.length; i += CHUNK) chunks.push(wanted.slice(i, i + CHUNK));
    await Promise.all(
      chunks.map(async (chunk) => {
        const generations = new Map(chunk.map((run) => [run, generationOf(run)]));
        try {
          const answer = await this.#queue.add((ending) => this.#ask(bodyOf(question, chunk, answers), ending), signal);
          this.#put(question, answers, chunk, generations, readColumns(answer));
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
   * @param {Question} question
   * @param {Map<string, Rows>} answers
   * @param {readonly string[]} runs
   * @param {Map<string, string>} generations
   * @param {{ header: any, tables: Record<string, Float64Array>[] }} answer
   */
  #put(question, answers, runs, generations, { header, tables }) {
    const gone = new Set(runs);
    header.runs.forEach((/** @type {any} */ entry, /** @type {number} */ index) => {
      gone.delete(entry.run);
      let rows = answers.get(entry.run);
      // A smaller chart of the same may have asked at the same time: what it got is less than is there.
      const isLess = rows && rows.generation === entry.generation && rows.weight === question.smoothing && rows.pixels > question.pixels;
      if (!rows || !(entry.unchanged || isLess)) {
        const { step, wall_time: wallTime, value, smoothed: line = null } = tables[index];
        rows = {
          generation: entry.generation,
          // Copies: a view keeps the whole answer, and with it the rows of all its runs.
          step: step.slice(),
          wallTime: wallTime.slice(),
          value: value.slice(),
          smoothed: line?.slice() ?? null,
          weight: question.smoothing,
          pixels: question.pixels,
          segments: entry.segments,
          startTime: entry.start_time ?? 0,
          numPoints: entry.num_points,
          numInside: entry.num_inside,
          numShown: entry.num_shown,
        };
        answers.set(entry.run, rows);
      }
      this.#seen.set(rows, generations.get(entry.run) ?? "");
    });
    for (const run of gone) answers.delete(run);
    this.#trim(answers);
  }

  /** @param {Question} question */
  #use(question) {
    const key = keyOf(question);
    const answers = this.#answers.get(key) ?? new Map();
    this.#answers.delete(key);
    this.#answers.set(key, answers);
    return answers;
  }

  /** @param {Map<string, Rows>} kept */
  #trim(kept) {
    let numPoints = 0;
    for (const [key, answers] of [...this.#answers].reverse()) {
      for (const rows of answers.values()) numPoints += rows.value.length;
      if (numPoints > KEPT_POINTS && answers !== kept && !this.#held.has(key)) this.#answers.delete(key);
    }
  }
}

/**
 * Whether zooming in would show nothing more.
 * @param {Rows} rows  of everything
 */
export function isWhole(rows) {
  return rows.value.length >= rows.numPoints;
}

/**
 * Whether what was fetched for a view is there for all of another.
 * @param {import("./types.js").View | null} fetched  null: everything
 * @param {import("./types.js").View | null} wanted
 * @param {Question["scale"]} scale
 * @param {number} [margin]  share of the view that was fetched beyond each of its edges
 */
export function covers(fetched, wanted, scale, margin = MARGIN) {
  if (!fetched || !wanted) return !fetched;
  const [from, to, first, last] = [...fetched, ...wanted].map(scale === "log" ? Math.log : Number);
  const more = (to - from) * margin;
  return first >= from - more && last <= to + more;
}

/**
 * Each segment by itself, for a restarted job begins anew.
 * @param {Rows} rows
 * @param {number} weight
 */
function smoothedParts({ value, segments }, weight) {
  const result = new Float64Array(value.length);
  segments.forEach((from, part) => result.set(smoothed(value.subarray(from, segments[part + 1] ?? value.length), weight), from));
  return result;
}

/** @param {Rows} rows */
function isSmoothedHere(rows) {
  return isWhole(rows) && rows.numPoints <= SMOOTHED_HERE;
}

/**
 * Whether the rows are smoothed as asked, and enough for so many pixels.
 * @param {Rows} rows
 * @param {Question} question
 */
function answersTo(rows, { smoothing, pixels }) {
  return rows.weight === smoothing && (rows.pixels >= pixels || isWhole(rows));
}

/**
 * Smoothing and pixels are not part of it: a slider that moves must not lose the lines it smooths, nor a chart that grows
 * those it has.
 * @param {Question} question
 */
function keyOf({ tag, x, scale, view }) {
  return JSON.stringify([tag, x, scale, view]);
}

/**
 * @param {Question} question
 * @param {string[]} runs
 * @param {Map<string, Rows>} answers
 */
function bodyOf(question, runs, answers) {
  const { tag, x, scale, view, pixels, smoothing } = question;
  // From entries: a run may be called `__proto__`.
  const known = Object.fromEntries(
    runs.flatMap((run) => {
      const rows = answers.get(run);
      return rows && answersTo(rows, question) ? [[run, rows.generation]] : [];
    }),
  );
  const margin = view ? MARGIN : 0;
  return { tag, runs, x, scale, from: view?.[0] ?? null, to: view?.[1] ?? null, pixels, margin, smoothing, known };
}
