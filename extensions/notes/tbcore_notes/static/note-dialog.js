/** The dialog that shows and changes the note on a run, or sets that of several. What is typed and not saved is kept as a draft. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { open } from "./actions.js";
import { NoteText } from "./markdown.js";
import { Author, namesOfRuns } from "./texts.js";

/** The longest note that the server takes, in characters. */
const MAX_CHARACTERS = 10_000;

/**
 * The draft of a text, which this tab of the browser keeps until it is closed.
 * @param {string} key  what it is about
 */
function draftOf(key) {
  const name = `tbcore.draft.${key}`;
  return {
    read: () => {
      try {
        return sessionStorage.getItem(name);
      } catch {
        return null;
      }
    },
    /** @param {string | null} text  null for none */
    keep: (text) => {
      try {
        if (text === null) sessionStorage.removeItem(name);
        else sessionStorage.setItem(name, text);
      } catch {
        // Blocked or full: it is kept until the window closes.
      }
    },
  };
}

/** @param {import("./dialogs.js").DialogProps} props */
export function NoteDialog({ store, runs, close }) {
  const [kept] = useState(() => draftOf([store.page.logdir(), ...runs].join("\n")));
  const found = runs.map((run) => store.records.value.get(run)?.note);
  const texts = [...new Set(found.map((record) => record?.value ?? ""))];
  const saved = texts.length === 1 ? texts[0] : "";
  const [opened, setOpened] = useState(found[0]);
  const canWrite = store.refusal.value === null;
  const [draft] = useState(kept.read);
  const [text, setText] = useState(draft ?? saved);
  const [isEdited, setEdited] = useState(canWrite && (saved === "" || draft !== null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  /** What is typed, until it is saved. */
  const typed = useRef(draft);
  const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));

  useEffect(() => {
    if (isEdited) box.current?.focus();
  }, [isEdited]);
  useEffect(() => () => {
    if (typed.current === null) return;
    store.notice.value = { text: `The note on ${namesOfRuns(runs, 2)} is not saved.`, actions: [["Go on writing", () => open(store, runs, "note")], ["Discard", () => kept.keep(null)]] };
  }, []);

  const save = async () => {
    const refused = text.trim() === saved && texts.length === 1 ? null : await store.send({ runs, set: { note: text } });
    setError(refused);
    if (refused !== null) return;
    keep(null);
    close();
  };
  /** @param {string | null} next */
  const keep = (next) => kept.keep((typed.current = next));
  const onChange = () => {
    // Somebody may have changed it while it was read.
    setOpened(found[0]);
    setText(saved);
    setEdited(true);
  };
  if (!isEdited) {
    return html`<${NoteText} text=${saved} />
      <${Author} record=${found[0]} />
      ${canWrite && html`<footer><button type="button" class="tb-button primary" autofocus onClick=${onChange}>Change</button></footer>`}`;
  }
  const isNew = runs.length === 1 && found[0]?.time !== opened?.time && found[0]?.by !== "";
  return html`<form
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      save();
    }}
  >
    ${texts.length > 1 && html`<p>What you save replaces ${texts.filter(Boolean).length === 1 ? "this note" : "these notes"}:</p>`}
    ${texts.length > 1 &&
    texts.filter(Boolean).map((other) => {
      const their = runs.filter((_, i) => found[i]?.value === other);
      return html`<div><p class="tb-dim">${namesOfRuns(their)}</p><${NoteText} text=${other} /><${Author} record=${found[runs.indexOf(their[0])]} /></div>`;
    })}
    ${draft !== null && html`<p class="tb-dim">A draft, which is not saved yet.</p>`}
    ${(isNew || (draft !== null && saved !== "")) &&
    html`<div role="status"><p>${isNew ? "Changed since you opened it; what you save replaces it:" : "What you save replaces this note:"}</p><${NoteText} text=${saved} /><${Author} record=${found[0]} /></div>`}
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
        keep(value === saved ? null : value);
        setText(value);
      }}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        save();
      }}
    ></textarea>
    <p class="tb-dim">Markdown: <code># heading</code>, <code>**bold**</code>, <code>- list</code>, <code>| table |</code>, links. Ctrl+Enter saves.</p>
    ${!isNew && draft === null && runs.length === 1 && html`<${Author} record=${found[0]} />`}
    ${error && html`<p class="tb-notes-error" role="alert">${error}</p>`}
    <footer>
      <button type="submit" class="tb-button primary" title="Ctrl+Enter">Save</button>
      <button type="button" class="tb-button" onClick=${() => {
        keep(null);
        close();
      }}>Discard</button>
    </footer>
  </form>`;
}
