/**
 * The dialog that lists all keyboard shortcuts. Loaded when it is first opened.
 */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../lib/ui/icons.js";
import { PAGE_KEYS } from "../keys.js";

/** Keys of the focused row in the run list. @type {import("../state/state.js").Key[]} */
const LIST_KEYS = [
  { key: "↑ ↓", label: "Go to the previous or next row" },
  { key: "← →", label: "Collapse or expand a folder or group" },
  { key: "Space", label: "Show or hide the run" },
  { key: "Enter", label: "Show only this run" },
  { key: "Shift F10", label: "Open the run's menu: colour, copy path" },
];

/**
 * The dialog.
 * @param {object} props
 * @param {import("../state/state.js").State} props.state
 * @param {() => void} props.onClose
 */
export function HelpDialog({ state, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  const title = state.frontends.value?.plugins.find(({ name }) => name === state.tab.value)?.title ?? "";
  /** A click outside the dialog closes it. @param {MouseEvent} event */
  const onClick = (event) => event.target === dialog.current && dialog.current?.close();
  return html`<dialog ref=${dialog} aria-label="Keyboard shortcuts" onClose=${onClose} onClick=${onClick}>
    <div class="dialog">
      <header>
        <h1>Keyboard shortcuts</h1>
        <button type="button" class="tb-icon-button" aria-label="Close" onClick=${() => dialog.current?.close()}>
          <${Icon} name="close" />
        </button>
      </header>
      <div class="keys">
        <${Keys} title="Everywhere" keys=${PAGE_KEYS} />
        <${Keys} title="In the run list" keys=${LIST_KEYS} />
        <${Keys} title=${title} keys=${state.pluginKeys.value} />
      </div>
    </div>
  </dialog>`;
}

/**
 * A titled table of keys; nothing if there are none.
 * @param {{ title: string, keys: readonly import("../state/state.js").Key[] }} props
 */
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
