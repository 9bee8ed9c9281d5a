/**
 * What the queries of the run list find. The page asks the server about each query, and again after
 * each change of the data or of notes. Loaded when the filter first has the focus, or is more than plain words and globs.
 */

import { batch, effect, signal } from "@preact/signals-core";
import { plainFilter } from "../../lib/queries/filter.js";
import { offersFor } from "../../lib/queries/offers.js";
import { keepUpToDate } from "../../lib/requests.js";
import { changesWith } from "../../lib/queries/terms.js";
import { askAboutRuns, reasonOf } from "./run-attributes.js";

/** @import { Filter, Match } from "../../lib/queries/filter.js" */
/** @import { State } from "./reader-state.js" */

/** Time after which a query that depends on the time is asked again, in seconds. */
const AGE_SECONDS = 30;
const TIMED = changesWith("time");
const NOTED = changesWith("notes");

/**
 * Keeps the answer to the current query up to date for as long as the page is open. Until there is
 * one, a filter matches the runs that were matched before.
 * @param {Pick<State, "runQuery" | "allRuns" | "generations" | "now" | "status">} state
 * @returns {Match}
 */
export function keepAsking({ runQuery, allRuns, generations, now, status }) {
  /** The last answer, maybe to an earlier query. */
  const answer = signal(/** @type {Filter | null} */ (null));
  /** Why the server did not answer the last query; null if it did. */
  const failure = signal(/** @type {{ text: string, reason: string } | null} */ (null));
  /** What the last answer depends on. */
  let answered = "";
  /** The last answer, and the text and the runs that it is about: one that is the same changes nothing. */
  let last = { version: /** @type {string | undefined} */ (undefined), query: /** @type {any} */ (null), text: "", runs: /** @type {readonly string[]} */ ([]) };
  let numAnswers = 0;
  /** The text of the query that was sent last. */
  let asked = "";
  const ask = keepUpToDate(askOnce, { onError: (error) => void (failure.value = { text: asked, reason: reasonOf(error) }) });

  effect(() => {
    wanted();
    ask();
  });
  // The server reads the hyperparameters of all runs once, which may take longer than a query.
  if (wanted() === "") askAboutRuns({}).catch(() => {});

  return (text, _, before) => {
    const { value } = answer;
    if (value?.text === text) return value;
    const note = failure.value?.text === text ? `Cannot search: ${failure.value.reason}` : "Searching…";
    return { error: null, note, offers: [], numAnswers: 0, matches: before };
  };

  /** What the answer to the current query depends on; "" if the page needs none. */
  function wanted() {
    const text = runQuery.value;
    const time = TIMED.test(text) && Math.floor(now.value / AGE_SECONDS);
    const notes = NOTED.test(text) && status.value?.notes_generation;
    return plainFilter(text, "runs") ? "" : JSON.stringify([text, generations.value.all, time, notes]);
  }

  /** Asks, unless the last answer is the one that is wanted. */
  async function askOnce() {
    const next = wanted();
    if (next === "" || next === answered) return;
    const text = (asked = runQuery.value);
    // Without a query, it is the last one.
    const { query_version: version, query = last.query } = await askAboutRuns({ query: text, query_version: last.version });
    const { value: runs } = allRuns;
    batch(() => {
      if (query !== last.query || text !== last.text || runs !== last.runs) answer.value = { ...answerFrom(text, query, runs), numAnswers: ++numAnswers };
      failure.value = null;
    });
    last = { version, query, text, runs };
    answered = next;
  }
}

/**
 * @param {string} text
 * @param {{ error?: string | null, at?: number, count?: number, found?: string[], others?: string[], note: string, offers: NonNullable<Filter["offers"]> }} query
 *   from the server; of the names that the query finds and the `others`, it has the shorter list
 * @param {readonly string[]} runs  those of the page, archived ones too. A run that comes later is not found until the next answer
 */
function answerFrom(text, { error = null, at, count = 0, found, others, note, offers }, runs) {
  const excluded = new Set(others);
  const names = new Set(found ?? runs.filter((run) => !excluded.has(run)));
  const more = error !== null || count === 0 ? offersFor(text, error === null) : [];
  return { text, error, at, note, offers: [...offers, ...more], matches: (/** @type {string} */ name) => names.has(name) };
}
