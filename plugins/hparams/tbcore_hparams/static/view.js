/**
 * The view: what the tab shows and how, from the settings in the page address. Pure functions.
 */

import { guessGoal, isRepetition } from "tbcore/groups.js";
import { formatLists, parseLists } from "tbcore/text-names.js";
import { parseFilters } from "./filters.js";
import { defaultMetric } from "./goals.js";
import { importanceOf } from "./importance.js";
import { isLogByDefault, isNumeric } from "./scales.js";

/**
 * @typedef {import("./types.js").Aggregation} Aggregation
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Goal} Goal
 * @typedef {import("./types.js").Sort} Sort
 * @typedef {import("./types.js").Sweep} Sweep
 */

/** @typedef {"table" | "parallel" | "scatter"} Panel */
/** @typedef {"last" | "best"} Values  which of a session's values of a metric counts */
/** @type {readonly Panel[]} */
export const PANELS = ["parallel", "scatter", "table"];
/** @type {readonly Aggregation[]} */
export const AGGREGATIONS = ["avg", "min", "max", "median"];
/** @type {readonly Values[]} */
export const VALUE_CHOICES = ["last", "best"];
/** Maximum number of hyperparameters that are axes by default, so that their names are readable. */
const MAX_DEFAULT_AXES = 9;

/**
 * @typedef {object} View
 * @property {Column | null} metric  the metric being optimised
 * @property {string | null} lacking  the name of the metric in whose place it is, since no row has that one
 * @property {Goal} goal
 * @property {ReadonlySet<Panel>} panels
 * @property {readonly Column[]} columns  of the table, in order
 * @property {readonly Column[]} axes  of the parallel coordinates, in order
 * @property {readonly ColumnFilter[]} filters
 * @property {readonly Sort[]} sorts
 * @property {boolean} isSorted  whether the user chose an order; by default the best row comes
 *   first
 * @property {(column: Column) => boolean} isLog
 * @property {Column | null} x  of the scatter plot
 * @property {Column | null} y
 * @property {ReadonlySet<string>} picked  names of groups that are checked
 * @property {ReadonlySet<string>} open  names of groups whose details are open
 */

/**
 * Parses the settings. Missing and invalid ones get defaults that depend on the sweep.
 * @param {Readonly<Record<string, string>>} settings
 * @param {Sweep} sweep
 * @returns {View}
 */
export function parseView(settings, sweep) {
  const { byKey } = sweep;
  const { metric, lacking } = metricOf(settings.metric, sweep);
  const goal = settings.goal === "min" || settings.goal === "max" ? settings.goal : (metric && goalOf(metric)) ?? "max";
  /** @param {string | undefined} text */
  const columnsOf = (text) => parseLists(text).flat().flatMap((key) => byKey.get(key) ?? []);
  const columns = columnsOf(settings.columns).filter(({ key }) => key !== "name"); // the name is always the first column
  const axes = columnsOf(settings.axes);
  const scales = new Map(parseLists(settings.scale).map(([key, kind]) => [key, kind]));
  const sorts = parseLists(settings.sort).flatMap(([key, order]) => (byKey.has(key) ? [{ key, descending: order === "desc" }] : []));
  const bestFirst = metric ? [{ key: metric.key, descending: goal === "max" }] : [];
  const chosenAxes = axes.length > 0 ? axes : defaultAxes(sweep, metric);
  const x = byKey.get(settings.x) ?? mostImportant(sweep, metric) ?? null;
  return {
    metric,
    lacking,
    goal,
    panels: parsePanels(settings.show, sweep),
    columns: columns.length > 0 ? columns : defaultColumns(sweep, metric),
    axes: chosenAxes,
    filters: parseFilters(settings.filter).filter(({ key }) => byKey.has(key)),
    sorts: sorts.length > 0 ? sorts : bestFirst,
    isSorted: sorts.length > 0,
    isLog: (column) => (scales.has(column.key) ? scales.get(column.key) === "log" : isLogByDefault(column)),
    x,
    y: byKey.get(settings.y) ?? metric ?? null,
    picked: new Set(parseLists(settings.pick).flat()),
    open: new Set(parseLists(settings.open).flat()),
  };
}

/**
 * The metric that is chosen, else that of all sessions, if a row has it; and the one that no row has.
 * @param {string | undefined} chosen  its key
 * @param {Sweep} sweep
 */
function metricOf(chosen, { metrics, grouped }) {
  const wanted = metrics.find(({ key }) => key === chosen) ?? metrics.find(({ key }) => key === grouped?.metric);
  if (wanted && (wanted.key === chosen || wanted.cells.some((cell) => cell !== null))) return { metric: wanted, lacking: chosen && chosen !== wanted.key ? chosen.replace(/^m\.\.?/, "") : null };
  return { metric: defaultMetric(metrics), lacking: wanted?.label ?? chosen?.replace(/^m\.\.?/, "") ?? null };
}

/** Which values of a metric are better, guessed from its name. @param {Column} metric */
export function goalOf(metric) {
  return guessGoal(metric.metric?.tag ?? "") ?? guessGoal(metric.label);
}

/**
 * The panels to show.
 * @param {string | undefined} text
 * @param {Sweep} sweep
 * @returns {Set<Panel>}
 */
function parsePanels(text, sweep) {
  const panels = new Set(PANELS.filter((panel) => parseLists(text).flat().includes(panel)));
  if (panels.size > 0) return panels;
  const differing = sweep.columns.filter(({ kind, differs }) => kind === "hparam" && differs);
  return new Set(differing.length >= 2 && sweep.groups.length >= 3 ? ["parallel", "table"] : ["table"]);
}

/**
 * The columns shown by default: the metric, all hyperparameters, the other metrics (only those that
 * are declared, if any is), the number of sessions if a row has several, and the status if it
 * differs, or if any failed or runs. Beside the best value of a metric stands its step.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 */
function defaultColumns({ columns, byKey }, metric) {
  const others = columns.filter((column) => column.kind === "hparam" || (column.kind === "metric" && !column.isUndeclared && column !== metric));
  const infos = columns.filter(
    ({ key, differs, cells }) => (key === "sessions" && cells.some((count) => Number(count) > 1)) || (key === "status" && (differs || /failure|running/.test(cells.join()))),
  );
  const shown = [...(metric ? [metric] : []), ...others, ...infos];
  return shown.flatMap((column) => (column.extreme ? [column, byKey.get(`at.${column.key}`) ?? []].flat() : [column]));
}

/**
 * The axes shown by default: hyperparameters that differ, and the metric at the end. If there are
 * too many, the most important ones are chosen.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 */
function defaultAxes(sweep, metric) {
  const candidates = candidatesOf(sweep);
  if (candidates.length > MAX_DEFAULT_AXES) {
    const known = sharesOf(sweep, metric);
    candidates.sort((a, b) => (known.get(b) ?? 0) - (known.get(a) ?? 0)).splice(MAX_DEFAULT_AXES);
    candidates.sort((a, b) => a.index - b.index);
  }
  return metric ? [...candidates, metric] : candidates;
}

/**
 * Hyperparameters that differ. In sweeps of more than 12 rows, texts with more distinct values than
 * half of the rows, such as file names, are left out.
 * @param {Sweep} sweep
 */
function candidatesOf({ columns, groups }) {
  return columns.filter((column) => {
    if (column.kind !== "hparam" || !column.differs) return false;
    return isNumeric(column) || groups.length <= 12 || new Set(column.cells).size <= groups.length / 2;
  });
}

/**
 * The importance of hyperparameters over all rows, cached for each metric, since it is needed at
 * every change of the address.
 * @type {WeakMap<Column, Map<Column, number>>}
 */
const sharesByMetric = new WeakMap();

/**
 * The importance of each hyperparameter, 0 to 1, or -1.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 * @returns {ReadonlyMap<Column, number>}
 */
function sharesOf(sweep, metric) {
  if (!metric) return new Map();
  let known = sharesByMetric.get(metric);
  if (!known) {
    const rows = sweep.groups.map((_, i) => i);
    known = new Map(candidatesOf(sweep).map((column) => [column, clearShareOf(column, metric, rows)]));
    sharesByMetric.set(metric, known);
  }
  return known;
}

/**
 * The importance of a hyperparameter; 0 if it is not clear, and -1 for seeds.
 * @param {Column} column
 * @param {Column} metric
 * @param {readonly number[]} rows
 */
function clearShareOf(column, metric, rows) {
  if (isRepetition(column.key)) return -1;
  const importance = importanceOf(column, metric, rows);
  return importance?.isClear ? importance.share : 0;
}

/** The most important hyperparameter. @param {Sweep} sweep @param {Column | null} metric */
function mostImportant(sweep, metric) {
  const candidates = candidatesOf(sweep);
  const known = sharesOf(sweep, metric);
  /** @type {Column | undefined} */
  let best = candidates[0] ?? sweep.columns.find(({ kind }) => kind === "hparam") ?? sweep.metrics[0];
  for (const column of candidates) if ((known.get(column) ?? 0) > (known.get(best) ?? 0)) best = column;
  return best;
}

/**
 * The sort order as text.
 * @param {readonly Sort[]} sorts
 * @returns {string | null} for the page address
 */
export function formatSorts(sorts) {
  return formatLists(sorts.map(({ key, descending }) => (descending ? [key, "desc"] : [key])));
}

/**
 * The setting of scales with one of them changed.
 * @param {string | undefined} text  from the page address
 * @param {Column} column
 * @param {boolean} log
 */
export function withScale(text, column, log) {
  const others = parseLists(text).filter(([key]) => key !== column.key);
  return formatLists(log === isLogByDefault(column) ? others : [...others, [column.key, log ? "log" : "linear"]]);
}

/**
 * Names with one of them added if it is missing, otherwise removed.
 * @param {ReadonlySet<string>} names
 * @param {string} name
 * @returns {string | null} for the page address
 */
export function toggled(names, name) {
  const next = new Set(names);
  if (!next.delete(name)) next.add(name);
  return formatLists([[...next]]);
}
