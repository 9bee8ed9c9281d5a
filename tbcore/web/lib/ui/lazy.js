/**
 * Loading and drawing on demand: components whose module is loaded when they are first drawn, style
 * sheets, elements that are drawn only near the visible part of the page, and long lists.
 */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/**
 * Loads a module and renders a component of it. Renders nothing until the module is loaded.
 *
 * `load` imports the module, and `of` is the name of the component. All other props are passed to
 * the component. `onClose` is also called if the module cannot be loaded.
 * @template {string} Of
 * @param {{ load: () => Promise<Readonly<Record<Of, unknown>>>, of: Of, onClose?: () => void, [name: string]: unknown }} props
 */
export function Lazy({ load, of, ...props }) {
  const [Component, setComponent] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    load().then(
      (module) => setComponent(() => module[of]),
      (error) => {
        console.warn(error);
        props.onClose?.();
      },
    );
  }, []);
  return Component ? html`<${Component} ...${props} />` : null;
}

/**
 * Returns a function that loads a module: once, and again after a failure.
 * @template T
 * @param {(attempt: string) => Promise<T>} load  adds `attempt` to the module's URL: after a failure, browsers load a module again only from another one
 * @returns {() => Promise<T>}
 */
export function loadingAgain(load) {
  let numFailures = 0;
  /** @type {Promise<T> | null} */
  let loading = null;
  return () =>
    (loading ??= load(numFailures === 0 ? "" : `?attempt=${numFailures}`).catch((error) => {
      numFailures++;
      loading = null;
      throw error;
    }));
}

// A sheet is fetched once and shared by all roots that adopt it. Unlike inline styles, adopted
// sheets comply with a strict Content-Security-Policy.

/** The fetched sheets by URL. @type {Map<string, Promise<CSSStyleSheet>>} */
const sheets = new Map();

/** Fetches a sheet and adds it to a root; resolves when the styles apply. @param {Document | ShadowRoot} root @param {URL} url */
export async function adoptStyles(root, url) {
  adoptSheet(root, await loadSheet(url));
}

/**
 * Waits for a module and for the style sheet of its elements. If the sheet cannot be loaded, the
 * module is used without it.
 * @template T
 * @param {URL} url  of the sheet
 * @param {Promise<T>} module
 * @returns {Promise<T>} the module
 */
export async function withStyles(url, module) {
  const [loaded] = await Promise.all([module, adoptStyles(document, url).catch(console.warn)]);
  return loaded;
}

/** @param {any} root  a document or a shadow root @param {CSSStyleSheet | void} sheet  does nothing if it could not be loaded */
export function adoptSheet({ adoptedStyleSheets: adopted }, sheet) {
  if (sheet && !adopted.includes(sheet)) adopted.push(sheet);
}

/** Fetches a sheet, once. @param {URL} url */
export function loadSheet({ href }) {
  const fetchSheet = async () => {
    const response = await fetch(href);
    if (!response.ok) throw new Error(`style sheet ${href}: status ${response.status}`);
    const sheet = new CSSStyleSheet({ baseURL: response.url });
    return sheet.replace(await response.text());
  };
  const loading = sheets.get(href) ?? fetchSheet();
  sheets.set(href, loading);
  // After a failure, the next call fetches it again.
  loading.catch(() => sheets.delete(href));
  return loading;
}

/** One window height above or below is near, so that charts are ready when they are scrolled to. */
const MARGIN = "100% 0px";
/** @type {WeakMap<Element, (near: boolean) => void>} */
const callbacks = new WeakMap();
/** @type {IntersectionObserver | undefined} */
let observer;

/**
 * Reports whether an element is near the visible part of the page: soon after this call, and after
 * each change.
 * @param {Element} element
 * @param {(near: boolean) => void} callback
 * @returns {() => void} stops the calls
 */
export function watchNear(element, callback) {
  callbacks.set(element, callback);
  observer ??= new IntersectionObserver(
    (entries) => entries.forEach(({ target, isIntersecting }) => callbacks.get(target)?.(isIntersecting)),
    { rootMargin: MARGIN },
  );
  observer.observe(element);
  return () => {
    callbacks.delete(element);
    observer?.unobserve(element);
  };
}

/** Whether an element is displayed and near the visible part right now. @param {Element} element */
function isNear(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > -innerHeight && top < 2 * innerHeight;
}

/** Preact hook: whether an element is near the visible part. @param {{ current: Element | null }} ref */
export function useNear(ref) {
  const [near, setNear] = useState(false);
  useEffect(() => (ref.current ? watchNear(ref.current, setNear) : undefined), []);
  return near;
}

/**
 * Preact hook: whether an element has been near the visible part of the page.
 * @param {{ current: Element | null }} box
 * @param {() => void} [onSeen]  called when it is
 * @param {number} [amount]  of what is in it; when that has more than doubled, the element is new
 */
export function useSeen(box, onSeen, amount = 1) {
  const [seen, setSeen] = useState(0);
  const isNew = amount > 2 * seen;
  useLayoutEffect(() => {
    const element = /** @type {Element} */ (box.current);
    if (!isNew) return undefined;
    const show = () => {
      setSeen(amount);
      onSeen?.();
    };
    // What is visible from the start is rendered in the same frame.
    if (isNear(element)) return show();
    const stop = watchNear(element, (near) => {
      if (!near) return;
      stop();
      show();
    });
    return stop;
  }, [isNew && amount]);
  return !isNew;
}

// --- lists ---------------------------------------------------------------------------------------

/** Rows rendered for paper. */
const NUM_PRINTED_ROWS = 2000;
/** Rows rendered above and below the visible ones, for scrolling and for the Tab key. */
const NUM_SPARE_ROWS = 8;

/**
 * A long list of rows of equal height. Only the visible rows are rendered.
 * @template T
 * @param {object} props
 * @param {readonly T[]} props.items
 * @param {number} props.rowHeight  CSS pixels
 * @param {(item: T, index: number) => unknown} props.renderRow  renders the content of one row; called again when the list
 *   is, but for rows that stay while it is scrolled
 * @param {(item: T) => string} props.keyOf  returns a unique key
 * @param {string} props.label  accessible name
 * @param {number} [props.showIndex]  index of a row; the list scrolls to it whenever it changes
 * @param {number} [props.keepIndex]  index of a row that is rendered wherever the list is scrolled to, because
 *   the Tab key focuses it; by default `showIndex`
 * @param {(event: KeyboardEvent) => void} [props.onKeyDown]
 * @param {string} [props.role]  ARIA role of the list, such as "treegrid"; the content of each row
 *   must then have a matching role. By default it is a list
 * @param {unknown} [props.header]  content of a row above all others, which stays visible
 */
export function VirtualList(props) {
  const { items, rowHeight, renderRow, keyOf, label, showIndex, keepIndex = showIndex, onKeyDown, role, header } = props;
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 600 });
  const drawn = useRef({ props, view, rows: /** @type {Map<number, unknown>} */ (new Map()) });
  // If the list was only scrolled, the rows that stay are not rendered again.
  const old = drawn.current.props === props && drawn.current.view !== view ? drawn.current.rows : new Map();
  const numHeaders = header ? 1 : 0;
  const headerHeight = numHeaders * rowHeight;

  const measure = () => {
    if (matchMedia("print").matches) return;
    const { scrollTop: top, clientHeight: height } = /** @type {HTMLElement} */ (scroller.current);
    setView((old) => (old.top === top && old.height === height ? old : { top, height }));
  };

  useLayoutEffect(() => {
    measure();
    const resizes = new ResizeObserver(measure);
    resizes.observe(/** @type {HTMLElement} */ (scroller.current));
    const closing = new AbortController();
    addEventListener("beforeprint", () => setView({ top: 0, height: NUM_PRINTED_ROWS * rowHeight }), closing);
    addEventListener("afterprint", measure, closing);
    return () => {
      resizes.disconnect();
      closing.abort();
    };
  }, []);

  useLayoutEffect(() => {
    const element = /** @type {HTMLElement} */ (scroller.current);
    if (showIndex === undefined || showIndex < 0) return;
    const top = showIndex * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight + headerHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top + rowHeight + headerHeight - element.clientHeight;
    }
    // Render the row now, so that it can be focused. The scroll event comes too late for that.
    measure();
  }, [showIndex]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - NUM_SPARE_ROWS);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + NUM_SPARE_ROWS);
  const indices = items.slice(first, last).map((_, i) => first + i);
  const kept = Math.max(0, keepIndex ?? NaN);
  if (kept < first) indices.unshift(kept);
  else if (kept >= last && kept < items.length) indices.push(kept);
  const rows = new Map(
    indices.map((index) => [
      index,
      old.get(index) ??
        html`<li
          key=${keyOf(items[index])}
          role=${role && "presentation"}
          aria-setsize=${role ? undefined : items.length}
          aria-posinset=${role ? undefined : index + 1}
          style=${{ top: `${index * rowHeight + headerHeight}px`, height: `${rowHeight}px` }}
        >
          ${renderRow(items[index], index)}
        </li>`,
    ]),
  );
  drawn.current = { props, view, rows };
  // A list may not have the role of a grid, so its box has it.
  return html`<div
    class="tb-list ${indices.length < items.length ? "tb-cut" : ""}"
    ref=${scroller}
    role=${role}
    aria-label=${role && label}
    aria-rowcount=${role?.endsWith("grid") ? items.length + numHeaders : undefined}
    onKeyDown=${onKeyDown}
    onScroll=${measure}
  >
    <ul role=${role && "presentation"} aria-label=${role ? undefined : label} style=${{ height: `${items.length * rowHeight + headerHeight}px` }}>
      ${header && html`<li key="" class="tb-list-header" role=${role && "presentation"} style=${{ height: `${rowHeight}px` }}>${header}</li>`}
      ${[...rows.values()]}
    </ul>
  </div>`;
}
