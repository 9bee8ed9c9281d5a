/**
 * What a chart draws: the lines of some tags and runs, or the bands of groups of runs.
 */

import { readColumns } from "tbcore/lib/columns.js";
import { xColumn } from "tbcore/lib/series.js";
import { covers, isWhole } from "./lines-store.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Options} Options
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").Question} Question
 * @typedef {import("./types.js").Shown} Shown
 * @typedef {import("./types.js").View} View
 */

/** Of several tags in one chart each has its own dashes. */
const DASHES = [undefined, [6, 3], [2, 3], [12, 4]];
const SPREADS = { range: "minimum to maximum", deviation: "± standard deviation", quartiles: "quartiles" };
/** At least as many pixels are asked for: series of 1,000 points come whole. */
const LEAST_PIXELS = 500;

/**
 * @param {string} tag
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @returns {Question}
 */
export function questionOf(tag, options, view, pixels) {
  return {
    tag,
    x: options.x === "wall_time" ? "wall" : options.x,
    scale: options.logX ? "log" : "linear",
    view,
    // In steps, so that charts whose size changes a little ask the same.
    pixels: Math.max(LEAST_PIXELS, Math.ceil(pixels / 250) * 250),
    smoothing: options.smooth,
  };
}

/**
 * The lines as far as they are known: of each run the first rows that there are for all of the view.
 * @param {import("./lines-store.js").LinesStore} store
 * @param {readonly Part[]} parts
 * @param {Options} options
 * @param {readonly (View | null)[]} views  first the one that is shown, then others whose rows may be there, the last null
 * @param {number} pixels
 * @returns {Shown}
 */
export function knownLines(store, parts, options, views, pixels) {
  /** @type {Shown} */
  const shown = { lines: [], numShown: 0, numInside: 0 };
  parts.forEach(({ tag, runs }, place) => {
    const questions = views
      .map((view) => questionOf(tag, options, view, pixels))
      .filter(({ view, scale }) => covers(view, views[0], scale));
    for (const { name, color } of runs) {
      const all = store.get(questions[questions.length - 1], name);
      if (!all) continue;
      const found = isWhole(all) ? all : (questions.map((question) => store.get(question, name)).find(Boolean) ?? all);
      const rows = found.value.length > 0 ? found : all; // a line that ends before the view is one all the same
      if (rows.value.length === 0) continue;
      const numWhole = rows === all && isWhole(all) && views[0] ? countInside(rows, options.x, views[0]) : null;
      shown.numShown += numWhole ?? found.numShown;
      shown.numInside += numWhole ?? found.numInside;
      const { step, wallTime, value, smoothed, segments, startTime } = rows;
      shown.lines.push({
        key: JSON.stringify([name, tag]),
        name: parts.length > 1 ? `${name} · ${tag}` : name,
        run: name,
        color,
        dash: DASHES[place % DASHES.length],
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
 * @param {Host} host
 * @param {string} tag
 * @param {readonly import("./types.js").RunGroup[]} groups
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {AbortSignal} signal
 * @returns {Promise<import("tbcore/lib/chart-types.js").Band[]>}
 */
export async function loadBands(host, tag, groups, options, view, pixels, signal) {
  const { view: _, ...question } = questionOf(tag, options, view, pixels);
  const body = {
    ...question,
    from: view?.[0] ?? null,
    to: view?.[1] ?? null,
    spread: options.spread,
    groups: Object.fromEntries(groups.map(({ name, runs }) => [name, runs.map((run) => run.name)])),
  };
  const response = await host.fetch("bands", { method: "POST", body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error((await response.text()).trim());
  const { header, tables } = readColumns(await response.arrayBuffer());
  return header.groups.flatMap((/** @type {{ group: string, num_runs: number }} */ entry, /** @type {number} */ index) => {
    const group = groups.find(({ name }) => name === entry.group);
    const { x, mean, low, high, count } = tables[index];
    return group && x.length > 0 ? [{ name: group.name, color: group.color, x, mean, low, high, count, label: SPREADS[options.spread] }] : [];
  });
}
