/**
 * The sweep without the sessions that are put away. The module is loaded when there are any.
 */

import { useMemo } from "preact/hooks";
import { colorsOfRuns, commonCells, infoColumns, withStepColumn } from "./sweep.js";

/**
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").SessionMetric} SessionMetric
 * @typedef {import("./types.js").Sweep} Sweep
 */

/**
 * Shows the sweep without the sessions that are put away.
 * @param {object} props
 * @param {Sweep} props.sweep
 * @param {readonly { name: string, color: string }[]} props.runs
 * @param {ReadonlySet<string>} props.archived
 * @param {(sweep: Sweep) => unknown} props.show
 */
export function WithoutArchived({ sweep, runs, archived, show }) {
  return show(useMemo(() => withoutArchived(sweep, runs, archived), [sweep, runs, archived]));
}

/**
 * The sweep with rows that stand for those of their sessions that are not put away, and count the
 * others. A row whose sessions are all put away stays as it is, since it is not shown.
 * @param {Sweep} sweep
 * @param {readonly { name: string, color: string }[]} runs  those to show; a session with one of them below it counts
 * @param {ReadonlySet<string>} archived  the names of runs
 * @returns {Sweep}  the same sweep if no row changes
 */
export function withoutArchived(sweep, runs, archived) {
  const shown = colorsOfRuns(runs);
  /** @type {number[]} */
  const changed = [];
  const groups = sweep.groups.map((group, row) => {
    const sessions = group.sessions.filter(({ name }) => !archived.has(name) || shown.has(name));
    if (sessions.length === 0 || sessions.length === group.sessions.length) return group;
    changed.push(row);
    return { ...group, sessions, label: sessions.length === 1 ? sessions[0].name : group.label, archived: group.sessions.length - sessions.length };
  });
  if (changed.length === 0) return sweep;
  const counted = new Map(changed.map((row) => [row, countedOf(sweep, groups[row])]));
  /** @template {Pick<import("./types.js").Column, "cells" | "steps">} Old @param {Old} old @param {SessionMetric} values */
  const without = (old, values) => {
    const [cells, steps] = [[...old.cells], [...(old.steps ?? [])]];
    for (const [row, sessions] of counted) [cells[row], steps[row]] = meanOf(values, sessions);
    return { ...old, cells, steps };
  };
  const hparams = sweep.columns.flatMap((column) => (column.kind !== "hparam" ? [] : [column.sessionCells ? { ...column, ...commonCells(column.sessionCells, groups) } : column]));
  const metrics = sweep.metrics.map((metric) => without(metric, sweep.sessionValues[metric.index]));
  const columns = [...infoColumns(groups), ...hparams, ...metrics.flatMap(withStepColumn)];
  const extremes = sweep.extremes?.map(({ lowest, highest }) => ({ lowest: without(lowest, lowest.sessionValues), highest: without(highest, highest.sessionValues) })) ?? null;
  return { ...sweep, columns, byKey: new Map(columns.map((column) => [column.key, column])), metrics, groups, extremes };
}

/**
 * The sessions whose mean a row has: all of them, or the one that stands for them, which is chosen
 * as by the server (`aggregate.py`); none if no session has the deciding metric.
 * @param {Sweep} sweep
 * @param {Group} group
 */
function countedOf({ query: { aggregation, group = "", tag, by }, metrics, sessionValues, extremes }, { sessions }) {
  if (aggregation === "avg") return sessions;
  const decider = metrics.find(({ metric }) => metric?.group === group && metric.tag === tag);
  if (!decider) return [];
  const { value, wallTime } = by && extremes ? extremes[decider.index][by].sessionValues : sessionValues[decider.index];
  const measured = sessions.filter(({ index }) => !Number.isNaN(wallTime[index]));
  const numbers = measured.filter(({ index }) => !Number.isNaN(value[index]));
  const sorted = (numbers.length > 0 ? numbers : measured).sort((a, b) => (aggregation === "max" ? value[b.index] - value[a.index] : value[a.index] - value[b.index]));
  return sorted.splice(aggregation === "median" ? (sorted.length - 1) >> 1 : 0, 1);
}

/** The mean of the sessions' values, and that of their steps; null if no session has one. @param {SessionMetric} values @param {readonly Session[]} sessions */
function meanOf({ value, step, wallTime }, sessions) {
  const measured = sessions.filter(({ index }) => !Number.isNaN(wallTime[index]));
  const mean = (/** @type {Float64Array} */ column) => measured.reduce((sum, { index }) => sum + column[index], 0) / measured.length;
  const cell = mean(value);
  if (measured.length === 0) return [null, null];
  return [cell, Number.isNaN(cell) ? null : Math.floor(mean(step))];
}
