/**
 * `LinesCard` is a card with a line chart of some runs. The chart follows the theme and the hovered
 * run, and can be downloaded as a picture. `useColumns` fetches its data when the card is near the
 * visible part of the page.
 *
 *     const body = useRef(null);
 *     const isNear = useNear(body);
 *     const { answer, error } = useColumns(host, "lines", { tag }, runs, isNear);
 *     const lines = useMemo(() => linesOf(answer, runs), [answer, runs]);
 *     const props = { host, body, isNear, title: tag, lines, error };
 *     return html`<${LinesCard} ...${props} />`;
 */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Card, PictureButtons, ShowAll } from "./card.js";
import { Queue, post, readColumns, useRefetch } from "../../requests.js";
import { Menu } from "../../ui.js";
import { legendRows } from "../chart/legend-rows.js";
import { Legend } from "../chart/legend.js";
import { LineChart } from "../chart/line-chart.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("../chart/types.js").Line} Line
 * @typedef {import("../chart/types.js").Band} Band
 * @typedef {ReturnType<typeof readColumns>} Columns
 */

/**
 * A card with a line chart.
 * @param {object} props
 * @param {Host} props.host
 * @param {import("preact").RefObject<HTMLElement>} props.body  set to the chart's element, for
 *   `useNear`
 * @param {boolean} props.isNear  the chart exists only while this is true
 * @param {string} props.title
 * @param {string} [props.group]  group whose heading already shows the start of the title
 * @param {readonly Line[] | null} [props.lines]  null until they are loaded. Pass the same array as
 *   long as the lines are the same
 * @param {readonly Band[] | null} [props.bands]  drawn in place of `lines`
 * @param {string} [props.error]  why the data could not be loaded or updated
 * @param {Partial<import("../chart/types.js").Axes>} [props.axes]
 * @param {import("../chart/types.js").Cursor} [props.cursor]  shared by all cards; make a new one
 *   when the x axis changes
 * @param {import("../chart/types.js").Callbacks["readOut"]} [props.readOut]
 * @param {boolean} [props.legend]  whether to show a table of the lines below the chart
 * @param {readonly string[]} [props.notes]  notes above the chart, which are also in its pictures
 * @param {() => unknown} [props.downloads]  renders more entries of the download menu
 * @param {unknown} [props.children]  shown above the chart
 */
export function LinesCard({ host, body, isNear, title, group, lines, bands, error = "", axes = {}, cursor, readOut, legend = false, ...props }) {
  const { notes = [], downloads, children } = props;
  const chart = useRef(/** @type {LineChart | null} */ (null));
  const latestReadOut = useRef(readOut);
  latestReadOut.current = readOut;
  const [expanded, setExpanded] = useState(false);
  const [isZoomed, setZoomed] = useState(false);
  const [hits, setHits] = useState(/** @type {readonly import("../chart/types.js").Hit[] | null} */ (null));
  const { xAxis = "step", xScale = "linear", yScale = "linear", clip = false } = axes;
  const theme = host.theme.value;
  const hovered = host.hoveredRun.value;

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const created = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: title,
      cursor,
      readOut: readOut && ((points) => /** @type {NonNullable<typeof readOut>} */ (latestReadOut.current)(points)),
      onHover: (points) => {
        const line = points[0]?.line;
        host.hoveredRun.set(line ? (line.run ?? line.name) : null);
        setHits(points.length > 0 ? points : null);
      },
      onZoom: setZoomed,
    });
    chart.current = created;
    return () => {
      created.destroy();
      body.current?.replaceChildren();
      chart.current = null;
      setZoomed(false);
      setHits(null);
    };
  }, [isNear, cursor]);
  // The following effects also depend on what creates a new chart, which needs its data again.
  useEffect(() => {
    chart.current?.setAxes({ xAxis, xScale, yScale, clip });
  }, [isNear, cursor, xAxis, xScale, yScale, clip]);
  useEffect(() => {
    if (bands) chart.current?.setBands(bands);
    else chart.current?.setLines(lines ?? []);
  }, [isNear, cursor, lines, bands]);
  useEffect(() => {
    chart.current?.restyle();
  }, [theme]);
  useEffect(() => {
    chart.current?.highlight(hovered);
  }, [isNear, cursor, hovered]);

  const actions = html`
    ${isZoomed && html`<${ShowAll} label=${title} onClick=${() => chart.current?.resetZoom()} />`}
    <${Menu}
      icon="download"
      label="Download ${title}"
      content=${() => html`<div class="tb-downloads"><${PictureButtons} chart=${chart.current} name=${title} note=${notes.join("; ")} />${downloads?.()}</div>`}
    />
  `;
  const numDrawn = (lines?.length ?? 0) + (bands?.length ?? 0);
  const hint = lines || bands ? (numDrawn > 0 ? "" : "nothing to draw") : error ? "" : "loading";
  return html`<${Card} title=${title} group=${group} expanded=${expanded} onExpand=${setExpanded} actions=${actions}>
    ${children} ${notes.map((note) => html`<p class="tb-card-note" role="note">${note}</p>`)}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${legend &&
    lines &&
    lines.length > 0 &&
    html`<${Legend}
      label=${`Values of ${title}`}
      rows=${legendRows(lines, hits, xAxis)}
      isLast=${!hits}
      onHover=${(/** @type {{ run: string } | null} */ row) => host.hoveredRun.set(row?.run ?? null)}
      highlighted=${hovered}
    />`}
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}
