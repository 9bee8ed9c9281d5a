/**
 * What the queries of the run list find, by the server's answers: one is asked for each query, and
 * again after each change. Loaded when the first query is more than plain words and globs.
 */

import { batch, effect, signal } from "@preact/signals-core";
import { plainFilter } from "../../lib/queries/filter.js";
import { offersFor } from "../../lib/queries/offers.js";
import { ServerError, address } from "./server.js";

/** @import { Filter, Match } from "../../lib/queries/filter.js" */
/** @import { State } from "./reader-state.js" */

/** Time from a failed request to the next attempt. */
const RETRY_DELAY_MS = 3000;
/** Time after which a query about ages is asked again, in seconds. */
const AGE_SECONDS = 30;

/**
 * Keeps the answer to the current query up to date for as long as the page is open. Until there is
 * one, a filter matches the runs that were matched before.
 * @param {Pick<State, "runQuery" | "generations" | "now">} state
 * @returns {Match}
 */
export function keepAsking({ runQuery, generations, now }) {
  /** The last answer, maybe to an earlier query. */
  const answer = signal(/** @type {Filter | null} */ (null));
  /** Why the server does not answer; null if it does. */
  const failure = signal(/** @type {string | null} */ (null));
  let isBusy = false;
  /** What the last answer depends on. */
  let answered = "";
  /** The last answer as text: one that is the same changes nothing. */
  let lastContent = "";
  let numAnswers = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  effect(() => {
    wanted();
    ask();
  });

  return (text, _, before) => {
    const { value } = answer;
    if (value?.text === text) return value;
    const note = failure.value === null ? "Searching…" : `Cannot search: ${failure.value}`;
    return { error: null, note, offers: [], numAnswers: 0, matches: before };
  };

  /** What the answer to the current query depends on; "" if the page needs none. */
  function wanted() {
    const text = runQuery.value;
    const changes = [generations.value.all, Math.floor(now.value / AGE_SECONDS)];
    return plainFilter(text, "runs") ? "" : JSON.stringify([text, ...changes]);
  }

  /** Asks until the answer is that to the current query, unless that is being done. */
  async function ask() {
    if (isBusy) return;
    isBusy = true;
    clearTimeout(timer);
    // The effect must not depend on what is read below.
    await null;
    try {
      for (let next = wanted(); next !== "" && next !== answered; next = wanted()) {
        await askOnce(runQuery.value);
        answered = next;
      }
    } catch (error) {
      failure.value = error instanceof ServerError ? error.message : "the server cannot be reached";
      timer = setTimeout(ask, RETRY_DELAY_MS);
    }
    isBusy = false;
  }

  /** @param {string} text */
  async function askOnce(text) {
    const response = await fetch(address("data/run_attributes"), { method: "POST", body: JSON.stringify({ query: text }) });
    if (!response.ok) throw await ServerError.from(response);
    const { query } = await response.json();
    const content = JSON.stringify([text, query]);
    batch(() => {
      if (content !== lastContent) answer.value = { ...answerFrom(text, query), numAnswers: ++numAnswers };
      failure.value = null;
    });
    lastContent = content;
  }
}

/**
 * @param {string} text
 * @param {{ error?: string | null, at?: number, count?: number, found?: string[], others?: string[], note: string, offers: NonNullable<Filter["offers"]> }} query
 *   from the server; of the names that the query finds and the `others`, it has the shorter list
 */
function answerFrom(text, { error = null, at, count = 0, found, others, note, offers }) {
  const names = new Set(found ?? others);
  const isMatch = found !== undefined;
  const more = error !== null || count === 0 ? offersFor(text, error === null) : [];
  return { text, error, at, note, offers: [...offers, ...more], matches: (/** @type {string} */ name) => names.has(name) === isMatch };
}
