/** The dialog that lists all keyboard shortcuts. Loaded when it is first opened. */

import { html } from "htm/preact";
import { QueryHelp } from "../lib/queries/help.js";
import { Dialog } from "./dialog.js";

/** @typedef {import("../host.js").Key} Key */

/** Keys of the page itself. @type {Key[]} */
const PAGE_KEYS = [
  { key: "r", label: "Filter runs" },
  { key: "?", label: "Show this help" },
];

/** Keys of the filters. @type {Key[]} */
const FILTER_KEYS = [
  { key: "Tab", label: "Complete the name; ↓ ↑ and Enter choose another" },
  { key: "Enter", label: "Show what is found, even if it is nothing" },
  { key: "↓", label: "Go to the run list" },
  { key: "Esc", label: "Close the list of names, undo what is typed, leave the filter" },
];

/** Keys of the focused row in the run list. @type {Key[]} */
const LIST_KEYS = [
  { key: "↑ ↓", label: "Go to the previous or next row" },
  { key: "← →", label: "Collapse or expand a folder or group" },
  { key: "Space", label: "Show or hide the run" },
  { key: "Shift Space", label: "Show or hide all rows from the last one on; or a click with Shift" },
  { key: "Enter", label: "Show only this run" },
  { key: "Shift F10", label: "Open the run's menu: colour, copy path" },
];

/** The dialog. @param {{ state: import("./state/reader-state.js").State, onClose: () => void }} props */
export function HelpDialog({ state, onClose }) {
  // In a tab without a filter, such as one in a frame, the key goes to that of the runs.
  const hasFilter = document.querySelector(".plugin")?.shadowRoot?.querySelector("input[type=search]");
  const pageKeys = hasFilter ? [{ key: "/", label: "Filter tags" }, ...PAGE_KEYS] : PAGE_KEYS;
  const title = state.frontends.value?.plugins.find(({ name }) => name === state.tab.value)?.title ?? "";
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <div class="keys">
      <${Keys} title="Everywhere" keys=${pageKeys} />
      <${Keys} title="In a filter" keys=${FILTER_KEYS} />
      <${Keys} title="In the run list" keys=${[...LIST_KEYS, ...(state.notes.value?.keys ?? [])]} />
      <${Keys} title=${title} keys=${state.pluginKeys.value} />
      <section><${QueryHelp} subject="runs" /></section>
    </div>
  <//>`;
}

/** A titled table of keys; nothing if there are none. @param {{ title: string, keys: readonly Pick<Key, "key" | "label">[] }} props */
function Keys({ title, keys }) {
  if (keys.length === 0) return null;
  return html`<section>
    <h2>${title}</h2>
    <table>
      <tbody>
        ${keys.map(({ key, label }) => html`<tr><td><kbd>${key}</kbd></td><td>${label}</td></tr>`)}
      </tbody>
    </table>
  </section>`;
}
