/**
 * What is looked at, and how: the texts of the address as columns of the sweep. Pure.
 */

import { formatLists, parseLists } from "tbcore/lib/name-lists.js";
import { parseFilters } from "./filters.js";
import { guessGoal, likelyMetric } from "./goals.js";
import { importanceOf } from "./importance.js";
import { isLogAtFirst, isNumeric } from "./scales.js";

/**
 * @typedef {import("./types.js").Aggregation} Aggregation
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Goal} Goal
 * @typedef {import("./types.js").Sort} Sort
 * @typedef {import("./types.js").Sweep} Sweep
 */

/** @typedef {"table" | "parallel" | "scatter"} Part */
/** @typedef {"last" | "best"} Values  which of those that a session logged */
/** @type {readonly Part[]} */
export const PARTS = ["parallel", "scatter", "table"];
/** @type {readonly Aggregation[]} */
export const AGGREGATIONS = ["avg", "min", "max", "median"];
/** @type {readonly Values[]} */
export const VALUES = ["last", "best"];
/** Of more axes the names are hard to read; the reader may choose more. */
const MOST_AXES = 9;

/**
 * @typedef {object} View
 * @property {Column | null} metric  that is optimised
 * @property {Goal} goal
 * @property {ReadonlySet<Part>} parts
 * @property {readonly Column[]} columns  of the table, in order
 * @property {readonly Column[]} axes  of the parallel coordinates, in order
 * @property {readonly ColumnFilter[]} filters
 * @property {readonly Sort[]} sorts
 * @property {boolean} isSorted  by the reader; else the best comes first
 * @property {(column: Column) => boolean} isLog
 * @property {Column | null} x  of the scatter plot
 * @property {Column | null} y
 * @property {ReadonlySet<string>} picked  names of groups
 * @property {ReadonlySet<string>} open
 */

/**
 * @param {Readonly<Record<string, string>>} settings
 * @param {Sweep} sweep
 * @returns {View}
 */
export function parseView(settings, sweep) {
  const { byKey } = sweep;
  const metric = sweep.metrics.find(({ key }) => key === settings.metric) ?? likelyMetric(sweep.metrics);
  const goal = settings.goal === "min" || settings.goal === "max" ? settings.goal : (metric && goalOf(metric)) ?? "max";
  /** @param {string | undefined} text */
  const columnsOf = (text) => parseLists(text).flat().flatMap((key) => byKey.get(key) ?? []);
  const columns = columnsOf(settings.columns).filter(({ key }) => key !== "name"); // which is always there, at the left
  const axes = columnsOf(settings.axes);
  const scales = new Map(parseLists(settings.scale).map(([key, kind]) => [key, kind]));
  const sorts = parseLists(settings.sort).flatMap(([key, order]) => (byKey.has(key) ? [{ key, descending: order === "desc" }] : []));
  const bestFirst = metric ? [{ key: metric.key, descending: goal === "max" }] : [];
  const chosenAxes = axes.length > 0 ? axes : likelyAxes(sweep, metric);
  const x = byKey.get(settings.x) ?? strongest(sweep, metric) ?? null;
  return {
    metric,
    goal,
    parts: parseParts(settings.show, sweep),
    columns: columns.length > 0 ? columns : likelyColumns(sweep, metric),
    axes: chosenAxes,
    filters: parseFilters(settings.filter).filter(({ key }) => byKey.has(key)),
    sorts: sorts.length > 0 ? sorts : bestFirst,
    isSorted: sorts.length > 0,
    isLog: (column) => (scales.has(column.key) ? scales.get(column.key) === "log" : isLogAtFirst(column)),
    x,
    y: byKey.get(settings.y) ?? metric ?? null,
    picked: new Set(parseLists(settings.pick).flat()),
    open: new Set(parseLists(settings.open).flat()),
  };
}

/** Which values of a metric are better, as its name says. @param {Column} metric */
export function goalOf(metric) {
  return guessGoal(metric.metric?.tag ?? "") ?? guessGoal(metric.label);
}

/** @param {string | undefined} text @param {Sweep} sweep @returns {Set<Part>} */
function parseParts(text, sweep) {
  const parts = new Set(PARTS.filter((part) => parseLists(text).flat().includes(part)));
  if (parts.size > 0) return parts;
  const differing = sweep.columns.filter(({ kind, differs, isExtra }) => kind === "hparam" && differs && !isExtra);
  return new Set(differing.length >= 2 && sweep.groups.length >= 3 ? ["parallel", "table"] : ["table"]);
}

/**
 * The answer first, then what was varied, then everything else that says something.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 */
function likelyColumns({ columns }, metric) {
  const others = columns.filter((column) => column.kind !== "info" && !column.isExtra && column !== metric);
  const infos = columns.filter(
    ({ key, differs, cells }) => (key === "sessions" && cells.some((count) => Number(count) > 1)) || (key === "status" && differs),
  );
  return [...(metric ? [metric] : []), ...others, ...infos];
}

/**
 * The hyperparameters that differ, and the metric at the end. Of many those that go with the metric most.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 */
function likelyAxes(sweep, metric) {
  const candidates = candidatesOf(sweep);
  if (candidates.length > MOST_AXES) {
    const known = sharesOf(sweep, metric);
    candidates.sort((a, b) => (known.get(b) ?? 0) - (known.get(a) ?? 0)).splice(MOST_AXES);
    candidates.sort((a, b) => a.index - b.index);
  }
  return metric ? [...candidates, metric] : candidates;
}

/** Hyperparameters that differ; names of files and the like, another in each row, say nothing on an axis. @param {Sweep} sweep */
function candidatesOf({ columns, groups }) {
  return columns.filter((column) => {
    if (column.kind !== "hparam" || !column.differs || column.isExtra) return false;
    return isNumeric(column) || groups.length <= 12 || new Set(column.cells).size <= groups.length / 2;
  });
}

/** Of each metric, what hyperparameters account for in all rows: asked with every change of the address. @type {WeakMap<Column, Map<Column, number>>} */
const shares = new WeakMap();

/** @param {Sweep} sweep @param {Column | null} metric @returns {ReadonlyMap<Column, number>} */
function sharesOf(sweep, metric) {
  if (!metric) return new Map();
  let known = shares.get(metric);
  if (!known) {
    const rows = sweep.groups.map((_, i) => i);
    known = new Map(candidatesOf(sweep).map((column) => [column, importanceOf(column, metric, rows)?.share ?? 0]));
    shares.set(metric, known);
  }
  return known;
}

/** The hyperparameter that goes with the metric most. @param {Sweep} sweep @param {Column | null} metric */
function strongest(sweep, metric) {
  const candidates = candidatesOf(sweep);
  const known = sharesOf(sweep, metric);
  /** @type {Column | undefined} */
  let best = candidates[0] ?? sweep.columns.find(({ kind }) => kind === "hparam") ?? sweep.metrics[0];
  for (const column of candidates) if ((known.get(column) ?? 0) > (known.get(best) ?? 0)) best = column;
  return best;
}

/** @param {readonly Sort[]} sorts @returns {string | null} for the address */
export function formatSorts(sorts) {
  return formatLists(sorts.map(({ key, descending }) => (descending ? [key, "desc"] : [key])));
}

/**
 * The settings of axes with one of them changed.
 * @param {string | undefined} text  of the address
 * @param {Column} column
 * @param {boolean} log
 */
export function withScale(text, column, log) {
  const others = parseLists(text).filter(([key]) => key !== column.key);
  return formatLists(log === isLogAtFirst(column) ? others : [...others, [column.key, log ? "log" : "linear"]]);
}

/**
 * Names with one of them put in or taken out.
 * @param {ReadonlySet<string>} names
 * @param {string} name
 * @returns {string | null} for the address
 */
export function toggled(names, name) {
  const next = new Set(names);
  if (!next.delete(name)) next.add(name);
  return formatLists([[...next]]);
}
