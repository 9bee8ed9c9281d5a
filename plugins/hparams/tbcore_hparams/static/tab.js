/**
 * The state that all panels of the tab share: the rows shown, their colours, and the user's
 * actions.
 */

import { computed, signal } from "@preact/signals-core";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, plural } from "tbcore/format.js";
import { formatLists } from "tbcore/text-names.js";
import { VALUE_NAMES, cellText, cellTitle, stepText } from "./cell-text.js";
import { gradesOf, rampOf } from "./color-ramp.js";
import { usePatterns } from "./column-filter.js";
import { filterRows, formatFilters, replaceFilter } from "./filters.js";
import { bestMarks, bestRows, finiteFirst } from "./goals.js";
import { importanceOf } from "./importance.js";
import { withLabels } from "./labels.js";
import { sortRows } from "./sorting.js";
import { colorsOfRuns, runsOfRows, sessionFinder, withBestValues } from "./sweep.js";
import { AGGREGATIONS, VALUE_CHOICES, formatSorts, goalOf, parseView, toggled, withScale } from "./view.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").Sweep} Sweep
 * @typedef {import("./view.js").View} View
 * @typedef {ReturnType<typeof useTab>} Tab
 */

/** How texts name the aggregations. */
const AGGREGATION_NAMES = { avg: "mean", min: "minimum", max: "maximum", median: "median" };
/**
 * How long filters must stay unchanged before importance is computed, which takes longer than a
 * frame.
 */
const DEBOUNCE_MS = 200;
/** Runs of which one has ended before this share of the other's steps are not compared without a word. */
const MIN_SHARE_OF_STEPS = 0.9;
/** The colour of rows without a value of the metric, or without a selected run. */
const NO_METRIC_COLOR = "#888888";

/**
 * The state of the tab, computed again at each render.
 * @param {Host} host
 * @param {Sweep} loadedSweep  with last values, and with a row for each group if runs are grouped
 * @param {import("tbcore/requests.js").Answers<import("./curves.js").Curve>} answers
 */
export function useTab(host, loadedSweep, answers) {
  const settings = host.settings.value;
  const theme = host.theme.value;
  const runs = host.wantedRuns.value;
  const { grouped } = loadedSweep;
  const labels = useStable(runs.filter(({ name, label }) => label !== name).map(({ name, label }) => /** @type {const} */ ([name, label])));
  const labelledSweep = useMemo(() => withLabels(loadedSweep, new Map(labels)), [loadedSweep, labels]);
  /** How the sessions of a row are combined; those of groups in the list of runs always have means. */
  const aggregation = (!grouped && AGGREGATIONS.find((name) => name === settings.agg)) || "avg";
  /** Which value of a metric counts for each session. */
  const values = VALUE_CHOICES.find((name) => name === settings.values) ?? "last";
  const { sweep, view } = useView(settings, labelledSweep, values === "best");
  const { metric } = view;
  const runColors = useMemo(() => colorsOfRuns(runs), [runs]);
  const { passingRows, ...rows } = useRows(sweep, view, runColors);
  const numWithout = useMemo(() => {
    const sessionOf = sessionFinder(sweep.sessions.map(({ name }) => name));
    return runs.filter(({ name }) => sessionOf(name) === null).length;
  }, [sweep.sessions, runs]);
  const steps = useMemo(() => unequalSteps(sweep, metric, passingRows), [sweep, metric, passingRows]);
  /** The row to scroll to; a new object each time, so that the same row can be shown again. */
  const shownRow = useMemo(() => signal(/** @type {{ row: number } | null} */ (null)), []);
  const { hoveredRow, hover } = useHoveredRow(host, sweep);
  return {
    host,
    sweep,
    view,
    theme,
    answers,
    ...rows,
    passingRows,
    /** How many of the runs that are selected belong to no session. */
    numWithout,
    /** Between which steps the last values of the metric are, if these are far apart. */
    steps,
    ...useColors(theme, view, rows.candidates),
    runColors,
    /** The colour of a group's first selected session. @param {Group} group */
    runColorOf: ({ sessions }) => sessions.map(({ name }) => runColors.get(name)).find(Boolean) ?? NO_METRIC_COLOR,
    ...bestTextsOf(metric, passingRows.length, rows.bestRow, sweep.grouped?.averageName, rows.marks.get(rows.bestRow ?? -1)?.title),
    importance: useImportance(sweep, metric, passingRows),
    hoveredRow,
    hover,
    shownRow,
    aggregation,
    values,
    /** Whether all sessions are shown, not only the newest runs that are checked by default. */
    areAllShown: host.runs.value.length < runs.length,
    aggregationName: AGGREGATION_NAMES[aggregation],
    /** The step of a metric's cell, in words; "" if there is none. @param {Column} column @param {number} row */
    stepText: (column, row) => stepText(column, row, aggregation === "avg" && sweep.groups[row].sessions.length > 1),
    nameColumn: /** @type {Column} */ (sweep.byKey.get("name")),
    /** Functions that export the visible plots as PNG. */
    exporters: useMemo(() => signal(/** @type {ReadonlyMap<import("./view.js").Panel, () => Promise<Blob>>} */ (new Map())), []),
    /** @param {Column} column @param {Session} session */
    hasMetric: (column, session) => !Number.isNaN(sweep.sessionValues[column.index].wallTime[session.index]),
    /** Shows only the runs of the checked rows, in all tabs; without any, those of all rows. */
    showOnlyRows: () => host.checkOnly(runsOfRows(runs, sweep.groups, rows.picked.length > 0 ? rows.picked : passingRows)),
    ...actionsOf(host, sweep, view, shownRow),
  };
}

/**
 * The lowest and the highest step of the last values of a metric, in the sessions of these rows; null unless runs
 * have ended so much earlier than others that their values say little of each other.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 * @param {readonly number[]} rows
 */
function unequalSteps(sweep, metric, rows) {
  if (!metric || metric.extreme) return null;
  const { value, step } = sweep.sessionValues[metric.index];
  const indices = rows.flatMap((row) => sweep.groups[row].sessions.map(({ index }) => index)).filter((index) => Number.isFinite(value[index]));
  const [low, high] = indices.reduce(([low, high], index) => [Math.min(low, step[index]), Math.max(high, step[index])], [Infinity, -Infinity]);
  return low < MIN_SHARE_OF_STEPS * high ? [low, high] : null;
}

/**
 * What the best row is, and if rows have averages, its average and the number of values.
 * @param {Column | null} metric
 * @param {number} numRows  that are shown
 * @param {number | null} row  the best
 * @param {string | undefined} average  in words; undefined if rows have none
 * @param {string} [why]  the title of its mark
 * @returns {{ bestText: string, bestFigure: string | null }}
 */
function bestTextsOf(metric, numRows, row, average, why = "") {
  if (!metric) return { bestText: "", bestFigure: null };
  const name = formatName(metric.label);
  const { count = 0, diverged = 0 } = metric.statistics?.[row ?? -1] ?? {};
  if (row === null || !count) return { bestText: `The best ${name} of the ${plural(numRows, "row")} shown, by ${VALUE_NAMES[metric.extreme ?? "last"]}`, bestFigure: null };
  const figure = metric.figure?.(row)?.average ?? cellText(metric, row);
  const [least = ""] = / of at least \d+ values/.exec(why) ?? [];
  return { bestText: `The best ${average} ${name}${least}${least && ","} of the ${plural(numRows, "group")} shown: ${cellTitle(metric, row)}`, bestFigure: `${figure} (n = ${count}${diverged > 0 ? `, ${diverged} diverged` : ""})` };
}

/**
 * The sweep with the selected values, and the view of it.
 * @param {Readonly<Record<string, string>>} settings
 * @param {Sweep} loadedSweep  with last values
 * @param {boolean} isBest  whether the best values are selected
 */
function useView(settings, loadedSweep, isBest) {
  const text = JSON.stringify(settings);
  // The view with last values selects the metric, whose goal selects which values are best.
  const first = useMemo(() => parseView(settings, loadedSweep), [text, loadedSweep]);
  const sweep = useMemo(
    () => (isBest ? withBestValues(loadedSweep, (column) => (column.key === first.metric?.key ? first.goal : goalOf(column))) : loadedSweep),
    [loadedSweep, isBest, first.metric, first.goal],
  );
  // Keep the metric, since another one might be the default for best values.
  const parsed = useMemo(() => (first.metric && sweep !== loadedSweep ? parseView({ ...settings, metric: first.metric.key, goal: first.goal }, sweep) : first), [text, sweep]);
  const open = useStable([...parsed.open]);
  // Reuse equal lists, so that nothing that depends on them is computed again.
  const view = {
    ...parsed,
    lacking: first.lacking,
    columns: useStable(parsed.columns),
    axes: useStable(parsed.axes),
    filters: useStable(parsed.filters),
    sorts: useStable(parsed.sorts),
    open: useMemo(() => new Set(open), [open]),
  };
  return { sweep, view };
}

/**
 * The rows of the selected runs: `candidates` are all of them, `passingRows` those that pass the
 * filters, `rows` the same in the order of the table, and `picked` those of them that are checked.
 * @param {Sweep} sweep
 * @param {View} view
 * @param {ReadonlyMap<string, string>} runColors
 */
function useRows(sweep, { filters, sorts, isSorted, metric, goal, picked: pickedNames }, runColors) {
  const candidates = useMemo(
    () => sweep.groups.flatMap(({ sessions }, row) => (sessions.some(({ name }) => runColors.has(name)) ? [row] : [])),
    [sweep, runColors],
  );
  const patterns = usePatterns(filters);
  const passingRows = useMemo(() => filterRows(candidates, filters, sweep.byKey, patterns), [candidates, filters, patterns]);
  const rows = useMemo(() => {
    const sorted = sortRows(passingRows, sorts, sweep.byKey);
    return isSorted || !metric ? sorted : finiteFirst(sorted, metric);
  }, [passingRows, sorts, isSorted, metric]);
  const filteredOut = useMemo(() => {
    const shown = new Set(passingRows);
    return shown.size === candidates.length ? [] : candidates.filter((row) => !shown.has(row));
  }, [passingRows]);
  const marks = useMemo(() => bestMarks(passingRows, metric, goal, sweep), [passingRows, metric, goal, sweep]);
  const best = useMemo(() => bestRows(passingRows, metric, goal, marks), [passingRows, metric, goal, marks]);
  const picked = useStable(
    useMemo(() => {
      const byName = new Map(passingRows.map((row) => [sweep.groups[row].name, row]));
      return [...pickedNames].flatMap((name) => byName.get(name) ?? []);
    }, [passingRows, pickedNames]),
  );
  const numNonfinite = useMemo(() => passingRows.filter((row) => typeof metric?.cells[row] === "number" && !Number.isFinite(metric.cells[row])).length, [passingRows, metric]);
  return { candidates, passingRows, rows, filteredOut, bestRow: best[0] ?? null, bestRows: new Set(best), marks, numNonfinite, picked };
}

/**
 * The colours of rows and cells, by how good their values are.
 * @param {"light" | "dark"} theme
 * @param {View} view
 * @param {readonly number[]} candidates
 */
function useColors(theme, { columns, axes, metric, goal }, candidates) {
  const ramp = useMemo(() => rampOf(theme), [theme]);
  const graded = useStable([...new Set([...columns, ...axes, ...(metric ? [metric] : [])])].filter(({ kind }) => kind === "metric"));
  const grades = useMemo(
    () =>
      new Map(
        graded.map((column) => {
          const better = column.key === metric?.key ? goal : (goalOf(column) ?? "max");
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
      return Number.isNaN(grade) ? NO_METRIC_COLOR : ramp[Math.round(grade * (ramp.length - 1))];
    },
    [gradeOfRow, ramp],
  );
  /** Rows in drawing order: the best is drawn last, over all others. */
  const worstFirst = useMemo(
    () => (/** @type {readonly number[]} */ list) => {
      const order = list.map((row) => ({ row, grade: gradeOfRow(row) }));
      return order.sort((a, b) => (Number.isNaN(a.grade) ? -1 : a.grade) - (Number.isNaN(b.grade) ? -1 : b.grade)).map(({ row }) => row);
    },
    [gradeOfRow],
  );
  return { ramp, grades, colorOf, worstFirst };
}

/**
 * The importance of a hyperparameter, computed when it is first shown.
 * @param {Sweep} sweep
 * @param {Column | null} metric
 * @param {readonly number[]} passingRows
 */
function useImportance(sweep, metric, passingRows) {
  const rows = useDebounced(passingRows);
  return useMemo(() => {
    /** @type {Map<string, import("./importance.js").Importance | null>} */
    const known = new Map();
    return (/** @type {Column} */ column) => {
      if (!metric || column.kind !== "hparam" || !column.differs) return null;
      let found = known.get(column.key);
      if (found === undefined) known.set(column.key, (found = importanceOf(column, metric, rows)));
      return found;
    };
  }, [rows, metric, sweep]);
}

/**
 * The row that is hovered here or in the list of runs, as a signal, and a function that sets it.
 * @param {Host} host
 * @param {Sweep} sweep
 */
function useHoveredRow(host, sweep) {
  const hoveredRow = useMemo(() => {
    const rowOfSession = new Map(sweep.groups.flatMap(({ sessions }, row) => sessions.map(({ name }) => [name, row])));
    const sessionOf = sessionFinder(rowOfSession.keys());
    return computed(() => {
      const run = host.hoveredRun.value;
      const session = run === null ? null : sessionOf(run);
      return session === null ? null : (rowOfSession.get(session) ?? null);
    });
  }, [sweep]);
  /** @param {number | null} row */
  const hover = (row) => {
    const name = row === null ? null : sweep.groups[row].sessions[0].name;
    // If the list of runs already highlights another run of the same row, it stays highlighted.
    if (row !== hoveredRow.peek() || name === null) host.hoveredRun.set(name);
  };
  return { hoveredRow, hover };
}

/**
 * The user's actions, most of which change a setting in the page address.
 * @param {Host} host
 * @param {Sweep} sweep
 * @param {View} view
 * @param {{ value: { row: number } | null }} shownRow
 */
function actionsOf({ settings }, sweep, view, shownRow) {
  const { filters, panels } = view;
  /**
   * Sets a setting in the page address.
   * @param {string} name
   * @param {string | null} value  null for the default
   */
  const set = (name, value) => settings.set(name, value);
  /** Checks groups for comparison, or unchecks them. @param {readonly string[]} names  of the groups @param {boolean} isPicked */
  const pick = (names, isPicked) => {
    const others = [...view.picked].filter((name) => !names.includes(name));
    set("pick", formatLists([isPicked ? [...others, ...names] : others]));
  };
  /** Shows or hides a panel. @param {import("./view.js").Panel} panel */
  const togglePanel = (panel) => {
    const text = toggled(panels, panel);
    if (text !== null) set("show", text); // one panel is always shown
  };
  return {
    set,
    pick,
    togglePanel,
    /** Checks a row, and scrolls the table to it. @param {number} row */
    showRow(row) {
      if (!panels.has("table")) togglePanel("table");
      pick([sweep.groups[row].name], true);
      shownRow.value = { row };
    },
    /** Checks or unchecks a row, and scrolls the table to it. @param {number} row */
    pickAndShow(row) {
      const { name } = sweep.groups[row];
      pick([name], !view.picked.has(name));
      if (panels.has("table")) shownRow.value = { row };
    },
    /** Opens or closes the details of a group. @param {string} name  of the group */
    toggleOpen: (name) => set("open", toggled(view.open, name)),
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
    setLog: (column, log) => set("scale", withScale(settings.value.scale, column, log)),
    /** @param {string} key */
    setMetric(key) {
      set("metric", key);
      set("goal", null);
    },
    /** @param {string} name */
    setAggregation: (name) => set("agg", name === "avg" ? null : name),
    /** @param {string} name */
    setValues: (name) => set("values", name === "last" ? null : name),
  };
}

/**
 * The same array as at the last render if its items are equal to those of `list`, otherwise `list`.
 * @template T
 * @param {readonly T[]} list
 * @returns {readonly T[]}
 */
function useStable(list) {
  const last = useRef(list);
  const old = last.current;
  const isEqual = old.length === list.length && old.every((item, i) => item === list[i] || JSON.stringify(item) === JSON.stringify(list[i]));
  if (!isEqual) last.current = list;
  return last.current;
}

/**
 * The last value that stayed the same for DEBOUNCE_MS.
 * @template T
 * @param {T} value
 */
function useDebounced(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
