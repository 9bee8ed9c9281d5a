/** The dialog that adds labels to runs and removes them. Each change is saved at once. */

import { html } from "htm/preact";
import { useId, useState } from "preact/hooks";
import { formatName, plural } from "tbcore/format.js";
import { Icon } from "tbcore/ui.js";
import { allLabels, labelsOf } from "./records.js";
import { Author } from "./texts.js";

/** The longest label that the server takes, in characters. */
const MAX_CHARACTERS = 50;
/** What a label cannot have, because queries use it. */
const SIGNS = /[|()"#,*?<>=]/g;

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

  /** Changes labels; resolves to whether that is saved. @param {readonly string[]} added @param {readonly string[]} [removed] */
  const change = async (added, removed = []) => {
    // What each run has of them now, for "Undo".
    const had = new Map([...added, ...removed].map((label) => [label, runs.filter((run) => labelsOf(records.get(run)).includes(label))]));
    const refused = await store.send({ runs, add_labels: added, remove_labels: removed });
    setError(refused);
    if (refused === null && runs.length > 1) store.notice.value = { text: noticeOf(added, removed, runs.length), actions: [["Undo", () => undo(had, added)]] };
    return refused === null;
  };
  /** @param {ReadonlyMap<string, readonly string[]>} had  the runs that had each label @param {readonly string[]} added */
  const undo = (had, added) => {
    for (const [label, before] of had) {
      const others = runs.filter((run) => !before.includes(run));
      const changed = added.includes(label) ? { runs: others, remove_labels: [label] } : { runs: before, add_labels: [label] };
      if (changed.runs.length > 0) store.change(changed);
    }
  };
  /** Adds what is typed; closes if that is nothing. What is refused can be mended. @param {Event} event */
  const add = async (event) => {
    event.preventDefault();
    const labels = text.replace(SIGNS, " ").split(/\s+/).filter(Boolean);
    if (labels.length === 0) return close();
    const long = labels.find((label) => [...label].length > MAX_CHARACTERS);
    if (long) return setError(`“${formatName(long)}” has more than ${MAX_CHARACTERS} characters.`);
    if (await change(labels)) setText("");
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
      New labels, separated by spaces
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

/** What was done, in words. @param {readonly string[]} added @param {readonly string[]} removed @param {number} numRuns */
function noticeOf(added, removed, numRuns) {
  const runs = plural(numRuns, "run");
  return added.length > 0 ? `Labelled ${runs}: ${added.map(formatName).join(", ")}.` : `Removed ${removed.map(formatName).join(", ")} from ${runs}.`;
}
