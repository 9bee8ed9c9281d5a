/** What a chart's lines do, in a sentence for screen readers. Loaded when a chart gets the focus. Pure functions. */

import { formatDuration, formatStep, formatTime, formatValue, plural } from "../format.js";
import { valueAt } from "./axes.js";
import { lastIndex } from "./series.js";
import { shapeOf } from "./shapes.js";

/** @typedef {import("./types.js").Item} Item @typedef {import("./shapes.js").Shape} Shape */

/** Charts with more lines are summarized. */
const MAX_LINES = 3;
/** With more lines, only the ends are said: each line takes about half a millisecond. */
const MAX_JUDGED = 200;
/** Digits of typical values, which are not exact. */
const DIGITS = 3;
/** Positions of an axis in words. @type {Record<import("./types.js").XAxis, (x: number, title: string) => string>} */
const POSITIONS = { step: (x) => `step ${formatStep(x)}`, number: (x, title) => `${title} ${formatStep(x)}`, relative: formatDuration, wall_time: formatTime };

/**
 * The sentence with the last values of up to three lines; that of more lines has those that matter.
 * @param {Parameters<typeof sentenceOf>[0]} scene @param {string} values
 */
export function descriptionOf(scene, values) {
  const sentence = sentenceOf(scene);
  return [sentence, ...(sentence && scene.axisItems.length > MAX_LINES ? [] : [values])].filter(Boolean).join(". ");
}

/**
 * What the lines do in the visible part of the x axis: of up to three lines each by name, of more
 * how many rise, fall or have NaN, and which end highest and lowest.
 * @param {Pick<import("./types.js").Scene, "axisItems" | "x" | "y">} scene
 * @returns {string} "" without points
 */
export function sentenceOf({ axisItems: items, x, y }) {
  const toValue = (/** @type {number} */ at) => formatValue(valueAt(y, at), DIGITS);
  const [min, max] = x.range;
  const parts = items.map((item) => partOf(item, min, max, items.length <= MAX_JUDGED)).filter(({ rows }) => rows.length > 0);
  if (parts.length > MAX_LINES) return summaryOf(parts, x.kind, max);
  return parts
    .map((part) => {
      const at = (/** @type {number} */ row) => POSITIONS[x.kind](valueAt(x, part.item.xs[row]), x.title || "x");
      const text = wordsOf(part, at, toValue);
      return text && (parts.length > 1 ? `${part.item.name} ${text}` : text[0].toUpperCase() + text.slice(1));
    })
    .filter(Boolean)
    .join(". ");
}

/**
 * The visible rows of a line, or of the mean of a band. What it does is said without the rows that
 * were logged again after a restart; `bad` are all rows that are not finite, and `logged` all values.
 * @param {Item} item @param {number} min @param {number} max  in axis coordinates
 * @param {boolean} isJudged  whether to find out what it does
 */
function partOf(item, min, max, isJudged) {
  const { line, band, xs: whole, raw, ys } = item;
  const column = line ? (raw ?? ys) : ys;
  const logged = line?.value ?? band?.mean ?? [];
  const visible = [...whole.keys()].filter((row) => whole[row] >= min && whole[row] <= max);
  // A restart begins at a row that is not the first.
  const starts = Array.from(line?.segments ?? []).filter((start) => start > visible[0] && visible.includes(start));
  const rows = visible.filter((row) => !starts.some((start) => row < start && whole[row] >= whole[start]));
  const values = rows.map((row) => logged[row]);
  const xs = rows.map((row) => whole[row]);
  const shape = isJudged ? shapeOf(xs, rows.map((row) => column[row]), values) : shapeOf([], []);
  const bad = visible.filter((row) => !Number.isFinite(logged[row]));
  return { item, rows, xs, values, logged, shape, starts, bad, last: visible[visible.length - 1] };
}

/** @typedef {ReturnType<typeof partOf>} Part */

/**
 * One line in words.
 * @param {Part} part
 * @param {(row: number) => string} at  the position of a row of the line, in words
 * @param {(value: number) => string} toValue  a typical value in words
 */
function wordsOf(part, at, toValue) {
  const { rows, values, shape, starts } = part;
  const { trend, turn, levelFrom, isNoisy, spikes } = shape;
  const [from, to] = [toValue(shape.from), toValue(shape.to)];
  const finite = values.filter(Number.isFinite);
  const extremes = () => {
    const sorted = Float64Array.from(finite).sort();
    return sorted.length > 1 ? `between ${formatValue(sorted[0], DIGITS)} and ${formatValue(sorted[sorted.length - 1], DIGITS)}` : finite.length === 1 ? `one point, ${formatValue(finite[0], DIGITS)}` : "";
  };
  const trends = {
    rise: () => `rises from ${from} to ${to}`,
    fall: () => `falls from ${from} to ${to}`,
    valley: () => `falls from ${from} until about ${at(rows[turn])}, then rises to ${to}`,
    peak: () => `rises from ${from} until about ${at(rows[turn])}, then falls to ${to}`,
    level: () => `is level at ${to}`,
  };
  const first = [trend ? trends[trend]() : extremes(), levelFrom >= 0 && `level from about ${at(rows[levelFrom])} on`, isNoisy && "noisy"];
  const heightOf = (/** @type {number} */ row) => Math.abs(values[row] - values[row - 3]) || 0;
  const [spike] = [...spikes].sort((a, b) => heightOf(b) - heightOf(a));
  const others = [
    spikes.length === 1 && `spike to ${formatValue(values[spike], DIGITS)} at ${at(rows[spike])}`,
    spikes.length > 1 && `${spikes.length} spikes, the largest to ${formatValue(values[spike], DIGITS)} at ${at(rows[spike])}`,
    badWords(part, at),
    starts.length > 0 && `${starts.length === 1 ? "restarts" : `${starts.length} restarts, the last`} at ${at(starts[starts.length - 1])}`,
  ];
  return [first.filter(Boolean).join(", "), ...others].filter(Boolean).join("; ");
}

/** Values that are not finite, in words. @param {Part} part @param {(row: number) => string} at */
function badWords({ item, logged, bad, last: end }, at) {
  if (bad.length === 0) return "";
  const isNaNs = bad.map((row) => Number.isNaN(logged[row]));
  const what = isNaNs.every(Boolean) ? "NaN" : isNaNs.some(Boolean) ? "NaN or infinite" : "infinite";
  const [first, last] = [bad[0], bad[bad.length - 1]];
  if (!item.ys.some(Number.isFinite)) return `only ${what}`;
  if (bad.length === 1) return `${what} at ${at(first)}`;
  if (end === last && last - first === bad.length - 1) return `${what} from ${at(first)} on`;
  return `${what} at some points from ${at(first)} to ${at(last)}`;
}

/** Many lines in words. @param {readonly Part[]} parts @param {import("./types.js").XAxis} kind @param {number} max */
function summaryOf(parts, kind, max) {
  /** @type {[does: string, do_: string, test: (part: Part) => boolean][]} */
  const kinds = [
    ["rises", "rise", ({ shape }) => shape.trend === "rise"],
    ["falls", "fall", ({ shape }) => shape.trend === "fall"],
    ["falls and then rises", "fall and then rise", ({ shape }) => shape.trend === "valley"],
    ["rises and then falls", "rise and then fall", ({ shape }) => shape.trend === "peak"],
    ["is level", "are level", ({ shape }) => shape.trend === "level"],
    ["has spikes", "have spikes", ({ shape }) => shape.spikes.length > 0],
    ["has NaN or infinite values", "have NaN or infinite values", ({ bad }) => bad.length > 0],
    ["restarts", "restart", ({ starts }) => starts.length > 0],
  ];
  const counts = kinds.map(([does, do_, test]) => [parts.filter(test).length, does, do_]).filter(([count]) => count);
  const ends = parts.map(({ item, xs, values }) => ({ name: item.name, value: values[lastIndex(xs, max, kind)] })).filter(({ value }) => Number.isFinite(value));
  ends.sort((a, b) => a.value - b.value);
  const [lowest, highest] = [ends[0], ends[ends.length - 1]];
  const texts = counts.map(([count, does, do_]) => `${count} ${count === 1 ? does : do_}`).join(", ");
  const extremes = ends.length > 1 ? `. Highest at the end: ${highest.name} ${formatValue(highest.value, DIGITS)}, lowest: ${lowest.name} ${formatValue(lowest.value, DIGITS)}` : "";
  return `${plural(parts.length, "line")}${texts && `: ${texts}`}${extremes}`;
}
