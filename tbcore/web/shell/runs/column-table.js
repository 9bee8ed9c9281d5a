/** The columns beside the names in the run list: their headings and cells. Loaded when the list has columns. */

import { computed, effect } from "@preact/signals-core";
import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { formatName } from "../../lib/format.js";
import { Name, parseLists } from "../../lib/text-names.js";
import { attributesFor } from "../state/attributes.js";
import { commonValue, describeCell, formatCell, formatCellStep, measureColumn, measureSteps, parseColumns, sortRuns } from "../state/columns.js";
import { decimalsOf, describeGroupCell, describeGroups, formatGroup, formatGroupCounts, formatSpan, groupStatistics, hasAverages, lastIn, lastOf, marksOfColumn, measureGroups, sortGroups } from "../state/group-columns.js";
import { membersOf } from "../state/grouped.js";
import { isLive } from "../state/tree.js";
import { fitAgain, fitListFor } from "./fit.js";

/** @import { State } from "../state/reader-state.js" */
/** @import { Column } from "../state/columns.js" */
/** @import { Row } from "../state/tree.js" */
/** @typedef {ReturnType<typeof makeTable>} Table */

/** What stands before a column's text where the order of the list is stored. */
const [ASCENDING, DESCENDING] = ["+", "-"];

/** Padding at both sides of a cell that is cut, as in lazy.css. */
const CUT_PADDING_PX = 8;
/** What is visible of a cell must be as wide as a digit and an ellipsis with padding, or its text is not shown. */
const MIN_VISIBLE_PX = 30;

/** The columns of the page's run list. Asks for their values from now on. @param {State} state */
export function makeTable(state) {
  const attributes = attributesFor(state);
  const columns = computed(() => parseColumns(parseLists(state.columnsText.value).flat(), (text) => attributes.column(text).meaning.value));
  /** The runs of each group that match the filter; null if runs are not grouped. */
  const members = computed(() => state.groupOf.value && membersOf(state.candidates.value.matching, state.groupOf.value));
  const average = computed(() => state.rules.value?.average.value ?? "mean");
  const spread = computed(() => state.rules.value?.spread.value ?? "deviation");
  /** The statistics of each column by group, for groups of these runs; null for a column without averages. */
  const statistics = computed(() =>
    columns.value.map(({ text, attribute }) => {
      const values = hasAverages(attribute) ? attributes.columnOf(text).value : null;
      return members.value && values && groupStatistics(members.value, values, average.value, lastIn(attributes, attribute), attribute, spread.value);
    }),
  );
  const decimals = computed(() => statistics.value.map((groups) => decimalsOf(groups, average.value)));
  const widths = computed(() =>
    columns.value.map((column, i) => {
      const values = attributes.columnOf(column.text).value;
      const { figureChars: chars, countChars } = measureGroups(statistics.value[i], average.value, sorted.value?.column === column ? marks.value : null, decimals.value[i]);
      const figureChars = Array.from(members.value?.values() ?? []).reduce((most, runs) => Math.max(most, values ? formatSpan(runs, values, column.attribute).length : 0), chars);
      const stepChars = measureSteps(column, attributes.stepsOf(column.text).value);
      return { ...measureColumn(column, values, figureChars), stepChars: Math.max(stepChars, countChars) };
    }),
  );
  /** The column that the list is sorted by; null if the list has its usual order. */
  const sorted = computed(() => {
    const text = state.list.value.column;
    const column = columns.value.find(({ text: own }) => own === text.slice(1));
    return column ? { column, isDescending: text.startsWith(DESCENDING) } : null;
  });
  /** The column that the list is sorted by, with its values, once they are read, and the groups. */
  const sorting = computed(() => {
    const values = sorted.value && attributes.columnOf(sorted.value.column.text).value;
    return sorted.value && values && { ...sorted.value, values, groupOf: state.groupOf.value, groups: statistics.value[columns.value.indexOf(sorted.value.column)] };
  });
  /** What stands beside the means of the column that the list is sorted by. */
  const marks = computed(() => {
    const { column, values, isDescending } = sorting.value ?? {};
    if (!column || !values || !members.value || average.value !== "mean" || !hasAverages(column.attribute)) return null;
    return marksOfColumn(members.value, values, lastIn(attributes, column.attribute), column.attribute, isDescending === true);
  });
  let stopReading = () => {};
  effect(() => {
    const stopBefore = stopReading;
    const lasts = members.value ? columns.value.flatMap(({ attribute }) => lastOf(attribute) ?? []) : [];
    stopReading = attributes.want([...columns.value.map(({ text }) => text), ...lasts]);
    stopBefore();
  });
  /** Sorts by a column: first ascending, then descending, then not. @param {Column} column */
  const toggleSort = ({ text }) => {
    const isSorted = sorted.value?.column.text === text;
    state.setList("column", !isSorted ? ASCENDING + text : sorted.value?.isDescending ? null : DESCENDING + text);
  };
  state.sortByColumn.value = (runs) => {
    if (!sorting.value) return runs;
    const { column, isDescending, values, groupOf, groups } = sorting.value;
    const options = { isDescending, attribute: column.attribute };
    return groupOf ? sortGroups(runs, values, groupOf, groups, options) : sortRuns(runs, values, options);
  };
  return { state, columns, average, spread, marks, decimals, statistics, widths, sorted, toggleSort, Heads, Cells, Orders };
}

/** The row of headings. A click on a heading sorts by its column. @param {{ table: Table }} props */
function Heads({ table }) {
  const { state, columns, average, spread, statistics, widths, sorted, toggleSort } = table;
  const error = attributesFor(state).error.value;
  const unknown = attributesFor(state).unknown.value;
  /** What the title of a column's heading says. @param {Column} column */
  const describe = ({ text, title, attribute, error: mistake }) => {
    const close = unknown.get(text);
    if (mistake !== null) return title;
    const groups = state.groupOf.value && hasAverages(attribute) ? `\n${describeGroups(average.value, spread.value)}` : "";
    if (!close) return `${title}${groups}\nClick to sort`;
    return `${title}\nNo run has it${close.length > 0 ? `; close: ${close.join(", ")}` : ""}`;
  };
  const row = useRef(/** @type {HTMLElement | null} */ (null));
  useHiddenParts(row, widths.value);
  // Waits for the groups and the values, since figures of groups are wide.
  const isRead = !(state.groupRule.value && !state.groupOf.value) && columns.value.every(({ text, error: mistake }) => mistake !== null || attributesFor(state).columnOf(text).value);
  const shown = JSON.stringify([state.columnsText.value, state.groupOf.value && [state.groupRule.value, state.rules.value?.figure.value]]);
  useEffect(() => {
    if (isRead) fitListFor(shown);
  }, [isRead, shown, widths.value]);
  useEffect(() => {
    // A mark beside a name, such as NaN, makes all names wider; figures of groups come later than their columns.
    const observer = new ResizeObserver(fitAgain);
    for (const cell of row.current?.children ?? []) observer.observe(cell);
    return () => observer.disconnect();
  }, [columns.value]);
  useEffect(() => () => void (state.columnsText.value === "" && fitListFor("")), []);
  return html`<div class="tb-row tb-heads" role="row" aria-rowindex="1" ref=${row}>
    <span class="tb-row-main" role="columnheader">
      ${error ? html`<span class="tb-failed" role="status" title=${error}>Values cannot be read</span>` : "Name"}
    </span>
    ${columns.value.map((column, i) => {
      const order = sorted.value?.column === column ? (sorted.value.isDescending ? "descending" : "ascending") : "none";
      const isUnknown = unknown.has(column.text) || column.error !== null;
      return html`<span key=${column.text} class="tb-cell ${widths.value[i].isText ? "tb-text" : ""} ${statistics.value[i] ? "tb-figures" : ""}" role="columnheader" aria-sort=${order} style=${styleOf(i, widths.value[i])}>
        <button type="button" class=${isUnknown ? "tb-unknown" : ""} aria-label=${formatName(column.heading)} title=${describe(column)} disabled=${column.error !== null} onClick=${() => toggleSort(column)}>
          <${Name} name=${column.heading} />${order !== "none" && html`<i aria-hidden="true">${order === "ascending" ? "↑" : "↓"}</i>`}
        </button>
      </span>`;
    })}
  </div>`;
}

/** The orders by a column, as options. @param {{ table: Table }} props */
function Orders({ table: { columns, sorted } }) {
  return columns.value.flatMap((column) =>
    [ASCENDING, DESCENDING].map((sign) => {
      const isChosen = sorted.value?.column === column && sorted.value.isDescending === (sign === DESCENDING);
      return html`<option value=${sign + column.text} disabled=${column.error !== null} selected=${isChosen}>
        ${formatName(column.heading)} ${sign === ASCENDING ? "↑" : "↓"}
      </option>`;
    }),
  );
}

/** The cells of a row. @param {{ table: Table, row: Row }} props */
function Cells({ table, row }) {
  const { columns, widths } = table;
  return columns.value.map((column, i) => {
    const { text, step, title, isOwn } = cellOf(table, i, row);
    return html`<span
      key=${column.text}
      class="tb-cell ${widths.value[i].isText ? "tb-text" : ""} ${isOwn ? "" : "tb-dim"}"
      role="gridcell"
      title=${title}
      style=${styleOf(i, widths.value[i])}
    >
      ${text}${widths.value[i].stepChars > 0 && html`${" "}<small class="tb-step">${step}</small>`}
    </span>`;
  });
}

/** The style of a cell: the width of its column, and how much of it is hidden. @param {number} i @param {{ numChars: number, stepChars: number }} width */
function styleOf(i, { numChars, stepChars }) {
  return { "--chars": `${numChars}ch`, "--step-chars": `${stepChars}ch`, "--left": `var(--left-${i}, 0px)`, "--right": `var(--right-${i}, 0px)`, "--seen": `var(--seen-${i}, 1)` };
}

/**
 * Preact hook: sets how many pixels of each column are hidden, below the names and beyond the right
 * edge of the list, as `--left-0`, `--right-0` and so on. Cells leave these free, so that a value
 * that does not fit into the rest ends with an ellipsis, and never looks like a shorter number. If
 * not even a digit and an ellipsis fit, `--seen-0` is 0.
 * @param {{ readonly current: HTMLElement | null }} heads  the row of headings
 * @param {unknown} widths
 */
function useHiddenParts(heads, widths) {
  useEffect(() => {
    const list = /** @type {HTMLElement | null | undefined} */ (heads.current?.closest(".tb-list"));
    if (!heads.current || !list) return undefined;
    const [names, ...cells] = heads.current.children;
    const measure = () => {
      const start = names.getBoundingClientRect().right;
      const end = list.getBoundingClientRect().left + list.clientLeft + list.clientWidth;
      const boxes = cells.map((cell) => cell.getBoundingClientRect());
      for (const [i, { left, right, width }] of boxes.entries()) {
        const most = width - CUT_PADDING_PX;
        const hiddenLeft = Math.min(most, Math.max(0, start - left));
        const hiddenRight = Math.min(most - hiddenLeft, Math.max(0, right - end));
        list.style.setProperty(`--left-${i}`, `${hiddenLeft}px`);
        list.style.setProperty(`--right-${i}`, `${hiddenRight}px`);
        list.style.setProperty(`--seen-${i}`, width - hiddenLeft - hiddenRight < MIN_VISIBLE_PX ? "0" : "1");
      }
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(list);
    list.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      list.removeEventListener("scroll", measure);
    };
  }, [widths]);
}

/**
 * What a cell shows. A group shows the average of a tag's values. Otherwise, folders and groups show what
 * their runs have in common, and never the value of one run.
 * @param {Table} table
 * @param {number} i  index of the column
 * @param {Row} row
 */
function cellOf({ state, columns, average, decimals, marks, sorted, statistics }, i, { kind, name, runs }) {
  const column = columns.value[i];
  const { attribute } = column;
  const values = attributesFor(state).columnOf(column.text).value;
  if (column.error !== null) return { text: "", step: "", title: column.title, isOwn: true };
  if (!values) return { text: "…", step: "", title: "Reading values…", isOwn: false };
  const found = kind === "group" ? statistics.value[i]?.get(name) : undefined;
  if (found && attribute) {
    const text = formatGroup(found, average.value, decimals.value[i]);
    const live = runs.filter((run) => values.has(run) && isRunLive(state, run)).length;
    const best = sorted.value?.column === column ? marks.value?.get(name) : undefined;
    const title = [describeGroupCell({ ...found, live }, attribute, average.value), best?.title].filter(Boolean).join("\n");
    return { text, step: formatGroupCounts(found, best?.mark), title: text === "" ? undefined : title, isOwn: true };
  }
  const isOwn = kind === "run";
  const value = isOwn ? values.get(name) : commonValue(runs, values, attribute);
  if (value === undefined) {
    const span = formatSpan(runs, values, attribute);
    return { text: span, step: "", title: span ? `${column.title} of the runs inside: ${span}` : undefined, isOwn };
  }
  const at = isOwn ? attributesFor(state).stepsOf(column.text).value?.get(name) : undefined;
  const title = `${column.title}${isOwn ? "" : " of all runs inside"}: ${describeCell(value, attribute, at)}`;
  return { text: formatCell(value, attribute), step: formatCellStep(attribute, at), title, isOwn };
}

/** Whether a run is being written. @param {State} state @param {string} run */
function isRunLive(state, run) {
  const details = state.runDetails.value.get(run);
  return details !== undefined && isLive(details, state.now.value);
}
