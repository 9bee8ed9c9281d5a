/** A card with a chart of one or more tags in the selected runs. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ChartCard } from "tbcore/cards.js";
import { LineChart } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { Icon, Lazy, useNear } from "tbcore/ui.js";
import { ChartFeed } from "./chart-feed.js";
import { DASHES } from "./data-source.js";

/** @param {import("./types.js").CardProps} props */
export function ScalarsCard({ id, tab, parts, group, pinned, link }) {
  const { host, options, cursor } = tab;
  const tags = parts.map(({ tag }) => tag);
  const title = tags.join(" + ");
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const feed = useMemo(() => new ChartFeed(id, tab), []);
  useEffect(() => () => feed.close(), []);
  useEffect(() => feed.show(tab, parts, link));
  const addressed = tab.viewOf(id);
  useEffect(() => feed.showAddressed(addressed), [String(addressed)]);
  // Kept in the page address, so that it survives while a filter hides the card.
  const flags = tab.flagsOf(id);
  const expanded = flags.includes("full");
  const setExpanded = (/** @type {boolean} */ expand) => tab.onFlag(id, /^full$/, expand ? "full" : null);
  const hasLegend = flags.includes("table") || (flags.includes("plain") ? false : null);
  const setLegend = (/** @type {boolean} */ show) => tab.onFlag(id, /^(table|plain)$/, show ? "table" : "plain");
  /** The pinned x, whose values the table shows. */
  const [pinnedX, setPinnedX] = useState(/** @type {number | null} */ (null));
  /** Whether the user pinned x in this chart, which then shows its table. */
  const [pinnedHere, setPinnedHere] = useState(false);
  const showsTable = hasLegend ?? (options.legend || expanded || (pinnedHere && pinnedX !== null));
  const latestShowsTable = useRef(showsTable);
  latestShowsTable.current = showsTable;

  /** @param {HTMLElement} element @param {import("tbcore/cards.js").ChartEvents} on */
  const make = (element, on) => {
    const chart = new LineChart(element, {
      label: title,
      ...axesOf(options),
      cursor,
      onView: (view, settled) => feed.move(view, settled),
      onHover: (hits) => {
        on.hover(hits[0]?.line ? hits[0].run : null, hits);
        feed.hover(hits[0]);
      },
      onPin: (x, settled, here) => {
        if (settled || latestShowsTable.current) setPinnedX(x);
        if (settled && here) setPinnedHere(true);
      },
      nextX: (x, direction) => feed.nextX(x, direction),
      onZoom: on.zoom,
    });
    feed.attach(chart, element, on.signal);
    return chart;
  };
  /** The key p pins the card. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, [popover]")) return;
    if (event.key !== "p") return;
    tab.onPin(tags[0]);
    event.preventDefault();
  };
  const actions = html`
    <button
      type="button"
      class="tb-icon-button pin"
      aria-label="Pin ${title}"
      title=${pinned ? "Unpin from the top (p)" : "Pin to the top (p)"}
      aria-pressed=${pinned}
      onClick=${() => tab.onPin(tags[0])}
    >
      <${Icon} name="pin" />
    </button>
    <button
      type="button"
      class="tb-icon-button"
      aria-label="Table of ${title}"
      title="Show the values as a table"
      aria-pressed=${showsTable}
      onClick=${() => setLegend(!showsTable)}
    >
      <${Icon} name="table" />
    </button>
  `;
  const { lines, ...shown } = feed.lines.value;
  const { bands, ...shownBands } = feed.bands.value;
  const error = feed.error.value;
  const isEmpty = lines.length === 0 && bands.length === 0;
  const notes = html`
    ${shown.numShown < shown.numInside &&
    html`<p class="tb-card-note" title="Each column of pixels shows its first, lowest, highest and last point, which looks like drawing all. Zoom in to see every point.">
      ${shown.numShown.toLocaleString("en")} of ${shown.numInside.toLocaleString("en")} points shown
    </p>`}
    ${shownBands.numInside > 0 &&
    html`<p class="tb-card-note" title="Each mean is over the points of all runs in one column of pixels. Zoom in to see every point.">
      ${plural(shownBands.numShown, "mean")} of ${plural(shownBands.numInside, "point")} shown
    </p>`}
  `;
  return html`<${ChartCard}
    ...${{ host, body, isNear, title, make, error, actions, expanded, onKeyDown }}
    group=${parts.length === 1 ? group : ""}
    onExpand=${setExpanded}
    dragged=${tags[0]}
    onDrop=${(/** @type {string} */ other) => tab.onCombine(tags, other)}
    draw=${(/** @type {LineChart} */ chart) => chart.setAxes(axesOf(options))}
    drawnBy=${[options.x, options.logX, options.logY, options.clip]}
    hint=${!isEmpty || !isNear || error ? "" : feed.isComplete.value ? "no points" : "loading"}
    dashes=${tags.map((tag, index) => [tag, DASHES[index % DASHES.length]])}
    menu=${{
      icon: "more",
      label: `More options for ${title}`,
      content: (/** @type {unknown} */ pictures) =>
        html`<${Lazy} load=${() => import("./card-menu.js")} of="CardMenu" tab=${tab} parts=${parts} pictures=${pictures} />`,
    }}
    picture=${{ name: tags.join("_"), note: options.smooth > 0 ? `smoothed by ${options.smooth}` : "" }}
    below=${notes}
    legend=${showsTable &&
    isNear &&
    ((/** @type {readonly import("tbcore/chart.js").Hit[] | null} */ hits) =>
      html`<${Lazy} load=${() => import("./card-legend.js")} of="CardLegend" ...${{ id, tab, title, lines, bands, hits }} pin=${pinnedX} view=${feed.view.value} />`)}
  />`;
}

/**
 * The settings of the chart's axes.
 * @param {import("./types.js").Options} options
 * @returns {Parameters<LineChart["setAxes"]>[0]}
 */
function axesOf({ x, logX, logY, clip }) {
  return { xAxis: x, xScale: logX ? "log" : "linear", yScale: logY ? "log" : "linear", clip };
}
