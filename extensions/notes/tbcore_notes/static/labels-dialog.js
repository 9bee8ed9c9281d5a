/** The dialog that adds labels to runs and removes them. Each change is saved at once. */

import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { formatName } from "tbcore/format.js";
import { Icon } from "tbcore/ui.js";
import { allLabels, labelsOf } from "./records.js";
import { Author } from "./texts.js";

/** What a label cannot have, because queries use it. */
const SIGNS = /[|()"#,*?]/g;

/** @param {import("./dialogs.js").DialogProps} props */
export function LabelsDialog({ store, runs, close }) {
  const records = store.records.value;
  const id = useId();
  const [text, setText] = useState("");
  const [error, setError] = useState(/** @type {string | null} */ (null));
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const run of runs) for (const label of labelsOf(records.get(run))) counts.set(label, (counts.get(label) ?? 0) + 1);
  const offered = allLabels(records).filter((label) => counts.get(label) !== runs.length);

  /** @param {readonly string[]} added @param {readonly string[]} [removed] */
  const change = async (added, removed = []) => setError(await store.send({ runs, add_labels: added, remove_labels: removed }));
  /** Adds what is typed; closes if that is nothing. @param {Event} event */
  const add = async (event) => {
    event.preventDefault();
    const labels = text.replace(SIGNS, " ").split(/\s+/).filter(Boolean);
    if (labels.length === 0) return close();
    setText("");
    await change(labels);
  };
  return html`<form onSubmit=${add}>
    <ul class="tb-notes-chips" aria-label="Labels">
      ${Array.from(counts, ([label, count]) => html`<li key=${label}>
        <span>${formatName(label)}</span>
        ${count < runs.length &&
        html`<button type="button" title="Add it to all ${runs.length}" aria-label="Add ${label} to all" onClick=${() => change([label])}>${count} of ${runs.length}</button>`}
        <button type="button" title="Remove" aria-label="Remove ${label}" onClick=${() => change([], [label])}><${Icon} name="close" /></button>
      </li>`)}
    </ul>
    <label>
      New labels, between blanks
      <input
        class="tb-input"
        autofocus
        list=${id}
        autocomplete="off"
        value=${text}
        onInput=${(/** @type {Event} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      />
      <datalist id=${id}>${offered.slice(0, 100).map((label) => html`<option value=${label} />`)}</datalist>
    </label>
    <p class="tb-dim">A query finds them: <code>#${formatName([...counts.keys(), ...offered, "paper"][0])}</code></p>
    ${runs.length === 1 && html`<${Author} record=${records.get(runs[0])?.labels} verb="Changed by" />`}
    ${error && html`<p class="tb-notes-error" role="alert">${error}</p>`}
    <footer>
      <button type="submit" class="tb-button primary">${text.trim() ? "Add" : "Done"}</button>
    </footer>
  </form>`;
}
