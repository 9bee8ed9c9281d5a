/**
 * The table below a chart, with the points that were logged at the pin.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { xColumn } from "tbcore/cards.js";
import { Legend } from "tbcore/chart.js";
import { axisOf } from "./lines.js";
import { fetchPointsAt } from "./exact-points.js";

/**
 * @typedef {import("tbcore/chart.js").LegendRow} LegendRow
 * @typedef {import("tbcore/chart.js").LegendSort} LegendSort
 * @typedef {import("./types.js").Line} Line
 */

/** How long a pin must stay at the same x before its exact points are requested. */
const SETTLE_DELAY_MS = 80;
/** The flag in the page address for a card's sort order: column, then + or -, such as `value-`. */
const SORT_FLAG = /^[a-zA-Z]+[-+]$/;

/**
 * @param {object} props
 * @param {string} props.id  of the card
 * @param {import("./types.js").Tab} props.tab
 * @param {string} props.title
 * @param {readonly Line[]} props.lines
 * @param {readonly import("tbcore/chart.js").Band[]} props.bands  one for each group of runs: the
 *   table has one row per band, and none for the runs in it
 * @param {readonly import("tbcore/chart.js").Hit[] | null} props.hits  what the pointer is at
 * @param {import("./types.js").View | null} props.view
 * @param {boolean} props.opensBelow  over what is below the card, so that nothing moves
 * @param {{ current: HTMLElement | null }} props.body  of the card
 */
export function CardLegend({ id, tab, title, lines, bands, hits, view, opensBelow, body }) {
  const { host, options } = tab;
  const { xAxis, xTitle } = axisOf(options.x);
  const sortFlag = tab.flagsOf(id).find((word) => SORT_FLAG.test(word));
  const sort = sortFlag === undefined ? null : { column: /** @type {keyof LegendRow} */ (sortFlag.slice(0, -1)), descending: sortFlag.endsWith("-") };
  const setSort = (/** @type {LegendSort | null} */ next) =>
    tab.onFlag(id, SORT_FLAG, next && `${next.column}${next.descending ? "-" : "+"}`);
  /** An x whose values are shown regardless of where the pointer is. */
  const [pin, setPin] = useState(/** @type {number | null} */ (null));
  useLayoutEffect(() => tab.cursor.join({ showCursor() {}, highlight() {}, showPin: setPin }), [tab.cursor]);
  const listed = useMemo(() => {
    const groups = new Set(bands.map(({ key }) => key));
    return lines.filter(({ group }) => !groups.has(group));
  }, [lines, bands]);
  /** Points at the pin, fetched for lines without a drawn row there. */
  const [atPin, setAtPin] = useState({ pin: NaN, lines: /** @type {Map<string, Line>} */ (new Map()) });
  useEffect(() => {
    const missing = pin === null ? [] : listed.filter((line) => !xColumn(line, xAxis, line.startTime).includes(pin));
    if (pin === null || missing.length === 0) return undefined;
    const controller = new AbortController();
    const fetchAtPin = async () => {
      try {
        setAtPin({ pin, lines: await fetchPointsAt(host, missing, options, pin, controller.signal) });
      } catch (error) {
        if (!controller.signal.aborted) console.warn(error); // the table then shows the nearest drawn rows, with their own steps
      }
    };
    const timer = setTimeout(fetchAtPin, SETTLE_DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [listed, pin, options.x, options.smooth, options.smoothKind]);
  const table = html`<${Legend}
    label=${title}
    lines=${listed}
    ...${{ bands, xAxis, xTitle, hits, view, pin, sort }}
    pinned=${atPin.pin === pin ? atPin.lines : null}
    highlighted=${host.hoveredRun.value}
    onSort=${setSort}
    onOnly=${bands.length > 0 ? undefined : (/** @type {LegendRow} */ row) => host.checkOnly(row.run)}
    onHover=${(/** @type {LegendRow | null} */ row) => host.hoveredRun.set(row?.run ?? null)}
  />`;
  const { left = 0 } = body.current?.getBoundingClientRect() ?? {};
  return opensBelow ? html`<div class="tb-below ${left > innerWidth / 2 && "tb-left"}">${table}</div>` : table;
}
