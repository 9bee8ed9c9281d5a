/**
 * The sweep with a row for each group of runs in the list of runs, in place of those of sessions with
 * the same hyperparameters. The module is loaded when runs are grouped.
 */

import { useMemo } from "preact/hooks";
import { plural } from "tbcore/format.js";
import { groupFigure, statisticsOf } from "tbcore/groups.js";
import { defaultMetric } from "./goals.js";
import { commonCells, infoColumns, sessionFinder, withStepColumn } from "./sweep.js";

/**
 * @typedef {Pick<import("tbcore/host.js").Grouping, "average" | "averageName" | "spread" | "spreadName"> & Partial<import("tbcore/host.js").Grouping>} Average
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").SessionMetric} SessionMetric
 * @typedef {import("./types.js").Sweep} Sweep
 */

/** How columns of information are described, by key. */
const DESCRIPTIONS = new Map([
  ["name", "The group in the list of runs, or the run of a session that is alone in its group"],
  ["sessions", "How many sessions are in the group"],
]);

/**
 * Shows the sweep by groups.
 * @param {object} props
 * @param {Sweep} props.sweep
 * @param {readonly { name: string, group: string | null }[]} props.runs
 * @param {Average} props.grouping
 * @param {(sweep: Sweep) => unknown} props.show
 */
export function ByGroup({ sweep, runs, grouping, show }) {
  return show(useMemo(() => groupedSweep(sweep, runs, grouping), [sweep, runs, grouping]));
}

/**
 * The sweep by groups. A metric's cell is the average of the finite values of the group's sessions, NaN
 * if none is finite, null if none was logged. A hyperparameter's cell is the value that all sessions
 * of the group have, and null if they differ; one that differs inside groups, and has no common value
 * in any group of several sessions, is left out.
 * @param {Sweep} sweep
 * @param {readonly { name: string, group: string | null }[]} runs  those to show; sessions without
 *   one of them are left out
 * @param {Average} [average]
 * @returns {Sweep}
 */
export function groupedSweep(sweep, runs, average = { average: "mean", averageName: "mean", spread: "deviation", spreadName: "± standard deviation (n − 1)" }) {
  const groups = groupsOf(sweep.sessions, runs, average.archived);
  const infos = infoColumns(groups).map((column) => ({ ...column, description: DESCRIPTIONS.get(column.key) ?? column.description }));
  const hparams = hparamColumns(sweep, groups);
  const metrics = sweep.metrics.map((metric) => ({ ...metric, ...valuesOf(sweep.sessionValues[metric.index], groups, average, "last values"), description: describe(metric, average) }));
  const columns = [...infos, ...hparams.filter(({ isLeftOut }) => !isLeftOut).map(({ column }) => column), ...metrics.flatMap(withStepColumn)];
  return {
    ...sweep,
    columns,
    byKey: new Map(columns.map((column) => [column.key, column])),
    metrics,
    groups,
    extremes:
      sweep.extremes?.map(({ lowest, highest }, index) => ({
        lowest: { ...lowest, ...valuesOf(lowest.sessionValues, groups, average, "lowest values", sweep.sessionValues[index].value) },
        highest: { ...highest, ...valuesOf(highest.sessionValues, groups, average, "highest values", sweep.sessionValues[index].value) },
      })) ?? null,
    grouped: {
      averageName: average.averageName,
      repeated: hparams.flatMap(({ column, sessionCells, isRepeated }) => (isRepeated ? [{ column, cells: sessionCells }] : [])),
      metric: defaultMetric(sweep.metrics)?.key ?? null,
      numLeftOut: sweep.sessions.length - groups.reduce((sum, { sessions }) => sum + sessions.length, 0),
    },
  };
}

/**
 * The groups that have sessions, in the order of their first runs. A session is in the group of its
 * run; if that is not shown, in that of the first run below it.
 * @param {readonly Session[]} sessions
 * @param {readonly { name: string, group: string | null }[]} runs
 * @param {ReadonlyMap<string, readonly string[]>} [archived]  the runs of each group that were put away
 * @returns {Group[]}
 */
function groupsOf(sessions, runs, archived) {
  const byName = new Map(sessions.map((session) => [session.name, session]));
  const sessionOf = sessionFinder(byName.keys());
  /** @type {Map<Session, string>} */
  const groupOf = new Map();
  for (const { name, group } of runs) {
    const session = byName.get(sessionOf(name) ?? "");
    if (!session) continue;
    const isOwn = session.name === name;
    const isBelow = session.name === "." || name.startsWith(`${session.name}/`);
    if (isOwn || (isBelow && !groupOf.has(session))) groupOf.set(session, group ?? name);
  }
  /** @type {Map<string, Session[]>} */
  const members = new Map();
  for (const [session, group] of groupOf) {
    const inGroup = members.get(group);
    if (inGroup) inGroup.push(session);
    else members.set(group, [session]);
  }
  const isPutAway = (/** @type {Session | undefined} */ session) => session && !groupOf.has(session);
  const numArchived = (/** @type {string} */ name) => archived?.get(name)?.filter((run) => isPutAway(byName.get(run))).length;
  return Array.from(members, ([name, inGroup]) => ({ name, label: inGroup.length === 1 ? inGroup[0].name : name, sessions: inGroup, archived: numArchived(name) }));
}

/**
 * The columns of hyperparameters, with a cell for each group, and the cells of the sessions.
 * @param {Sweep} sweep
 * @param {readonly Group[]} groups
 */
function hparamColumns(sweep, groups) {
  const rowOf = new Int32Array(sweep.sessions.length);
  sweep.groups.forEach(({ sessions }, row) => sessions.forEach(({ index }) => (rowOf[index] = row)));
  return sweep.columns
    .filter(({ kind }) => kind === "hparam")
    .map((old) => {
      const sessionCells = old.sessionCells ?? sweep.sessions.map(({ index }) => old.cells[rowOf[index]]);
      const common = commonCells(sessionCells, groups);
      const { cells, figure } = common;
      const isRepeated = groups.some((_, row) => figure(row) !== null);
      const isLeftOut = isRepeated && !groups.some(({ sessions }, row) => sessions.length > 1 && cells[row] !== null);
      /** @type {Column} */
      const column = { ...old, ...common, differs: new Set(cells).size > 1 };
      return { column, sessionCells, isRepeated, isLeftOut };
    });
}

/**
 * The averages of a metric, their texts, and the mean steps.
 * @param {SessionMetric} values
 * @param {readonly Group[]} groups
 * @param {Average} average
 * @param {string} what  the values are
 * @param {Float64Array} [last]  the last values, if these are the lowest or highest
 */
function valuesOf({ value, step, wallTime }, groups, { average, averageName, spread }, what, last) {
  const measured = groups.map(({ sessions }) => sessions.filter(({ index }) => !Number.isNaN(wallTime[index])));
  const statistics = measured.map((sessions, row) => {
    if (sessions.length === 0) return null;
    const found = statisticsOf(sessions.map(({ index }) => value[index]), average, sessions.filter(({ status }) => status === "running").length, spread);
    const missing = groups[row].sessions.length - sessions.length;
    return last ? { ...found, missing, diverged: sessions.filter(({ index }) => Number.isFinite(value[index]) && !Number.isFinite(last[index])).length } : { ...found, missing };
  });
  const steps = measured.map((sessions) => {
    const finite = sessions.filter(({ index }) => Number.isFinite(value[index]));
    return finite.length > 0 ? finite.reduce((sum, { index }) => sum + step[index], 0) / finite.length : null;
  });
  /** @param {number} row */
  const figure = (row) => {
    const found = statistics[row];
    if (!found || groups[row].sessions.length === 1) return null;
    const { text, title } = groupFigure(found, averageName, what);
    const hasEnd = measured[row].filter(({ status }) => status !== "no end logged" && status !== "running").length;
    const numWithoutEnd = hasEnd > 0 ? measured[row].filter(({ status }) => status === "no end logged").length : 0;
    const end = numWithoutEnd > 0 ? `, ${plural(numWithoutEnd, "run")} without a logged end` : "";
    return { text, title: title + end, average: groupFigure({ ...found, nonfinite: 0, missing: 0, diverged: 0, live: 0 }, averageName).text };
  };
  return { cells: statistics.map((found) => found && (found.count > 0 ? found.average : (found.common ?? NaN))), steps, statistics, average, spread, values: measured.map((sessions) => new Map(sessions.map(({ name, index }) => [name, value[index]]))), figure };
}

/** What the cells of a metric are. @param {Column} metric @param {Average} average */
function describe({ description }, { averageName, spreadName }) {
  const what = `The ${averageName} of the runs of a group, and ${spreadName}`;
  return description ? `${description}. ${what}` : what;
}
