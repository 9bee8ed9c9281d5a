/**
 * Everything that the parts of the tab share: the rows that are shown, their colours, and what the reader can do.
 */

import { computed, signal } from "@preact/signals-core";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { makeFilter } from "tbcore/lib/filter.js";
import { plural } from "tbcore/lib/format.js";
import { formatLists } from "tbcore/lib/name-lists.js";
import { filterRows, formatFilters, replaceFilter } from "./filters.js";
import { bestRow } from "./goals.js";
import { importanceOf } from "./importance.js";
import { sortRows } from "./order.js";
import { gradesOf, rampOf } from "./ramp.js";
import { colorsOfRuns, sessionOf, withBestValues } from "./sweep.js";
import { VALUE_OF, writerOf } from "./texts.js";
import { AGGREGATIONS, formatSorts, goalOf, parseView, toggled, VALUES, withScale } from "./view.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").Sweep} Sweep
 * @typedef {ReturnType<typeof useTab>} Tab
 */

const AGGREGATION_NAMES = { avg: "mean", min: "least", max: "greatest", median: "median" };
/** What costs more than a frame waits until the filters stand still. */
const SETTLED_MS = 200;
const NO_METRIC = "#888888";

/**
 * @param {Host} host
 * @param {Sweep} asked
 * @param {import("tbcore/lib/answers.js").Answers<import("./curves.js").Curve>} answers
 */
export function useTab(host, asked, answers) {
  const settings = host.settings.value;
  const theme = host.theme.value;
  const runs = host.wantedRuns.value;
  const text = JSON.stringify(settings);
  const values = valuesOf(settings);
  const first = useMemo(() => parseView(settings, asked), [text, asked]);
  const sweep = useMemo(
    () => (values === "best" ? withBestValues(asked, (column) => (column === first.metric ? first.goal : goalOf(column))) : asked),
    [asked, values, first.metric, first.goal],
  );
  // The metric stays what it is: with other values another one might be likelier.
  const parsed = useMemo(() => (first.metric && sweep !== asked ? parseView({ ...settings, metric: first.metric.key, goal: first.goal }, sweep) : first), [text, sweep]);
  const open = useSame([...parsed.open]);
  const openNames = useMemo(() => new Set(open), [open]);
  // The same lists as before where they are equal: what is made of them need not be made again.
  const view = {
    ...parsed,
    columns: useSame(parsed.columns),
    axes: useSame(parsed.axes),
    filters: useSame(parsed.filters),
    sorts: useSame(parsed.sorts),
    open: openNames,
  };
  const { metric, goal, filters, sorts } = view;
  const aggregation = aggregationOf(settings);

  // --- rows
  const runColors = useMemo(() => colorsOfRuns(runs), [runs]);
  const candidates = useMemo(
    () => sweep.groups.flatMap(({ sessions }, row) => (sessions.some(({ name }) => runColors.has(name)) ? [row] : [])),
    [sweep, runColors],
  );
  const arePatternsThere = filters.some((filter) => "text" in filter) && makeFilter(".").matches("a");
  const passing = useMemo(() => filterRows(candidates, filters, sweep.byKey, makeFilter), [candidates, filters, arePatternsThere]);
  const rows = useMemo(() => sortRows(passing, sorts, sweep.byKey), [passing, sorts]);
  const others = useMemo(() => {
    const shown = new Set(passing);
    return shown.size === candidates.length ? [] : candidates.filter((row) => !shown.has(row));
  }, [passing]);
  const best = useMemo(() => bestRow(passing, metric, goal), [passing, metric, goal]);
  const picked = useSame(
    useMemo(() => {
      const byName = new Map(candidates.map((row) => [sweep.groups[row].name, row]));
      return [...parsed.picked].flatMap((name) => byName.get(name) ?? []);
    }, [candidates, parsed]),
  );

  // --- colours
  const ramp = useMemo(() => rampOf(theme), [theme]);
  const graded = useSame([...new Set([...view.columns, ...view.axes, ...(metric ? [metric] : [])])].filter(({ kind }) => kind === "metric"));
  const grades = useMemo(
    () =>
      new Map(
        graded.map((column) => {
          const better = column === metric ? goal : (goalOf(column) ?? "max");
          return [column.key, gradesOf(candidates.map((row) => column.cells[row]), better)];
        }),
      ),
    [graded, candidates, metric, goal],
  );
  const gradeOfRow = useMemo(() => {
    const grade = metric && grades.get(metric.key);
    return (/** @type {number} */ row) => (metric && grade?.get(metric.cells[row])) ?? NaN;
  }, [grades, metric]);
  const colorOf = useMemo(
    () => (/** @type {number} */ row) => {
      const grade = gradeOfRow(row);
      return Number.isNaN(grade) ? NO_METRIC : ramp[Math.round(grade * (ramp.length - 1))];
    },
    [gradeOfRow, ramp],
  );
  /** Rows in the order in which they are drawn: the best over all others. */
  const worstFirst = useMemo(
    () => (/** @type {readonly number[]} */ list) => {
      const order = list.map((row) => ({ row, grade: gradeOfRow(row) }));
      return order.sort((a, b) => (Number.isNaN(a.grade) ? -1 : a.grade) - (Number.isNaN(b.grade) ? -1 : b.grade)).map(({ row }) => row);
    },
    [gradeOfRow],
  );
  /** @param {Group} group */
  const runColorOf = ({ sessions }) => sessions.map(({ name }) => runColors.get(name)).find(Boolean) ?? NO_METRIC;

  // --- what goes with the metric
  const settledRows = useSettled(passing);
  /** Worked out for columns in sight. */
  const importance = useMemo(() => {
    /** @type {Map<string, import("./importance.js").Importance | null>} */
    const known = new Map();
    return (/** @type {Column} */ column) => {
      if (!metric || column.kind !== "hparam" || !column.differs) return null;
      let found = known.get(column.key);
      if (found === undefined) known.set(column.key, (found = importanceOf(column, metric, settledRows)));
      return found;
    };
  }, [settledRows, metric, sweep]);

  // --- the row pointed at, here or in the list of runs
  const rowOfSession = useMemo(() => {
    /** @type {Map<string, number>} */
    const rowOf = new Map();
    sweep.groups.forEach(({ sessions }, row) => sessions.forEach(({ name }) => rowOf.set(name, row)));
    return rowOf;
  }, [sweep]);
  const hoveredRow = useMemo(
    () =>
      computed(() => {
        const run = host.hoveredRun.value;
        const session = run === null ? null : sessionOf(run, rowOfSession);
        return session === null ? null : (rowOfSession.get(session) ?? null);
      }),
    [rowOfSession],
  );
  const shownRow = useMemo(() => signal(/** @type {{ row: number } | null} */ (null)), []);

  /** @param {string} name @param {string | null} value */
  const set = (name, value) => host.settings.set(name, value);
  /** @param {string} name  of a group */
  const togglePick = (name) => set("pick", toggled(parsed.picked, name));
  /** @param {number} row */
  const showRow = (row) => {
    if (!view.parts.has("table")) togglePart("table");
    shownRow.value = { row };
  };
  /** @param {import("./view.js").Part} part */
  const togglePart = (part) => {
    const text = toggled(view.parts, part);
    if (text !== null) set("show", text); // something is always shown
  };
  const pictures = useRef(/** @type {Map<import("./view.js").Part, () => Promise<Blob>>} */ (new Map())).current;
  const nameColumn = /** @type {Column} */ (sweep.byKey.get("name"));
  return {
    host,
    sweep,
    view,
    theme,
    answers,
    candidates,
    rows,
    others,
    picked,
    bestRow: best,
    bestText: metric ? `The best ${metric.label} of the ${plural(rows.length, "row")} shown, by ${VALUE_OF[metric.of ?? "last"]}` : "",
    runColors,
    runColorOf,
    ramp,
    grades,
    colorOf,
    worstFirst,
    importance,
    hoveredRow,
    shownRow,
    aggregation,
    values,
    /** More than the list of runs has checked, because nobody has chosen there. */
    areAllShown: host.runs.value.length < runs.length,
    aggregationName: AGGREGATION_NAMES[aggregation],
    nameColumn,
    /** What takes a picture of a plot that is shown. */
    pictures,
    /** For the list of columns; names stand before all others. */
    listedColumns: sweep.columns.filter((column) => column !== nameColumn),

    set,
    togglePick,
    togglePart,
    showRow,
    /** @param {number} row */
    pickAndShow(row) {
      togglePick(sweep.groups[row].name);
      if (view.parts.has("table")) shownRow.value = { row };
    },
    /** @param {string} name  of a group */
    toggleOpen: (name) => set("open", toggled(view.open, name)),
    /** @param {number | null} row */
    hover(row) {
      const name = row === null ? null : sweep.groups[row].sessions[0].name;
      // A session's own run, or one below it, may be pointed at in the list already.
      if (row !== hoveredRow.peek() || name === null) host.hoveredRun.set(name);
    },
    /** @param {string} key @returns {ColumnFilter | null} */
    filterOf: (key) => filters.find((filter) => filter.key === key) ?? null,
    /** @param {string} key @param {ColumnFilter | null} filter */
    setFilter: (key, filter) => set("filter", formatFilters(replaceFilter(filters, key, filter))),
    /** @param {[key: string, filter: ColumnFilter | null][]} changes */
    setFilters(changes) {
      set("filter", formatFilters(changes.reduce((all, [key, filter]) => replaceFilter(all, key, filter), [...filters])));
    },
    /** @param {readonly import("./types.js").Sort[]} next */
    setSorts: (next) => set("sort", formatSorts(next)),
    /** @param {readonly string[] | null} keys */
    setColumns: (keys) => set("columns", keys && formatLists([keys])),
    /** @param {readonly string[] | null} keys */
    setAxes: (keys) => set("axes", keys && formatLists([keys])),
    /** @param {Column} column @param {boolean} log */
    setLog: (column, log) => set("scale", withScale(settings.scale, column, log)),
    /** @param {string} key */
    setMetric(key) {
      set("metric", key);
      set("goal", null);
    },
    /** @param {string} name */
    setAggregation: (name) => set("agg", name === "avg" ? null : name),
    /** @param {string} name */
    setValues: (name) => set("values", name === "last" ? null : name),
    /** @param {Column} column @param {import("./types.js").Cell} cell */
    write: (column, cell) => writerOf(column)(cell),
    /** @param {Column} column @param {Session} session */
    hasMetric: (column, session) => !Number.isNaN(sweep.ofSessions[column.index].wallTime[session.index]),
    sayCounts() {
      const noun = sweep.groups.length === sweep.sessions.length ? "session" : "group";
      const shown = rows.length === candidates.length ? plural(candidates.length, noun) : `${rows.length} of ${plural(candidates.length, noun)}`;
      const numHidden = sweep.groups.length - candidates.length;
      return numHidden > 0 ? `${shown}, ${numHidden} more not checked in the list of runs` : shown;
    },
  };
}

/**
 * How the sessions of a group make one value.
 * @param {Readonly<Record<string, string>>} settings
 */
export function aggregationOf(settings) {
  return AGGREGATIONS.find((name) => name === settings.agg) ?? "avg";
}

/**
 * Which of the values that a session logged of a metric is looked at.
 * @param {Readonly<Record<string, string>>} settings
 */
export function valuesOf(settings) {
  return VALUES.find((name) => name === settings.values) ?? "last";
}

/**
 * The list as it was, while a new one is equal.
 * @template T
 * @param {readonly T[]} list
 * @returns {readonly T[]}
 */
function useSame(list) {
  const last = useRef(list);
  const old = last.current;
  const areEqual = old.length === list.length && old.every((item, i) => item === list[i] || JSON.stringify(item) === JSON.stringify(list[i]));
  if (!areEqual) last.current = list;
  return last.current;
}

/**
 * The value once it has not changed for a moment.
 * @template T
 * @param {T} value
 */
function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
