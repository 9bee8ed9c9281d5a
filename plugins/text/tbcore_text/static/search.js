/**
 * Search in all texts of the selected runs and tags. The server reads texts from their files, for
 * about a second per request. After a few requests the search pauses until the user continues it.
 */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "tbcore/format.js";
import { post } from "tbcore/requests.js";
import { describePlace, formatPlaces, parsePlaces } from "tbcore/steps.js";
import { runTitle } from "tbcore/text-names.js";
import { FilterBox } from "tbcore/ui.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/steps.js").Place} Place
 * @typedef {Place & { before: string, match: string, after: string }} Match
 * @typedef {{ run: string, tag: string, matches: Match[] }} FoundSeries
 * @typedef {{ found: FoundSeries[], numRead: number, next: unknown, isBusy: boolean, error: string }} Results
 *   `next` is where the search continues; null at the end
 */

/** @type {Results} */
const NO_RESULTS = { found: [], numRead: 0, next: null, isBusy: false, error: "" };
/** Number of requests after which the search pauses. */
const MAX_REQUESTS_IN_A_ROW = 10;
/** Number of series with matches after which the search pauses. */
const PAUSE_AFTER_SERIES = 100;
/** How long after the last keystroke the search starts. */
const TYPING_DELAY_MS = 350;

export class Search {
  /** The text to search for, which is also highlighted in the cards; "" for no search. */
  query = signal("");
  results = signal(NO_RESULTS);
  #host;
  #controller = new AbortController();
  /** What each request asks for. @type {{ query: string, runs: string[], tags: string[] } | null} */ #request = null;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
  }

  /** Starts a new search. @param {string} query */
  async start(query) {
    this.#controller.abort();
    this.#controller = new AbortController();
    const { signal: abortSignal } = this.#controller;
    this.query.value = query;
    this.#request = null;
    this.results.value = query === "" ? NO_RESULTS : { ...NO_RESULTS, isBusy: true };
    if (query === "") return;
    await this.#reportErrors(abortSignal, async () => {
      /** @type {Record<string, string[]>} */
      const tags = await this.#host.fetchJSON("tags");
      const runs = this.#host.runs.value.map(({ name }) => name);
      const { matches } = this.#host.tagFilter.value;
      const shown = new Set(runs.flatMap((run) => (Object.hasOwn(tags, run) ? tags[run] : [])).filter(matches));
      this.#request = { query, runs, tags: [...shown] };
      await this.#search(abortSignal);
    });
  }

  /** Continues the search where it paused. */
  async more() {
    const { signal: abortSignal } = this.#controller;
    this.results.value = { ...this.results.value, isBusy: true, error: "" };
    await this.#reportErrors(abortSignal, () => this.#search(abortSignal));
  }

  /**
   * Sends requests until everything is searched or the search pauses.
   * @param {AbortSignal} abortSignal
   */
  async #search(abortSignal) {
    for (let i = 1; i <= MAX_REQUESTS_IN_A_ROW; i++) {
      const { found, numRead, next } = this.results.value;
      const response = await post(this.#host, "search", { ...this.#request, after: next }, abortSignal);
      const part = await response.json();
      if (abortSignal.aborted) return;
      const isFull = part.found.length > 0 && found.length + part.found.length >= PAUSE_AFTER_SERIES;
      const isBusy = part.next !== null && i < MAX_REQUESTS_IN_A_ROW && !isFull;
      this.results.value = { found: join(found, part.found), numRead: numRead + part.num_read, next: part.next, isBusy, error: "" };
      if (!isBusy) return;
    }
  }

  /**
   * Reports an error of the search in its results.
   * @param {AbortSignal} abortSignal
   * @param {() => Promise<void>} search
   */
  async #reportErrors(abortSignal, search) {
    try {
      await search();
    } catch (failure) {
      if (abortSignal.aborted) return;
      this.results.value = { ...this.results.value, isBusy: false, error: /** @type {Error} */ (failure).message };
    }
  }
}

/**
 * Appends newly found series. If the previous response ended within a series, the new matches of
 * this series are added to it.
 * @param {FoundSeries[]} found
 * @param {FoundSeries[]} more
 */
export function join(found, more) {
  const last = found.at(-1);
  const [first, ...rest] = more;
  if (!last || !first || last.run !== first.run || last.tag !== first.tag) return [...found, ...more];
  return [...found.slice(0, -1), { ...last, matches: [...last.matches, ...first.matches] }, ...rest];
}

/** The search box in the toolbar. @param {{ search: Search }} props */
export function SearchBox({ search }) {
  const [text, setText] = useState(search.query.value);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return undefined;
    }
    const timer = setTimeout(() => search.start(text), text === "" ? 0 : TYPING_DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<div class="tb-filter text-search" role="search">
    <${FilterBox} filter=${{ text, error: null }} onInput=${setText} label="Search texts" maxlength="1000" />
  </div>`;
}

/** The list of matches. @param {{ host: Host, search: Search }} props */
export function Results({ host, search }) {
  const { found, numRead, next, isBusy, error } = search.results.value;
  if (search.query.value === "") return null;
  const runOf = new Map(host.runs.value.map((run) => [run.name, run]));
  const extent = `${plural(numRead, "text")} searched${next === null ? "" : " so far"}`;
  const summary = found.length === 0 ? `No matches (${extent})` : `Matches in ${plural(found.length, "series", "series")} (${extent})`;
  return html`<section class="text-found" aria-label="Search results">
    <p role="status">
      ${isBusy ? `Searching … (${plural(numRead, "text")} so far)` : summary}
      ${!isBusy &&
      next !== null &&
      html` <button type="button" class="tb-button" onClick=${() => search.more()}>Continue searching</button>`}
    </p>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    <ul>
      ${found.map(({ run, tag, matches }) =>
        matches.map(
          (match) => html`<li key=${`${run}/${tag}/${match.step}/${match.nth}`}>
            <button type="button" onClick=${() => goTo(host, tag, match)} onPointerEnter=${() => host.hoveredRun.set(run)} onPointerLeave=${() => host.hoveredRun.set(null)}>
              <span class="text-where" title=${runTitle(runOf.get(run) ?? { name: run })}><i style=${{ background: runOf.get(run)?.color }}></i>${runOf.get(run)?.label ?? run} · ${tag} · ${describePlace(match)}</span>
              <span class="text-excerpt">${match.before && `…${match.before}`}<mark>${match.match}</mark>${match.after && `${match.after}…`}</span>
            </button>
          </li>`,
        ),
      )}
    </ul>
  </section>`;
}

/**
 * Shows the card of a tag at a step.
 * @param {Host} host
 * @param {string} tag
 * @param {Place} place
 */
function goTo(host, tag, { step, nth }) {
  const places = parsePlaces(host.settings.value.at);
  places.set(tag, { step, nth });
  host.settings.set("at", formatPlaces(places));
  const card = host.element.querySelector(`article[aria-label="${CSS.escape(tag)}"]`);
  if (card) {
    card.scrollIntoView({ block: "center" });
    return;
  }
  // The card is in a folded section, or in the part of a long section that is not drawn yet.
  host.settings.set("closed", null);
  const expression = tag.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll('"', '""');
  host.tagFilter.set(`re:"^${expression}$"`);
}
