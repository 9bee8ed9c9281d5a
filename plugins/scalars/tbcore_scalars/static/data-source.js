/**
 * The data that a chart draws: lines of tags and runs, and bands of run groups.
 */

import { readColumns } from "tbcore/lib/columns.js";
import { post } from "tbcore/lib/post.js";
import { xColumn } from "tbcore/lib/series.js";
import { covers, hasAllPoints } from "./lines-store.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").Query} Query
 * @typedef {import("./types.js").RunGroup} RunGroup
 * @typedef {import("./types.js").ShownLines} ShownLines
 * @typedef {import("./types.js").ShownBands} ShownBands
 * @typedef {import("./types.js").View} View
 * @typedef {{ group: string, num_runs: number, num_inside: number, reduced: boolean }} GroupEntry
 *   from the server
 */

/**
 * Dash patterns of the tags that share a chart. Each tag also has a lighter shade, because dashes
 * cannot be seen where a line is dense.
 */
export const DASHES = [undefined, [6, 3], [2, 3], [12, 4]];
const LIGHTEN_SHARES = [0, 0.4, 0.25, 0.55];
const SPREADS = { range: "minimum to maximum", deviation: "± standard deviation (n − 1)", quartiles: "quartiles" };
/** Smallest width in a request: series of up to 1,000 points are then sent whole. */
const MIN_PIXELS = 500;

/**
 * The width to request rows for, rounded up so that a small change of size needs no new request.
 * @param {number} width  device pixels
 */
export function pixelsFor(width) {
  return Math.max(MIN_PIXELS, Math.ceil(width / 250) * 250);
}

/**
 * The view in few digits, for the page address. Each bound moves by less than a ten-thousandth of
 * the chart's width.
 * @param {View | null} view
 * @returns {View | null}
 */
export function roundView(view) {
  if (!view) return null;
  const [from, to] = view;
  const digits = 5 + Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / (to - from)));
  return /** @type {View} */ (view.map((bound) => Number(bound.toPrecision(Math.min(15, digits)))));
}

/**
 * The query for the rows of a tag.
 * @param {string} tag
 * @param {Options} options
 * @param {View | null} view
 * @param {number} [pixels]  needed to request rows, ignored when rows are looked up
 * @returns {Query}
 */
export function queryFor(tag, options, view, pixels = 0) {
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
 * A tag's runs by group. Groups are in the order of their first runs. A run that is alone in its
 * group is in `single`: it is drawn as a line, not as a band.
 * @param {Part} part
 * @returns {{ groups: RunGroup[], single: Part }}
 */
export function splitByGroup({ tag, runs }) {
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
 * The lines that can be drawn from the store, without a request. Each run uses the first of the
 * views whose rows are in the store and cover the whole of the first view.
 * @param {import("./lines-store.js").LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {readonly (View | null)[]} views  the visible one, then others whose rows may be in the
 *   store; the last is null
 * @param {string | null} [members]  a group whose runs are drawn faintly, beside its mean
 * @returns {ShownLines}
 */
export function cachedLines(store, parts, options, views, members = null) {
  /** @type {ShownLines} */
  const shown = { lines: [], numShown: 0, numInside: 0 };
  parts.forEach(({ tag, runs }, tagIndex) => {
    const queries = views
      .map((view) => queryFor(tag, options, view))
      .filter(({ view, scale }) => covers(view, views[0], scale));
    for (const { name, color, group } of runs) {
      const all = store.get(queries[queries.length - 1], name);
      if (!all) continue;
      const found = hasAllPoints(all) ? all : (queries.map((query) => store.get(query, name)).find(Boolean) ?? all);
      const rows = found.value.length > 0 ? found : all; // keep a line that has no points in the view
      if (rows.value.length === 0) continue;
      const faint = members !== null && group === members;
      const numWhole = rows === all && hasAllPoints(all) && views[0] ? countInside(rows, options.x, views[0]) : null;
      if (!faint) {
        shown.numShown += numWhole ?? found.numShown;
        shown.numInside += numWhole ?? found.numInside;
      }
      const { step, wallTime, value, smoothed, segments, startTime } = rows;
      shown.lines.push({
        key: JSON.stringify([name, tag]),
        name: nameOf(name, tag, parts),
        run: name,
        color: colorForTag(color, tagIndex),
        dash: DASHES[tagIndex % DASHES.length],
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
 * The name of a line; it includes the tag if the chart has several.
 * @param {string} name  of a run or a group
 * @param {string} tag
 * @param {readonly unknown[]} parts
 */
function nameOf(name, tag, parts) {
  return parts.length > 1 ? `${name} · ${tag}` : name;
}

/**
 * A run's colour in the shade of the chart's n-th tag.
 * @param {string} color  `#rrggbb`
 * @param {number} tagIndex
 */
export function colorForTag(color, tagIndex) {
  const share = LIGHTEN_SHARES[tagIndex % LIGHTEN_SHARES.length];
  if (share === 0 || !/^#[\da-f]{6}$/i.test(color)) return color;
  return color.replace(/[\da-f]{2}/gi, (part) => {
    const byte = parseInt(part, 16);
    return Math.round(byte + share * (255 - byte)).toString(16).padStart(2, "0");
  });
}

/**
 * How many rows have an x inside the view.
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
 * The name of the group that a band from `loadBands` stands for.
 * @param {{ key?: string, name: string }} band
 * @returns {string}
 */
export function groupOfBand({ key, name }) {
  return key ? JSON.parse(key)[0] : name;
}

/**
 * Loads what a view needs into the store: first the whole series, then the rows of the view for
 * series that are too long to be sent whole.
 * @param {import("./lines-store.js").LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {(run: string) => string} generationOf
 * @param {AbortSignal} signal
 * @param {() => void} onChange  called after each response
 * @returns {Promise<void>} resolves when everything is loaded; rejects with the server's message
 */
export async function loadLines(store, parts, options, view, pixels, generationOf, signal, onChange) {
  await Promise.all(
    parts.map(async ({ tag, runs }) => {
      const wholeQuery = queryFor(tag, options, null, pixels);
      const names = runs.map(({ name }) => name);
      await store.load(wholeQuery, names, generationOf, signal, onChange);
      if (!view || signal.aborted) return;
      const reduced = names.filter((name) => {
        const rows = store.get(wholeQuery, name);
        return rows && !hasAllPoints(rows);
      });
      await store.load(queryFor(tag, options, view, pixels), reduced, generationOf, signal, onChange);
    }),
  );
}

/**
 * Fetches the bands of all groups of a chart.
 * @param {Host} host
 * @param {readonly { tag: string, groups: readonly RunGroup[] }[]} parts  the chart's tags, in the
 *   order of their dashes
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {AbortSignal} signal
 * @returns {Promise<ShownBands>}
 */
export async function loadBands(host, parts, options, view, pixels, signal) {
  const found = await Promise.all(
    parts.map(async ({ tag, groups }, tagIndex) => {
      if (groups.length === 0) return [];
      const { view: _, ...query } = queryFor(tag, options, view, pixels);
      const runsOf = groups.map(({ name, runs }) => [name, runs.map((run) => run.name)]);
      const [from, to] = view ?? [null, null];
      const body = { ...query, from, to, spread: options.spread, groups: Object.fromEntries(runsOf) };
      const { header, tables } = readColumns(await (await post(host, "bands", body, signal)).arrayBuffer());
      return header.groups.map((/** @type {GroupEntry} */ entry, /** @type {number} */ index) => {
        const { name, color } = /** @type {RunGroup} */ (groups.find((group) => group.name === entry.group));
        const { x, mean, low, high, count, nonfinite } = tables[index];
        /** @type {import("tbcore/lib/chart-types.js").Band} */
        const band = {
          key: JSON.stringify([name, tag]),
          name: nameOf(name, tag, parts),
          color: colorForTag(color, tagIndex),
          dash: DASHES[tagIndex % DASHES.length],
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
