/**
 * Stable, distinguishable colours for the names of runs and groups. Pure functions, no DOM.
 *
 * A name has one of seven colours, which its hash selects: it depends on no other name, so runs that
 * come, go or are put away change nothing. Only of names that are in sight together, those whose
 * colour another one before them has, get an unused one of two dozen. If there are more, each
 * has one of twelve. Figures have the same: see tests/colors.json.
 */

import { byName } from "../address.js";

/**
 * Twelve colours in each theme, of the same hues in both.
 *
 * An optimiser started with the palette of Okabe and Ito, which is made for all kinds of colour
 * vision, and moved hues, lightness and chroma in OKLCH. All have a contrast of at least 3 to cards,
 * and any two a distance in OKLab of at least 0.085, and 0.06 as seen with protanopia, deuteranopia
 * or tritanopia (matrices of Machado, Oliveira and Fernandes, 2009); of the first seven, which few
 * lines have, at least 0.17, and 0.1 with protanopia or deuteranopia. With those below, any two differ
 * by at least 10 in CIEDE2000.
 */
const PALETTE = {
  light: "3852d1c651001689668e0d15770a8b229adcd85ea7b68d1b8d51a26642720c5942e83272",
  dark: "6082fcfd6b0738f1b6b4433e9c3cb172c4fcde76b2efbb289570a2bd59dd1b7b5dfd94ac",
};
/** Colours for both themes, which are used after the twelve. */
const MORE = "6c5c3479ab1a1c6e80b3867720acb353760e88a987fa695c979bc4875a658e875d11ae5b";
const NUM_OWN = 12;
const NUM_COLORS = 24;

/**
 * The colour of each name.
 * @param {readonly string[]} names
 * @param {"light" | "dark"} theme
 * @param {readonly string[]} [inSight]  the first NUM_COLORS of these have different colours; the
 *   earlier one keeps its own
 * @returns {Map<string, string>} name to `#rrggbb`
 */
export function colorsOf(names, theme, inSight = names) {
  const slots = slotsOf(inSight);
  const hexes = /** @type {string[]} */ ((PALETTE[theme] + MORE).match(/.{6}/g));
  return new Map(names.map((name) => [name, `#${hexes[slots.get(name) ?? hashOf(name) % NUM_OWN]}`]));
}

/**
 * The lines that have different colours, in natural order: the first that are not too many of the
 * lines of all runs, so that no change of the others shows; of those that would be shown if they were
 * neither gone nor put away; and of those that are.
 * @param {readonly (readonly string[])[]} lists  of runs: these three
 * @param {ReadonlyMap<string, string> | null} [groupOf]  whose groups are the lines
 */
export function linesInSight(lists, groupOf) {
  const lines = lists.map((runs) => new Set(groupOf ? runs.flatMap((run) => groupOf.get(run) ?? []) : runs));
  return byName(lines.find(({ size }) => size <= NUM_COLORS) ?? []);
}

/**
 * The slot of each name: its own of the first `count`, or the next one that no name before it has; if all are taken, the same
 * among those up to `end`, and then among the others. So another name moves few of those after it.
 * @param {readonly string[]} names @returns {Map<string, number>}
 */
export function slotsOf(names, count = 7, end = NUM_OWN) {
  const taken = new Set();
  return new Map(names.map((name) => {
    const own = hashOf(name);
    let slot = own % count;
    for (let k = 1; taken.size < NUM_COLORS && taken.has(slot); k++) slot = k < count ? (own + k) % count : k < end ? count + ((own + k) % (end - count)) : end + ((own + k) % (NUM_COLORS - end));
    taken.add(slot);
    return [name, slot];
  }));
}

/** A hash below 65,521. Names that end in consecutive digits mostly have consecutive ones. @param {string} text */
function hashOf(text) {
  return [...text].reduce((hash, char) => (31 * hash + /** @type {number} */ (char.codePointAt(0))) % 65521, 0);
}

/**
 * The CSS background of a line's sample in a legend.
 * @param {string} color
 * @param {readonly number[]} [dash]  pixels on, pixels off
 */
export function lineSample(color, dash) {
  if (!dash) return color;
  return `repeating-linear-gradient(90deg, ${color} 0 ${dash[0]}px, transparent ${dash[0]}px ${dash[0] + dash[1]}px)`;
}
