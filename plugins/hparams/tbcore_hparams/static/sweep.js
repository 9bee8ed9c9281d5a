/**
 * Pure functions that turn a response of the route `table` into a sweep: columns with a cell for
 * each group of sessions.
 */

import { groupText, isRepetition } from "tbcore/groups.js";
import { differenceOf } from "./cell-text.js";
import { usefulFirst } from "./goals.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").Sweep} Sweep
 */

/** Group names that are hashes of hyperparameters; the label has only their beginning. */
const HASH = /^[0-9a-f]{32,}$/;
/** Number of characters of a hash that are shown. */
const HASH_LENGTH = 8;

/**
 * Reads a response.
 * @param {{ header: any, tables: Record<string, Float64Array>[] }} response  from `readColumns`
 * @param {import("./types.js").TableQuery} [query]  that was asked for
 * @returns {Sweep}
 */
export function readSweep({ header, tables: [byGroup, bySession] }, query = { aggregation: "avg" }) {
  const sessions = readSessions(header.sessions);
  /** @type {Session[][]} */
  const members = header.groups.names.map(() => []);
  header.sessions.group.forEach((/** @type {number} */ group, /** @type {number} */ i) => members[group].push(sessions[i]));
  /** @type {Group[]} */
  const groups = header.groups.names.map((/** @type {string} */ name, /** @type {number} */ i) => ({
    name,
    label: members[i].length === 1 ? members[i][0].name : HASH.test(name) ? name.slice(0, HASH_LENGTH) : name,
    sessions: members[i],
  }));

  /** @type {Column[]} */
  const hparams = header.hparams.map((/** @type {any} */ info, /** @type {number} */ i) => ({
    key: `h.${info.name}`,
    kind: "hparam",
    index: i,
    label: labelOf(info.display_name, info.name, header.hparams),
    description: info.description,
    type: info.type,
    differs: info.differs,
    isUndeclared: isUndeclared(info, header.hparams),
    cells: hparamCells(header.strings[i], byGroup[`h${i}`], info.nan),
    metric: null,
    ...(info.of_sessions && commonCells(hparamCells(info.of_sessions.strings, bySession[`h${i}`], info.of_sessions.nan), groups)),
  }));
  /** @type {Map<string, number>} */
  const numOfTags = new Map();
  for (const { tag } of header.metrics) numOfTags.set(tag, (numOfTags.get(tag) ?? 0) + 1);
  /** @type {Column[]} */
  const metrics = header.metrics.map((/** @type {any} */ info, /** @type {number} */ i) => ({
    key: `m.${info.group.replace(/[\\.]/g, "\\$&")}.${info.tag}`, // unique: the first unescaped dot ends the group
    kind: "metric",
    index: i,
    label: labelOf(info.display_name, nameOfMetric(info, numOfTags), header.metrics),
    description: info.description,
    type: "number",
    differs: true,
    isUndeclared: isUndeclared(info, header.metrics),
    isDeclared: header.experiment.is_logged && info.declared,
    ...cellsAndSteps(byGroup, i, "", ".step"),
    metric: { group: info.group, tag: info.tag },
  }));
  // Those declared first, and in both parts seeds last, since no conclusion can be drawn from them.
  const placeOf = (/** @type {Column} */ column) => 4 * Number(column.isUndeclared) + 2 * Number(isRepetition(column.key)) + Number(!column.differs);
  const chosen = [...hparams].sort((a, b) => placeOf(a) - placeOf(b));
  const ordered = usefulFirst(metrics);
  const columns = [...infoColumns(groups), ...chosen, ...ordered.flatMap(withStepColumn)];
  return {
    columns,
    byKey: new Map(columns.map((column) => [column.key, column])),
    metrics: ordered,
    groups,
    sessions,
    sessionValues: metrics.map((_, i) => ({
      value: bySession[`m${i}`],
      step: bySession[`m${i}.step`],
      wallTime: bySession[`m${i}.wall_time`],
    })),
    extremes: "m0.lowest" in byGroup ? metrics.map((_, i) => ({ lowest: extremeOf(byGroup, bySession, i, "lowest"), highest: extremeOf(byGroup, bySession, i, "highest") })) : null,
    description: header.experiment.description.trim(),
    problems: header.problems,
    query,
    grouped: null,
  };
}

/**
 * The name of a metric, with its group: `eval.loss`. One of a run above the session has its tag
 * alone, unless that is ambiguous, such as `../loss`.
 * @param {{ group: string, tag: string }} metric
 * @param {ReadonlyMap<string, number>} numOfTags  how many metrics have each tag
 */
function nameOfMetric({ group, tag }, numOfTags) {
  if (/^\.\.(\/\.\.)*$/.test(group)) return numOfTags.get(tag) === 1 ? tag : `${group}/${tag}`;
  return group ? `${group}.${tag}` : tag;
}

/**
 * The label of a hyperparameter or metric. If several have the same display name, the label
 * includes the name.
 * @param {string} displayName  "" for none
 * @param {string} name
 * @param {readonly { display_name: string }[]} all  of its kind
 */
function labelOf(displayName, name, all) {
  if (displayName === "" || displayName === name) return name;
  return all.filter((other) => other.display_name === displayName).length > 1 ? `${displayName} (${name})` : displayName;
}

/**
 * The cells of a metric, one per group.
 * @param {Record<string, Float64Array>} byGroup
 * @param {number} i  index of the metric
 * @param {string} which  suffix of the table's column; "" for last values
 * @returns {Cell[]}
 */
function cellsOf(byGroup, i, which) {
  const numSessions = byGroup[`m${i}.sessions`];
  return Array.from(byGroup[`m${i}${which}`], (value, row) => (numSessions[row] > 0 ? value : null));
}

/**
 * The cells of a metric, and the step of each, which is null if the cell is missing or NaN.
 * @param {Record<string, Float64Array>} byGroup
 * @param {number} i  index of the metric
 * @param {string} which  suffix of the table's column of values
 * @param {string} step  suffix of that of steps
 */
function cellsAndSteps(byGroup, i, which, step) {
  const cells = cellsOf(byGroup, i, which);
  const steps = cellsOf(byGroup, i, step).map((at, row) => (Number.isNaN(cells[row]) ? null : at));
  return { cells, steps };
}

/**
 * A metric, and the column of its steps, which stands beside it.
 * @param {Column} metric
 * @returns {Column[]}
 */
export function withStepColumn(metric) {
  const { key, label, steps = [], isUndeclared } = metric;
  const description = `The step of ${label}; the mean step if a row has the mean of several sessions`;
  /** @type {Column} */
  const column = {
    ...{ key: `at.${key}`, kind: "info", index: -1, label: `${label} at step`, heading: "at step", description },
    ...{ type: "number", differs: true, isUndeclared, cells: steps, metric: null, isStep: true },
  };
  return [metric, column];
}

/**
 * The lowest or highest values of a metric over the steps.
 * @param {Record<string, Float64Array>} byGroup
 * @param {Record<string, Float64Array>} bySession
 * @param {number} i
 * @param {"lowest" | "highest"} which
 * @returns {import("./types.js").MetricValues}
 */
function extremeOf(byGroup, bySession, i, which) {
  return {
    ...cellsAndSteps(byGroup, i, `.${which}`, `.${which}_step`),
    sessionValues: { value: bySession[`m${i}.${which}`], step: bySession[`m${i}.${which}_step`], wallTime: bySession[`m${i}.wall_time`] },
  };
}

/**
 * The sweep with the best values over the steps in place of the last ones, for each metric whose
 * goal is known.
 * @param {Sweep} sweep
 * @param {(metric: Column) => import("./types.js").Goal | null} goalOf
 * @returns {Sweep}  the same sweep if it has only last values
 */
export function withBestValues(sweep, goalOf) {
  const { extremes } = sweep;
  if (!extremes) return sweep;
  const sessionValues = [...sweep.sessionValues];
  const metrics = sweep.metrics.map((metric) => {
    const goal = goalOf(metric);
    if (!goal) return metric;
    const extreme = goal === "min" ? "lowest" : "highest";
    const { sessionValues: ofSessions, ...best } = extremes[metric.index][extreme];
    sessionValues[metric.index] = ofSessions;
    return /** @type {Column} */ ({ ...metric, extreme, title: metric.label, label: `${metric.label} (${goal})`, ...best });
  });
  const columns = [...sweep.columns.filter(({ kind, isStep }) => kind !== "metric" && !isStep), ...metrics.flatMap(withStepColumn)];
  return { ...sweep, columns, byKey: new Map(columns.map((column) => [column.key, column])), metrics, sessionValues };
}

/**
 * Whether the experiment declares hyperparameters (or metrics), but not this one. False for all of
 * them if the experiment declares none.
 * @param {{ declared: boolean }} info
 * @param {readonly { declared: boolean }[]} all
 */
function isUndeclared(info, all) {
  return !info.declared && all.some(({ declared }) => declared);
}

/**
 * The cells of a hyperparameter. If a cell is NaN in `numbers`, NaN was logged in the rows that
 * `nan` lists; in all other rows, the cell is in `strings` or missing.
 * @param {readonly Cell[] | undefined} strings  texts and booleans
 * @param {Float64Array | undefined} numbers
 * @param {readonly number[]} [nan]  rows in which NaN was logged
 */
function hparamCells(strings, numbers, nan = []) {
  /** @type {Cell[]} */
  const cells = numbers ? Array.from(numbers, (value, row) => (Number.isNaN(value) ? (strings?.[row] ?? null) : value)) : [...(strings ?? [])];
  for (const row of nan) cells[row] = NaN;
  return cells;
}

/**
 * The cells of a hyperparameter by group: the value that all of its sessions have. Where they have
 * different ones, the cell is null, and the figure says which.
 * @param {readonly Cell[]} sessionCells
 * @param {readonly Group[]} groups
 * @returns {Required<Pick<Column, "cells" | "sessionCells" | "figure">>}
 */
export function commonCells(sessionCells, groups) {
  const cellsOfRow = (/** @type {number} */ row) => groups[row].sessions.map(({ index }) => sessionCells[index]);
  const differing = groups.map((_, row) => new Set(cellsOfRow(row).map((cell) => (cell === null ? null : groupText(cell)))).size > 1);
  return {
    sessionCells,
    cells: groups.map((_, row) => (differing[row] ? null : cellsOfRow(row)[0])),
    figure: (row) => (differing[row] ? differenceOf(cellsOfRow(row)) : null),
  };
}

/** The sessions of a response. @param {any} columns @returns {Session[]} */
function readSessions(columns) {
  return columns.names.map((/** @type {string} */ name, /** @type {number} */ index) => ({
    name,
    label: name,
    index,
    // No status was logged: the session may still be running.
    status: columns.status[index] === "unknown" ? "no end logged" : columns.status[index],
    start: columns.start[index] || NaN,
    end: columns.end[index] || NaN,
    modelUri: columns.model_uri[index],
    monitorUrl: columns.monitor_url[index],
  }));
}

/**
 * Columns with information about groups: name, status, sessions, start and duration.
 * @param {readonly Group[]} groups
 * @returns {Column[]}
 */
export function infoColumns(groups) {
  /**
   * @type {[key: string, label: string, type: Column["type"], description: string, read: (group: Group) => Cell][]}
   */
  const columns = [
    ["name", "Name", "string", "The run of the session, or the group of sessions with the same hyperparameters", ({ label }) => label],
    ["status", "Status", "string", "The status that the job logged when it ended", ({ sessions }) => statusOf(sessions)],
    ["sessions", "Sessions", "number", "How many sessions have these hyperparameters", ({ sessions }) => sessions.length],
    ["start", "Started", "time", "When the first of its sessions started", ({ sessions }) => earliest(sessions.map(({ start }) => start))],
    ["duration", "Duration", "duration", "The mean duration of its sessions", ({ sessions }) => meanDuration(sessions)],
  ];
  return columns.map(([key, label, type, description, read], index) => {
    const cells = groups.map(read);
    // Filters of names match the name of any session of the row.
    const texts = key === "name" ? groups.map(({ label: name, sessions }) => [name, ...sessions.map((session) => session.name)].join("\n")) : undefined;
    return { key, kind: "info", index, label, description, type, differs: new Set(cells).size > 1, isUndeclared: false, cells, texts, metric: null };
  });
}

/**
 * The status of a group, with counts if its sessions differ.
 * @param {readonly Session[]} sessions
 */
function statusOf(sessions) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { status } of sessions) counts.set(status, (counts.get(status) ?? 0) + 1);
  if (counts.size === 1) return sessions[0].status;
  return Array.from(counts, ([status, count]) => `${count} ${status}`).join(", ");
}

/** The smallest finite value; null if there is none. @param {readonly number[]} values */
function earliest(values) {
  const known = values.filter(Number.isFinite);
  return known.length > 0 ? Math.min(...known) : null;
}

/**
 * The mean duration in seconds; null if no duration is known.
 * @param {readonly Session[]} sessions
 */
function meanDuration(sessions) {
  const known = sessions.map(({ start, end }) => end - start).filter((duration) => duration >= 0);
  return known.length > 0 ? known.reduce((sum, duration) => sum + duration, 0) / known.length : null;
}

/**
 * The run that logs a session's metric: `exp/a/eval` for session `exp/a` and group `eval`, `exp` for
 * group `..`.
 * @param {string} session
 * @param {string} group  of the metric
 */
export function runOf(session, group) {
  /** @type {string[]} */
  const path = [];
  for (const part of `${session}/${group}`.split("/")) {
    if (part === "..") path.pop();
    else if (part !== "" && part !== ".") path.push(part);
  }
  return path.join("/") || ".";
}

/**
 * The colours of selected runs and of all directories above them. A session is shown if its name
 * has a colour.
 * @param {readonly { name: string, color: string }[]} runs
 * @returns {Map<string, string>} run or directory to colour
 */
export function colorsOfRuns(runs) {
  /** @type {Map<string, string>} */
  const colors = new Map();
  for (const { name, color } of runs) {
    for (let slash = name.lastIndexOf("/"); slash > 0; slash = name.lastIndexOf("/", slash - 1)) {
      const parent = name.slice(0, slash);
      if (colors.has(parent)) break; // then all directories above it have a colour, too
      colors.set(parent, color);
    }
    if (!colors.has(".")) colors.set(".", color);
  }
  for (const { name, color } of runs) colors.set(name, color);
  return colors;
}

/**
 * A function that finds the session that a run belongs to: the run itself, or the nearest directory
 * above it that is a session, or else the only session below it.
 * @param {Iterable<string>} names  of all sessions
 * @returns {(run: string) => string | null}
 */
export function sessionFinder(names) {
  const sessions = new Set(names);
  /** Maps each directory above sessions to the only one below it; null if there are several. @type {Map<string, string | null>} */
  const onlyBelow = new Map();
  for (const session of sessions) for (const path of pathsAbove(session)) onlyBelow.set(path, onlyBelow.has(path) ? null : session);
  return (run) => [run, ...pathsAbove(run)].find((path) => sessions.has(path)) ?? onlyBelow.get(run) ?? null;
}

/** The directories above a run, the nearest first, and the log directory itself. @param {string} run */
function pathsAbove(run) {
  if (run === ".") return [];
  const parts = run.split("/");
  return [...parts.slice(1).map((_, i) => parts.slice(0, -1 - i).join("/")), "."];
}

/**
 * The runs of sessions: their own, and all others that belong to them.
 * @param {readonly { name: string }[]} runs
 * @param {readonly Group[]} groups  of all sessions
 * @param {readonly number[]} rows  indices of the groups whose sessions are wanted
 */
export function runsOfRows(runs, groups, rows) {
  const rowOfSession = new Map(groups.flatMap(({ sessions }, row) => sessions.map(({ name }) => [name, row])));
  const wanted = new Set(rows);
  const sessionOf = sessionFinder(rowOfSession.keys());
  return runs.flatMap(({ name }) => {
    const session = sessionOf(name);
    return session !== null && wanted.has(rowOfSession.get(session) ?? -1) ? [name] : [];
  });
}
