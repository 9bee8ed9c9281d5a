/**
 * What the chart of a card shows: its lines and bands, which are fetched for the visible part of the
 * x axis and for the width of the chart, and that part itself.
 */

import { batch, computed, effect, signal, untracked } from "@preact/signals-core";
import { serialize } from "tbcore/requests.js";
import { cachedLines, groupOfBand, loadLines, pixelsFor, queryFor, roundView, splitByGroup } from "./data-source.js";
import { covers } from "./lines-store.js";

/**
 * @typedef {import("tbcore/chart.js").LineChart} LineChart
 * @typedef {import("./types.js").Drawn} Drawn
 * @typedef {import("./types.js").Part} Part
 * @typedef {import("./types.js").ShownBands} ShownBands
 * @typedef {import("./types.js").Tab} Tab
 * @typedef {import("./types.js").View} View
 */

/**
 * While responses arrive, the chart is redrawn after 1, 2, 4, 8 … responses, so that all redraws
 * together cost about twice the last redraw. Each response is drawn after this delay at the latest.
 */
const MAX_DRAW_DELAY_MS = 1000;
/** How long view, smoothing and pointer must stay unchanged before rows are requested. */
const SETTLE_DELAY_MS = 120;
/** @type {ShownBands} */
const NO_BANDS = { bands: [], numShown: 0, numInside: 0 };

/** Charts that zoom together. */
export class LinkedZoom {
  /** @type {View | null} */ view = null;
  /** @type {Set<ChartFeed>} */ #feeds = new Set();

  /** Adds a chart; the result removes it. @param {ChartFeed} feed */
  join(feed) {
    this.#feeds.add(feed);
    return () => void this.#feeds.delete(feed);
  }

  /** Moves all other charts. @param {View | null} view @param {boolean} settled @param {ChartFeed} from */
  move(view, settled, from) {
    this.view = view;
    for (const feed of this.#feeds) if (feed !== from) feed.follow(view, settled);
  }
}

/** The lines, bands and view of one chart, as signals. */
export class ChartFeed {
  lines = signal(/** @type {import("./types.js").ShownLines} */ ({ lines: [], numShown: 0, numInside: 0 }));
  bands = signal(NO_BANDS);
  /** The visible part of the x axis, at the end of a gesture; null for all of it. */
  view = signal(/** @type {View | null} */ (null));
  /** Whether `lines` and `bands` are everything that there is for the view. */
  isComplete = computed(() => this.#hasLines.value && this.#hasBands.value);
  error = computed(() => this.#lineError.value || this.#bandError.value);
  #hasLines = signal(false);
  #hasBands = signal(false);
  #lineError = signal("");
  #bandError = signal("");
  /** @type {LineChart | null} */ #chart = null;
  /** The width to request rows for; 0 while there is no chart. */
  #pixels = signal(0);
  #parts = signal(/** @type {readonly Part[]} */ ([]));
  #isGrouped = signal(false);
  #hoveredGroup = signal(/** @type {string | null} */ (null));
  #options;
  #grouped = computed(() => (this.#isGrouped.value ? this.#parts.value.map(splitByGroup) : null));
  /** With groups, only runs alone in their group and runs of the hovered group have lines. */
  #lineParts = computed(() => {
    const hovered = this.#hoveredGroup.value;
    return (
      this.#grouped.value?.map(({ tag, groups, single }) => {
        const members = groups.find(({ name }) => name === hovered)?.runs ?? [];
        return { tag, runs: [...members, ...single.runs] };
      }) ?? this.#parts.value
    );
  });
  // These change only with the options on which the rows of lines and bands depend.
  #lineQuery = computed(() => JSON.stringify(queryFor("", this.#options.value, null)));
  #bandQuery = computed(() => this.#lineQuery.value + this.#options.value.spread);
  /** Bands of the full range, for the x axis' extent; drawn until the view's bands arrive. */
  #wholeBands = computed(() => {
    this.#grouped.value;
    this.#bandQuery.value;
    return { found: /** @type {ShownBands | null} */ (null) };
  });
  /** The view fetched last; its rows are drawn until the rows of the next view arrive. */
  #lastView = /** @type {View | null} */ (null);
  /** The smoothing weight of the last request. */
  #lastSmooth;
  /** @type {Drawn} */ #drawnLines = { view: null, drawFor: () => {} };
  /** @type {Drawn} */ #drawnBands = { view: null, drawFor: () => {} };
  /** @type {LinkedZoom | null} */ #link = null;
  #leaveLink = () => {};
  #refreshLines = () => {};
  #refreshBands = () => {};
  #id;
  #tab;
  #stops;

  /** @param {string} id  of the card in the page address @param {Tab} tab */
  constructor(id, tab) {
    this.#id = id;
    this.#tab = tab;
    this.#options = signal(tab.options);
    this.#lastSmooth = tab.options.smooth;
    this.view.value = tab.viewOf(id);
    this.#stops = [
      effect(() => this.#watchLines()),
      effect(() => this.#watchBands()),
      // Requests in progress are not aborted, so that growing runs are drawn.
      tab.host.generations.subscribe(() => {
        this.#refreshLines();
        this.#refreshBands();
      }),
    ];
  }

  /** Ends all requests. */
  close() {
    this.#leaveLink();
    for (const stop of this.#stops) stop();
  }

  /** Sets what to show. @param {Tab} tab @param {readonly Part[]} parts @param {LinkedZoom | null} link */
  show(tab, parts, link) {
    const isOtherAxis = tab.options.x !== this.#options.peek().x;
    this.#tab = tab;
    batch(() => {
      if (isOtherAxis) {
        // A view means nothing on another axis.
        this.view.value = null;
        this.#lastView = null;
        tab.onView(this.#id, null);
      }
      this.#options.value = tab.options;
      this.#isGrouped.value = tab.groups !== null;
      this.#parts.value = parts;
    });
    if (link === this.#link) return;
    this.#leaveLink();
    this.#link = link;
    this.#leaveLink = link?.join(this) ?? (() => {});
    if (link?.view) this.view.value = link.view;
    else if (this.view.peek()) link?.move(this.view.peek(), true, this);
  }

  /** Shows a view that was set in the page address. @param {View | null} view */
  showAddressed(view) {
    if (!this.#link && String(view) !== String(this.view.peek())) this.view.value = view;
  }

  /**
   * Draws in a chart, until `signal` is aborted.
   * @param {LineChart} chart
   * @param {Element} element  whose size may change
   * @param {AbortSignal} signal
   */
  attach(chart, element, signal) {
    this.#chart = chart;
    const stops = [
      this.view.subscribe((view) => chart.setView(view)),
      this.bands.subscribe(({ bands }) => chart.setBands(bands)),
      this.lines.subscribe(({ lines }) => chart.setLines(lines)),
    ];
    const sizes = new ResizeObserver(() => (this.#pixels.value = pixelsFor(chart.pixels)));
    sizes.observe(element);
    this.#pixels.value = pixelsFor(chart.pixels);
    signal.addEventListener("abort", () => {
      this.#chart = null;
      this.#pixels.value = 0;
      sizes.disconnect();
      for (const stop of stops) stop();
    });
  }

  /**
   * The user zooms this chart.
   * @param {View | null} moved
   * @param {boolean} settled  false while the gesture continues
   */
  move(moved, settled) {
    const view = roundView(moved);
    this.#link?.move(view, settled, this);
    this.#showMoved(view, settled, view);
  }

  /** Another chart of the link is zoomed. @param {View | null} view @param {boolean} settled */
  follow(view, settled) {
    this.#chart?.setView(view, settled);
    this.#showMoved(view, settled, null); // the chart that was zoomed keeps the view in the address
  }

  /**
   * @param {View | null} view
   * @param {boolean} settled
   * @param {View | null} addressed  what the page address keeps
   */
  #showMoved(view, settled, addressed) {
    this.#drawUncovered(view);
    if (!settled) return;
    this.view.value = view;
    this.#tab.onView(this.#id, addressed);
  }

  /** The pointer is at a point, or nowhere. @param {import("tbcore/chart.js").Hit | undefined} nearest */
  hover(nearest) {
    if (nearest?.band) this.#hoveredGroup.value = groupOfBand(nearest.band);
    else if (!nearest?.line?.faint) this.#hoveredGroup.value = null;
  }

  /**
   * The next logged x, from the server; null: the chart can find it among its points.
   * @param {number} x
   * @param {-1 | 1} direction
   */
  nextX(x, direction) {
    const { lines, numShown, numInside } = this.lines.peek();
    if (numShown >= numInside || this.#isGrouped.peek()) return null;
    const options = this.#options.peek();
    return import("./exact-points.js").then(({ fetchNextX }) => fetchNextX(this.#tab.host, lines, options, x, direction));
  }

  /** Draws coarser rows for a view that the drawn rows do not cover. @param {View | null} view */
  #drawUncovered(view) {
    const { scale } = queryFor("", this.#options.peek(), view);
    if (!covers(this.#drawnLines.view, view, scale)) this.#drawnLines.drawFor(view);
    if (!covers(this.#drawnBands.view, view, scale, 0)) this.#drawnBands.drawFor(view);
  }

  /** Fetches and draws lines whenever what they depend on changes. */
  #watchLines() {
    const pixels = this.#pixels.value;
    const parts = this.#lineParts.value;
    const view = this.view.value;
    this.#lineQuery.value;
    return pixels > 0 ? untracked(() => this.#fetchLines(parts, view, pixels)) : undefined;
  }

  /**
   * @param {readonly Part[]} parts
   * @param {View | null} view
   * @param {number} pixels
   * @returns {() => void} ends the requests
   */
  #fetchLines(parts, view, pixels) {
    const { host, store } = this.#tab;
    const options = this.#options.value;
    const hoveredGroup = this.#hoveredGroup.value;
    const controller = new AbortController();
    let timer = 0;
    let numResponses = 0;
    let nextDrawAt = 1;
    const views = view ? [...new Set([view, this.#lastView, null])] : [null];
    const release = store.retain(parts.flatMap(({ tag }) => views.map((each) => queryFor(tag, options, each))));
    /** Draws what the store has. @param {boolean} isComplete @param {View | null} [target] */
    const draw = (isComplete, target = view) => {
      clearTimeout(timer);
      timer = 0;
      const { scale } = queryFor("", options, target);
      const drawnView = views.find((each) => covers(each, target, scale)) ?? null;
      this.#drawnLines = { view: drawnView, drawFor: (other) => draw(false, other) };
      batch(() => {
        this.lines.value = cachedLines(store, parts, options, [...new Set([target, ...views])], hoveredGroup);
        this.#hasLines.value = isComplete;
      });
    };
    const onResponse = () => {
      if (++numResponses < nextDrawAt) timer ||= setTimeout(draw, MAX_DRAW_DELAY_MS, false);
      else {
        nextDrawAt *= 2;
        draw(false);
      }
    };
    const load = makeLoad(controller.signal, this.#lineError, async () => {
      this.#lastSmooth = options.smooth;
      numResponses = 0;
      nextDrawAt = 1;
      await loadLines(store, parts, options, view, pixels, host.generations.value.of, controller.signal, onResponse);
      if (controller.signal.aborted) return;
      this.#lastView = view;
      draw(true);
    });
    this.#refreshLines = load;
    draw(false);
    const mayChangeAgain = view !== null || hoveredGroup !== null || options.smooth !== this.#lastSmooth;
    const loadTimer = setTimeout(load, mayChangeAgain ? SETTLE_DELAY_MS : 0);
    return () => {
      controller.abort();
      release();
      clearTimeout(timer);
      clearTimeout(loadTimer);
    };
  }

  /** Fetches and draws bands whenever what they depend on changes. */
  #watchBands() {
    const pixels = this.#pixels.value;
    const view = this.view.value;
    const grouped = this.#grouped.value;
    const whole = this.#wholeBands.value;
    this.#refreshBands = () => {};
    if (pixels === 0) return undefined;
    if (grouped?.some(({ groups }) => groups.length > 0)) return untracked(() => this.#fetchBands(grouped, view, pixels, whole));
    batch(() => {
      this.bands.value = NO_BANDS;
      this.#hasBands.value = true;
    });
    return undefined;
  }

  /**
   * @param {readonly import("./types.js").GroupedPart[]} parts
   * @param {View | null} view
   * @param {number} pixels
   * @param {{ found: ShownBands | null }} whole  set to the bands of the full range
   * @returns {() => void} ends the requests
   */
  #fetchBands(parts, view, pixels, whole) {
    const options = this.#options.value;
    const controller = new AbortController();
    const fetchBands = async (/** @type {View | null} */ bandView) => {
      const { loadBands } = await import("./bands.js");
      return loadBands(this.#tab.host, parts, options, bandView, pixels, controller.signal);
    };
    /** @param {ShownBands} found @param {View | null} bandView */
    const draw = (found, bandView) => {
      if (controller.signal.aborted) return;
      const overviews = new Map(whole.found?.bands.map(({ key, x }) => [key, x]));
      this.bands.value = { ...found, bands: found.bands.map((band) => ({ ...band, overview: overviews.get(band.key) })) };
      this.#drawnBands.view = bandView;
    };
    const load = makeLoad(controller.signal, this.#bandError, async () => {
      if (!view || !whole.found) {
        whole.found = await fetchBands(null);
        draw(whole.found, null);
      }
      if (view) draw(await fetchBands(view), view);
      if (!controller.signal.aborted) this.#hasBands.value = true;
    });
    this.#refreshBands = load;
    this.#drawnBands.drawFor = () => whole.found && draw(whole.found, null);
    this.#drawUncovered(view);
    this.#hasBands.value = false;
    const loadTimer = setTimeout(load, view || options.smooth !== this.#lastSmooth ? SETTLE_DELAY_MS : 0);
    return () => {
      controller.abort();
      clearTimeout(loadTimer);
    };
  }
}

/**
 * Makes a function that runs `load`, and again if it is called while `load` runs.
 * @param {AbortSignal} signal
 * @param {{ value: string }} error  the message if `load` rejects, else empty
 * @param {() => Promise<void>} load
 */
function makeLoad(signal, error, load) {
  return serialize(signal, async () => {
    try {
      await load();
      if (!signal.aborted) error.value = "";
    } catch (failure) {
      if (!signal.aborted) error.value = /** @type {Error} */ (failure).message;
    }
  });
}
