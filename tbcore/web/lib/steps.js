/**
 * The steps of a series, and places on a step control that several series share. Pure.
 *
 * A step may have been logged more than once, so a place is a step and how many were logged with it before: every single
 * item can be reached.
 */

import { toNumber } from "./format.js";

/**
 * @typedef {object} Place
 * @property {number} step
 * @property {number} nth  of those that one series logged with this step, from 0
 *
 * @typedef {object} StepItem  one item of a series
 * @property {number} step
 * @property {number} nth
 * @property {number} index  as the server counts
 * @property {number} wallTime  seconds since the epoch
 */

/**
 * The items of a series by step; those with the same step as they were logged.
 * @param {{ index: number[], step: (number | string)[], wall_time: (number | string | null)[] }} columns  as the server has
 *   them, in order of arrival
 * @returns {StepItem[]}
 */
export function orderSteps({ index, step, wall_time }) {
  const items = index.map((place, k) => ({ step: Number(step[k]), nth: 0, index: place, wallTime: toNumber(wall_time[k]) }));
  items.sort((a, b) => a.step - b.step || a.index - b.index);
  for (let k = 1; k < items.length; k++) if (items[k].step === items[k - 1].step) items[k].nth = items[k - 1].nth + 1;
  return items;
}

/**
 * All places that any of the series has, in order.
 * @param {Iterable<readonly Place[]>} series
 * @returns {Place[]}
 */
export function unitePlaces(series) {
  /** @type {Map<number, number>} step to how many one series has of it at most */
  const most = new Map();
  for (const places of series) {
    for (const { step, nth } of places) if (nth >= (most.get(step) ?? 0)) most.set(step, nth + 1);
  }
  const steps = [...most.keys()].sort((a, b) => a - b);
  return steps.flatMap((step) => Array.from({ length: most.get(step) ?? 0 }, (_, nth) => ({ step, nth })));
}

/**
 * Where the last of the ordered places is that does not come after `place`.
 * @param {readonly Place[]} places
 * @param {Place | null} place  null: the end
 * @returns {number} -1 when all come after it
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

/**
 * @param {Place} a
 * @param {Place} b
 */
export function comparePlaces(a, b) {
  return a.step - b.step || a.nth - b.nth;
}

/**
 * A place as text for the address: `40`, `40~1` for the second of step 40, `last` for the end.
 * @param {Place | null} place
 */
export function formatPlace(place) {
  if (!place) return "last";
  return place.nth > 0 ? `${place.step}~${place.nth}` : String(place.step);
}

/**
 * @param {string | undefined} text
 * @returns {Place | null} null: the end, also where the text is none of `formatPlace`
 */
export function parsePlace(text) {
  const found = /^(-?\d+(?:e\+?\d+)?)(?:~(\d+))?$/.exec(text ?? "");
  return found && { step: Number(found[1]), nth: Number(found[2] ?? 0) };
}

/**
 * Places by name as one text: `a:40,b:last`.
 * @param {ReadonlyMap<string, Place | null>} places
 * @returns {string | null} null when there are none
 */
export function formatPlaces(places) {
  return [...places].map(([name, place]) => `${name.replace(/[%,:]/g, encodeURIComponent)}:${formatPlace(place)}`).join(",") || null;
}

/**
 * @param {string | undefined} text
 * @returns {Map<string, Place | null>}
 */
export function parsePlaces(text) {
  /** @type {Map<string, Place | null>} */
  const places = new Map();
  for (const part of (text ?? "").split(",")) {
    const colon = part.lastIndexOf(":");
    if (colon < 0) continue;
    try {
      places.set(decodeURIComponent(part.slice(0, colon)), parsePlace(part.slice(colon + 1)));
    } catch {
      // a `%` that was typed by hand
    }
  }
  return places;
}
