/**
 * Places, which are the positions of a step slider, and the slider itself.
 *
 * One series may log the same step more than once. A place is therefore a step and an index among
 * the items logged with that step, so that every item can be reached.
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatStep } from "../format.js";
import { post, useRefetch } from "../requests.js";
import { IconButton } from "../ui/controls.js";

/** @typedef {import("../../host.js").Host} Host */
/** `nth` is the index among the items of the step, from 0. @typedef {{ step: number, nth: number }} Place */

/** How long each step is shown while the steps are played. */
const PLAY_MS = 500;

/**
 * The index of the last place that is not after `place`; -1 if all places are after it.
 * @param {readonly Place[]} places  in order
 * @param {Place | null} place  null for the latest
 */
export function findPlace(places, place) {
  if (!place) return places.length - 1;
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (comparePlaces(places[middle], place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Compares places, for sorting. @param {Place} a @param {Place} b */
export function comparePlaces(a, b) {
  return a.step - b.step || a.nth - b.nth;
}

/** Formats a place for the URL: `40`, `40~1` for the second item of step 40, or `last` for null. @param {Place | null} place */
export function formatPlace(place) {
  if (!place) return "last";
  return place.nth > 0 ? `${place.step}~${place.nth}` : String(place.step);
}

/**
 * Parses a place from the URL. Also returns null, which is the latest place, for an invalid text.
 * @param {string | undefined} text
 * @returns {Place | null}
 */
export function parsePlace(text) {
  const match = /^(-?\d+(?:e\+?\d+)?)(?:~(\d+))?$/.exec(text ?? "");
  return match && { step: Number(match[1]), nth: Number(match[2] ?? 0) };
}

/**
 * Formats a map of names (tags) to places for the URL: `a:40,b:last`.
 * @param {ReadonlyMap<string, Place | null>} places
 * @returns {string | null} null if there are none
 */
export function formatPlaces(places) {
  return [...places].map(([name, place]) => `${name.replace(/[%,:]/g, encodeURIComponent)}:${formatPlace(place)}`).join(",") || null;
}

/** Parses a map of names to places from the URL. Invalid entries are skipped. @param {string | undefined} text */
export function parsePlaces(text) {
  const places = /** @type {Map<string, Place | null>} */ (new Map());
  for (const part of (text ?? "").split(",")) {
    const colon = part.lastIndexOf(":");
    if (colon < 0) continue;
    try {
      places.set(decodeURIComponent(part.slice(0, colon)), parsePlace(part.slice(colon + 1)));
    } catch {
      // a stray `%`, typed by hand
    }
  }
  return places;
}

/**
 * Preact hook: the place that a tab shows, which is at the step of all tabs, and a function that moves
 * them all. Of several items at the step, the setting `nth` has the place. Links of before have the
 * place in the setting `step`; it counts until the step of all tabs is known.
 * @param {Host} host
 * @returns {[place: Place | null, onMove: (place: Place | null) => void]} null for the latest
 */
export function useSharedPlace(host) {
  const step = host.step.value;
  const { step: before, nth } = host.settings.value;
  const own = parsePlace(step === null ? before : nth);
  const place = step === null || own?.step === step ? own : { step, nth: 0 };
  /** @param {Place | null} next */
  const onMove = (next) => {
    host.step.set(next && next.step);
    host.settings.set("nth", next && next.nth > 0 ? formatPlace(next) : null);
    host.settings.set("step", null);
  };
  useEffect(() => {
    if (before) onMove(place);
  }, [before]);
  return [place, onMove];
}

/**
 * A slider over places, with buttons for the previous and next step. The value null is the latest
 * place, including ones logged later. The label is the accessible name. With `plays`, a button shows one step
 * after the other, up to the last one.
 * @param {{ places: readonly Place[], value: Place | null, onChange: (value: Place | null) => void, label: string, plays?: boolean }} props
 */
export function StepSlider({ places, value, onChange, label, plays = false }) {
  const last = places.length - 1;
  const at = Math.max(0, findPlace(places, value));
  const shown = value ?? places[last];
  const text = shown ? describePlace(shown) : "";
  const go = (/** @type {number} */ next) => onChange(stepTo(places, next, value));
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (at >= last) return setPlaying(false);
    const timer = setTimeout(go, PLAY_MS, at + 1);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);
  const onPlay = () => {
    if (!isPlaying && at >= last) go(0);
    setPlaying(!isPlaying);
  };
  return html`<div class="tb-steps">
    ${plays && html`<${IconButton} icon=${isPlaying ? "pause" : "play"} label="${isPlaying ? "Pause" : "Play"}: ${label}" title=${isPlaying ? "Pause" : "Play the steps"} onClick=${onPlay} />`}
    <${IconButton} icon="previous" label="Previous step: ${label}" title="Previous step" disabled=${at <= 0} onClick=${() => go(at - 1)} />
    <input
      type="range"
      min="0"
      max=${Math.max(0, last)}
      step="1"
      value=${at}
      disabled=${last < 1}
      aria-label=${label}
      aria-valuetext="${text}, ${at + 1} of ${last + 1}"
      onInput=${(/** @type {InputEvent} */ event) => onChange(stepTo(places, Number(/** @type {HTMLInputElement} */ (event.currentTarget).value)))}
    />
    <${IconButton} icon="chevron" label="Next step: ${label}" title="Next step" disabled=${at >= last} onClick=${() => go(at + 1)} />
    <output title=${value ? `${at + 1} of ${last + 1}` : "The latest step; follows new steps"}>
      ${text}${!value && html`<small>latest</small>`}
    </output>
  </div>`;
}

/**
 * The place at an index, which may be out of range. The last index and any after it are null: the
 * latest place, including ones logged later. From a place, they are the last place that there is now.
 * @param {readonly Place[]} places
 * @param {number} index
 * @param {Place | null} [from]  the place before the move
 */
export function stepTo(places, index, from) {
  const last = places.length - 1;
  return index >= last && !from ? null : places[Math.max(0, Math.min(last, index))];
}

/** A place in words: `step 40`, or `step 40 (2)` for the second item of step 40. @param {Place} place */
export function describePlace({ step, nth }) {
  return `step ${formatStep(step)}${nth > 0 ? ` (${nth + 1})` : ""}`;
}

/**
 * Preact hook: the places, which are fetched at once, and again whenever one of the runs changes.
 * Errors are ignored, because the cards show them.
 * @param {Host} host  its plugin must have the route `steps` of `tbcore.media`
 * @param {readonly { name: string }[]} runs  the same array as long as the runs are the same
 * @param {readonly string[]} tags  the same array as long as the tags are the same
 * @param {boolean} isEnabled  whether to send requests; false for cards that are far out of view
 * @returns {Place[]} empty until they are loaded
 */
export function usePlaces(host, runs, tags, isEnabled) {
  const [places, setPlaces] = useState(/** @type {Place[]} */ ([]));
  const lastText = useRef("");
  const generations = host.generations.value;
  const generation = runs.map(({ name }) => generations.of(name)).join();
  /** @param {AbortSignal} signal */
  const load = async (signal) => {
    const response = await post(host, "steps", { runs: runs.map(({ name }) => name), tags }, signal);
    const text = await response.text();
    if (text === lastText.current) return;
    lastText.current = text;
    // Steps in ascending order, and the maximum number of items that one series logged at each.
    /** @type {{ step: number[], count: number[] }} */
    const { step: steps, count } = JSON.parse(text);
    setPlaces(steps.flatMap((step, i) => Array.from({ length: count[i] }, (_, nth) => ({ step, nth }))));
  };
  useRefetch(isEnabled ? (signal) => load(signal).catch(() => {}) : null, [runs, tags], generation);
  return places;
}
