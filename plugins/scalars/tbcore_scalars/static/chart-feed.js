/**
 * What the chart of a card shows: its lines, which are fetched for the visible part of the x axis
 * and for the width of the chart, and that part itself. `bands.js` adds the bands of groups of runs.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { keepUpToDate } from "tbcore/requests.js";
import { cachedLines, covers, loadLines, pixelsFor, queryFor, roundView } from "./lines.js";

/** @typedef {import("tbcore/chart.js").LineChart} LineChart */
/** @import { Host, Link, Options, Part, ShownLines, Tab, View } from "./types.js" */
/** @import { BandFeed } from "./bands.js" */

/**
 * While responses arrive, the chart is redrawn after 1, 2, 4, 8 … responses, so that all redraws
 * together cost about twice the last redraw. Each response is drawn after this delay at the latest.
 */
const MAX_DRAW_DELAY_MS = 1000;
/** How long view, smoothing and pointer must stay unchanged before rows are requested. */
const SETTLE_DELAY_MS = 120;
/** @type {readonly import("./bands.js").GroupBand[]} */
const NO_BANDS = [];

/** The lines, bands and view of one chart, as signals. */
export class ChartFeed {
  options;
  parts = signal(/** @type {readonly Part[]} */ ([]));
  /** The width to request rows for; 0 while there is no chart. */
  pixels = signal(0);
  /** The visible part of the x axis, at the end of a gesture; null for all of it. */
  view = signal(/** @type {View | null} */ (null));
  lines = signal(/** @type {ShownLines} */ ({ lines: [], isReduced: false }));
  bands = computed(() => this.#bandFeed.value?.shown.value ?? NO_BANDS);
  /** What a reader must know of the bands. */
  notes = computed(() => this.#bandFeed.value?.notes.value ?? []);
  /** Whether `lines` and `bands` are everything that there is for the view. */
  isComplete = computed(() => this.#hasLines.value && (!this.#isGrouped.value || this.#bandFeed.value?.isComplete.value));
  error = computed(() => this.#error.value || this.#bandFeed.value?.error.value);
  #hasLines = signal(false);
  #error = signal("");
  #isGrouped = signal(false);
  /** Null while runs are not grouped, and until the module is loaded. */
  #bandFeed = signal(/** @type {BandFeed | null} */ (null));
  #lineParts = computed(() => (this.#isGrouped.value ? this.#bandFeed.value?.lineParts.value : this.parts.value));
  #rowOptions = computed(() => rowOptions(this.options.value));
  /** The view fetched last; its rows are drawn until the rows of the next view arrive. */
  #lastView = /** @type {View | null} */ (null);
  /** The smoothing weight of the last request. */
  #lastSmooth;
  /** Draws coarser rows for a view that the drawn rows do not cover. @type {(view: View | null) => void} */
  #drawUncovered = () => {};
  /** @type {LineChart | null} */ #chart = null;
  /** @type {Link | null} */ #link = null;
  #first;
  #tab;
  #stops;

  /** @param {string} first  the first tag of the card, which has its view in the page address @param {Tab} tab */
  constructor(first, tab) {
    this.#first = first;
    this.#tab = tab;
    this.options = signal(tab.options);
    this.#lastSmooth = tab.options.smooth;
    this.view.value = tab.viewOf(first);
    this.#stops = [effect(() => this.#watchGroups()), effect(() => this.#watchLines())];
  }

  /** Ends all requests. */
  close() {
    this.#link?.feeds.delete(this);
    for (const stop of this.#stops) stop();
  }

  /** Sets what to show. @param {Tab} tab @param {readonly Part[]} parts @param {Link | null} link */
  show(tab, parts, link) {
    const isOtherAxis = tab.options.x !== this.options.peek().x;
    this.#tab = tab;
    batch(() => {
      if (isOtherAxis) {
        // A view means nothing on another axis.
        this.view.value = null;
        this.#lastView = null;
        tab.onView(this.#first, null);
      }
      this.options.value = tab.options;
      this.#isGrouped.value = tab.isGrouped;
      if (!areEqual(parts, this.parts.peek())) this.parts.value = parts;
    });
    if (link === this.#link) return;
    this.#link?.feeds.delete(this);
    this.#link = link;
    link?.feeds.add(this);
    if (link?.view) this.view.value = link.view;
    else if (this.view.peek()) this.#moveLinked(this.view.peek(), true);
  }

  /** Shows a view that was set in the page address. @param {View | null} view */
  showAddressed(view) {
    if ((!this.#link || this.#link.isOfTag) && String(view) !== String(this.view.peek())) this.view.value = view;
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
      this.bands.subscribe((bands) => chart.setBands(bands)),
      this.lines.subscribe(({ lines }) => chart.setLines(lines)),
    ];
    const measure = () => void (this.pixels.value = pixelsFor(chart.pixels));
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    measure();
    signal.addEventListener("abort", () => {
      this.#chart = null;
      this.pixels.value = 0;
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
    this.#moveLinked(view, settled);
    this.#showMoved(view, settled, view);
  }

  /** Zooms the other charts of the link. @param {View | null} view @param {boolean} settled */
  #moveLinked(view, settled) {
    if (!this.#link) return;
    this.#link.view = view;
    for (const feed of this.#link.feeds) {
      if (feed === this) continue;
      feed.#chart?.setView(view, settled);
      // The chart that was zoomed keeps the view in the address, also for its copy.
      feed.#showMoved(view, settled, feed.#first === this.#first ? view : null);
    }
  }

  /**
   * @param {View | null} view
   * @param {boolean} settled
   * @param {View | null} addressed  what the page address keeps
   */
  #showMoved(view, settled, addressed) {
    this.#drawUncovered(view);
    this.#bandFeed.peek()?.drawUncovered(view);
    if (!settled) return;
    this.view.value = view;
    this.#tab.onView(this.#first, addressed);
  }

  /** The pointer is at a point, or nowhere. @param {import("tbcore/chart.js").Hit | undefined} nearest */
  hover(nearest) {
    this.#bandFeed.peek()?.hover(nearest);
  }

  /**
   * The next logged x, from the server; null: the chart can find it among its points.
   * @param {number} x
   * @param {-1 | 1} direction
   */
  nextX(x, direction) {
    const { lines, isReduced } = this.lines.peek();
    if (!isReduced || this.#isGrouped.peek()) return null;
    const options = this.options.peek();
    return import("./exact-points.js").then(({ fetchNextX }) => fetchNextX(this.#tab.host, lines, options, x, direction));
  }

  /** Loads the code for bands when runs are grouped. */
  #watchGroups() {
    if (!this.#isGrouped.value) return undefined;
    const controller = new AbortController();
    const load = async () => {
      const { BandFeed } = await import("./bands.js");
      if (!controller.signal.aborted) this.#bandFeed.value = new BandFeed(this.#tab.host, this);
    };
    load().catch((error) => {
      if (!controller.signal.aborted) this.#error.value = error.message;
    });
    return () => {
      controller.abort();
      this.#bandFeed.peek()?.stop();
      this.#bandFeed.value = null;
    };
  }

  /** Fetches and draws lines whenever what they depend on changes. */
  #watchLines() {
    const pixels = this.pixels.value;
    const parts = this.#lineParts.value;
    const view = this.view.value;
    this.#rowOptions.value;
    this.#drawUncovered = () => {};
    if (pixels === 0 || !parts) return undefined;
    const { host, store } = this.#tab;
    const options = this.options.peek();
    const hoveredGroup = this.#bandFeed.peek()?.hoveredGroup.peek() ?? null;
    const views = view ? [...new Set([view, this.#lastView, null])] : [null];
    const release = store.retain(parts.flatMap(({ tag }) => views.map((each) => queryFor(tag, options, each))));
    let timer = 0;
    let numResponses = 0;
    let nextDrawAt = 1;
    /** @type {View | null} */
    let drawnView = null;
    /** Draws what the store has. @param {boolean} isComplete @param {View | null} [target] */
    const draw = (isComplete, target = view) => {
      clearTimeout(timer);
      timer = 0;
      drawnView = views.find((each) => covers(each, target, options.logX)) ?? null;
      batch(() => {
        this.lines.value = cachedLines(store, parts, options, [...new Set([target, ...views])], hoveredGroup);
        this.#hasLines.value = isComplete;
      });
    };
    this.#drawUncovered = (target) => {
      if (!covers(drawnView, target, options.logX)) draw(false, target);
    };
    const onResponse = () => {
      if (++numResponses < nextDrawAt) timer ||= setTimeout(draw, MAX_DRAW_DELAY_MS, false);
      else {
        nextDrawAt *= 2;
        draw(false);
      }
    };
    draw(false);
    const mayChangeAgain = view !== null || hoveredGroup !== null || options.smooth !== this.#lastSmooth;
    const stop = keepLoaded(host, mayChangeAgain, this.#error, async (signal) => {
      this.#lastSmooth = options.smooth;
      numResponses = 0;
      nextDrawAt = 1;
      await loadLines(store, parts, options, view, pixels, signal, onResponse);
      signal.throwIfAborted();
      this.#lastView = view;
      draw(true);
    });
    return () => {
      stop();
      release();
      clearTimeout(timer);
    };
  }
}

/** A text that changes with the options on which rows depend. @param {Options} options */
export function rowOptions({ x, logX, smooth, smoothKind }) {
  return `${x} ${logX} ${smooth} ${smoothKind}`;
}

/**
 * Loads data now, and again after each change of the runs. A change aborts no request, so that
 * growing runs are drawn.
 * @param {Host} host
 * @param {boolean} mayChangeAgain  whether to wait, because other data may be needed soon
 * @param {{ value: string }} error  the message if `load` rejects, else empty
 * @param {(signal: AbortSignal) => Promise<void>} load
 * @returns {() => void} ends the requests
 */
export function keepLoaded(host, mayChangeAgain, error, load) {
  const controller = new AbortController();
  const { signal } = controller;
  const reload = keepUpToDate(async () => {
    try {
      await load(signal);
      error.value = "";
    } catch (failure) {
      if (!signal.aborted) error.value = /** @type {Error} */ (failure).message;
    }
  }, controller);
  const start = () => signal.addEventListener("abort", host.generations.subscribe(reload));
  const timer = setTimeout(start, mayChangeAgain ? SETTLE_DELAY_MS : 0);
  return () => {
    clearTimeout(timer);
    controller.abort();
  };
}

/** Whether two charts show the same tags and runs, with the same labels and colours. @param {readonly Part[]} a @param {readonly Part[]} b */
function areEqual(a, b) {
  return a.length === b.length && a.every(({ tag, runs }, index) => tag === b[index].tag && (runs === b[index].runs || JSON.stringify(runs) === JSON.stringify(b[index].runs)));
}
