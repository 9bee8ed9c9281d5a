/**
 * Colours of a metric's values, from the worst to the best. Pure.
 */

import { oklchToHex } from "tbcore/lib/colors.js";
import { ranks } from "./importance.js";

/** @typedef {import("./types.js").Cell} Cell */

export const NUM_COLORS = 48;

/**
 * The best is what stands out: dark on a light ground, bright on a dark one. Lightness alone orders them, so that they
 * can be told apart with any kind of colour vision. Each stop is lightness, chroma, hue.
 * @type {Record<"light" | "dark", [l: number, c: number, h: number][]>}
 */
const STOPS = {
  light: [[0.88, 0.1, 100], [0.7, 0.12, 185], [0.52, 0.15, 250], [0.34, 0.17, 285]],
  dark: [[0.36, 0.09, 290], [0.5, 0.11, 240], [0.7, 0.13, 170], [0.93, 0.17, 103]],
};

/**
 * @param {"light" | "dark"} theme
 * @returns {string[]} `#rrggbb`, the worst first
 */
export function rampOf(theme) {
  const stops = STOPS[theme];
  return Array.from({ length: NUM_COLORS }, (_, i) => {
    const at = (i / (NUM_COLORS - 1)) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(at));
    const [l, c, h] = stops[k].map((part, j) => part + (at - k) * (stops[k + 1][j] - part));
    return oklchToHex(l, c, h);
  });
}

/**
 * Where a value stands among all: 0 is the worst, 1 the best. By rank, so that one diverged run does not make all others
 * look equal.
 * @param {readonly Cell[]} cells  all that are compared
 * @param {"min" | "max"} goal
 * @returns {ReadonlyMap<Cell, number>} of each value; what is missing and NaN have no place, nor has one that is the same everywhere
 */
export function gradesOf(cells, goal) {
  const numbers = cells.filter((cell) => typeof cell === "number" && !Number.isNaN(cell)).map(Number);
  if (numbers.every((value) => value === numbers[0])) return new Map();
  const places = ranks(numbers);
  /** @type {Map<Cell, number>} */
  const grades = new Map();
  // Ranks of equal values are their mean, so that the ends are brought to 0 and 1 here.
  const [low, high] = places.reduce(([a, b], place) => [Math.min(a, place), Math.max(b, place)], [Infinity, -Infinity]);
  numbers.forEach((value, i) => {
    const share = (places[i] - low) / (high - low);
    grades.set(value, goal === "min" ? 1 - share : share);
  });
  return grades;
}
