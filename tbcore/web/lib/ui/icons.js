/** Icons: small SVG drawings in the colour of the surrounding text. */

import { html } from "htm/preact";

/** SVG path data by name, for strokes on a 16 by 16 grid. */
const PATHS = {
  chevron: "M6 4l4 4-4 4",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  download: "M8 2.5v8M4.8 7.5L8 10.7l3.2-3.2M3 13.5h10",
  expand: "M9.5 2.5h4v4M6.5 13.5h-4v-4M13.3 2.7L9.4 6.6M2.7 13.3l3.9-3.9",
  shrink: "M13.5 6.5h-4v-4M2.5 9.5h4v4M9.7 6.3l3.8-3.8M6.3 9.7l-3.8 3.8",
  filter: "M2.500 3.500h11l-4 5v4l-3 1.500v-5.500z",
  info: "M8 14.2A6.2 6.2 0 1 0 8 1.800a6.2 6.2 0 0 0 0 12.400zM8 7.300v3.700M8 4.900v.2",
  check: "M3 8.5l3.5 3.5L13 4.5",
  link: "M6.800 9.200a2.500 2.500 0 0 0 3.600 0l2.400-2.400a2.500 2.500 0 0 0-3.600-3.600L8.300 4.100M9.200 6.800a2.500 2.500 0 0 0-3.600 0L3.200 9.200a2.500 2.500 0 0 0 3.600 3.600l.9-.9",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  more: "M8 3.500v.1M8 8v.1M8 12.500v.1",
  moon: "M13 9.8A5.6 5.6 0 0 1 6.2 3 5.6 5.6 0 1 0 13 9.8z",
  previous: "M10 4l-4 4 4 4",
  pin: "M6 2.500h4l-.5 4 2 2.500h-7l2-2.500zM8 9v4.500",
  reload: "M13 8a5 5 0 1 1-1.6-3.7M13.2 2.3v3h-3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2",
  settings: "M2.500 4.500h5M11.500 4.500h2M2.500 11.500h2M8.500 11.500h5M9.500 6.300a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600zM6.500 13.300a1.800 1.800 0 1 0 0-3.600 1.800 1.800 0 0 0 0 3.600z",
  star: "M8 2l1.800 3.900 4.200.5-3.100 2.900.8 4.200L8 11.400l-3.700 2.100.8-4.200L2 6.400l4.200-.5z",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1",
  table: "M2.500 3h11v10h-11zM2.500 6.500h11M6.500 6.500V13",
  unzoom: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2M5 7h4",
  warning: "M8 2.2L14.6 13.6H1.4zM8 6.5v3.2M8 11.7v.2",
};

/**
 * An icon, hidden from screen readers.
 * @param {{ name: keyof typeof PATHS }} props
 */
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
