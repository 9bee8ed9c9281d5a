import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Rows rendered above and below the visible ones, for scrolling and for the Tab key. */
const NUM_SPARE_ROWS = 8;

/**
 * A long list of rows of equal height. Only the visible rows are rendered.
 * @template T
 * @param {object} props
 * @param {readonly T[]} props.items
 * @param {number} props.rowHeight  CSS pixels
 * @param {(item: T, index: number) => unknown} props.renderRow  renders the content of one row
 * @param {(item: T) => string} props.keyOf  returns a unique key
 * @param {string} props.label  accessible name
 * @param {number} [props.showIndex]  index of a row; the list scrolls to it whenever it changes
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]
 * @param {string} [props.role]  ARIA role of the list, such as "treegrid"; the content of each row
 *   must then have a matching role. By default it is a list
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
    // Render the row now, so that it can be focused. The scroll event comes too late for that.
    measure();
  }, [showIndex]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - NUM_SPARE_ROWS);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + NUM_SPARE_ROWS);
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
