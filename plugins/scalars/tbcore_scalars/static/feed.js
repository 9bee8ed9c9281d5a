/**
 * What a chart draws: the lines of some tags and runs, and the bands of groups of runs.
 */

import { readColumns } from "tbcore/lib/columns.js";
import { post } from "tbcore/lib/post.js";
import { xColumn } from "tbcore/lib/series.js";
import { covers, isWhole } from "./lines-store.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").Question} Question
 * @typedef {import("./types.js").RunGroup} RunGroup
 * @typedef {import("./types.js").Shown} Shown
 * @typedef {import("./types.js").ShownBands} ShownBands
 * @typedef {import("./types.js").View} View
 * @typedef {{ group: string, num_runs: number, num_inside: number, reduced: boolean }} GroupEntry  as the server has it
 */

/** Of several tags in one chart each has its own dashes, and is lighter than the one before: dense lines swallow dashes. */
export const DASHES = [undefined, [6, 3], [2, 3], [12, 4]];
const LIGHTER = [0, 0.4, 0.25, 0.55];
const SPREADS = { range: "minimum to maximum", deviation: "± standard deviation (n − 1)", quartiles: "quartiles" };
/** At least as many pixels are asked for: series of 1,000 points come whole. */
const LEAST_PIXELS = 500;

/**
 * The pixels that a chart asks for: in steps, so that charts whose size changes a little ask the same.
 * @param {number} width  device pixels
 */
export function pixelsFor(width) {
  return Math.max(LEAST_PIXELS, Math.ceil(width / 250) * 250);
}

/**
 * A view in few digits, as the address keeps it: nobody sees that a bound moved by a ten-thousandth of the chart.
 * @param {View | null} view
 * @returns {View | null}
 */
export function shortView(view) {
  if (!view) return null;
  const [from, to] = view;
  const digits = 5 + Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / (to - from)));
  return /** @type {View} */ (view.map((bound) => Number(bound.toPrecision(Math.min(15, digits)))));
}

/**
 * @param {string} tag
 * @param {Options} options
 * @param {View | null} view
 * @param {number} [pixels]  matters where rows are asked for, not where they are looked up
 * @returns {Question}
 */
export function questionOf(tag, options, view, pixels = 0) {
  return {
    tag,
    x: options.x === "wall_time" ? "wall" : options.x,
    scale: options.logX ? "log" : "linear",
    view,
    pixels,
    smoothing: options.smooth,
  };
}

/**
 * The runs of a tag by group, in the order of their first runs. A run that is alone in its group has a line, not a band.
 * @param {Part} part
 * @returns {{ groups: RunGroup[], single: Part }}
 */
export function groupsOf({ tag, runs }) {
  /** @type {Map<string, RunGroup>} */
  const groups = new Map();
  for (const run of runs) {
    const name = run.group ?? run.name;
    const group = groups.get(name);
    if (group) group.runs.push(run);
    else groups.set(name, { name, color: run.color, runs: [run] });
  }
  const all = [...groups.values()];
  return {
    groups: all.filter((group) => group.runs.length > 1),
    single: { tag, runs: all.flatMap((group) => (group.runs.length > 1 ? [] : group.runs)) },
  };
}

/**
 * The lines as far as they are known: of each run the first rows that there are for all of the view.
 * @param {import("./lines-store.js").LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {readonly (View | null)[]} views  first the one that is shown, then others whose rows may be there, the last null
 * @param {string | null} [members]  the group whose runs are drawn faintly: their mean is there
 * @returns {Shown}
 */
export function knownLines(store, parts, options, views, members = null) {
  /** @type {Shown} */
  const shown = { lines: [], numShown: 0, numInside: 0 };
  parts.forEach(({ tag, runs }, place) => {
    const questions = views
      .map((view) => questionOf(tag, options, view))
      .filter(({ view, scale }) => covers(view, views[0], scale));
    for (const { name, color, group } of runs) {
      const all = store.get(questions[questions.length - 1], name);
      if (!all) continue;
      const found = isWhole(all) ? all : (questions.map((question) => store.get(question, name)).find(Boolean) ?? all);
      const rows = found.value.length > 0 ? found : all; // a line that ends before the view is one all the same
      if (rows.value.length === 0) continue;
      const faint = members !== null && group === members;
      const numWhole = rows === all && isWhole(all) && views[0] ? countInside(rows, options.x, views[0]) : null;
      if (!faint) {
        shown.numShown += numWhole ?? found.numShown;
        shown.numInside += numWhole ?? found.numInside;
      }
      const { step, wallTime, value, smoothed, segments, startTime } = rows;
      shown.lines.push({
        key: JSON.stringify([name, tag]),
        name: nameOf(name, tag, parts),
        run: name,
        color: shadeOf(color, place),
        dash: DASHES[place % DASHES.length],
        faint,
        step,
        wallTime,
        value,
        smoothed,
        segments,
        startTime,
        overview: rows === all ? undefined : all,
      });
    }
  });
  return shown;
}

/**
 * Of several tags in one chart each line says which.
 * @param {string} name  of a run or a group
 * @param {string} tag
 * @param {readonly unknown[]} parts
 */
function nameOf(name, tag, parts) {
  return parts.length > 1 ? `${name} · ${tag}` : name;
}

/**
 * The colour of a run for one of several tags.
 * @param {string} color  `#rrggbb`
 * @param {number} place  of the tag
 */
export function shadeOf(color, place) {
  const share = LIGHTER[place % LIGHTER.length];
  if (share === 0 || !/^#[\da-f]{6}$/i.test(color)) return color;
  return color.replace(/[\da-f]{2}/gi, (part) => {
    const byte = parseInt(part, 16);
    return Math.round(byte + share * (255 - byte)).toString(16).padStart(2, "0");
  });
}

/**
 * @param {import("./types.js").Rows} rows
 * @param {import("./types.js").XAxis} xAxis
 * @param {View} view
 */
function countInside(rows, xAxis, [from, to]) {
  let count = 0;
  for (const x of xColumn(rows, xAxis, rows.startTime)) if (x >= from && x <= to) count++;
  return count;
}

/**
 * The group of a band that `loadBands` made.
 * @param {{ key?: string, name: string }} band
 * @returns {string}
 */
export function groupOf({ key, name }) {
  return key ? JSON.parse(key)[0] : name;
}

/**
 * Fetches what the view needs: everything first, then for longer series the rows of the view.
 * @param {import("./lines-store.js").LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {(run: string) => string} generationOf
 * @param {AbortSignal} signal
 * @param {() => void} onChange  called when more is known
 * @returns {Promise<void>} when all is; rejects with what the server said
 */
export async function loadLines(store, parts, options, view, pixels, generationOf, signal, onChange) {
  await Promise.all(
    parts.map(async ({ tag, runs }) => {
      const whole = questionOf(tag, options, null, pixels);
      const names = runs.map(({ name }) => name);
      await store.load(whole, names, generationOf, signal, onChange);
      if (!view || signal.aborted) return;
      const reduced = names.filter((name) => {
        const rows = store.get(whole, name);
        return rows && !isWhole(rows);
      });
      await store.load(questionOf(tag, options, view, pixels), reduced, generationOf, signal, onChange);
    }),
  );
}

/**
 * The bands of all groups of a chart.
 * @param {Host} host
 * @param {readonly { tag: string, groups: readonly RunGroup[] }[]} parts  the tags of the chart, in the order of their dashes
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {AbortSignal} signal
 * @returns {Promise<ShownBands>}
 */
export async function loadBands(host, parts, options, view, pixels, signal) {
  const found = await Promise.all(
    parts.map(async ({ tag, groups }, place) => {
      if (groups.length === 0) return [];
      const { view: _, ...question } = questionOf(tag, options, view, pixels);
      const runsOf = groups.map(({ name, runs }) => [name, runs.map((run) => run.name)]);
      const [from, to] = view ?? [null, null];
      const body = { ...question, from, to, spread: options.spread, groups: Object.fromEntries(runsOf) };
      const { header, tables } = readColumns(await (await post(host, "bands", body, signal)).arrayBuffer());
      return header.groups.map((/** @type {GroupEntry} */ entry, /** @type {number} */ index) => {
        const { name, color } = /** @type {RunGroup} */ (groups.find((group) => group.name === entry.group));
        const { x, mean, low, high, count, nonfinite } = tables[index];
        /** @type {import("tbcore/lib/chart-types.js").Band} */
        const band = {
          key: JSON.stringify([name, tag]),
          name: nameOf(name, tag, parts),
          color: shadeOf(color, place),
          dash: DASHES[place % DASHES.length],
          ...{ x, mean, low, high, count, nonfinite, numRuns: entry.num_runs, label: SPREADS[options.spread] },
        };
        return { band, numInside: entry.reduced ? entry.num_inside : 0 };
      });
    }),
  );
  const all = found.flat().filter(({ band }) => band.x.length > 0);
  const reduced = all.filter(({ numInside }) => numInside > 0);
  return {
    bands: all.map(({ band }) => band),
    numShown: reduced.reduce((sum, { band }) => sum + band.x.length, 0),
    numInside: reduced.reduce((sum, { numInside }) => sum + numInside, 0),
  };
}
