/** The dialogs about notes: a name, labels and a text. Loaded when one is first opened. */

import { html } from "htm/preact";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { formatName, plural } from "tbcore/format.js";
import { IconButton } from "tbcore/ui.js";
import { LabelsDialog } from "./labels-dialog.js";
import { NameDialog } from "./name-dialog.js";
import { NoteDialog } from "./note-dialog.js";
import { namesOfRuns } from "./texts.js";

/** @import { DialogName } from "./actions.js" */
/** @import { Store } from "./store.js" */

/** What a dialog gets. @typedef {{ store: Store, runs: readonly string[], close: () => void }} DialogProps */

/** Components by name, with titles. @type {Record<DialogName, [component: (props: DialogProps) => unknown, title: string]>} */
const DIALOGS = {
  name: [NameDialog, "Name"],
  labels: [LabelsDialog, "Labels"],
  note: [NoteDialog, "Note"],
};

/** Opens a dialog about some runs. @param {Store} store @param {DialogName} name @param {readonly string[]} runs */
export function openDialog(store, name, runs) {
  const box = document.createElement("div");
  document.body.append(box);
  const [Content, title] = DIALOGS[name];
  const onClose = () => {
    render(null, box);
    box.remove();
    store.page.focusList();
  };
  const about = runs.length === 1 ? formatName(runs[0]) : `${plural(runs.length, "run")}: ${namesOfRuns(runs)}`;
  const content = (/** @type {() => void} */ close) => html`<${Content} ...${{ store, runs, close }} />`;
  render(html`<${Dialog} ...${{ title, about, onClose, content }} />`, box);
}

/**
 * A modal dialog. Its button, Escape and a click outside close it.
 * @param {{ title: string, about: string, onClose: () => void, content: (close: () => void) => unknown }} props
 */
function Dialog({ title, about, onClose, content }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const close = () => dialog.current?.close();
  useEffect(() => dialog.current?.showModal(), []);
  /** @param {MouseEvent} event */
  const onMouseDown = (event) => event.target === dialog.current && close();
  /** The run list that slides in on narrow pages stays open. @param {KeyboardEvent} event */
  const onKeyDown = (event) => event.key === "Escape" && event.stopPropagation();
  return html`<dialog class="tb-notes-dialog" ref=${dialog} aria-label="${title}: ${about}" ...${{ onClose, onMouseDown, onKeyDown }}>
    <div>
      <header>
        <h1>${title}</h1>
        <${IconButton} icon="close" label="Close" onClick=${close} />
      </header>
      <p class="tb-notes-about"><bdi>${about}</bdi></p>
      ${content(close)}
    </div>
  </dialog>`;
}
