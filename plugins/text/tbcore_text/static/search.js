/**
 * Search in all texts of the runs and tags that are shown. The server reads them from their files, for a second at a
 * time. After a few of these the reader says whether it goes on.
 */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "tbcore/lib/format.js";
import { Icon } from "tbcore/lib/icons.js";
import { post } from "tbcore/lib/post.js";
import { describePlace } from "tbcore/lib/step-slider.js";
import { formatPlaces, parsePlaces } from "tbcore/lib/steps.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/lib/steps.js").Place} Place
 * @typedef {Place & { before: string, match: string, after: string }} Match
 * @typedef {{ run: string, tag: string, matches: Match[] }} Found
 * @typedef {{ found: Found[], numRead: number, next: unknown, isBusy: boolean, error: string }} Results
 */

/** @type {Results} */
const NOTHING = { found: [], numRead: 0, next: null, isBusy: false, error: "" };
/** So many answers of the server in a row, until the reader says more. */
const IN_A_ROW = 10;
/** Series that are found, likewise. */
const ENOUGH = 100;
/** How long the reader pauses before it is asked. */
const PAUSE_MS = 350;

export class Search {
  /** What is searched, also to be marked in the texts; "" for nothing. */
  query = signal("");
  results = signal(NOTHING);
  #host;
  #leaving = new AbortController();
  /** @type {{ query: string, runs: string[], tags: string[] } | null} */ #question = null;

  /** @param {Host} host */
  constructor(host) {
    this.#host = host;
  }

  /** Searches from the start. @param {string} query */
  async start(query) {
    this.#leaving.abort();
    this.#leaving = new AbortController();
    const { signal: leaving } = this.#leaving;
    this.query.value = query;
    this.#question = null;
    this.results.value = query === "" ? NOTHING : { ...NOTHING, isBusy: true };
    if (query === "") return;
    await this.#try(leaving, async () => {
      const tags = await this.#host.fetchJSON("tags");
      const runs = this.#host.runs.value.map(({ name }) => name);
      const { matches } = this.#host.tagFilter.value;
      const shown = new Set(runs.flatMap((run) => tags[run] ?? []).filter(matches));
      this.#question = { query, runs, tags: [...shown] };
      await this.#ask(leaving);
    });
  }

  /** Goes on where the last answer stopped. */
  async more() {
    const { signal: leaving } = this.#leaving;
    this.results.value = { ...this.results.value, isBusy: true, error: "" };
    await this.#try(leaving, () => this.#ask(leaving));
  }

  /** @param {AbortSignal} leaving */
  async #ask(leaving) {
    for (let i = 1; i <= IN_A_ROW; i++) {
      const { found, numRead, next } = this.results.value;
      const response = await post(this.#host, "search", { ...this.#question, after: next }, leaving);
      const answer = await response.json();
      if (leaving.aborted) return;
      const isFull = answer.found.length > 0 && found.length + answer.found.length >= ENOUGH;
      const isBusy = answer.next !== null && i < IN_A_ROW && !isFull;
      this.results.value = { found: join(found, answer.found), numRead: numRead + answer.num_read, next: answer.next, isBusy, error: "" };
      if (!isBusy) return;
    }
  }

  /** @param {AbortSignal} leaving @param {() => Promise<void>} ask */
  async #try(leaving, ask) {
    try {
      await ask();
    } catch (failure) {
      if (leaving.aborted) return;
      this.results.value = { ...this.results.value, isBusy: false, error: /** @type {Error} */ (failure).message };
    }
  }
}

/**
 * What was found, and what was found after it: a series that was not finished goes on.
 * @param {Found[]} found
 * @param {Found[]} more
 */
export function join(found, more) {
  const last = found.at(-1);
  const [first, ...others] = more;
  if (!last || !first || last.run !== first.run || last.tag !== first.tag) return [...found, ...more];
  return [...found.slice(0, -1), { ...last, matches: [...last.matches, ...first.matches] }, ...others];
}

/** @param {{ search: Search }} props */
export function SearchBox({ search }) {
  const [text, setText] = useState(search.query.value);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false;
      return undefined;
    }
    const timer = setTimeout(() => search.start(text), text === "" ? 0 : PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<div class="tb-filter text-search" role="search">
    <${Icon} name="search" />
    <input
      class="tb-input"
      type="search"
      spellcheck="false"
      autocomplete="off"
      maxlength="1000"
      aria-label="Search in texts"
      placeholder="Search in texts"
      value=${text}
      onInput=${(/** @type {InputEvent} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
  </div>`;
}

/** @param {{ host: Host, search: Search }} props */
export function Results({ host, search }) {
  const { found, numRead, next, isBusy, error } = search.results.value;
  if (search.query.value === "") return null;
  const colors = new Map(host.runs.value.map(({ name, color }) => [name, color]));
  const where = `in ${plural(numRead, "text")}${next === null ? "" : " so far"}`;
  const summary = found.length === 0 ? `Nothing found ${where}` : `Found in ${plural(found.length, "series", "series")}, ${where}`;
  return html`<section class="text-found" aria-label="What was found">
    <p role="status">
      ${isBusy ? `Searching, ${plural(numRead, "text")} so far …` : summary}
      ${!isBusy &&
      next !== null &&
      html` <button type="button" class="tb-button" onClick=${() => search.more()}>Search on</button>`}
    </p>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    <ul>
      ${found.map(({ run, tag, matches }) =>
        matches.map(
          (match) => html`<li key=${`${run}/${tag}/${match.step}/${match.nth}`}>
            <button type="button" onClick=${() => goTo(host, tag, match)} onPointerEnter=${() => host.hoveredRun.set(run)} onPointerLeave=${() => host.hoveredRun.set(null)}>
              <span class="text-where"><i style=${{ background: colors.get(run) }}></i>${run} · ${tag} · ${describePlace(match)}</span>
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
  // It is in a group that is folded, or far down in a long one.
  host.settings.set("closed", null);
  host.tagFilter.set(`^${tag.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`);
}
