/**
 * A plot of precision over recall. The pointer and the arrow keys select a threshold, which is
 * marked on all curves. Dragging zooms to a range of recall, as in a line chart; the precision axis
 * adapts.
 */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { addGestures, axisTicks, pictureTools } from "tbcore/cards.js";
import { formatStep, formatValue } from "tbcore/format.js";
import { FULL_RANGE, linesAt, nearest, pathOf, rangesOf, xOf, yOf } from "./curve.js";

/**
 * @typedef {import("./curve-card.js").Line} Line
 * @typedef {import("./curve-card.js").Reading} Reading
 * @typedef {import("./curve.js").Box} Box
 * @typedef {import("./curve.js").Range} Range
 */

/**
 * Distance beyond the edges of the plot up to which curves are drawn without zoom, so that circles
 * at the edges are not cut off.
 */
const CLIP_MARGIN_PX = 5;

const MARGIN_PX = { left: 48, right: 14, top: 10, bottom: 36 };
const HEIGHT_PX = 280;
const EXPANDED_HEIGHT_PX = 520;
/** Space for one label of an axis. */
const TICK_SPACING_PX = { width: 56, height: 40 };

/**
 * @typedef {object} Drawn
 * @property {readonly Omit<Line, "index">[]} results
 * @property {string | null} hovered  a run to highlight
 * @property {boolean} expanded
 * @property {boolean} isFitted  whether the precision axis has the range of the curves, not 0 to 1
 */

/** The plot as a chart of `ChartCard`. */
export class CurveChart {
  #element;
  #label;
  #onZoom;
  #onRead;
  /** @type {Drawn} */ #drawn = { results: [], hovered: null, expanded: false, isFitted: false };
  /** @type {Reading | null} */ #reading = null;
  /** @type {Range | null} visible range of recall; null: everything */ #view = null;

  /**
   * @param {HTMLElement} element
   * @param {string} label
   * @param {(isZoomed: boolean) => void} onZoom
   * @param {(reading: Reading | null) => void} onRead  called when the user selects a threshold
   */
  constructor(element, label, onZoom, onRead) {
    this.#element = element;
    this.#label = label;
    this.#onZoom = onZoom;
    this.#onRead = onRead;
  }

  /** Draws curves. @param {Drawn} drawn */
  set(drawn) {
    this.#drawn = drawn;
    const { results, ...props } = drawn;
    const lines = linesAt(results, this.#reading);
    render(html`<${Plot} ...${props} lines=${lines} reading=${this.#reading} label=${this.#label} onRead=${this.#read} view=${this.#view} onView=${this.#show} />`, this.#element);
  }

  /** Draws at once, so that the next key starts from this reading. */
  #read = (/** @type {Reading | null} */ reading) => {
    this.#reading = reading;
    this.set(this.#drawn);
    this.#onRead(reading);
  };

  #show = (/** @type {Range | null} */ view) => {
    this.#view = view;
    this.#onZoom(view !== null);
    this.set(this.#drawn);
  };

  /** Shows everything. */
  resetZoom() {
    this.#show(null);
  }

  /** The plot as an SVG document, as large as on the screen. @param {string} [note] */
  toSVG(note) {
    return plotSVG(this.#element, this.#label, linesAt(this.#drawn.results, null), this.#view, this.#drawn.isFitted, note);
  }

  /** Removes the plot. */
  destroy() {
    if (this.#reading) this.#onRead(null);
    render(null, this.#element);
  }
}

/**
 * The plot.
 * @param {object} props
 * @param {string} props.label
 * @param {readonly Line[]} props.lines
 * @param {Reading | null} props.reading
 * @param {(reading: Reading | null) => void} props.onRead
 * @param {Range | null} props.view  visible range of recall; null: everything
 * @param {(view: Range | null) => void} props.onView
 * @param {string | null} props.hovered  a run to highlight
 * @param {boolean} props.expanded
 * @param {boolean} props.isFitted
 */
function Plot({ label, lines, reading, onRead, view, onView, hovered, expanded, isFitted }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const area = useRef(/** @type {HTMLElement | null} */ (null));
  const clip = useId();
  const width = useWidth(element);
  const height = expanded ? EXPANDED_HEIGHT_PX : HEIGHT_PX;
  const curves = lines.map(({ found }) => found?.curve ?? null);
  const box = useMemo(() => boxOf(curves, width, height, view, isFitted), [...curves, width, height, view, isFitted]);
  const clipMargin = view ? 1 : CLIP_MARGIN_PX;
  const hasHovered = lines.some(({ run, found }) => run.name === hovered && found?.curve);

  /** What gestures act on; updated at each render. @type {import("tbcore/cards.js").GestureTarget} */
  const target = Object.assign(useRef(/** @type {any} */ ({})).current, {
    range: () => box.recall,
    full: () => FULL_RANGE,
    show: onView,
    point(/** @type {import("tbcore/cards.js").PointerPosition | null} */ place) {
      const found = place && nearest(curves, box, box.left + place.left, box.top + place.top);
      onRead(found ? readingOf(lines[found.curve], found.index) : null);
    },
    key(/** @type {KeyboardEvent} */ event) {
      const next = readingAfter(lines, reading, event.key);
      if (next !== undefined) onRead(next);
      return next !== undefined;
    },
  });
  useEffect(() => {
    if (!element.current || !area.current) return undefined;
    const controller = new AbortController();
    addGestures(element.current, area.current, target, controller.signal);
    return () => controller.abort();
  }, []);

  return html`<div
    class="pr-plot"
    ref=${element}
    tabindex="0"
    role="group"
    aria-roledescription="chart"
    aria-label="${label}: precision over recall. Use the arrow keys to select a threshold and a run."
  >
    <svg width=${width} height=${height} aria-hidden="true">
      <clipPath id=${clip}><rect x=${box.left - clipMargin} y=${box.top - clipMargin} width=${box.width + 2 * clipMargin} height=${box.height + 2 * clipMargin} /></clipPath>
      ${width > 0 && html`<${Axes} box=${box} />`}
      <g clip-path="url(#${clip})">
        ${width > 0 &&
        lines.map(
          (line) =>
            line.found?.curve &&
            html`<${CurveLine} key=${line.run.name} line=${line} box=${box} isFaint=${hasHovered && line.run.name !== hovered} isHovered=${line.run.name === hovered} />`,
        )}
      </g>
    </svg>
    <div
      class="tb-chart-plot"
      ref=${area}
      style=${{ left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` }}
    ></div>
  </div>
  <p class="tb-dim pr-read" role="status">${(reading && describeReading(lines, reading)) || "Point at a curve or use the arrow keys to see its values."}</p>`;
}

/**
 * The plot's position, size and ranges.
 * @param {readonly (import("./curve.js").Points | null)[]} curves
 * @param {number} width  of the whole drawing
 * @param {number} height
 * @param {Range | null} view
 * @param {boolean} isFitted
 * @returns {Box}
 */
function boxOf(curves, width, height, view, isFitted) {
  return {
    left: MARGIN_PX.left,
    top: MARGIN_PX.top,
    width: Math.max(1, width - MARGIN_PX.left - MARGIN_PX.right),
    height: height - MARGIN_PX.top - MARGIN_PX.bottom,
    ...rangesOf(curves, view, isFitted),
  };
}

/**
 * Ticks of an axis.
 * @param {Range} range
 * @param {number} length  of the axis
 * @param {number} spacing  for one label
 */
function ticksOf(range, length, spacing) {
  return axisTicks({ kind: "value", log: false, range }, length / spacing);
}

/**
 * The plot as an SVG document, as large as on the screen.
 * @param {HTMLElement} element
 * @param {string} label
 * @param {readonly Line[]} lines
 * @param {Range | null} view
 * @param {boolean} isFitted
 * @param {string} [note]
 */
async function plotSVG(element, label, lines, view, isFitted, note = "") {
  const { frameSVG } = await pictureTools();
  const plot = /** @type {HTMLElement} */ (element.querySelector(".pr-plot"));
  const drawn = lines.filter(({ found }) => found?.curve);
  const curves = drawn.map(({ found }) => /** @type {import("./curve.js").Curve} */ (found?.curve));
  const { clientWidth: width, clientHeight: height } = plot;
  const box = boxOf(curves, width, height, view, isFitted);
  const layout = { ...box, xTicks: ticksOf(box.recall, box.width, TICK_SPACING_PX.width), yTicks: ticksOf(box.precision, box.height, TICK_SPACING_PX.height) };
  const style = getComputedStyle(plot);
  const [text, grid, surface] = ["--tb-ink-2", "--tb-grid", "--tb-surface"].map((name) => style.getPropertyValue(name).trim());
  const paths = drawn.map(({ run }, i) => `<path d="${pathOf(curves[i], { ...box, left: 0, top: 0 })}" stroke="${run.color}" stroke-width="1.6"/>`);
  /** @type {[string, string]} */
  const titles = ["recall", "precision"];
  const items = drawn.map(({ run, found }) => ({ name: `${run.label}, step ${formatStep(/** @type {import("./curve.js").CurveAtStep} */ (found).step)}`, color: run.color }));
  return frameSVG({ label, width, height: height - MARGIN_PX.bottom + 26, layout, titles, note, colors: { text, grid, surface } }, paths, items);
}

/** Grid lines, labels and titles. @param {{ box: Box }} props */
function Axes({ box }) {
  const { left, top, width, height } = box;
  return html`<g class="pr-axes">
    ${ticksOf(box.recall, width, TICK_SPACING_PX.width).map(({ value, label }) => {
      const x = xOf(box, value);
      return html`<g key=${`x${label}`}>
        <line x1=${x} x2=${x} y1=${top} y2=${top + height} />
        <text x=${x} y=${top + height + 15} text-anchor="middle">${label}</text>
      </g>`;
    })}
    ${ticksOf(box.precision, height, TICK_SPACING_PX.height).map(({ value, label }) => {
      const y = yOf(box, value);
      return html`<g key=${`y${label}`}>
        <line x1=${left} x2=${left + width} y1=${y} y2=${y} />
        <text x=${left - 6} y=${y + 4} text-anchor="end">${label}</text>
      </g>`;
    })}
    <text x=${left + width / 2} y=${top + height + 30} text-anchor="middle">Recall</text>
    <text x=${-(top + height / 2)} y="11" text-anchor="middle" transform="rotate(-90)">Precision</text>
  </g>`;
}

/**
 * The curve of one run, with a circle at the selected threshold.
 * @param {{ line: Line, box: Box, isFaint: boolean, isHovered: boolean }} props
 */
function CurveLine({ line: { run, found, index }, box, isFaint, isHovered }) {
  const curve = /** @type {import("./curve.js").Curve} */ (found?.curve);
  const path = useMemo(() => pathOf(curve, box), [curve, box]);
  const [x, y] = [xOf(box, curve.recall[index]), yOf(box, curve.precision[index])];
  return html`<g class="pr-line ${isFaint ? "pr-faint" : ""}" stroke=${run.color} fill=${run.color}>
    <path d=${path} fill="none" stroke-width=${isHovered ? 2.4 : 1.6} />
    ${Number.isFinite(x) && Number.isFinite(y) && html`<circle cx=${x} cy=${y} r=${isHovered ? 4.5 : 3.5} />`}
  </g>`;
}

/** The selection of a point of a curve. @param {Line} line @param {number} index @returns {Reading} */
function readingOf({ run, found }, index) {
  return { run: run.name, threshold: found?.curve?.thresholds[index] ?? 0 };
}

/**
 * The selection after a key was pressed.
 * @param {readonly Line[]} lines
 * @param {Reading | null} reading
 * @param {string} key
 * @returns {Reading | null | undefined} undefined if the key has no effect
 */
function readingAfter(lines, reading, key) {
  if (key === "Escape") return reading ? null : undefined;
  const drawn = lines.filter(({ found }) => found?.curve);
  if (drawn.length === 0) return undefined;
  const at = Math.max(0, drawn.findIndex(({ run }) => run.name === reading?.run));
  const { length } = drawn[at].found?.curve?.thresholds ?? [];
  const { index } = drawn[at];
  switch (key) {
    case "ArrowRight":
      return readingOf(drawn[at], Math.min(length - 1, index + 1));
    case "ArrowLeft":
      return readingOf(drawn[at], index < 0 ? length - 1 : Math.max(0, index - 1));
    case "Home":
      return readingOf(drawn[at], 0);
    case "End":
      return readingOf(drawn[at], length - 1);
    case "ArrowDown":
    case "ArrowUp": {
      const next = drawn[Math.min(drawn.length - 1, Math.max(0, at + (reading ? (key === "ArrowDown" ? 1 : -1) : 0)))];
      return { run: next.run.name, threshold: reading?.threshold ?? 0 };
    }
    default:
      return undefined;
  }
}

/** The selected point in words. @param {readonly Line[]} lines @param {Reading} reading */
function describeReading(lines, reading) {
  const line = lines.find(({ run }) => run.name === reading.run);
  const curve = line?.found?.curve;
  if (!line || !curve || line.index < 0) return "";
  const { index } = line;
  const counts = [
    ["true positives", curve.true_positives],
    ["false positives", curve.false_positives],
    ["true negatives", curve.true_negatives],
    ["false negatives", curve.false_negatives],
  ].map(([name, column]) => `${formatStep(/** @type {number[]} */ (column)[index])} ${name}`);
  const rates = `precision ${formatValue(curve.precision[index])}, recall ${formatValue(curve.recall[index])}`;
  return `${line.run.label}, threshold ${formatValue(curve.thresholds[index])}: ${rates}, ${counts.join(", ")}`;
}

/**
 * The width of an element.
 * @param {{ current: HTMLElement | null }} ref
 * @returns {number} CSS pixels; 0 before layout
 */
function useWidth(ref) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!ref.current) return undefined;
    const sizes = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    sizes.observe(ref.current);
    return () => sizes.disconnect();
  }, []);
  return width;
}
