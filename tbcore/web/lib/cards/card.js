/** Cards: titled boxes, and placeholders for those that are far from the visible part of the page. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatName } from "../format.js";
import { IconButton } from "../ui/controls.js";
import { useSeen } from "../ui/lazy.js";

/** MIME type of the drag data when a card's header is dragged. */
const DRAG_TYPE = "application/x-tbcore-card";

/**
 * A titled card. The key f toggles full size, and Escape leaves it, wherever the focus is.
 * @param {object} props
 * @param {string} props.title  usually a tag
 * @param {string} [props.label]  accessible name, such as a tag and a run; by default the title
 * @param {string} [props.group]  group whose heading already shows the start of the title
 * @param {string} [props.shown]  what of the title the header shows; by default all of it
 * @param {boolean} props.expanded  whether the card has full width and more height
 * @param {(expanded: boolean) => void} props.onExpand
 * @param {unknown} [props.actions]  more buttons
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]  called for keys pressed in the card,
 *   but for text boxes, menus and dialogs, before the card handles them
 * @param {string} [props.dragged]  drag data: passed to `onDrop` of the card that this one is
 *   dropped on. Without it the card cannot be dragged
 * @param {(name: string) => void} [props.onDrop]  called with `dragged` of a card that was dropped
 *   here
 * @param {unknown} props.children
 */
export function Card({ title, label = title, group, shown = title, expanded, onExpand, actions, onKeyDown, dragged, onDrop, children }) {
  const dimmed = group && shown.startsWith(`${group}/`) ? group.length + 1 : 0;
  const article = useRef(/** @type {HTMLElement | null} */ (null));
  const [isTarget, setTarget] = useState(false);
  const wasExpanded = useRef(expanded);
  /** Where in the window the card was before it had full size: there it returns. */
  const top = useRef(/** @type {number | null} */ (null));
  useEffect(() => {
    const isChanged = expanded !== wasExpanded.current;
    wasExpanded.current = expanded;
    if (!expanded && !isChanged) return;
    import("./full-size.js").then(({ measureCovered, showCard }) => {
      // Or it has changed since.
      if (!article.current || expanded !== wasExpanded.current) return;
      if (isChanged) showCard(article.current, expanded, top.current);
      else measureCovered(article.current);
    }, console.warn);
  }, [expanded]);
  const toggle = () => {
    if (!expanded) top.current = /** @type {HTMLElement} */ (article.current).getBoundingClientRect().top;
    onExpand(!expanded);
  };
  // In time for an Escape right after the card was drawn.
  useLayoutEffect(() => {
    if (!expanded) return undefined;
    const onEscape = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || event.defaultPrevented || isForOther(event)) return;
      event.preventDefault();
      toggle();
    };
    document.addEventListener("keydown", onEscape);
    return () => document.removeEventListener("keydown", onEscape);
  });
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    if (isForOther(event)) return;
    onKeyDown?.(event);
    if (event.key !== "f" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    toggle();
    event.preventDefault();
  };
  /** @param {DragEvent} event */
  const onDragOver = (event) => {
    if (!onDrop || !event.dataTransfer?.types.includes(DRAG_TYPE)) return;
    event.preventDefault();
    setTarget(true);
  };
  /** @param {DragEvent} event */
  const onDropHere = (event) => {
    setTarget(false);
    const name = event.dataTransfer?.getData(DRAG_TYPE);
    if (!name) return;
    event.preventDefault();
    onDrop?.(name);
  };
  return html`<article
    class="tb-card ${expanded ? "tb-expanded" : ""} ${isTarget ? "tb-target" : ""}"
    aria-label=${label}
    ref=${article}
    onKeyDown=${onKey}
    onDragOver=${onDragOver}
    onDragLeave=${() => setTarget(false)}
    onDrop=${onDropHere}
  >
    <header
      draggable=${dragged !== undefined}
      onDragStart=${(/** @type {DragEvent} */ event) => event.dataTransfer?.setData(DRAG_TYPE, dragged ?? "")}
    >
      <h3 title=${formatName(title)}>
        ${dimmed > 0 && html`<span class="tb-dim">${formatName(shown.slice(0, dimmed))}</span>`}<span>${formatName(shown.slice(dimmed))}</span>
      </h3>
      <div class="tb-card-actions">
        ${actions}
        <${IconButton}
          icon=${expanded ? "shrink" : "expand"}
          class="tb-stay"
          label="Full size: ${label}"
          title=${expanded ? "Normal size" : "Full size"}
          aria-pressed=${expanded}
          onClick=${toggle}
        />
      </div>
    </header>
    ${children}
  </article>`;
}

/** Whether a key is for a control, or for an open menu or dialog. @param {KeyboardEvent} event */
function isForOther(event) {
  const [target] = /** @type {Element[]} */ (event.composedPath());
  const root = /** @type {Document | ShadowRoot} */ (target.getRootNode());
  return (
    target.closest("input:not([type=range], [type=radio], [type=checkbox]), select, textarea, audio, video, [popover], dialog") !== null ||
    root.querySelector(":popover-open:not([popover=manual]), dialog[open]") !== null
  );
}

/**
 * A placeholder, which is replaced by a card when it comes near the visible part of the page. In a
 * grid of thousands of cards, each card that is never scrolled to costs only a box with a title.
 * The browser's search finds the title. The box is as high as a card, so that the page does not
 * jump. A card that has been rendered stays.
 *
 *     const draw = () => html`<${MyCard} key=${tag} tag=${tag} />`;
 *     html`<${LazyCard} key=${tag} title=${tag} draw=${draw} />`
 *
 * @param {object} props
 * @param {string} props.title  the card's title
 * @param {string} [props.label]  accessible name, such as a tag and a run; by default the title
 * @param {() => unknown} props.draw  renders one `Card`
 */
export function LazyCard({ title, label = title, draw }) {
  const box = useRef(/** @type {Element | null} */ (null));
  const isSeen = useSeen(box, () => updateHeight(/** @type {Element} */ (box.current?.parentElement)));
  if (isSeen) return draw();
  return html`<article class="tb-card tb-far" aria-label=${label} aria-busy="true" ref=${box}>${formatName(title)}</article>`;
}

/** The grid whose cards are measured. @type {Element | undefined} */
let measured;
/** @type {ResizeObserver | undefined} */
let sizes;

/** Makes the placeholders of a tab as high as the cards of a grid, whenever its size changes. @param {Element} grid */
function updateHeight(grid) {
  sizes ??= new ResizeObserver(() => requestAnimationFrame(measure));
  if (grid === measured) return;
  sizes.disconnect();
  sizes.observe((measured = grid));
}

function measure() {
  const grid = /** @type {Element} */ (measured);
  const card = grid.querySelector(".tb-card:not(.tb-far, .tb-expanded)");
  const root = grid.getRootNode();
  // Its tab was closed.
  if (!(root instanceof ShadowRoot)) return sizes?.disconnect();
  const { style } = /** @type {HTMLElement} */ (root.host);
  // Charts are higher in sections of few cards; the rest of a card is equally high in all.
  const chart = card?.querySelector(".tb-card-chart");
  const rest = (card?.getBoundingClientRect().height ?? 0) - (chart?.getBoundingClientRect().height ?? 0);
  if (rest <= 0) return;
  style.setProperty("--tb-far-rest", `${rest}px`);
  style.setProperty("--tb-far-charts", chart ? "1" : "0");
}
