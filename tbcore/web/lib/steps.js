/**
 * Places: the positions of a step slider, which several series may share. Pure functions, no DOM.
 *
 * One series may log the same step more than once. A place is therefore a step and an index among
 * the items logged with that step, so that every item can be reached.
 */

/**
 * @typedef {object} Place
 * @property {number} step
 * @property {number} nth  index among the items that a series logged with this step, from 0
 */

/**
 * All places, in order.
 * @param {{ step: number[], count: number[] }} columns  the steps in ascending order, and for each
 *   step the maximum number of items that one series logged with it
 * @returns {Place[]}
 */
export function expandPlaces({ step, count }) {
  return step.flatMap((value, i) => Array.from({ length: count[i] }, (_, nth) => ({ step: value, nth })));
}

/**
 * The index of the last place that is not after `place`.
 * @param {readonly Place[]} places  in order
 * @param {Place | null} place  null for the latest
 * @returns {number} -1 if all places are after `place`
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
 * Compares places, for sorting.
 * @param {Place} a
 * @param {Place} b
 */
export function comparePlaces(a, b) {
  return a.step - b.step || a.nth - b.nth;
}

/**
 * Formats a place for the URL: `40`, `40~1` for the second item of step 40, or `last` for the
 * latest (null).
 * @param {Place | null} place
 */
export function formatPlace(place) {
  if (!place) return "last";
  return place.nth > 0 ? `${place.step}~${place.nth}` : String(place.step);
}

/**
 * Parses a place from the URL; the inverse of `formatPlace`.
 * @param {string | undefined} text
 * @returns {Place | null} null for the latest; also if the text is not valid
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

/**
 * Parses a map of names to places from the URL; the inverse of `formatPlaces`. Invalid entries are
 * skipped.
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
      // a stray `%`, typed by hand
    }
  }
  return places;
}
