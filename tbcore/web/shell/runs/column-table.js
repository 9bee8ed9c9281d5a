/** The columns beside the names in the run list: their headings and cells. Loaded when the list has columns. */

import { computed, effect } from "@preact/signals-core";
import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { formatName } from "../../lib/format.js";
import { Name, parseLists } from "../../lib/text-names.js";
import { attributesFor } from "../state/attributes.js";
import { ORDER_CHARS, commonValue, decimalsOfColumn, describeCell, formatCell, formatCellStep, measureColumn, measureSteps, parseColumns, sortRuns } from "../state/columns.js";
import { decimalsOf, describeGroupCell, describeGroups, formatGroup, formatGroupCounts, formatGroupMarks, formatSpan, groupStatistics, hasAverages, lastIn, lastOf, marksOfColumn, measureGroups, repetitionsIn, sortGroups } from "../state/group-columns.js";
import { membersOf } from "../state/grouped.js";
import { runState } from "../state/tree.js";
import { fitAgain, fitListFor, namesWidth } from "./fit.js";

/** @import { State } from "../state/reader-state.js" */
/** @import { Column } from "../state/columns.js" */
/** @import { Row } from "../state/tree.js" */
/** @typedef {ReturnType<typeof makeTable>} Table */
/** @typedef {ReturnType<Table["layoutFor"]>} Layout */
/** The widths of the columns, in characters. @typedef {readonly { numChars: number, stepChars: number, markChars: number, isText: boolean }[]} Widths */

/** What stands before a column's text where the order of the list is stored. */
const [ASCENDING, DESCENDING] = ["+", "-"];

/** Number of characters of the heading of a column that is empty in all rows. */
const EMPTY_CHARS = 4;
/** How much of the list names take at most while columns are cut. */
const MAX_NAMES_SHARE = 2 / 3;
/** The same on narrow pages, up to this width, as in lazy.css: what is beside a figure is whole. */
const MAX_NARROW_SHARE = 0.55;
const MAX_NARROW_PX = 760;
/** Space beside the text of a cell, as in lazy.css. */
const CELL_PADDING_PX = 12;
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
      const values = hasAverages(attribute) ? attributes.valuesOf(text) : null;
      return members.value && values && groupStatistics(members.value, values, average.value, lastIn(attributes, attribute), attribute, spread.value);
    }),
  );
  const decimals = computed(() =>
    columns.value.map(({ text, attribute }, i) => decimalsOf(statistics.value[i], average.value) || decimalsOfColumn(attributes.valuesOf(text), attribute)),
  );
  const widths = computed(() =>
    columns.value.map((column, i) => {
      const values = attributes.valuesOf(column.text);
      const { figureChars, countChars } = measureGroups(statistics.value[i], average.value, sorted.value?.column === column ? marks.value : null, decimals.value[i]);
      const stepChars = measureSteps(column, attributes.column(column.text).steps.value);
      return { ...measureColumn(column, values, figureChars, decimals.value[i]), stepChars, markChars: countChars };
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
    const values = sorted.value && attributes.valuesOf(sorted.value.column.text);
    return sorted.value && values && { ...sorted.value, values, groupOf: state.groupOf.value, groups: statistics.value[columns.value.indexOf(sorted.value.column)] };
  });
  /** The hyperparameters that may tell which runs of groups are pairs, where means are compared. */
  const repetitions = computed(() => (members.value && sorted.value && average.value === "mean" && hasAverages(sorted.value.column.attribute) ? repetitionsIn(attributes) : []));
  /** What stands beside the averages of the column that the list is sorted by. */
  const marks = computed(() => {
    const { column, values, isDescending, groups } = sorting.value ?? {};
    if (!column || !values || !members.value || !hasAverages(column.attribute)) return null;
    const hparams = repetitions.value.map((text) => /** @type {const} */ ([text, attributes.valuesOf(text) ?? new Map()]));
    return marksOfColumn(members.value, values, lastIn(attributes, column.attribute), column.attribute, isDescending === true, hparams, average.value === "mean" ? undefined : (groups ?? undefined));
  });
  /** The widths of the columns in a list of these rows. Those that are empty there have few characters. @param {readonly Row[]} rows @returns {Widths} */
  const widthsFor = (rows) =>
    widths.value.map((width, i) => {
      const { heading, attribute, text } = columns.value[i];
      const isEmpty = rows.every((row) => cellOf(table, i, row).text === "");
      if (isEmpty) return { ...width, numChars: Math.min(heading.length, EMPTY_CHARS) + (sorted.value?.column.text === text ? ORDER_CHARS : 0), stepChars: 0, markChars: 0 };
      const values = attributes.valuesOf(text);
      if (!values || attribute?.kind !== "fact") return width;
      return { ...width, numChars: rows.reduce((most, { kind, runs }) => Math.max(most, kind === "run" ? 0 : formatSpan(runs, values, attribute).length), width.numChars) };
    });
  /** What `layoutFor` has computed last, and of what. */
  let last = { rows: /** @type {readonly Row[]} */ ([]), measured: /** @type {unknown} */ (null), layout: { widths: /** @type {Widths} */ ([]), style: {} } };
  /** The widths of the columns in a list of these rows, and the style of the list. @param {readonly Row[]} rows */
  const layoutFor = (rows) => {
    const measured = widths.value;
    if (last.rows !== rows || last.measured !== measured) {
      const own = widthsFor(rows);
      const sizes = own.map(({ numChars, stepChars, markChars }) => `${numChars}ch + max(${stepChars}ch * var(--shows-steps, 1), ${markChars}ch) + ${CELL_PADDING_PX}px + `);
      last = { rows, measured, layout: { widths: own, style: { "--columns": `calc(${sizes.join("")}0px)` } } };
    }
    return last.layout;
  };
  let stopReading = () => {};
  effect(() => {
    const stopBefore = stopReading;
    const lasts = members.value ? columns.value.flatMap(({ attribute }) => lastOf(attribute) ?? []) : [];
    stopReading = attributes.want([...columns.value.map(({ text }) => text), ...lasts, ...repetitions.value]);
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
  const table = { state, columns, average, spread, marks, decimals, statistics, layoutFor, sorted, toggleSort, Heads, Cells, Orders };
  return table;
}

/** The row of headings. A click on a heading sorts by its column. @param {{ table: Table, rows: readonly Row[], widths: Widths }} props */
function Heads({ table, rows, widths }) {
  const { state, columns, average, spread, statistics, sorted, toggleSort } = table;
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
  useHiddenParts(row, widths, rows, state.noted.value);
  // Waits for the groups and the values, since figures of groups are wide.
  const isRead = !(state.groupRule.value && !state.groupOf.value) && columns.value.every(({ text, error: mistake }) => mistake !== null || attributesFor(state).valuesOf(text));
  const shown = JSON.stringify([state.columnsText.value, state.groupOf.value && [state.groupRule.value, state.rules.value?.figure.value]]);
  useEffect(() => {
    if (isRead) fitListFor(shown);
  }, [isRead, shown, widths]);
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
      return html`<span key=${column.text} class="tb-cell ${widths[i].isText ? "tb-text" : ""}" role="columnheader" aria-sort=${order} style=${styleOf(i, widths[i])}>
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

/** The cells of a row. @param {{ table: Table, row: Row, widths: Widths }} props */
function Cells({ table, row, widths }) {
  return table.columns.value.map((column, i) => {
    const { text, step = "", mark = "", counts, title, isOwn } = cellOf(table, i, row);
    const { isText, stepChars, markChars } = widths[i];
    return html`<span
      key=${column.text}
      class="tb-cell ${isText ? "tb-text" : ""} ${isOwn ? "" : "tb-dim"}"
      role="gridcell"
      title=${title}
      style=${styleOf(i, widths[i])}
    >
      ${text}${stepChars + markChars > 0 && html`<small class="tb-step ${mark ? "tb-mark" : ""}" role=${mark ? "img" : undefined} aria-label=${counts}> ${mark || step}</small>`}
    </span>`;
  });
}

/** The style of a cell: the width of its column, and how much of it is hidden. @param {number} i @param {Widths[number]} width */
function styleOf(i, { numChars, stepChars, markChars }) {
  return { "--chars": `${numChars}ch`, "--step-chars": `${stepChars}ch`, "--mark-chars": `${markChars}ch`, "--left": `var(--left-${i}, 0px)`, "--right": `var(--right-${i}, 0px)`, "--seen": `var(--seen-${i}, 1)` };
}

/**
 * Preact hook: sets how many pixels of each column are hidden, below the names and beyond the right
 * edge of the list, as `--left-0`, `--right-0` and so on. Cells leave these free, so that a value
 * that does not fit into the rest ends with an ellipsis, and never looks like a shorter number. If
 * not even a digit and an ellipsis fit, `--seen-0` is 0.
 * Before, it gives the names the width of the longest one, up to a share of the list.
 * @param {{ readonly current: HTMLElement | null }} heads  the row of headings
 * @param {Widths} widths
 * @param {readonly Row[]} rows
 * @param {ReadonlyMap<string, import("../../host.js").Noted>} noted  names that users gave to runs
 */
function useHiddenParts(heads, widths, rows, noted) {
  useEffect(() => {
    const list = /** @type {HTMLElement | null | undefined} */ (heads.current?.closest(".tb-list"));
    if (!heads.current || !list) return undefined;
    const [names, ...cells] = heads.current.children;
    let longest = 0;
    const measure = () => {
      longest ||= namesWidth(list, rows, noted);
      list.style.setProperty("--names", `${Math.min(longest, Math.floor((innerWidth > MAX_NARROW_PX ? MAX_NAMES_SHARE : MAX_NARROW_SHARE) * list.clientWidth))}px`);
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
    // Marks of NaN come after the names.
    let hasMarks = list.querySelector(".tb-nan") !== null;
    const marks = new MutationObserver(() => {
      if (hasMarks || !list.querySelector(".tb-nan")) return;
      hasMarks = true;
      longest = 0;
      measure();
    });
    marks.observe(list, { childList: true, subtree: true });
    list.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      marks.disconnect();
      list.removeEventListener("scroll", measure);
    };
  }, [widths, rows, noted]);
}

/**
 * What a cell shows. A group shows the average of a tag's values. Otherwise, folders and groups show what
 * their runs have in common, and never the value of one run.
 * @param {Table} table
 * @param {number} i  index of the column
 * @param {Row} row
 */
function cellOf({ state, columns, average, decimals, marks, sorted, statistics }, i, { kind, name, runs, depth }) {
  const column = columns.value[i];
  const { attribute } = column;
  const values = attributesFor(state).valuesOf(column.text);
  if (column.error !== null) return { text: "", title: column.title, isOwn: true };
  if (!values) return { text: "…", title: "Reading values…", isOwn: false };
  // A group of one run is shown as the run.
  const group = kind === "group" ? name : kind === "run" && depth === 0 ? (state.groupOf.value?.get(name) ?? name) : "";
  const found = statistics.value[i]?.get(group);
  const best = sorted.value?.column === column ? marks.value?.get(group) : undefined;
  const [mark, counts] = found && best?.mark ? [formatGroupMarks(found, best.mark), formatGroupCounts(found, best.mark)] : [];
  if (found && attribute && kind === "group") {
    const text = formatGroup(found, average.value, decimals.value[i]);
    const live = runs.filter((run) => values.has(run) && isRunLive(state, run)).length;
    const title = [describeGroupCell({ ...found, live }, attribute, average.value), best?.title].filter(Boolean).join("\n");
    return { text, mark: formatGroupMarks(found, best?.mark), counts: formatGroupCounts(found, best?.mark) || undefined, title: text === "" ? undefined : title, isOwn: true };
  }
  const isOwn = kind === "run";
  const value = isOwn ? values.get(name) : commonValue(runs, values, attribute);
  if (value === undefined) {
    const span = formatSpan(runs, values, attribute);
    return { text: span, title: span ? `${column.title} of the runs inside: ${span}` : undefined, isOwn };
  }
  const at = isOwn ? attributesFor(state).column(column.text).steps.value?.get(name) : undefined;
  const title = `${column.title}${isOwn ? "" : " of all runs inside"}: ${describeCell(value, attribute, at)}${best?.title ? `\n${best.title}` : ""}`;
  return { text: formatCell(value, attribute, decimals.value[i]), step: formatCellStep(attribute, at), title, isOwn, mark, counts };
}

/** Whether a run is being written. @param {State} state @param {string} run */
function isRunLive(state, run) {
  const details = state.runDetails.value.get(run);
  return details !== undefined && runState(details, state.now.value) === "live";
}
