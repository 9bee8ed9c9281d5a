/**
 * A long list of equally high rows of which only the visible ones exist.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows beyond the edges, so that scrolling and the Tab key find something there. */
const SPARE = 8;

/**
 * @template T
 * @param {object} props
 * @param {readonly T[]} props.items
 * @param {number} props.rowHeight  CSS pixels
 * @param {(item: T, index: number) => unknown} props.renderRow  the content of one row
 * @param {(item: T) => string} props.keyOf
 * @param {string} props.label
 * @param {number} [props.showIndex]  a row that must be in view; scrolls when it changes
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]
 * @param {string} [props.role]  "treegrid" or the like: the content of each row has a role then; by default a list
 */
export function VirtualList({ items, rowHeight, renderRow, keyOf, label, showIndex, onKeyDown, role }) {
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 600 });

  const measure = () => {
    const { scrollTop: top, clientHeight: height } = /** @type {HTMLElement} */ (scroller.current);
    setView((old) => (old.top === top && old.height === height ? old : { top, height }));
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    measure();
    element.addEventListener("scroll", measure, { passive: true });
    const resizes = new ResizeObserver(measure);
    resizes.observe(element);
    return () => {
      element.removeEventListener("scroll", measure);
      resizes.disconnect();
    };
  }, []);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || showIndex === undefined || showIndex < 0) return;
    const top = showIndex * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowHeight - element.clientHeight;
    }
    measure(); // the row exists before it is to be focused, which the event of scrolling does not ensure
  }, [showIndex]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - SPARE);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + SPARE);
  return html`<div class="tb-list" ref=${scroller} onKeyDown=${onKeyDown}>
    <ul role=${role} aria-label=${label} aria-rowcount=${role?.endsWith("grid") ? items.length : undefined} style=${{ height: `${items.length * rowHeight}px` }}>
      ${items.slice(first, last).map(
        (item, offset) => html`<li
          key=${keyOf(item)}
          role=${role && "presentation"}
          aria-setsize=${role ? undefined : items.length}
          aria-posinset=${role ? undefined : first + offset + 1}
          style=${{ top: `${(first + offset) * rowHeight}px`, height: `${rowHeight}px` }}
        >
          ${renderRow(item, first + offset)}
        </li>`,
      )}
    </ul>
  </div>`;
}
