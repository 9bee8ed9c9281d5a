/** Where the window shows a card that gets or leaves full size. Loaded when the first one does. */

/**
 * Scrolls to a card whose size has changed, and tells the styles how much of the window is above one
 * in full size that is scrolled to.
 * @param {HTMLElement} card
 * @param {boolean} expanded
 * @param {number | null} top  where in the window the card was before it had full size, CSS pixels:
 *   there it returns. Null if it had full size from the beginning: then it comes into sight
 */
export function showCard(card, expanded, top) {
  release();
  if (expanded) measureCovered(card);
  if (expanded) hold(card);
  else if (top === null) scrollIntoSight(card);
  else scrollBy(0, card.getBoundingClientRect().top - top);
}

/** Ends what `hold` began. */
let release = () => {};

/**
 * Scrolls to a card, and again when anything has arrived above or in it, until the reader does anything.
 * A browser keeps in place what it shows only if the page is scrolled, and maybe a lower row of the card.
 * @param {HTMLElement} card
 */
function hold(card) {
  const observer = new ResizeObserver(() => (card.isConnected ? scrollIntoSight(card) : release()));
  const ended = new AbortController();
  release = () => {
    observer.disconnect();
    ended.abort();
  };
  for (const type of ["wheel", "pointerdown", "keydown"]) {
    addEventListener(type, release, { signal: ended.signal, passive: true, capture: true });
  }
  observer.observe(document.body); // which calls it once
}

/** Tells the styles how much of the window is above a card that is scrolled to. @param {HTMLElement} card */
export function measureCovered(card) {
  const toolbar = /** @type {HTMLElement | null} */ (/** @type {ParentNode} */ (card.getRootNode()).querySelector(".tb-toolbar"));
  const height = toolbar && getComputedStyle(toolbar).position === "sticky" ? toolbar.offsetHeight : 0;
  card.style.setProperty("--tb-covered", `calc(var(--tb-bar-height, 0px) + ${height + 8}px)`);
}

/**
 * Scrolls to a card whose size has changed. A card taller than the window is not centred, because
 * only its middle would be visible: its header is shown, below the toolbar.
 * @param {HTMLElement} card
 */
function scrollIntoSight(card) {
  const covered = parseFloat(getComputedStyle(card).scrollMarginTop);
  card.scrollIntoView({ block: card.offsetHeight <= innerHeight - covered ? "center" : "start" });
}
