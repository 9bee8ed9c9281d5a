/**
 * Pure functions that turn layouts and responses into categories, lines, bands and notes.
 */

import { signal } from "@preact/signals-core";
import { xColumn } from "tbcore/cards.js";
import { formatDuration, formatStep, formatTime, formatValue, plural } from "tbcore/format.js";

/**
 * @typedef {import("./types.js").ChartData} ChartData
 * @typedef {import("./types.js").MarginBand} MarginBand
 * @typedef {import("./types.js").Chart} Chart
 * @typedef {import("./types.js").Line} Line
 * @typedef {import("./types.js").Run} Run
 */

/** Dash patterns, which tell the tags in a chart apart. The colour of a line shows its run. */
export const DASHES = [undefined, [6, 3], [12, 4], [6, 8]];

/** Names of runs without times, as far as answers have said. @type {import("@preact/signals-core").Signal<ReadonlySet<string>>} */
export const untimed = signal(new Set());

/** The title to show for a chart. @param {Chart} chart */
export function titleOf(chart) {
  return chart.title || "Untitled";
}

/**
 * The categories of a layout as groups of cards. Categories with the same title are merged.
 * @param {import("./types.js").Layout} layout
 * @param {(title: string) => boolean} matches
 * @returns {{ groups: { name: string, tags: string[] }[], charts: Map<string, Chart>, foldedByDefault: Set<string> }}
 *   the tags of a group are keys of `charts`; `groups` omits groups without charts;
 *   `foldedByDefault` has the names of the groups that the layout folds
 */
export function categoriesOf(layout, matches) {
  /** @type {Map<string, string[]>} */
  const byTitle = new Map();
  const charts = new Map();
  const foldedByDefault = new Set();
  (layout.category ?? []).forEach((category, i) => {
    category.chart.forEach((chart, k) => {
      if (!matches(chart.title)) return;
      const keys = byTitle.get(category.title) ?? [];
      byTitle.set(category.title, keys);
      const key = JSON.stringify([category.title, chart]);
      // A chart that occurs twice gets a second key.
      keys.push(charts.has(key) ? `${key} ${i} ${k}` : key);
      charts.set(keys[keys.length - 1], chart);
    });
    if (category.closed) foldedByDefault.add(category.title);
  });
  return { groups: [...byTitle].map(([name, tags]) => ({ name, tags })), charts, foldedByDefault };
}

/**
 * The distinct tags of the lines, in order of first occurrence.
 * @param {ChartData} data
 */
export function tagsOf({ header }) {
  return [...new Set(header.lines.map(({ tag }) => tag ?? ""))];
}

/**
 * The lines of a multiline chart.
 * @param {ChartData} data
 * @param {readonly Run[]} runs
 * @param {import("./types.js").XAxis} xAxis  lines of runs without times are on no axis of times
 * @returns {Line[]}
 */
export function linesOf(data, runs, xAxis) {
  const { untimed = [] } = data.header;
  const shown = new Map(runs.map((run) => [run.name, run]));
  const tags = tagsOf(data);
  return data.header.lines.flatMap(({ run, tag = "", segments = [] }, i) => {
    const { label = run, color } = shown.get(run) ?? {};
    const hasTimes = !untimed.includes(run);
    if (!hasTimes && xAxis !== "step") return [];
    if (color === undefined) return []; // the run was deselected, and a response without it will follow
    const { step, wall_time: wallTime, value, smoothed = null } = data.tables[i];
    return [
      {
        key: JSON.stringify([run, tag]),
        name: tags.length > 1 ? `${label} · ${tag}` : label,
        run,
        color,
        dash: DASHES[tags.indexOf(tag) % DASHES.length],
        step,
        wallTime: hasTimes ? wallTime : undefined,
        value,
        segments,
        smoothed,
      },
    ];
  });
}

/**
 * The bands of a margin chart.
 * @param {ChartData} data
 * @param {readonly Run[]} runs
 * @param {import("./types.js").XAxis} xAxis
 * @returns {MarginBand[]}
 */
export function bandsOf(data, runs, xAxis) {
  const shown = new Map(runs.map((run) => [run.name, run]));
  const margins = [...new Set(data.header.lines.map(marginKey))];
  return data.header.lines.flatMap((entry, i) => {
    const { label = entry.run, color } = shown.get(entry.run) ?? {};
    const { step, wall_time: wallTime, value, lower, upper } = data.tables[i];
    const hasTimes = !(data.header.untimed ?? []).includes(entry.run);
    if (color === undefined || step.length === 0 || (!hasTimes && xAxis !== "step")) return [];
    const margin = marginKey(entry);
    return [
      {
        key: JSON.stringify([entry.run, margin]),
        name: margins.length > 1 ? `${label} · ${entry.value}` : label,
        color,
        x: xColumn({ step, wallTime, value }, xAxis),
        mean: value,
        low: lower,
        high: upper,
        count: new Float64Array(step.length).fill(1),
        dash: DASHES[margins.indexOf(margin) % DASHES.length],
        source: { step, wallTime: hasTimes ? wallTime : undefined, value: entry.value, lower: entry.lower, upper: entry.upper },
      },
    ];
  });
}

/**
 * The text about one point of a band, for the tooltip and screen readers.
 * @param {MarginBand} band
 * @param {number} index
 * @returns {import("tbcore/chart.js").ReadOut}
 */
export function readOutOf(band, index) {
  const { step, wallTime, value = "", lower = "", upper = "" } = band.source;
  const [low, middle, high] = [band.low, band.mean, band.high].map((column) => formatValue(column[index]));
  return {
    name: band.name,
    color: band.color,
    rows: [
      ["Step", formatStep(step[index])],
      [upper, high],
      [value, middle],
      [lower, low],
      .../** @type {[string, string][]} */ (wallTime ? [["Relative", formatDuration(wallTime[index] - wallTime[0])]] : []),
    ],
    note: wallTime ? formatTime(wallTime[index]) : "",
    spoken: `${band.name}, step ${formatStep(step[index])}: ${middle}, from ${low} to ${high}`,
  };
}

/**
 * Notes on what a chart does not show, and why.
 * @param {Chart} chart
 * @param {ChartData} data
 * @param {import("./types.js").XAxis} xAxis
 * @returns {string[]} one line per note
 */
export function notesOf({ multiline, margin }, { header: { lines, num_lines: numLines, invalid = {}, missing = [], untimed = [] } }, xAxis) {
  const notes = Object.entries(invalid).map(([pattern, why]) => `“${pattern}” is not a valid regular expression: ${why}`);
  const numUntimed = xAxis === "step" ? 0 : untimed.filter((run) => lines.some((line) => line.run === run)).length;
  if (numUntimed > 0) notes.push(`${plural(numUntimed, "run")} not drawn: no times in the log`);
  if (lines.length < numLines) notes.push(`only the first ${lines.length} of ${plural(numLines, "line")} are shown`);
  if (missing.length > 0) notes.push(`not in any of the selected runs: ${missing.join(", ")}`);
  else if (margin && margin.series.length > 0 && lines.length === 0) notes.push("no selected run has all three tags of a margin (value, lower and upper)");
  if (multiline && multiline.tag.length > 0 && lines.length === 0 && notes.length === 0) {
    notes.push(`no tag of the selected runs matches ${multiline.tag.map((tag) => `“${tag}”`).join(" or ")}`);
  }
  return notes;
}

/** A text that identifies the three tags of a margin. @param {import("./types.js").Entry} entry */
function marginKey({ value, lower, upper }) {
  return JSON.stringify([value, lower, upper]);
}
