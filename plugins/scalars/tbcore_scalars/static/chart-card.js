/**
 * A card with a chart of one or more tags in the selected runs.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card, ShowAll } from "tbcore/cards.js";
import { LineChart, lineSample } from "tbcore/chart.js";
import { plural } from "tbcore/format.js";
import { serialize } from "tbcore/requests.js";
import { Icon, Lazy, Menu, useNear } from "tbcore/ui.js";
import { DASHES, cachedLines, groupOfBand, loadLines, pixelsFor, queryFor, roundView, splitByGroup } from "./data-source.js";
import { covers } from "./lines-store.js";

/** @typedef {import("tbcore/chart.js").Hit} Hit */
/** @import { CardProps, Drawn, Move, Options, Part, ShownBands, ShownLines, Tab, View } from "./types.js" */

/**
 * While responses arrive, the chart is redrawn after 1, 2, 4, 8 … responses, so that all redraws
 * together cost about twice the last redraw. Each response is drawn after this delay at the latest.
 */
const MAX_DRAW_DELAY_MS = 1000;
/** How long view, smoothing and pointer must stay unchanged before rows are requested. */
const SETTLE_DELAY_MS = 120;
/** @type {ShownBands} */
const NO_BANDS = { bands: [], numShown: 0, numInside: 0 };

/** The card of one chart. @param {CardProps} props */
export function ChartCard({ id, tab, parts, group, pinned, link }) {
  const { host, store, options, cursor } = tab;
  const isGrouped = tab.groups !== null;
  const tags = parts.map(({ tag }) => tag);
  const title = tags.join(" + ");
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {LineChart | null} */ (null));
  const isNear = useNear(body);
  // Kept in the page address, so that it survives while a filter hides the card.
  const flags = tab.flagsOf(id);
  const expanded = flags.includes("full");
  const setExpanded = (/** @type {boolean} */ expand) => tab.onFlag(id, /^full$/, expand ? "full" : null);
  const hasLegend = flags.includes("table") || (flags.includes("plain") ? false : null);
  const setLegend = (/** @type {boolean} */ show) => tab.onFlag(id, /^(table|plain)$/, show ? "table" : "plain");
  const [view, setView] = useState(() => tab.viewOf(id));
  /** The view fetched last; its rows are drawn until the rows of the next view arrive. */
  const lastView = useRef(/** @type {View | null} */ (null));
  /** The smoothing weight of the last request. */
  const lastSmooth = useRef(options.smooth);
  const [lineError, setLineError] = useState("");
  const [bandError, setBandError] = useState("");
  const [hasLines, setHasLines] = useState(false);
  const [hasBands, setHasBands] = useState(false);
  const [shown, setShown] = useState(/** @type {ShownLines} */ ({ lines: [], numShown: 0, numInside: 0 }));
  const [shownBands, setBands] = useState(NO_BANDS);
  const [hits, setHits] = useState(/** @type {Hit[] | null} */ (null));
  const [hoveredGroup, setHoveredGroup] = useState(/** @type {string | null} */ (null));
  const generations = host.generations.value;
  const theme = host.theme.value;
  /** The chart width to request rows for; 0 before the chart has a size. */
  const [pixels, setPixels] = useState(0);
  const grouped = useMemo(() => (isGrouped ? parts.map(splitByGroup) : null), [parts, isGrouped]);
  /** With groups, only runs alone in their group and runs of the hovered group have lines. */
  const lineParts = useMemo(
    () =>
      grouped?.map(({ groups, single }) => {
        const members = groups.find(({ name }) => name === hoveredGroup)?.runs ?? [];
        return { tag: single.tag, runs: [...members, ...single.runs] };
      }) ?? parts,
    [parts, grouped, hoveredGroup],
  );

  useEffect(() => {
    if (!isNear || !body.current) return undefined;
    const newChart = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: title,
      ...axesOf(options),
      cursor,
      onView: (next, settled) => showView.current(next, settled),
      onHover: (nextHits) => onHover.current(nextHits),
      onPin: (x, settled, here) => onPin.current(x, settled, here),
      nextX: (x, direction) => nextX.current(x, direction),
    });
    chart.current = newChart;
    const measure = () => setPixels(pixelsFor(newChart.pixels));
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(body.current);
    return () => {
      sizes.disconnect();
      newChart.destroy();
      body.current?.replaceChildren();
      chart.current = null;
    };
  }, [isNear]);

  /** Called when the user zooms this chart. */
  const showView = useRef(/** @type {Move} */ (() => {}));
  showView.current = (moved, settled) => {
    const next = roundView(moved);
    link?.move(next, settled, follow);
    redrawUncovered(next);
    if (settled) {
      setView(next);
      tab.onView(id, next);
    }
  };
  /** Called when another chart of the link is zoomed. */
  const follow = useRef(/** @type {Move} */ (() => {}));
  follow.current = (next, settled) => {
    chart.current?.setView(next, settled);
    redrawUncovered(next);
    if (settled) {
      setView(next);
      tab.onView(id, null); // the chart that was zoomed keeps the view in the address
    }
  };
  const linesDrawn = useRef(/** @type {Drawn} */ ({ view: null, drawFor: () => {} }));
  const bandsDrawn = useRef(/** @type {Drawn} */ ({ view: null, drawFor: () => {} }));
  /**
   * Draws coarser rows when a gesture leaves the area that the drawn rows cover.
   * @param {View | null} next
   */
  const redrawUncovered = (next) => {
    const scale = options.logX ? "log" : "linear";
    if (!covers(linesDrawn.current.view, next, scale)) linesDrawn.current.drawFor(next);
    if (!covers(bandsDrawn.current.view, next, scale, 0)) bandsDrawn.current.drawFor(next);
  };
  /** The pinned x, whose values the table shows. */
  const [pinnedX, setPinnedX] = useState(/** @type {number | null} */ (null));
  /** Whether the user pinned x in this chart, which then shows its table. */
  const [pinnedHere, setPinnedHere] = useState(false);
  const showsTable = hasLegend ?? (options.legend || expanded || (pinnedHere && pinnedX !== null));
  const onPin = useRef(/** @type {(x: number | null, settled: boolean, here: boolean) => void} */ (() => {}));
  onPin.current = (x, settled, here) => {
    if (settled || showsTable) setPinnedX(x);
    if (settled && here) setPinnedHere(true);
  };
  /** The next logged x, from the server; null: the chart can find it among its points. */
  const nextX = useRef(/** @type {(x: number, direction: -1 | 1) => Promise<number | null> | null} */ (() => null));
  nextX.current = (x, direction) => {
    if (shown.numShown >= shown.numInside || isGrouped) return null;
    const fetchNext = async () => {
      const { fetchPointsAt, nextPointX } = await import("./exact-points.js");
      const found = await fetchPointsAt(host, shown.lines, { ...options, smooth: 0 }, x);
      return nextPointX(found.values(), options, x, direction);
    };
    return fetchNext();
  };
  const onHover = useRef(/** @type {(found: Hit[]) => void} */ (() => {}));
  onHover.current = (found) => {
    if (showsTable) setHits(found.length > 0 ? found : null);
    const nearest = found[0];
    const run = nearest?.line ? nearest.run : null;
    host.hoveredRun.set(run);
    setHoveredGroup(nearest?.band ? groupOfBand(nearest.band) : nearest?.line?.faint ? hoveredGroup : null);
  };

  useEffect(() => {
    chart.current?.setAxes(axesOf(options));
  }, [options.x, options.logX, options.logY, options.clip]);
  useEffect(() => {
    chart.current?.setView(view);
  }, [view, isNear]);
  const lastAxis = useRef(options.x);
  useEffect(() => {
    if (!link) return undefined;
    if (link.view) setView(link.view);
    else if (view && lastAxis.current === options.x) link.move(view, true, follow);
    return link.join(follow);
  }, [link]);
  const addressView = tab.viewOf(id);
  useEffect(() => {
    if (!link && String(addressView) !== String(view)) setView(addressView); // the address was changed
  }, [String(addressView)]);
  useEffect(() => {
    chart.current?.restyle();
  }, [theme]);
  useEffect(() => {
    if (lastAxis.current === options.x) return;
    lastAxis.current = options.x;
    // A view means nothing on another axis.
    setView(null);
    tab.onView(id, null);
    lastView.current = null;
  }, [options.x]);

  // Both fetch new rows. Requests in progress are not aborted, so that growing runs are drawn.
  const refreshLines = useRef(() => {});
  const refreshBands = useRef(() => {});
  useEffect(() => {
    refreshLines.current();
    refreshBands.current();
  }, [generations]);

  useEffect(() => {
    if (!isNear || pixels === 0) return undefined;
    const controller = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let numResponses = 0;
    let nextDrawAt = 1;
    const views = view ? [...new Set([view, lastView.current, null])] : [null];
    const release = store.retain(lineParts.flatMap(({ tag }) => views.map((each) => queryFor(tag, options, each))));
    /**
     * Draws what the store has.
     * @param {boolean} isComplete  whether the store has everything
     * @param {View | null} [target]
     */
    const draw = (isComplete, target = view) => {
      clearTimeout(timer);
      timer = undefined;
      const candidates = [...new Set([target, ...views])];
      const next = cachedLines(store, lineParts, options, candidates, hoveredGroup);
      const drawnView = views.find((each) => covers(each, target, options.logX ? "log" : "linear")) ?? null;
      linesDrawn.current = { view: drawnView, drawFor: (other) => draw(false, other) };
      chart.current?.setLines(next.lines);
      setShown(next);
      setHasLines(isComplete);
    };
    const onResponse = () => {
      if (++numResponses < nextDrawAt) timer ??= setTimeout(draw, MAX_DRAW_DELAY_MS, false);
      else {
        nextDrawAt *= 2;
        draw(false);
      }
    };
    const load = serialize(controller.signal, async () => {
      lastSmooth.current = options.smooth;
      numResponses = 0;
      nextDrawAt = 1;
      try {
        await loadLines(store, lineParts, options, view, pixels, host.generations.value.of, controller.signal, onResponse);
        if (controller.signal.aborted) return;
        lastView.current = view;
        setLineError("");
        draw(true);
      } catch (failure) {
        if (!controller.signal.aborted) setLineError(/** @type {Error} */ (failure).message);
      }
    });
    refreshLines.current = load;
    draw(false);
    const mayChangeAgain = view !== null || hoveredGroup !== null || options.smooth !== lastSmooth.current;
    const loadTimer = setTimeout(load, mayChangeAgain ? SETTLE_DELAY_MS : 0);
    return () => {
      controller.abort();
      release();
      clearTimeout(timer);
      clearTimeout(loadTimer);
    };
  }, [isNear, pixels, lineParts, view, options.x, options.logX, options.smooth]);

  /** Bands of the full range, for the x axis' extent; drawn until the view's bands arrive. */
  const wholeBands = useMemo(
    () => ({ found: /** @type {ShownBands | null} */ (null) }),
    [grouped, options.x, options.logX, options.smooth, options.spread],
  );
  useEffect(() => {
    refreshBands.current = () => {};
    if (!isNear || pixels === 0) return undefined;
    if (!grouped?.some(({ groups }) => groups.length > 0)) {
      setBands(NO_BANDS);
      setHasBands(true);
      chart.current?.setBands([]);
      return undefined;
    }
    const bandParts = grouped.map(({ single, groups }) => ({ tag: single.tag, groups }));
    const controller = new AbortController();
    const fetchBands = async (/** @type {View | null} */ bandView) => {
      const { loadBands } = await import("./bands.js");
      return loadBands(host, bandParts, options, bandView, pixels, controller.signal);
    };
    /**
     * Draws the bands of a view.
     * @param {ShownBands} found
     * @param {View | null} bandView
     */
    const draw = (found, bandView) => {
      if (controller.signal.aborted) return;
      const overviews = new Map(wholeBands.found?.bands.map(({ key, x }) => [key, x]));
      const next = { ...found, bands: found.bands.map((band) => ({ ...band, overview: overviews.get(band.key) })) };
      chart.current?.setBands(next.bands);
      setBands(next);
      bandsDrawn.current.view = bandView;
    };
    const load = serialize(controller.signal, async () => {
      try {
        if (!view || !wholeBands.found) {
          wholeBands.found = await fetchBands(null);
          draw(wholeBands.found, null);
        }
        if (view) draw(await fetchBands(view), view);
        if (controller.signal.aborted) return;
        setHasBands(true);
        setBandError("");
      } catch (failure) {
        if (!controller.signal.aborted) setBandError(/** @type {Error} */ (failure).message);
      }
    });
    refreshBands.current = load;
    bandsDrawn.current.drawFor = () => wholeBands.found && draw(wholeBands.found, null);
    redrawUncovered(view);
    setHasBands(false);
    const loadTimer = setTimeout(load, view || options.smooth !== lastSmooth.current ? SETTLE_DELAY_MS : 0);
    return () => {
      controller.abort();
      clearTimeout(loadTimer);
    };
  }, [isNear, pixels, grouped, view, options.x, options.logX, options.smooth, options.spread]);

  /** The key p pins the card. @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, [popover]")) return;
    if (event.key !== "p") return;
    tab.onPin(tags[0]);
    event.preventDefault();
  };

  const actions = html`
    ${view && html`<${ShowAll} label=${title} onClick=${() => showView.current(null, true)} />`}
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
    <${Menu}
      icon="more"
      label="More options for ${title}"
      content=${() => html`<${Lazy} load=${() => import("./card-menu.js")} of="CardMenu" tab=${tab} parts=${parts} chart=${chart.current} />`}
    />
  `;
  const error = lineError || bandError;
  const isEmpty = shown.lines.length === 0 && shownBands.bands.length === 0;
  /** Shown in place of a chart. */
  const placeholder = !isEmpty || !isNear || error ? "" : hasLines && hasBands ? "no points" : "loading";
  return html`<${Card}
    title=${title}
    group=${parts.length === 1 ? group : ""}
    expanded=${expanded}
    onExpand=${setExpanded}
    actions=${actions}
    onKeyDown=${onKeyDown}
    dragged=${tags[0]}
    onDrop=${(/** @type {string} */ other) => tab.onCombine(tags, other)}
  >
    ${tags.length > 1 &&
    html`<p class="tb-card-note key">
      ${tags.map((tag, index) => html`<span><i class="tb-dashed" style=${{ background: lineSample("currentcolor", DASHES[index % DASHES.length]) }}></i>${tag}</span>`)}
    </p>`}
    <div class="tb-card-chart" ref=${body} data-hint=${placeholder}></div>
    ${shown.numShown < shown.numInside &&
    html`<p class="tb-card-note" title="Each column of pixels shows its first, lowest, highest and last point, which looks like drawing all. Zoom in to see every point.">
      ${shown.numShown.toLocaleString("en")} of ${shown.numInside.toLocaleString("en")} points shown
    </p>`}
    ${shownBands.numInside > 0 &&
    html`<p class="tb-card-note" title="Each mean is over the points of all runs in one column of pixels. Zoom in to see every point.">
      ${plural(shownBands.numShown, "mean")} of ${plural(shownBands.numInside, "point")} shown
    </p>`}
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
    ${showsTable &&
    isNear &&
    html`<${Lazy} load=${() => import("./card-legend.js")} of="CardLegend" id=${id} tab=${tab} title=${title} lines=${shown.lines} bands=${shownBands.bands} hits=${hits} pin=${pinnedX} view=${view} />`}
  <//>`;
}

/** The settings of the chart's axes. @param {Options} options */
function axesOf({ x, logX, logY, clip }) {
  return {
    xAxis: x,
    xScale: /** @type {"log" | "linear"} */ (logX ? "log" : "linear"),
    yScale: /** @type {"log" | "linear"} */ (logY ? "log" : "linear"),
    clip,
  };
}
