/**
 * Small components and functions that tabs of all kinds use: icons, menus, controls for settings,
 * filters, long lists, tooltips, downloads and colours.
 */

import { html } from "htm/preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { MAX_SMOOTHING } from "./lib/chart/smoothing.js";
import { cell, span } from "./lib/ui/elements.js";
import { Icon } from "./lib/ui/icons.js";

export { colorsOf, oklchToHex } from "./lib/ui/colors.js";
export { makeFilter } from "./lib/ui/filter.js";
export { FilterBox } from "./lib/ui/filter-box.js";
export { Icon };
export { Lazy } from "./lib/ui/lazy.js";
export { VirtualList } from "./lib/ui/virtual-list.js";

/** @typedef {import("./lib/ui/filter.js").Filter} Filter */

/**
 * A button that opens a popover below it. The content is rendered only while it is open.
 * @param {object} props
 * @param {string} props.label
 * @param {Parameters<typeof Icon>[0]["name"]} [props.icon]
 * @param {unknown} [props.text]  text on the button; without it the button is only an icon
 * @param {string} [props.className]  CSS class of the button
 * @param {() => unknown} props.content  renders what the popover shows
 */
export function Menu({ label, icon, text, className = text ? "tb-button" : "tb-icon-button", content }) {
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const id = useId();
  const [open, setOpen] = useState(false);

  /** @param {ToggleEvent} event */
  const onToggle = (event) => setOpen(event.newState === "open");

  // Place the popover below the button, aligned with its right edge but inside the window. Place it
  // again when its size changes, because content may load late.
  useLayoutEffect(() => {
    const { current: menu } = box;
    if (!open || !button.current || !menu) return undefined;
    const anchor = button.current.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const place = () => {
      const { width, height } = menu.getBoundingClientRect();
      menu.style.top = `${Math.max(4, Math.min(anchor.bottom + 4, clientHeight - height - 4))}px`;
      menu.style.right = `${Math.max(4, Math.min(clientWidth - anchor.right, clientWidth - width - 4))}px`;
    };
    place();
    const sizes = new ResizeObserver(place);
    sizes.observe(menu);
    return () => sizes.disconnect();
  }, [open]);

  return html`<button
      type="button"
      class=${className}
      ref=${button}
      aria-label=${label}
      title=${label}
      popovertarget=${id}
    >
      ${icon && html`<${Icon} name=${icon} />`}${text}
    </button>
    <div class="tb-menu" id=${id} popover="auto" ref=${box} onToggle=${onToggle}>${open && content()}</div>`;
}

// --- controls for settings -----------------------------------------------------------------------

/**
 * A choice of one from a few options, which are side by side.
 * @param {object} props
 * @param {string} props.label  accessible name; not visible
 * @param {string} props.name  name of the radio buttons, unique in the tab
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 *   `why` is a tooltip
 * @param {unknown} props.value
 * @param {(value: any) => void} props.onChange
 */
export function Choice({ label, name, choices, value, onChange }) {
  return html`<fieldset class="tb-segments">
    <legend class="tb-hidden">${label}</legend>
    ${choices.map(
      ([choice, title, why]) => html`<label title=${why}>
        <input type="radio" name=${name} checked=${value === choice} onChange=${() => onChange(choice)} />${title}
      </label>`,
    )}
  </fieldset>`;
}

/**
 * A choice of one option from a drop-down list.
 * @param {object} props
 * @param {string} props.label
 * @param {readonly (readonly [value: unknown, title: string, why?: string])[]} props.choices
 *   `why` is a tooltip
 * @param {unknown} props.value
 * @param {(value: any) => void} props.onChange
 */
export function Pick({ label, choices, value, onChange }) {
  const at = choices.findIndex(([choice]) => choice === value);
  /** @param {Event} event */
  const onInput = (event) => onChange(choices[/** @type {HTMLSelectElement} */ (event.currentTarget).selectedIndex][0]);
  return html`<label class="tb-pick" title=${choices[at]?.[2]}>
    ${label}
    <select class="tb-input" onChange=${onInput}>
      ${choices.map(([choice, title, why], i) => html`<option value=${String(choice)} title=${why} selected=${i === at}>${title}</option>`)}
    </select>
  </label>`;
}

/**
 * A check box with a label.
 * @param {object} props
 * @param {string} props.label
 * @param {string} [props.why]  tooltip
 * @param {boolean} props.checked
 * @param {(checked: boolean) => void} props.onChange
 */
export function Check({ label, why, checked, onChange }) {
  /** @param {Event} event */
  const onInput = (event) => onChange(/** @type {HTMLInputElement} */ (event.currentTarget).checked);
  return html`<label class="tb-switch" title=${why}><input type="checkbox" class="tb-check" checked=${checked} onChange=${onInput} />${label}</label>`;
}

/**
 * The weight of smoothing, as a slider and as a number.
 * @param {object} props
 * @param {number} props.value  from 0 to MAX_SMOOTHING
 * @param {string} [props.why]  tooltip
 * @param {(value: number) => void} props.onChange
 */
export function Smoothing({ value, why, onChange }) {
  const id = useId();
  /** @param {Event} event */
  const onInput = (event) =>
    onChange(Math.min(MAX_SMOOTHING, Math.max(0, Number(/** @type {HTMLInputElement} */ (event.currentTarget).value) || 0)));
  return html`<div class="tb-smoothing" title=${why}>
    <span id=${id}>Smoothing</span>
    <input type="range" min="0" max="0.99" step="0.01" value=${value} aria-labelledby=${id} onInput=${onInput} />
    <input class="tb-input" type="number" min="0" max=${MAX_SMOOTHING} step="0.01" value=${value} aria-labelledby=${id} onChange=${onInput} />
  </div>`;
}

// --- downloads -----------------------------------------------------------------------------------

/**
 * Downloads a file.
 * @param {string | Blob} content
 * @param {string} name  name of the file; unusual characters are replaced by `_`
 * @param {string} [type]  MIME type, if the content is text
 */
export function save(content, name, type = "text/plain") {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * Formats rows as CSV. Cells are quoted only if necessary.
 * @param {readonly string[]} header
 * @param {Iterable<readonly (string | number)[]>} rows
 */
export function toCSV(header, rows) {
  /** @param {string | number} cell */
  const quoted = (cell) => (/[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  return [header, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

// --- the clipboard -------------------------------------------------------------------------------

/** Copies a text to the clipboard. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Not permitted, or the page was not loaded over https: use the old API.
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
}

// --- what is near the visible part of the page ---------------------------------------------------

/**
 * "Near" is one window height above or below, so that charts are ready when they are scrolled to.
 */
const MARGIN = "100% 0px";

/** @type {WeakMap<Element, (near: boolean) => void>} */
const callbacks = new WeakMap();
/** @type {IntersectionObserver | undefined} */
let observer;

/**
 * Calls back with whether an element is near the visible part of the page: soon after this call,
 * and after each change.
 * @param {Element} element
 * @param {(near: boolean) => void} callback
 * @returns {() => void} stops the calls
 */
export function watchNear(element, callback) {
  callbacks.set(element, callback);
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: MARGIN },
  );
  observer.observe(element);
  return () => {
    callbacks.delete(element);
    observer?.unobserve(element);
  };
}

/**
 * Whether an element is displayed and near the visible part of the page right now.
 * @param {Element} element
 */
export function isNear(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > -innerHeight && top < 2 * innerHeight;
}

/**
 * Preact hook: whether an element of the component is near the visible part of the page.
 * @param {{ current: Element | null }} ref
 */
export function useNear(ref) {
  const [near, setNear] = useState(false);
  useEffect(() => (ref.current ? watchNear(ref.current, setNear) : undefined), []);
  return near;
}

// --- tooltips ------------------------------------------------------------------------------------

/** Distance between the tooltip and the pointer. */
const POINTER_DISTANCE_PX = 14;
/** Distance between the tooltip and the areas to avoid, and the edges of the window. */
const MARGIN_PX = 4;

/** A tooltip, whose element is created when it is first shown. */
export class Tooltip {
  /** @type {HTMLElement} */ #owner;
  /** @type {HTMLElement | null} */ #box = null;
  /** @type {HTMLElement | null} the live region for screen readers */ #spoken = null;

  /**
   * @param {HTMLElement} owner  the tooltip's elements are added to it; they are shown in the top
   *   layer
   */
  constructor(owner) {
    this.#owner = owner;
  }

  /**
   * Shows the tooltip, or updates it.
   * @param {readonly Node[]} content
   * @param {{ left: number, top: number }} anchor  position in the viewport, CSS pixels
   * @param {string | null} [spoken]  text to announce to screen readers
   * @param {readonly DOMRect[]} [avoid]  areas that the tooltip should not cover, in order of
   *   preference: the first one that has space around it is used
   */
  show(content, anchor, spoken = null, avoid = []) {
    const box = (this.#box ??= this.#makeBox());
    box.replaceChildren(...content);
    if (!box.matches(":popover-open")) box.showPopover();
    position(box, anchor, avoid);
    if (spoken !== null) this.#announce(spoken);
  }

  hide() {
    if (this.#box?.matches(":popover-open")) this.#box.hidePopover();
  }

  destroy() {
    this.#box?.remove();
    this.#spoken?.remove();
    this.#box = this.#spoken = null;
  }

  #makeBox() {
    const box = document.createElement("div");
    box.className = "tb-chart-tooltip";
    box.popover = "manual";
    box.setAttribute("aria-hidden", "true"); // screen readers get the announcement instead
    this.#owner.append(box);
    return box;
  }

  /** @param {string} text */
  #announce(text) {
    if (!this.#spoken) {
      this.#spoken = span("tb-hidden", "");
      this.#spoken.setAttribute("role", "status");
      this.#owner.append(this.#spoken);
    }
    this.#spoken.textContent = text;
  }
}

/**
 * The content of a tooltip about one thing: its name and colour, a table with two columns, and a
 * note below it.
 * @param {import("./lib/chart/types.js").ReadOut} readOut
 * @returns {Node[]}
 */
export function readOutNodes({ name, color, rows, note }) {
  const heading = span("tb-chart-heading", "");
  const swatch = document.createElement("i");
  swatch.style.background = color;
  heading.append(swatch, span("", name));
  const table = document.createElement("table");
  table.className = "tb-chart-pairs";
  const body = table.createTBody();
  for (const [what, value] of rows) body.insertRow().append(cell("th", what), cell("td", value));
  const below = document.createElement("p");
  below.textContent = note;
  return [heading, table, ...(note === "" ? [] : [below])];
}

/**
 * Positions a tooltip outside an area to avoid: below it, or else above, right or left of it. If no
 * area has enough space around it, the tooltip is next to the anchor.
 * @param {HTMLElement} box
 * @param {{ left: number, top: number }} anchor
 * @param {readonly DOMRect[]} avoid
 */
function position(box, anchor, avoid) {
  const { width, height } = box.getBoundingClientRect();
  const right = document.documentElement.clientWidth - MARGIN_PX;
  const bottom = window.innerHeight - MARGIN_PX;
  const rightOfAnchor = anchor.left + POINTER_DISTANCE_PX;
  const belowAnchor = anchor.top + POINTER_DISTANCE_PX;
  let left = rightOfAnchor + width <= right ? rightOfAnchor : anchor.left - POINTER_DISTANCE_PX - width;
  let top = belowAnchor + height <= bottom ? belowAnchor : anchor.top - POINTER_DISTANCE_PX - height;
  for (const area of avoid) {
    const fitsBelow = area.bottom + MARGIN_PX + height <= bottom;
    const fitsRight = area.right + MARGIN_PX + width <= right;
    if (fitsBelow || area.top - MARGIN_PX - height >= MARGIN_PX) {
      top = fitsBelow ? area.bottom + MARGIN_PX : area.top - MARGIN_PX - height;
      left = anchor.left - width / 2;
      break;
    }
    if (fitsRight || area.left - MARGIN_PX - width >= MARGIN_PX) {
      left = fitsRight ? area.right + MARGIN_PX : area.left - MARGIN_PX - width;
      top = Math.min(anchor.top - height / 2, bottom - height);
      break;
    }
  }
  box.style.left = `${Math.max(MARGIN_PX, Math.min(left, right - width))}px`;
  box.style.top = `${Math.max(MARGIN_PX, top)}px`;
}
