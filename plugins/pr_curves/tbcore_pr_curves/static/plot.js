/**
 * Precision over recall as a drawing. The pointer, and the arrow keys, choose the threshold that is read on all curves.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatStep, formatValue } from "tbcore/lib/format.js";
import { nearest, pathOf, xOf, yOf } from "./curve.js";

/**
 * @typedef {import("./curve-card.js").Line} Line
 * @typedef {import("./curve-card.js").Reading} Reading
 * @typedef {import("./curve.js").Box} Box
 */

const TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1];
const MARGIN = { left: 42, right: 14, top: 10, bottom: 36 };
const HEIGHT = 280;
const EXPANDED = 520;

/**
 * @param {object} props
 * @param {string} props.label
 * @param {readonly Line[]} props.lines
 * @param {Reading | null} props.reading
 * @param {(reading: Reading | null) => void} props.onRead
 * @param {string | null} props.hovered  a run, before all others
 * @param {boolean} props.isDrawn
 * @param {boolean} props.expanded
 */
export function Plot({ label, lines, reading, onRead, hovered, isDrawn, expanded }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(element);
  const height = expanded ? EXPANDED : HEIGHT;
  const box = useMemo(
    () => ({
      left: MARGIN.left,
      top: MARGIN.top,
      width: Math.max(1, width - MARGIN.left - MARGIN.right),
      height: height - MARGIN.top - MARGIN.bottom,
    }),
    [width, height],
  );
  const curves = lines.map(({ found }) => found?.curve ?? null);
  const hasHovered = lines.some(({ run, found }) => run.name === hovered && found?.curve);

  /** @param {PointerEvent} event */
  const onPointerMove = (event) => {
    const frame = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    const found = nearest(curves, box, event.clientX - frame.left, event.clientY - frame.top);
    if (found) onRead(readingOf(lines[found.curve], found.index));
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = readingAfter(lines, reading, event.key);
    if (next === undefined) return;
    event.preventDefault();
    onRead(next);
  };

  return html`<div
    class="pr-plot"
    ref=${element}
    tabindex="0"
    role="group"
    aria-roledescription="chart"
    aria-label="${label}: precision over recall. The arrow keys go over thresholds and runs."
    onPointerMove=${onPointerMove}
    onPointerLeave=${() => onRead(null)}
    onKeyDown=${onKeyDown}
    onBlur=${() => onRead(null)}
  >
    <svg width=${width} height=${height} aria-hidden="true">
      ${width > 0 && html`<${Axes} box=${box} />`}
      ${width > 0 &&
      isDrawn &&
      lines.map(
        (line) =>
          line.found?.curve &&
          html`<${CurveLine} key=${line.run.name} line=${line} box=${box} isFaint=${hasHovered && line.run.name !== hovered} isFirst=${line.run.name === hovered} />`,
      )}
    </svg>
  </div>
  <p class="tb-dim pr-read" role="status">${(reading && inWords(lines, reading)) || "Point at a curve, or use the arrow keys, to read it."}</p>`;
}

/** @param {{ box: Box }} props */
function Axes({ box }) {
  const { left, top, width, height } = box;
  return html`<g class="pr-axes">
    ${TICKS.map((tick) => {
      const [x, y] = [xOf(box, tick), yOf(box, tick)];
      return html`<g key=${tick}>
        <line x1=${x} x2=${x} y1=${top} y2=${top + height} />
        <line x1=${left} x2=${left + width} y1=${y} y2=${y} />
        <text x=${x} y=${top + height + 15} text-anchor="middle">${tick}</text>
        <text x=${left - 6} y=${y + 4} text-anchor="end">${tick}</text>
      </g>`;
    })}
    <text x=${left + width / 2} y=${top + height + 30} text-anchor="middle">Recall</text>
    <text x=${-(top + height / 2)} y="11" text-anchor="middle" transform="rotate(-90)">Precision</text>
  </g>`;
}

/** @param {{ line: Line, box: Box, isFaint: boolean, isFirst: boolean }} props */
function CurveLine({ line: { run, found, index }, box, isFaint, isFirst }) {
  const curve = /** @type {import("./curve.js").Curve} */ (found?.curve);
  const path = useMemo(() => pathOf(curve, box), [curve, box]);
  const [x, y] = [xOf(box, curve.recall[index]), yOf(box, curve.precision[index])];
  return html`<g class="pr-line ${isFaint ? "pr-faint" : ""}" stroke=${run.color} fill=${run.color}>
    <path d=${path} fill="none" stroke-width=${isFirst ? 2.4 : 1.6} />
    ${Number.isFinite(x) && Number.isFinite(y) && html`<circle cx=${x} cy=${y} r=${isFirst ? 4.5 : 3.5} />`}
  </g>`;
}

/** @param {Line} line @param {number} index @returns {Reading} */
function readingOf({ run, found }, index) {
  return { run: run.name, threshold: found?.curve?.thresholds[index] ?? 0 };
}

/**
 * What is read after a key.
 * @param {readonly Line[]} lines
 * @param {Reading | null} reading
 * @param {string} key
 * @returns {Reading | null | undefined} undefined: the key means nothing here
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

/** @param {readonly Line[]} lines @param {Reading} reading */
function inWords(lines, reading) {
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
  return `${reading.run}, threshold ${formatValue(curve.thresholds[index])}: ${rates}, ${counts.join(", ")}`;
}

/** @param {{ current: HTMLElement | null }} ref  @returns {number} CSS pixels, 0 at first */
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
