/**
 * The table below a chart: each line's values at the cursor, or its last ones.
 */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { Legend, legendRows } from "tbcore/lib/legend.js";
import { runOf } from "./feed.js";

/**
 * @param {object} props
 * @param {import("./types.js").Host} props.host
 * @param {readonly import("tbcore/lib/line-chart.js").Line[]} props.lines
 * @param {import("tbcore/lib/line-chart.js").Hit[] | null} props.hits
 * @param {import("tbcore/lib/series.js").XAxis} props.xAxis
 */
export function CardLegend({ host, lines, hits, xAxis }) {
  const [sort, setSort] = useState(/** @type {any} */ (null));
  const rows = useMemo(() => legendRows(lines, hits, xAxis), [lines, hits, xAxis]);
  return html`<${Legend}
    rows=${rows}
    sort=${sort}
    onSort=${setSort}
    onOnly=${(/** @type {{ line: { key?: string, name: string } }} */ { line }) => host.checkOnly(runOf(line))}
    onHover=${(/** @type {{ line: { key?: string, name: string } } | null} */ row) => host.hoveredRun.set(row && runOf(row.line))}
  />`;
}
