/**
 * The state that all panels of the tab share: the rows shown, their colours, and the user's
 * actions.
 */

import { computed, signal } from "@preact/signals-core";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { plural } from "tbcore/format.js";
import { formatLists } from "tbcore/text-names.js";
import { makeFilter } from "tbcore/ui.js";
import { VALUE_NAMES, writerOf } from "./cell-text.js";
import { gradesOf, rampOf } from "./color-ramp.js";
import { filterRows, formatFilters, replaceFilter } from "./filters.js";
import { bestRow } from "./goals.js";
import { importanceOf } from "./importance.js";
import { sortRows } from "./sorting.js";
import { colorsOfRuns, sessionOf, withBestValues } from "./sweep.js";
import { AGGREGATIONS, VALUE_CHOICES, formatSorts, goalOf, parseView, toggled, withScale } from "./view.js";

/**
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 * @typedef {import("./types.js").Group} Group
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Session} Session
 * @typedef {import("./types.js").Sweep} Sweep
 * @typedef {ReturnType<typeof useTab>} Tab
 */

/** How texts name the aggregations. */
const AGGREGATION_NAMES = { avg: "mean", min: "minimum", max: "maximum", median: "median" };
/**
 * How long filters must stay unchanged before importance is computed, which takes longer than a
 * frame.
 */
const DEBOUNCE_MS = 200;
/** The colour of rows without a value of the metric, or without a selected run. */
const NO_METRIC_COLOR = "#888888";

/**
 * The state of the tab, computed again at each render.
 * @param {Host} host
 * @param {Sweep} loadedSweep  with last values
 * @param {import("tbcore/requests.js").Answers<import("./curves.js").Curve>} answers
 */
export function useTab(host, loadedSweep, answers) {
  const settings = host.settings.value;
  const theme = host.theme.value;
  const runs = host.wantedRuns.value;
  const text = JSON.stringify(settings);
  const values = valuesOf(settings);
  // The view with last values selects the metric, whose goal selects which values are best.
  const first = useMemo(() => parseView(settings, loadedSweep), [text, loadedSweep]);
  const sweep = useMemo(
    () => (values === "best" ? withBestValues(loadedSweep, (column) => (column === first.metric ? first.goal : goalOf(column))) : loadedSweep),
    [loadedSweep, values, first.metric, first.goal],
  );
  // Keep the metric, since another one might be the default for best values.
  const parsed = useMemo(() => (first.metric && sweep !== loadedSweep ? parseView({ ...settings, metric: first.metric.key, goal: first.goal }, sweep) : first), [text, sweep]);
  const open = useStable([...parsed.open]);
  const openNames = useMemo(() => new Set(open), [open]);
  // Reuse equal lists, so that nothing that depends on them is computed again.
  const view = {
    ...parsed,
    columns: useStable(parsed.columns),
    axes: useStable(parsed.axes),
    filters: useStable(parsed.filters),
    sorts: useStable(parsed.sorts),
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
  // Regular expressions match nothing until their compiler is loaded; this value changes when the
  // compiler is loaded.
  const canMatchPatterns = filters.some((filter) => "text" in filter) && makeFilter(".").matches("a");
  const passingRows = useMemo(() => filterRows(candidates, filters, sweep.byKey, makeFilter), [candidates, filters, canMatchPatterns]);
  const rows = useMemo(() => sortRows(passingRows, sorts, sweep.byKey), [passingRows, sorts]);
  const filteredOut = useMemo(() => {
    const shown = new Set(passingRows);
    return shown.size === candidates.length ? [] : candidates.filter((row) => !shown.has(row));
  }, [passingRows]);
  const best = useMemo(() => bestRow(passingRows, metric, goal), [passingRows, metric, goal]);
  const picked = useStable(
    useMemo(() => {
      const byName = new Map(candidates.map((row) => [sweep.groups[row].name, row]));
      return [...parsed.picked].flatMap((name) => byName.get(name) ?? []);
    }, [candidates, parsed]),
  );

  // --- colours
  const ramp = useMemo(() => rampOf(theme), [theme]);
  const graded = useStable([...new Set([...view.columns, ...view.axes, ...(metric ? [metric] : [])])].filter(({ kind }) => kind === "metric"));
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
  /** The colour of a group's first selected session. @param {Group} group */
  const runColorOf = ({ sessions }) => sessions.map(({ name }) => runColors.get(name)).find(Boolean) ?? NO_METRIC_COLOR;

  // --- importance of hyperparameters
  const debouncedRows = useDebounced(passingRows);
  /** The importance of a column, computed when it is first shown. */
  const importance = useMemo(() => {
    /** @type {Map<string, import("./importance.js").Importance | null>} */
    const known = new Map();
    return (/** @type {Column} */ column) => {
      if (!metric || column.kind !== "hparam" || !column.differs) return null;
      let found = known.get(column.key);
      if (found === undefined) known.set(column.key, (found = importanceOf(column, metric, debouncedRows)));
      return found;
    };
  }, [debouncedRows, metric, sweep]);

  // --- the hovered row, here or in the list of runs
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
  /** The row to scroll to; a new object each time, so that the same row can be shown again. */
  const shownRow = useMemo(() => signal(/** @type {{ row: number } | null} */ (null)), []);

  /**
   * Sets a setting in the page address.
   * @param {string} name
   * @param {string | null} value  null for the default
   */
  const set = (name, value) => host.settings.set(name, value);
  /** Checks a group for comparison, or unchecks it. @param {string} name  of the group */
  const togglePick = (name) => set("pick", toggled(parsed.picked, name));
  /** Scrolls the table to a row. @param {number} row */
  const showRow = (row) => {
    if (!view.panels.has("table")) togglePanel("table");
    shownRow.value = { row };
  };
  /** Shows or hides a panel. @param {import("./view.js").Panel} panel */
  const togglePanel = (panel) => {
    const text = toggled(view.panels, panel);
    if (text !== null) set("show", text); // one panel is always shown
  };
  const exporters = useRef(/** @type {Map<import("./view.js").Panel, () => Promise<Blob>>} */ (new Map())).current;
  const nameColumn = /** @type {Column} */ (sweep.byKey.get("name"));
  return {
    host,
    sweep,
    view,
    theme,
    answers,
    candidates,
    rows,
    filteredOut,
    picked,
    bestRow: best,
    bestText: metric ? `The best ${metric.label} of the ${plural(rows.length, "row")} shown, by ${VALUE_NAMES[metric.extreme ?? "last"]}` : "",
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
    /** Whether all sessions are shown, not only the newest runs that are checked by default. */
    areAllShown: host.runs.value.length < runs.length,
    aggregationName: AGGREGATION_NAMES[aggregation],
    nameColumn,
    /** Functions that export the visible plots as PNG. */
    exporters,
    /** All columns but the name, which is always first. */
    listedColumns: sweep.columns.filter((column) => column !== nameColumn),

    set,
    togglePick,
    togglePanel,
    showRow,
    /** Checks or unchecks a row, and scrolls the table to it. @param {number} row */
    pickAndShow(row) {
      togglePick(sweep.groups[row].name);
      if (view.panels.has("table")) shownRow.value = { row };
    },
    /** Opens or closes the details of a group. @param {string} name  of the group */
    toggleOpen: (name) => set("open", toggled(view.open, name)),
    /** Sets the hovered row. @param {number | null} row */
    hover(row) {
      const name = row === null ? null : sweep.groups[row].sessions[0].name;
      // If the list of runs already highlights another run of the same row, it stays highlighted.
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
    hasMetric: (column, session) => !Number.isNaN(sweep.sessionValues[column.index].wallTime[session.index]),
    /** How many sessions or groups are shown, in words. */
    countsText() {
      const noun = sweep.groups.length === sweep.sessions.length ? "session" : "group";
      const shown = rows.length === candidates.length ? plural(candidates.length, noun) : `${rows.length} of ${plural(candidates.length, noun)}`;
      const numHidden = sweep.groups.length - candidates.length;
      return numHidden > 0 ? `${shown}, ${numHidden} more not selected in the list of runs` : shown;
    },
  };
}

/**
 * How the sessions of a group are combined, from the settings.
 * @param {Readonly<Record<string, string>>} settings
 */
export function aggregationOf(settings) {
  return AGGREGATIONS.find((name) => name === settings.agg) ?? "avg";
}

/**
 * Which value of a metric counts for each session, from the settings.
 * @param {Readonly<Record<string, string>>} settings
 */
export function valuesOf(settings) {
  return VALUE_CHOICES.find((name) => name === settings.values) ?? "last";
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
