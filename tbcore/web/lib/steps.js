/**
 * Places on a step control that several series share. Pure.
 *
 * A step may have been logged more than once, so a place is a step and how many were logged with it before: every single
 * item can be reached.
 */

/**
 * @typedef {object} Place
 * @property {number} step
 * @property {number} nth  of those that one series logged with this step, from 0
 */

/**
 * All places, in order.
 * @param {{ step: number[], count: number[] }} columns  the steps, rising, and how many of each there are
 * @returns {Place[]}
 */
export function expandPlaces({ step, count }) {
  return step.flatMap((one, i) => Array.from({ length: count[i] }, (_, nth) => ({ step: one, nth })));
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
