import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { IconButton } from "../lib/ui/controls.js";

/**
 * A modal dialog. Its button, Escape and a click outside close it.
 * @param {{ title: string, onClose: () => void, children?: unknown }} props
 */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const close = () => dialog.current?.close();
  useEffect(() => dialog.current?.showModal(), []);
  /** @param {MouseEvent} event */
  const onClick = (event) => event.target === dialog.current && close();
  return html`<dialog ref=${dialog} aria-label=${title} onClose=${onClose} onClick=${onClick}>
    <div class="dialog">
      <header>
        <h1>${title}</h1>
        <${IconButton} icon="close" label="Close" onClick=${close} />
      </header>
      ${children}
    </div>
  </dialog>`;
}
