/** The dialog that gives a run another name for charts and tables. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Author } from "./texts.js";

/** The longest name that the server takes, in characters. */
const MAX_CHARACTERS = 200;

/** @param {import("./dialogs.js").DialogProps} props */
export function NameDialog({ store, runs: [run], close }) {
  const record = store.records.value.get(run)?.display_name;
  const [text, setText] = useState(record?.value ?? "");
  const [error, setError] = useState(/** @type {string | null} */ (null));
  /** @param {Event} event */
  const save = async (event) => {
    event.preventDefault();
    const refused = text.trim() === (record?.value ?? "") ? null : await store.send({ runs: [run], set: { display_name: text } });
    setError(refused);
    if (refused === null) close();
  };
  return html`<form onSubmit=${save}>
    <label>
      Name in charts and tables
      <input
        class="tb-input"
        autofocus
        maxlength=${MAX_CHARACTERS}
        placeholder=${run}
        value=${text}
        onInput=${(/** @type {Event} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      />
    </label>
    <p class="tb-dim">Queries and links go on using the name of the run. Without a text, it is shown again.</p>
    ${record?.value && html`<${Author} record=${record} verb="Named by" />`}
    ${error && html`<p class="tb-notes-error" role="alert">${error}</p>`}
    <footer>
      <button type="submit" class="tb-button primary">Save</button>
      <button type="button" class="tb-button" onClick=${close}>Cancel</button>
    </footer>
  </form>`;
}
