/**
 * The table below a chart: each line's values at the pointer or pin, otherwise its last values in
 * the view.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { extent, rowAt, xColumn } from "tbcore/cards.js";
import { Legend, countText, legendRows } from "tbcore/chart.js";
import { fetchPointsAt } from "./exact-points.js";

/** @typedef {import("tbcore/chart.js").Band} Band */
/** @typedef {import("tbcore/chart.js").Hit} Hit */
/** @typedef {import("tbcore/chart.js").XAxis} XAxis */
/** @typedef {import("tbcore/chart.js").LegendRow} LegendRow */
/** @typedef {import("tbcore/chart.js").LegendSort} LegendSort */
/** @import { Line, Tab, View } from "./types.js" */

/** How long a pin must stay at the same x before its exact points are requested. */
const SETTLE_DELAY_MS = 80;
/** The flag in the page address for a card's sort order: column, then + or -, such as `value-`. */
const SORT_FLAG = /^[a-zA-Z]+[-+]$/;

/**
 * @param {object} props
 * @param {string} props.id  of the card
 * @param {Tab} props.tab
 * @param {string} props.title
 * @param {readonly Line[]} props.lines
 * @param {readonly Band[]} props.bands  one for each group of runs: the table has one row
 *   per band, and none for the runs in it
 * @param {readonly Hit[] | null} props.hits  what the pointer is at
 * @param {number | null} props.pin  an x whose values are shown regardless of where the pointer is
 * @param {View | null} props.view
 */
export function CardLegend({ id, tab, title, lines, bands, hits, pin, view }) {
  const { host, options } = tab;
  const xAxis = options.x;
  const sortFlag = tab.flagsOf(id).find((word) => SORT_FLAG.test(word));
  const sort = sortFlag === undefined ? null : { column: /** @type {keyof LegendRow} */ (sortFlag.slice(0, -1)), descending: sortFlag.endsWith("-") };
  const setSort = (/** @type {LegendSort | null} */ next) =>
    tab.onFlag(id, SORT_FLAG, next && `${next.column}${next.descending ? "-" : "+"}`);
  const listedLines = useMemo(() => lines.filter((line) => !line.faint), [lines]);
  const inView = useMemo(() => listedLines.map((line) => partOf(line, xAxis, view)), [listedLines, xAxis, view]);
  const lastRows = useMemo(
    () => [...bands.map((band) => bandRow(band, null, null, xAxis, view)), ...legendRows(inView, null, xAxis)],
    [bands, inView, xAxis, view],
  );
  /** Points at the pin, fetched for lines without a drawn row there. */
  const [pointsAtPin, setPointsAtPin] = useState({ pin: NaN, lines: /** @type {Map<string, Line>} */ (new Map()) });
  useEffect(() => {
    const missing = pin === null ? [] : listedLines.filter((line) => !xColumn(line, xAxis, line.startTime).includes(pin));
    if (pin === null || missing.length === 0) return undefined;
    const controller = new AbortController();
    const fetchAtPin = async () => {
      try {
        setPointsAtPin({ pin, lines: await fetchPointsAt(host, missing, options, pin, controller.signal) });
      } catch (error) {
        if (!controller.signal.aborted) console.warn(error); // the table then shows the nearest drawn rows, with their own steps
      }
    };
    const timer = setTimeout(fetchAtPin, SETTLE_DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [listedLines, pin, xAxis, options.smooth]);
  const rows = useMemo(() => {
    if (!hits && pin === null) return lastRows;
    const bandRows = bands.map((band) => bandRow(band, hits, pin, xAxis, view));
    const fetched = pointsAtPin.pin === pin ? pointsAtPin.lines : null;
    const lineRows =
      pin === null
        ? legendRows(listedLines, hits, xAxis)
        : listedLines.map((line) => pinnedRow(fetched?.get(line.key ?? "") ?? line, pin, xAxis));
    const last = lastRows.slice(bands.length);
    return [...bandRows, ...lineRows.map((row, index) => ({ ...row, min: last[index].min, max: last[index].max }))];
  }, [listedLines, bands, lastRows, hits, pin, pointsAtPin, xAxis, view]);
  const isGrouped = bands.length > 0;
  return html`<${Legend}
    label=${title}
    rows=${rows}
    sortedBy=${pin === null ? lastRows : rows}
    isLast=${hits === null && pin === null}
    highlighted=${host.hoveredRun.value}
    sort=${sort}
    onSort=${setSort}
    onOnly=${isGrouped ? undefined : (/** @type {LegendRow} */ row) => host.checkOnly(row.run)}
    onHover=${(/** @type {LegendRow | null} */ row) => host.hoveredRun.set(row && row.runs === undefined ? row.run : null)}
  />`;
}

/**
 * The line with only its rows inside the view; rows beyond the view's edges are fetched, too.
 * @param {Line} line
 * @param {XAxis} xAxis
 * @param {View | null} view
 * @returns {Line}
 */
function partOf(line, xAxis, view) {
  if (!view) return line;
  const xs = xColumn(line, xAxis, line.startTime);
  const isInside = (/** @type {unknown} */ _, /** @type {number} */ i) => xs[i] >= view[0] && xs[i] <= view[1];
  return {
    ...line,
    step: line.step.filter(isInside),
    wallTime: line.wallTime.filter(isInside),
    value: line.value.filter(isInside),
    smoothed: line.smoothed?.filter(isInside),
    startTime: line.startTime ?? line.wallTime[0],
  };
}

/**
 * The table row of a line at the pinned x, which may be outside the view.
 * @param {Line} line
 * @param {number} pin
 * @param {XAxis} xAxis
 */
function pinnedRow(line, pin, xAxis) {
  let shown = line;
  let index = rowAt(xColumn(shown, xAxis, line.startTime), pin);
  if (index < 0 && line.overview) {
    shown = { ...line, smoothed: null, ...line.overview };
    index = rowAt(xColumn(shown, xAxis, line.startTime), pin);
  }
  const { name, color } = line;
  return legendRows([shown], [{ line: shown, name, run: line.run ?? name, color, index, left: NaN, top: NaN }], xAxis)[0];
}

/**
 * The table row of a group: its mean and the edges of its band at the pin or pointer, otherwise at
 * the end of the view; and the extremes of its mean.
 * @param {Band} band
 * @param {readonly Hit[] | null} hits
 * @param {number | null} pin
 * @param {XAxis} xAxis
 * @param {View | null} view
 * @returns {LegendRow}
 */
function bandRow(band, hits, pin, xAxis, view) {
  const { key = band.name, name, color, dash, x, mean, low, high } = band;
  let index = x.length - 1;
  if (pin !== null) index = rowAt(x, pin);
  else if (hits) index = hits.find((hit) => hit.band && hit.band.key === band.key)?.index ?? -1;
  else if (view) while (index > 0 && x[index] > view[1]) index--;
  /** @param {Float64Array} column */
  const at = (column) => column[index] ?? NaN;
  const [min, max] = extent(view ? mean.filter((_, i) => x[i] >= view[0] && x[i] <= view[1]) : mean) ?? [NaN, NaN];
  return {
    ...{ key, name, run: name, color, dash, value: at(mean), smoothed: null, low: at(low), high: at(high), min, max },
    step: xAxis === "step" ? at(x) : NaN,
    wallTime: xAxis === "wall_time" ? at(x) : NaN,
    relative: xAxis === "relative" ? at(x) : NaN,
    runs: index < 0 ? "" : countText(band, index),
  };
}
