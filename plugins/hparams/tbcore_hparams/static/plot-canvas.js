/**
 * Shared by both plots: canvases at the resolution of the screen, their size, the colours of the
 * theme, drags, and pictures to download.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const FONT_FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** The font of ticks' labels. */
export const LABEL_FONT = `11px ${FONT_FAMILY}`;
/** The font of axes' names in downloaded images. */
export const TITLE_FONT = `600 12px ${FONT_FAMILY}`;
/** Pixels of a downloaded image per CSS pixel. */
const SCALE = 2;

/**
 * The size of an element in CSS pixels; 0 before layout.
 * @param {{ current: HTMLElement | null }} ref
 */
export function useSize(ref) {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    measure();
    const resizes = new ResizeObserver(measure);
    resizes.observe(element);
    return () => resizes.disconnect();
  }, []);
  return size;
}

/**
 * Resizes and clears a canvas; returns its context, whose units are CSS pixels.
 * @param {HTMLCanvasElement | null} canvas
 * @param {number} width
 * @param {number} height
 * @returns {CanvasRenderingContext2D | null}
 */
export function contextOf(canvas, width, height) {
  if (!canvas || width === 0 || height === 0) return null;
  const ratio = devicePixelRatio;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

/**
 * Preact hook: offers the picture of a plot in the download menu while the plot is shown.
 * @param {import("./tab.js").Tab} tab
 * @param {import("./view.js").Panel} panel
 * @param {() => Promise<Blob>} exportPNG
 */
export function useExporter({ exporters }, panel, exportPNG) {
  const latest = useRef(exportPNG);
  latest.current = exportPNG;
  useEffect(() => {
    exporters.value = new Map(exporters.peek()).set(panel, () => latest.current());
    return () => {
      exporters.value = new Map([...exporters.peek()].filter(([other]) => other !== panel));
    };
  }, []);
}

/**
 * Draws a PNG image, at SCALE pixels per CSS pixel.
 * @param {number} width  CSS pixels
 * @param {number} height
 * @param {string} background
 * @param {(context: CanvasRenderingContext2D) => void} paint
 * @returns {Promise<Blob>} image/png
 */
export function renderPNG(width, height, background, paint) {
  const canvas = Object.assign(document.createElement("canvas"), { width: width * SCALE, height: height * SCALE });
  const context = canvas.getContext("2d");
  if (context) {
    context.scale(SCALE, SCALE);
    context.fillStyle = background;
    context.fillRect(0, 0, width, height);
    paint(context);
  }
  return new Promise((done, fail) => {
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the browser cannot create a PNG of this size"))), "image/png");
  });
}

/**
 * The colours of the current theme.
 * @param {HTMLElement} element
 * @returns {import("./parallel-paint.js").PlotColors}
 */
export function readColors(element) {
  const style = getComputedStyle(element);
  /** @param {string} name */
  const read = (name) => style.getPropertyValue(`--tb-${name}`).trim();
  return { text: read("ink-2"), line: read("ink-3"), faint: read("line"), plain: read("ink-3"), ink: read("ink"), surface: read("surface") };
}

/**
 * Calls back while the pressed pointer moves, and when it is released.
 * @param {PointerEvent} event  of the press
 * @param {(moved: PointerEvent) => void} onMove
 * @param {() => void} onEnd
 */
export function followDrag({ currentTarget, pointerId }, onMove, onEnd) {
  const element = /** @type {HTMLElement} */ (currentTarget);
  element.setPointerCapture(pointerId);
  element.addEventListener("pointermove", onMove);
  element.addEventListener(
    "lostpointercapture",
    () => {
      element.removeEventListener("pointermove", onMove);
      onEnd();
    },
    { once: true },
  );
}
