/** The dialog that shows and changes the note on a run, or sets that of several. What is typed and not saved is kept as a draft. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatName, plural } from "tbcore/format.js";
import { open } from "./actions.js";
import { NoteText } from "./markdown.js";
import { Author } from "./texts.js";

/** The longest note that the server takes, in characters. */
const MAX_CHARACTERS = 10_000;

/** @param {import("./dialogs.js").DialogProps} props */
export function NoteDialog({ store, runs, close }) {
  const key = runs.join("\n");
  const found = runs.map((run) => store.records.value.get(run)?.note);
  const texts = [...new Set(found.map((record) => record?.value ?? ""))];
  const saved = texts.length === 1 ? texts[0] : "";
  const [opened] = useState(found[0]);
  const canWrite = store.refusal.value === null;
  const draft = store.drafts.get(key);
  const [text, setText] = useState(draft ?? saved);
  const [isEdited, setEdited] = useState(canWrite && (saved === "" || draft !== undefined));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  /** What is typed, until it is saved. */
  const typed = useRef(/** @type {string | null} */ (draft ?? null));
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));

  useEffect(() => {
    if (isEdited) box.current?.focus();
  }, [isEdited]);
  useEffect(() => () => {
    if (typed.current === null) return void store.drafts.delete(key);
    store.drafts.set(key, typed.current);
    const discard = () => void store.drafts.delete(key);
    const what = runs.length === 1 ? formatName(runs[0]) : plural(runs.length, "run");
    store.notice.value = { text: `The note on ${what} is not saved.`, actions: [["Go on writing", () => open(store, runs, "note")], ["Discard", discard]] };
  }, []);

  const save = async () => {
    const refused = text.trim() === saved && texts.length === 1 ? null : await store.send({ runs, set: { note: text } });
    setError(refused);
    if (refused !== null) return;
    typed.current = null;
    close();
  };
  if (!isEdited) {
    return html`<${NoteText} text=${saved} />
      <${Author} record=${found[0]} />
      ${canWrite && html`<footer><button type="button" class="tb-button primary" autofocus onClick=${() => setEdited(true)}>Change</button></footer>`}`;
  }
  const isNew = runs.length === 1 && found[0]?.time !== opened?.time && found[0]?.by !== "";
  return html`<form
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      save();
    }}
  >
    ${texts.length > 1 && html`<p class="tb-dim">These runs have different notes. What you save replaces them.</p>`}
    ${isNew && html`<div role="status"><p>Changed since you opened it; what you save replaces it:</p><${NoteText} text=${saved} /><${Author} record=${found[0]} /></div>`}
    <textarea
      class="tb-input"
      ref=${box}
      autofocus
      rows="8"
      maxlength=${MAX_CHARACTERS}
      aria-label="Note"
      value=${text}
      onInput=${(/** @type {Event} */ event) => {
        const { value } = /** @type {HTMLTextAreaElement} */ (event.currentTarget);
        typed.current = value === saved ? null : value;
        setText(value);
      }}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        save();
      }}
    ></textarea>
    ${draft !== undefined && html`<p class="tb-dim">A draft, which is not saved yet.</p>`}
    ${!isNew && runs.length === 1 && html`<${Author} record=${found[0]} />`}
    ${error && html`<p class="tb-notes-error" role="alert">${error}</p>`}
    <footer>
      <button type="submit" class="tb-button primary" title="Ctrl+Enter">Save</button>
      <button type="button" class="tb-button" onClick=${() => {
        typed.current = null;
        close();
      }}>Discard</button>
    </footer>
  </form>`;
}
