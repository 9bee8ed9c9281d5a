// What a line is said to do: claims about 2,000 series whose truth is known.

import assert from "node:assert/strict";
import { test } from "node:test";
import { shapeOf } from "../../../tbcore/web/lib/chart/shapes.js";
import { generator } from "./tools.mjs";

const NUM_SERIES = 2000;

/**
 * A series and its truth.
 * @typedef {object} Series
 * @property {string} kind
 * @property {Float64Array} xs
 * @property {Float64Array} ys
 * @property {Float64Array} truth  without noise, spikes and NaN
 * @property {number} noise  its standard deviation
 * @property {Set<number>} spikes  rows
 * @property {number[]} nonFinite  rows
 */

/** Curves from 0 to 1, by the share of the way. The factor says how quick they are. @type {Record<string, (t: number, factor: number) => number>} */
const CURVES = {
  rise: (t, factor) => t ** (0.4 + factor),
  fall: (t, factor) => 1 - t ** (0.4 + factor),
  decay: (t, factor) => Math.exp(-t * (2 + 18 * factor)),
  saturation: (t, factor) => 1 - Math.exp(-t * (2 + 18 * factor)),
  late: (t, factor) => 1 / (1 + Math.exp(-(t - 0.3 - 0.5 * factor) * 30)),
  valley: (t, factor) => ((t - 0.3 - 0.4 * factor) / 0.7) ** 2,
  peak: (t, factor) => 1 - ((t - 0.3 - 0.4 * factor) / 0.7) ** 2,
  drop: (t, factor) => Number(t < 0.2 + 0.6 * factor),
  wave: (t, factor) => 0.5 + 0.5 * Math.sin(2 * Math.PI * (1 + 4 * factor) * t),
  constant: () => 0,
};

/** A random series. @param {() => number} random @param {number} number @returns {Series} */
function makeSeries(random, number) {
  const pick = (/** @type {any[]} */ list) => list[Math.floor(random() * list.length)];
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const kind = number % 12 === 0 ? "walk" : pick(Object.keys(CURVES));
  const n = Math.floor(20 * 100 ** random());
  const factor = random();
  const [size, offset] = [10 ** (4 * random() - 2), pick([0, 1, -3, 100])];
  const curve = CURVES[kind];
  let at = 0;
  const truth = Float64Array.from({ length: n }, (_, i) => offset + size * (curve ? curve(i / (n - 1), factor) : (at += normal() / Math.sqrt(n))));
  const level = curve ? pick([0, 0.003, 0.02, 0.05, 0.1, 0.3, 1]) * size : 0;
  const alike = pick([0, 0, 0.6]);
  const isHeavy = random() < 0.15;
  let last = 0;
  const ys = truth.map((value) => {
    // Now and then a value that is far from all others, as in gradients.
    last = alike * last + Math.sqrt(1 - alike ** 2) * normal() * (isHeavy && random() < 0.03 ? 4 : 1);
    return value + level * last;
  });
  const spikes = new Set();
  if (random() < 0.3) {
    const count = 1 + Math.floor(2 * random());
    for (let i = 0; i < count; i++) {
      const row = Math.floor(random() * n);
      ys[row] = truth[row] + pick([1, 1, -1]) * (size + 3 * level) * (0.5 + 5 * random());
      spikes.add(row);
    }
  }
  const bad = random();
  const first = Math.floor(n * (0.5 + 0.5 * random()));
  const value = pick([NaN, NaN, Infinity]);
  if (bad < 0.1) ys.fill(value, first);
  else if (bad < 0.2) for (let i = 0; i < 4; i++) ys[Math.floor(random() * n)] = value;
  const xs = Float64Array.from(ys, (_, i) => 10 * i);
  // A restart goes back and takes the same way again.
  if (random() < 0.1) for (let i = first; i < n; i++) xs[i] -= 50;
  const nonFinite = [...ys.keys()].filter((row) => !Number.isFinite(ys[row]));
  return { kind, xs, ys, truth, noise: isHeavy ? 1.2 * level : level, spikes, nonFinite };
}

/** The largest minus the smallest. @param {ArrayLike<number>} values */
function range(values) {
  const list = Array.from(values).filter(Number.isFinite);
  return Math.max(...list) - Math.min(...list);
}

/** How far the values go against a direction, at most. @param {ArrayLike<number>} values @param {number} sign */
function reversal(values, sign) {
  let furthest = -Infinity;
  let back = 0;
  for (const value of Array.from(values)) {
    furthest = Math.max(furthest, sign * value);
    back = Math.max(back, furthest - sign * value);
  }
  return back;
}

/** Whether values go one way, by at least 15 % of the height, and at most a quarter of it back. @param {Float64Array} part @param {number} sign @param {number} height */
function goes(part, sign, height) {
  const total = sign * (part[part.length - 1] - part[0]);
  return total >= 0.15 * height && reversal(part, sign) <= 0.25 * total;
}

/**
 * The claims about a series, and whether each is true.
 * @param {Series} series @param {import("../../../tbcore/web/lib/chart/shapes.js").Shape} shape
 * @returns {[claim: string, isTrue: boolean][]}
 */
function judge({ ys, truth, noise, spikes, nonFinite }, shape) {
  const rows = [...ys.keys()].filter((row) => Number.isFinite(ys[row]));
  if (rows.length === 0) return [];
  const height = range(ys);
  const curve = Float64Array.from(rows, (row) => truth[row]);
  const [first, last] = [curve[0], curve[curve.length - 1]];
  /** @type {[string, boolean][]} */
  const claims = [];
  const { trend, turn, levelFrom } = shape;
  if (trend === "rise" || trend === "fall") claims.push([trend, goes(curve, trend === "rise" ? 1 : -1, height)]);
  if (trend === "level") claims.push([trend, range(curve) <= 0.12 * height || height === 0]);
  if (trend === "valley" || trend === "peak") {
    const sign = trend === "valley" ? -1 : 1;
    const at = rows.indexOf(turn);
    const extreme = sign * Math.max(...curve.map((value) => sign * value));
    claims.push([trend, Math.abs(truth[turn] - extreme) <= 0.1 * height && goes(curve.slice(0, at + 1), sign, height) && goes(curve.slice(at), -sign, height)]);
  }
  if (trend) claims.push(["from", Math.abs(shape.from - first) <= 0.1 * height + 4 * noise || spikes.has(rows[0])]);
  if (trend) claims.push(["to", Math.abs(shape.to - last) <= 0.1 * height + 4 * noise || spikes.has(rows[rows.length - 1])]);
  if (levelFrom >= 0) claims.push(["level from", range(truth.slice(levelFrom, rows[rows.length - 1] + 1)) <= 0.12 * height]);
  if (shape.isNoisy) claims.push(["noisy", noise >= 0.05 * height]);
  for (const row of shape.spikes) claims.push(["spike", spikes.has(row) || Math.abs(ys[row] - truth[row]) >= Math.max(6 * noise, 0.1 * height)]);
  if (nonFinite.length > 0 || shape.nonFinite.length > 0) claims.push(["not finite", String(shape.nonFinite) === String(nonFinite)]);
  return claims;
}

test("99 of 100 claims about 2,000 series are true, and what is clear is claimed", () => {
  const random = generator(41);
  /** @type {Map<string, { right: number, wrong: string[] }>} */
  const counts = new Map();
  let numClear = 0;
  let numClaimed = 0;
  for (let number = 0; number < NUM_SERIES; number++) {
    const series = makeSeries(random, number);
    const shape = shapeOf(series.xs, series.ys);
    for (const [claim, isTrue] of judge(series, shape)) {
      const count = counts.get(claim) ?? { right: 0, wrong: [] };
      counts.set(claim, count);
      if (isTrue) count.right++;
      else count.wrong.push(`${number} ${series.kind} n=${series.ys.length} noise=${(series.noise / range(series.ys)).toFixed(3)} spikes=${series.spikes.size} claimed ${shape.trend} at ${shape.turn}, level ${shape.levelFrom}, spikes ${shape.spikes}`);
    }
    const isClear = ["rise", "fall", "decay", "saturation", "valley", "peak", "constant"].includes(series.kind) && series.noise <= 0.03 * range(series.truth) && series.spikes.size + series.nonFinite.length === 0;
    numClear += Number(isClear);
    numClaimed += Number(isClear && shape.trend !== null);
  }
  const [right, wrong] = [...counts.values()].reduce(([rights, wrongs], { right, wrong }) => [rights + right, wrongs + wrong.length], [0, 0]);
  assert.deepEqual([...counts.keys()].sort(), ["fall", "from", "level", "level from", "noisy", "not finite", "peak", "rise", "spike", "to", "valley"]);
  for (const [claim, { right, wrong }] of counts) assert.ok(right > 30 && wrong.length <= 0.03 * right, `${claim}: ${right} true; false: ${wrong.join("\n")}`);
  assert.ok(right > 3000 && wrong <= 0.01 * right, `${right} true, ${wrong} false`);
  assert.ok(numClear > 200 && numClaimed >= 0.85 * numClear, `${numClaimed} of ${numClear}`);
});
