/** Small components and functions that tabs of all kinds use. */

import { html } from "htm/preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatName } from "./format.js";
import { Icon, IconButton } from "./lib/ui/icons.js";

export { colorsOf, oklchToHex } from "./lib/ui/colors.js";
export { FilterBox, makeFilter } from "./lib/ui/filter.js";
export { Icon, IconButton };
export { Lazy, VirtualList, useNear } from "./lib/ui/lazy.js";
export { Tooltip, readOutNodes } from "./lib/ui/tooltip.js";

/** @typedef {import("./lib/ui/filter.js").Filter} Filter */
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
    <div class="tb-menu" id=${id} popover="auto" ref=${box} onToggle=${onToggle}>${open && content()}</div>`;
}

/**
 * A choice of one from a few options, which are side by side. The label is not visible, and the
 * name of the radio buttons must be unique in the tab.
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
