/**
 * A placeholder, which is replaced by a card when it comes near the visible part of the page. In a
 * grid of thousands of cards, each card that is never scrolled to costs only a box with a title.
 * The browser's search finds the title. The box is as high as a card, so that the page does not
 * jump. A card that has been rendered stays.
 *
 *     const draw = () => html`<${MyCard} key=${tag} tag=${tag} />`;
 *     html`<${LazyCard} key=${tag} title=${tag} draw=${draw} />`
 */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isNear, watchNear } from "../ui/lazy.js";

/**
 * The placeholder, and later the card.
 * @param {object} props
 * @param {string} props.title  the card's title
 * @param {string} [props.label]  accessible name, such as a tag and a run; by default the title
 * @param {() => unknown} props.draw  renders one `Card`
 */
export function LazyCard({ title, label = title, draw }) {
  const box = useRef(/** @type {Element | null} */ (null));
  const [isDrawn, setDrawn] = useState(false);
  useLayoutEffect(() => {
    const element = /** @type {Element} */ (box.current);
    const grid = /** @type {Element} */ (element.parentElement);
    const show = () => {
      setDrawn(true);
      scheduleHeightUpdate(grid);
    };
    // Cards that are visible from the start are rendered in the same frame.
    if (isNear(element)) return show();
    const stop = watchNear(element, (near) => {
      if (!near) return;
      stop();
      show();
    });
    return stop;
  }, []);
  if (isDrawn) return draw();
  return html`<article class="tb-card tb-far" aria-label=${label} aria-busy="true" ref=${box}>${title}</article>`;
}

/** The grid to measure in the next frame; null if no frame is requested. @type {Element | null} */
let scheduledGrid = null;

/** Measures a card of the grid in the next frame. @param {Element} grid */
function scheduleHeightUpdate(grid) {
  if (!scheduledGrid) requestAnimationFrame(updateHeight);
  scheduledGrid = grid;
}

/** Makes the placeholders of a tab as high as one of its cards. */
function updateHeight() {
  const grid = /** @type {Element} */ (scheduledGrid);
  scheduledGrid = null;
  const height = grid.querySelector(".tb-card:not(.tb-far, .tb-expanded)")?.getBoundingClientRect().height;
  const root = grid.getRootNode();
  const tab = root instanceof ShadowRoot ? root.host : document.documentElement;
  if (height) /** @type {HTMLElement} */ (tab).style.setProperty("--tb-far-height", `${height}px`);
}
