/**
 * Stands for a card of a grid until it comes near the visible part of the page: with thousands of cards those that are never
 * looked at cost an empty box each. The box has the title, for headings and for the browser's own search, and the height
 * of a card, so that nothing moves when it is drawn. What has been drawn stays.
 *
 *     html`<${LazyCard} key=${tag} title=${tag} draw=${() => html`<${MyCard} key=${tag} tag=${tag} />`} />`
 */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isNear, watchNear } from "./lazy.js";

/**
 * @param {object} props
 * @param {string} props.title  of the card
 * @param {string} [props.label]  names the card where the title alone does not: a tag and a run
 * @param {() => unknown} props.draw  one `Card`
 */
export function LazyCard({ title, label = title, draw }) {
  const box = useRef(/** @type {Element | null} */ (null));
  const [isDrawn, setDrawn] = useState(false);
  useLayoutEffect(() => {
    const element = /** @type {Element} */ (box.current);
    const grid = /** @type {Element} */ (element.parentElement);
    const show = () => {
      setDrawn(true);
      measure(grid);
    };
    // What is in sight at once is drawn in the same frame.
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

/** A grid in which cards are drawn for the next frame. @type {Element | null} */
let changing = null;

/** @param {Element} grid */
function measure(grid) {
  if (!changing) requestAnimationFrame(setHeight);
  changing = grid;
}

/** Makes the boxes of a tab as high as one of its cards. */
function setHeight() {
  const grid = /** @type {Element} */ (changing);
  changing = null;
  const height = grid.querySelector(".tb-card:not(.tb-far, .tb-expanded)")?.getBoundingClientRect().height;
  const root = grid.getRootNode();
  const tab = root instanceof ShadowRoot ? root.host : document.documentElement;
  if (height) /** @type {HTMLElement} */ (tab).style.setProperty("--tb-far-height", `${height}px`);
}
