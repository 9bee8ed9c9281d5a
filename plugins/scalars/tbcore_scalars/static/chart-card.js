/**
 * One card: a chart of a tag, or of several, in the runs that are shown.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card, Menu, ShowAll } from "tbcore/lib/card.js";
import { plural } from "tbcore/lib/format.js";
import { Icon } from "tbcore/lib/icons.js";
import { Later } from "tbcore/lib/later.js";
import { useNear } from "tbcore/lib/lazy.js";
import { LineChart } from "tbcore/lib/line-chart.js";
import { sampleOf } from "tbcore/lib/marks.js";
import { takingTurns } from "tbcore/lib/queue.js";
import { DASHES, groupOf, groupsOf, knownLines, loadBands, loadLines, pixelsFor, questionOf, shortView } from "./feed.js";
import { covers } from "./lines-store.js";

/**
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").Tab} Tab
 * @typedef {import("./types.js").View} View
 */

/**
 * While many answers arrive the chart is not drawn for each: after the first, the second, the fourth and so on, and at
 * the latest after this time. All draws together cost about twice the last one.
 */
const DRAW_MS = 1000;
/** How long a view, a smoothing weight or the pointer must stand still until rows are fetched for it. */
const SETTLE_MS = 120;
/** @type {import("./types.js").ShownBands} */
const NO_BANDS = { bands: [], numShown: 0, numInside: 0 };

/**
 * @param {object} props
 * @param {string} props.id  of the card, in the address
 * @param {Tab} props.tab
 * @param {readonly Part[]} props.parts
 * @param {string} props.group  whose heading says the beginning of the title
 * @param {boolean} props.pinned
 * @param {import("./types.js").Link | null} props.link  the charts that zoom together; null: this one zooms alone
 */
export function ChartCard({ id, tab, parts, group, pinned, link }) {
  const { host, store, options, cursor } = tab;
  const isGrouped = tab.groups !== null;
  const tags = parts.map(({ tag }) => tag);
  const title = tags.join(" + ");
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const chart = useRef(/** @type {LineChart | null} */ (null));
  const isNear = useNear(body);
  // In the address, so that it also outlives a moment in which a filter hides the card.
  const shape = tab.shapeOf(id);
  const expanded = shape.includes("full");
  const setExpanded = (/** @type {boolean} */ wanted) => tab.onShape(id, /^full$/, wanted ? "full" : null);
  const hasLegend = shape.includes("table") || (shape.includes("plain") ? false : null);
  const setLegend = (/** @type {boolean} */ wanted) => tab.onShape(id, /^(table|plain)$/, wanted ? "table" : "plain");
  const [view, setView] = useState(() => tab.viewOf(id));
  /** The view whose rows were fetched last: drawn until those of the next are there. */
  const lastView = useRef(/** @type {View | null} */ (null));
  /** The weight that was asked for last. */
  const lastSmooth = useRef(options.smooth);
  const [lineError, setLineError] = useState("");
  const [bandError, setBandError] = useState("");
  const [hasLines, setHasLines] = useState(false);
  const [hasBands, setHasBands] = useState(false);
  const [shown, setShown] = useState(/** @type {import("./types.js").Shown} */ ({ lines: [], numShown: 0, numInside: 0 }));
  const [shownBands, setBands] = useState(NO_BANDS);
  const [hits, setHits] = useState(/** @type {import("tbcore/lib/line-chart.js").Hit[] | null} */ (null));
  const [hoveredGroup, setHoveredGroup] = useState(/** @type {string | null} */ (null));
  const generations = host.generations.value;
  const theme = host.theme.value;
  /** That rows are asked for; 0 before the chart has a size. */
  const [pixels, setPixels] = useState(0);
  const grouped = useMemo(() => (isGrouped ? parts.map(groupsOf) : null), [parts, isGrouped]);
  /** With groups only runs that are alone in theirs have lines, and the members of the one that is pointed at. */
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
    const made = new LineChart(body.current.appendChild(document.createElement("div")), {
      label: title,
      ...axesOf(options),
      cursor,
      onView: (next, settled) => showView.current(next, settled),
      onHover: (found) => onHoverLatest.current(found),
      onPin: (x, settled, here) => onPinLatest.current(x, settled, here),
      nextX: (x, direction) => nextX.current(x, direction),
    });
    chart.current = made;
    const measure = () => setPixels(pixelsFor(made.pixels));
    measure();
    const sizes = new ResizeObserver(measure);
    sizes.observe(body.current);
    return () => {
      sizes.disconnect();
      made.destroy();
      body.current?.replaceChildren();
      chart.current = null;
    };
  }, [isNear]);

  const showView = useRef(/** @type {import("./types.js").Move} */ (() => {}));
  showView.current = (moved, settled) => {
    const next = shortView(moved);
    link?.move(next, settled, follow);
    reach(next);
    if (settled) {
      setView(next);
      tab.onView(id, next);
    }
  };
  /** What the other charts of the link do to this one. */
  const follow = useRef(/** @type {import("./types.js").Move} */ (() => {}));
  follow.current = (next, settled) => {
    chart.current?.setView(next, settled);
    reach(next);
    if (settled) {
      setView(next);
      tab.onView(id, null); // the chart that leads has it
    }
  };
  /** What is drawn, lines and bands: redrawn from coarser rows when a gesture leaves it, so that no part stays empty. */
  const linesDrawn = useRef({ view: /** @type {View | null} */ (null), drawFor: (/** @type {View | null} */ _) => {} });
  const bandsDrawn = useRef({ view: /** @type {View | null} */ (null), drawFor: (/** @type {View | null} */ _) => {} });
  /** @param {View | null} next */
  const reach = (next) => {
    const scale = options.logX ? "log" : "linear";
    if (!covers(linesDrawn.current.view, next, scale)) linesDrawn.current.drawFor(next);
    if (!covers(bandsDrawn.current.view, next, scale, 0)) bandsDrawn.current.drawFor(next);
  };
  /** An x whose values the table shows. */
  const [pin, setPin] = useState(/** @type {number | null} */ (null));
  /** The reader pinned it here, and wants to know the values. */
  const [asksPin, setAsksPin] = useState(false);
  const needsHits = hasLegend ?? (options.legend || expanded || (asksPin && pin !== null));
  const onPinLatest = useRef(/** @type {(x: number | null, settled: boolean, here: boolean) => void} */ (() => {}));
  onPinLatest.current = (x, settled, here) => {
    if (settled || needsHits) setPin(x);
    if (settled && here) setAsksPin(true);
  };
  /** Of lines whose points are not all drawn the server knows the next one. */
  const nextX = useRef(/** @type {(x: number, direction: -1 | 1) => Promise<number | null> | null} */ (() => null));
  nextX.current = (x, direction) => {
    if (shown.numShown >= shown.numInside || isGrouped) return null;
    const ask = async () => {
      const { linesAt, nextAfter } = await import("./pin-rows.js");
      const found = await linesAt(host, shown.lines, { ...options, smooth: 0 }, x);
      return nextAfter(found.values(), options, x, direction);
    };
    return ask();
  };
  const onHoverLatest = useRef(/** @type {(found: import("tbcore/lib/line-chart.js").Hit[]) => void} */ (() => {}));
  onHoverLatest.current = (found) => {
    if (needsHits) setHits(found.length > 0 ? found : null);
    const nearest = found[0];
    const run = nearest?.line ? nearest.run : null;
    host.hoveredRun.set(run);
    setHoveredGroup(nearest?.band ? groupOf(nearest.band) : nearest?.line?.faint ? hoveredGroup : null);
  };

  useEffect(() => {
    chart.current?.setAxes(axesOf(options));
  }, [options.x, options.logX, options.logY, options.clip]);
  useEffect(() => {
    chart.current?.setView(view);
  }, [view, isNear]);
  const axis = useRef(options.x);
  useEffect(() => {
    if (!link) return undefined;
    if (link.view) setView(link.view);
    else if (view && axis.current === options.x) link.move(view, true, follow);
    return link.join(follow);
  }, [link]);
  const kept = tab.viewOf(id);
  useEffect(() => {
    if (!link && String(kept) !== String(view)) setView(kept); // another address
  }, [String(kept)]);
  useEffect(() => {
    chart.current?.restyle();
  }, [theme]);
  useEffect(() => {
    if (axis.current === options.x) return;
    axis.current = options.x;
    // Views are of the axis: on another one they mean nothing.
    setView(null);
    tab.onView(id, null);
    lastView.current = null;
  }, [options.x]);

  /** Ask again what the server has: not while it is being asked, or a run that grows would never be drawn. */
  const refreshLines = useRef(() => {});
  const refreshBands = useRef(() => {});
  useEffect(() => {
    refreshLines.current();
    refreshBands.current();
  }, [generations]);

  useEffect(() => {
    if (!isNear || pixels === 0) return undefined;
    const leaving = new AbortController();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    let numAnswers = 0;
    let drawAt = 1;
    const views = view ? [...new Set([view, lastView.current, null])] : [null];
    const letGo = store.hold(lineParts.flatMap(({ tag }) => views.map((each) => questionOf(tag, options, each))));
    /** @param {boolean} isComplete @param {View | null} [wanted] */
    const draw = (isComplete, wanted = view) => {
      clearTimeout(timer);
      timer = undefined;
      const candidates = [...new Set([wanted, ...views])];
      const next = knownLines(store, lineParts, options, candidates, hoveredGroup);
      const best = views.find((each) => covers(each, wanted, options.logX ? "log" : "linear")) ?? null;
      linesDrawn.current = { view: best, drawFor: (other) => draw(false, other) };
      chart.current?.setLines(next.lines);
      setShown(next);
      setHasLines(isComplete);
    };
    const onAnswer = () => {
      if (++numAnswers < drawAt) timer ??= setTimeout(draw, DRAW_MS, false);
      else {
        drawAt *= 2;
        draw(false);
      }
    };
    const load = takingTurns(leaving.signal, async () => {
      lastSmooth.current = options.smooth;
      numAnswers = 0;
      drawAt = 1;
      try {
        await loadLines(store, lineParts, options, view, pixels, host.generations.value.of, leaving.signal, onAnswer);
        if (leaving.signal.aborted) return;
        lastView.current = view;
        setLineError("");
        draw(true);
      } catch (failure) {
        if (!leaving.signal.aborted) setLineError(/** @type {Error} */ (failure).message);
      }
    });
    refreshLines.current = load;
    draw(false);
    const isMoving = view !== null || hoveredGroup !== null || options.smooth !== lastSmooth.current;
    const settle = setTimeout(load, isMoving ? SETTLE_MS : 0);
    return () => {
      leaving.abort();
      letGo();
      clearTimeout(timer);
      clearTimeout(settle);
    };
  }, [isNear, pixels, lineParts, view, options.x, options.logX, options.smooth]);

  /** Bands of everything: until those of a view are there, and to know how far the axis goes. */
  const wholeBands = useMemo(
    () => ({ found: /** @type {import("./types.js").ShownBands | null} */ (null) }),
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
    const leaving = new AbortController();
    const ask = (/** @type {View | null} */ part) => loadBands(host, bandParts, options, part, pixels, leaving.signal);
    /** @param {import("./types.js").ShownBands} found @param {View | null} part */
    const draw = (found, part) => {
      if (leaving.signal.aborted) return;
      const overviews = new Map(wholeBands.found?.bands.map(({ key, x }) => [key, x]));
      const known = { ...found, bands: found.bands.map((band) => ({ ...band, overview: overviews.get(band.key) })) };
      chart.current?.setBands(known.bands);
      setBands(known);
      bandsDrawn.current.view = part;
    };
    const load = takingTurns(leaving.signal, async () => {
      try {
        if (!view || !wholeBands.found) {
          wholeBands.found = await ask(null);
          draw(wholeBands.found, null);
        }
        if (view) draw(await ask(view), view);
        if (leaving.signal.aborted) return;
        setHasBands(true);
        setBandError("");
      } catch (failure) {
        if (!leaving.signal.aborted) setBandError(/** @type {Error} */ (failure).message);
      }
    });
    refreshBands.current = load;
    bandsDrawn.current.drawFor = () => wholeBands.found && draw(wholeBands.found, null);
    reach(view);
    setHasBands(false);
    const settle = setTimeout(load, view || options.smooth !== lastSmooth.current ? SETTLE_MS : 0);
    return () => {
      leaving.abort();
      clearTimeout(settle);
    };
  }, [isNear, pixels, grouped, view, options.x, options.logX, options.smooth, options.spread]);

  /** @param {KeyboardEvent} event */
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
      title=${pinned ? "Take from the top" : "Keep at the top (p)"}
      aria-pressed=${pinned}
      onClick=${() => tab.onPin(tags[0])}
    >
      <${Icon} name="pin" />
    </button>
    <button
      type="button"
      class="tb-icon-button"
      aria-label="Table of ${title}"
      title="Values as a table"
      aria-pressed=${needsHits}
      onClick=${() => setLegend(!needsHits)}
    >
      <${Icon} name="table" />
    </button>
    <${Menu}
      icon="more"
      label="More of ${title}"
      content=${() => html`<${Later} load=${() => import("./card-menu.js")} of="CardMenu" tab=${tab} parts=${parts} chart=${chart.current} />`}
    />
  `;
  const error = lineError || bandError;
  const isEmpty = shown.lines.length === 0 && shownBands.bands.length === 0;
  /** What the place of the chart says instead of one. */
  const hint = !isEmpty || !isNear || error ? "" : hasLines && hasBands ? "no points" : "loading";
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
      ${tags.map((tag, place) => html`<span><i class="tb-dashed" style=${{ background: sampleOf("currentcolor", DASHES[place % DASHES.length]) }}></i>${tag}</span>`)}
    </p>`}
    <div class="tb-card-chart" ref=${body} data-hint=${hint}></div>
    ${shown.numShown < shown.numInside &&
    html`<p class="tb-card-note" title="A chart has fewer pixels than there are points. Of each column of pixels the first, lowest, highest and last are drawn, which looks the same; zoom in to see every single one.">
      ${shown.numShown.toLocaleString("en")} of ${shown.numInside.toLocaleString("en")} points shown
    </p>`}
    ${shownBands.numInside > 0 &&
    html`<p class="tb-card-note" title="A chart has fewer pixels than there are points. Each mean is of a column of pixels: of what each run of the group has there. Zoom in to see every single point.">
      ${plural(shownBands.numShown, "mean")} of ${plural(shownBands.numInside, "point")} shown
    </p>`}
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
    ${needsHits &&
    isNear &&
    html`<${Later} load=${() => import("./card-legend.js")} of="CardLegend" id=${id} tab=${tab} title=${title} lines=${shown.lines} bands=${shownBands.bands} hits=${hits} pin=${pin} view=${view} />`}
  <//>`;
}

/** @param {import("./types.js").Options} options */
function axesOf({ x, logX, logY, clip }) {
  return {
    xAxis: x,
    xScale: /** @type {"log" | "linear"} */ (logX ? "log" : "linear"),
    yScale: /** @type {"log" | "linear"} */ (logY ? "log" : "linear"),
    clip,
  };
}
