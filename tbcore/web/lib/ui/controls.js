/** Icons, buttons, menus and choices, and functions that save a file or copy a text. */

import { html } from "htm/preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatName } from "../format.js";

/** SVG path data by name, for strokes on a 16 by 16 grid. */
const PATHS = {
  chevron: "M6 4l4 4-4 4",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  down: "M8 3v10M4 9l4 4 4-4",
  download: "M8 2.5v8M4.8 7.5L8 10.7l3.2-3.2M3 13.5h10",
  expand: "M9.5 2.5h4v4M6.5 13.5h-4v-4M13.3 2.7L9.4 6.6M2.7 13.3l3.9-3.9",
  shrink: "M13.5 6.5h-4v-4M2.5 9.5h4v4M9.7 6.3l3.8-3.8M6.3 9.7l-3.8 3.8",
  filter: "M2.5 3.5h11l-4 5v4l-3 1.5v-5.5z",
  info: "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4zM8 7.3v3.7M8 4.9v.2",
  check: "M3 8.5l3.5 3.5L13 4.5",
  link: "M6.8 9.2a2.5 2.5 0 0 0 3.6 0l2.4-2.4a2.5 2.5 0 0 0-3.6-3.6L8.3 4.1M9.2 6.8a2.5 2.5 0 0 0-3.6 0L3.2 9.2a2.5 2.5 0 0 0 3.6 3.6l.9-.9",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  more: "M7.6 2.8h.8v.8h-.8zM7.6 7.6h.8v.8h-.8zM7.6 12.4h.8v.8h-.8z",
  moon: "M13 9.8A5.6 5.6 0 0 1 6.2 3 5.6 5.6 0 1 0 13 9.8z",
  previous: "M10 4l-4 4 4 4",
  pause: "M5.5 3v10M10.5 3v10",
  play: "M4.5 3l8 5-8 5z",
  pin: "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v4.5",
  reload: "M13 8a5 5 0 1 1-1.6-3.7M13.2 2.3v3h-3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2",
  settings: "M2.5 4.5h5M11.5 4.5h2M2.5 11.5h2M8.5 11.5h5M9.5 6.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6zM6.5 13.3a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1",
  table: "M2.5 3h11v10h-11zM2.5 6.5h11M6.5 6.5V13",
  unzoom: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2M5 7h4",
  up: "M8 13V3M4 7l4-4 4 4",
  warning: "M8 2.2L14.6 13.6H1.4zM8 6.5v3.2M8 11.7v.2",
};

/** An icon, hidden from screen readers. @param {{ name: keyof typeof PATHS }} props */
export function Icon({ name }) {
  return html`<svg class="tb-icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d=${PATHS[name]} />
  </svg>`;
}

/**
 * A button with only an icon. Other props are attributes of the button.
 * @param {{ icon: keyof typeof PATHS, label: string, class?: string, [attribute: string]: unknown }} props
 */
export function IconButton({ icon, label, class: className = "", ...attributes }) {
  return html`<button type="button" class="tb-icon-button ${className}" aria-label=${label} ...${attributes}><${Icon} name=${icon} /></button>`;
}

/** The values to choose from. `why` is a tooltip. @typedef {readonly (readonly [value: unknown, title: string, why?: string])[]} Choices */

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
  const onToggle = (/** @type {ToggleEvent} */ event) => setOpen(event.newState === "open");
  /** Gives the focus back to the button, as browsers do not in a shadow root. Not at once: an Enter that closes would press it. Not if it is elsewhere by then. @param {ToggleEvent} event */
  const onBeforeToggle = ({ newState }) => {
    const hasFocus = () => box.current?.matches(":focus-within");
    if (newState === "closed" && hasFocus()) setTimeout(() => (hasFocus() || document.activeElement === document.body) && button.current?.focus());
  };

  // Place the popover below the button, aligned with its right edge but inside the window. Place it
  // again when its size changes, because content may load late.
  useLayoutEffect(() => {
    if (!open) return undefined;
    const menu = /** @type {HTMLElement} */ (box.current);
    const anchor = /** @type {HTMLElement} */ (button.current).getBoundingClientRect();
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

  return html`<button type="button" class=${className} ref=${button} aria-label=${label} title=${formatName(label)} popovertarget=${id}>
      ${icon && html`<${Icon} name=${icon} />`}${text}
    </button>
    <div class="tb-menu" id=${id} popover="auto" ref=${box} ...${{ onBeforeToggle, onToggle }}>${open && content()}</div>`;
}

/**
 * A choice of one from a few options, which are side by side. The label is for screen readers only.
 * `name` is the name of the radio buttons, which must be unique in the tab.
 * @param {{ label: string, name: string, choices: Choices, value: unknown, onChange: (value: any) => void }} props
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
 * @param {{ label: string, choices: Choices, value: unknown, onChange: (value: any) => void }} props
 */
export function Pick({ label, choices, value, onChange }) {
  const at = choices.findIndex(([choice]) => choice === value);
  /** @param {Event} event */
  const onInput = (event) => onChange(choices[/** @type {HTMLSelectElement} */ (event.currentTarget).selectedIndex][0]);
  return html`<label class="tb-pick" title=${choices[at]?.[2]}>
    ${label}
    <select class="tb-input" onChange=${onInput}>
      ${choices.map(([choice, title, why], i) => html`<option value=${String(choice)} title=${why} selected=${i === at}>${formatName(title)}</option>`)}
    </select>
  </label>`;
}

/**
 * A check box with a label. `why` is a tooltip.
 * @param {{ label: string, why?: string, checked: boolean, onChange: (checked: boolean) => void }} props
 */
export function Check({ label, why, checked, onChange }) {
  /** @param {Event} event */
  const onInput = (event) => onChange(/** @type {HTMLInputElement} */ (event.currentTarget).checked);
  return html`<label class="tb-switch" title=${why}><input type="checkbox" class="tb-check" checked=${checked} onChange=${onInput} />${label}</label>`;
}

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
