/**
 * Colours for the values of a metric, from the worst to the best. Pure functions.
 */

import { ranks } from "./importance.js";

/** @typedef {import("./types.js").Cell} Cell */

export const NUM_COLORS = 48;

/**
 * Stops of the ramp, each with lightness, chroma and hue. The best value has the strongest
 * contrast: dark on a light background, bright on a dark one. Lightness is monotonic, so that all
 * kinds of colour vision can distinguish values.
 * @type {Record<"light" | "dark", [l: number, c: number, h: number][]>}
 */
const STOPS = {
  light: [[0.88, 0.1, 100], [0.7, 0.12, 185], [0.52, 0.15, 250], [0.34, 0.17, 285]],
  dark: [[0.36, 0.09, 290], [0.5, 0.11, 240], [0.7, 0.13, 170], [0.93, 0.17, 103]],
};

/**
 * The colours of the ramp.
 * @param {"light" | "dark"} theme
 * @returns {string[]} CSS colours, the worst first
 */
export function rampOf(theme) {
  const stops = STOPS[theme];
  return Array.from({ length: NUM_COLORS }, (_, i) => {
    // The position on the ramp, between stops k and k + 1.
    const at = (i / (NUM_COLORS - 1)) * (stops.length - 1);
    const k = Math.min(stops.length - 2, Math.floor(at));
    const [l, c, h] = stops[k].map((part, j) => part + (at - k) * (stops[k + 1][j] - part));
    return `oklch(${l.toFixed(3)} ${c.toFixed(3)} ${h.toFixed(1)})`;
  });
}

/**
 * The grade of each value among all: 0 for the worst, 1 for the best. Grades depend on ranks, so
 * that one diverged run does not make all others look equal.
 * @param {readonly Cell[]} cells
 * @param {"min" | "max"} goal
 * @returns {ReadonlyMap<Cell, number>} value to grade; cells that are missing or not finite have
 *   none, and no value has one if all are equal
 */
export function gradesOf(cells, goal) {
  const numbers = cells.filter((cell) => Number.isFinite(cell)).map(Number);
  if (numbers.every((value) => value === numbers[0])) return new Map();
  const valueRanks = ranks(numbers);
  /** @type {Map<Cell, number>} */
  const grades = new Map();
  // Equal values share their mean rank, so the lowest and highest ranks are scaled to 0 and 1.
  const [low, high] = valueRanks.reduce(([a, b], rank) => [Math.min(a, rank), Math.max(b, rank)], [Infinity, -Infinity]);
  numbers.forEach((value, i) => {
    const share = (valueRanks[i] - low) / (high - low);
    grades.set(value, goal === "min" ? 1 - share : share);
  });
  return grades;
}
