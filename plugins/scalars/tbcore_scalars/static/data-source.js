/**
 * The lines that a chart draws, for tags and runs.
 */

import { xColumn } from "tbcore/cards.js";
import { covers, hasAllPoints } from "./lines-store.js";

/**
 * @typedef {import("./lines-store.js").LinesStore} LinesStore
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").RunGroup} RunGroup
 * @typedef {import("./types.js").ShownLines} ShownLines
 * @typedef {import("./types.js").View} View
 */

/** Dash patterns of the tags that share a chart. */
export const DASHES = [undefined, [6, 3], [2, 3], [12, 4]];
/** How much the colour of each tag is lightened: dashes are invisible where a line is dense. */
const LIGHTEN_SHARES = [0, 0.4, 0.25, 0.55];
/** Minimum width in a request: series of up to 1,000 points are then sent whole. */
const MIN_PIXELS = 500;

/**
 * The width to request rows for, rounded up so that a small change of size needs no new request.
 * @param {number} width  device pixels
 */
export function pixelsFor(width) {
  return Math.max(MIN_PIXELS, Math.ceil(width / 250) * 250);
}

/**
 * The view in few digits, for the page address. Bounds move by less than 1/10,000 of the view.
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
 * @returns {import("./types.js").Query}
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
 * A tag's runs by group; groups are in the order in which their first run appears. Runs that are
 * alone in their group are in `single`: these runs are drawn as lines, not as bands.
 * @param {Part} part
 * @returns {import("./types.js").GroupedPart}
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
    tag,
    groups: all.filter((group) => group.runs.length > 1),
    single: { tag, runs: all.flatMap((group) => (group.runs.length > 1 ? [] : group.runs)) },
  };
}

/**
 * The cached lines. Each run uses the first of `views` that covers the visible view and whose rows
 * are cached.
 * @param {LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {readonly (View | null)[]} views  the visible view, then views whose rows may be
 *   cached; the last is null
 * @param {string | null} [faintGroup]  group whose runs are drawn faintly
 * @returns {ShownLines}
 */
export function cachedLines(store, parts, options, views, faintGroup = null) {
  /** @type {ShownLines} */
  const shown = { lines: [], numShown: 0, numInside: 0 };
  parts.forEach(({ tag, runs }, tagIndex) => {
    const queries = views
      .map((view) => queryFor(tag, options, view))
      .filter(({ view, scale }) => covers(view, views[0], scale));
    for (const { name, color, group } of runs) {
      const whole = store.get(queries[queries.length - 1], name);
      if (!whole) continue;
      const found = hasAllPoints(whole) ? whole : (queries.map((query) => store.get(query, name)).find(Boolean) ?? whole);
      const rows = found.value.length > 0 ? found : whole; // keep a line that has no points in the view
      if (rows.value.length === 0) continue;
      const faint = faintGroup !== null && group === faintGroup;
      const numInView = rows === whole && hasAllPoints(whole) && views[0] ? countInside(rows, options.x, views[0]) : null;
      if (!faint) {
        shown.numShown += numInView ?? found.numShown;
        shown.numInside += numInView ?? found.numInside;
      }
      const { step, wallTime, value, smoothed, segments, startTime } = rows;
      shown.lines.push({
        key: JSON.stringify([name, tag]),
        name: nameOf(name, tag, parts),
        run: name,
        color: colorForTag(color, tagIndex),
        dash: DASHES[tagIndex % DASHES.length],
        ...{ faint, step, wallTime, value, smoothed, segments, startTime },
        overview: rows === whole ? undefined : whole,
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
export function nameOf(name, tag, parts) {
  return parts.length > 1 ? `${name} · ${tag}` : name;
}

/**
 * A run's colour in the shade of one of the chart's tags.
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

/** @param {import("./types.js").Rows} rows @param {Options["x"]} xAxis @param {View} view */
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
 * Loads what a view needs: first an overview of each series, then, for series that were not sent
 * with all their points, the rows in the view.
 * @param {LinesStore} store
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
      const reducedRuns = names.filter((name) => {
        const rows = store.get(wholeQuery, name);
        return rows && !hasAllPoints(rows);
      });
      await store.load(queryFor(tag, options, view, pixels), reducedRuns, generationOf, signal, onChange);
    }),
  );
}
