/** The dialog that shows and changes the note on a run, or sets that of several. What is typed and not saved is kept as a draft. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { open } from "./actions.js";
import { NoteText } from "./markdown.js";
import { Author, namesOfRuns } from "./texts.js";
import { useWholeNotes } from "./whole-notes.js";

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
  /** What is typed, until it is saved. */
  const typed = useRef(useState(kept.read)[0]);
  const { notes, state } = useWholeNotes(store, runs);
  useEffect(() => () => {
    if (typed.current === null) return;
    store.notice.value = { text: `The note on ${namesOfRuns(runs, 2)} is not saved.`, actions: [["Go on writing", () => open(store, runs, "note")], ["Discard", () => kept.keep(null)]] };
  }, []);
  /** @param {string | null} next */
  const keep = (next) => kept.keep((typed.current = next));
  if (notes) return html`<${Note} ...${{ store, runs, close, notes, state, draft: typed.current, keep }} />`;
  const known = runs.length === 1 && store.records.value.get(runs[0])?.note;
  return html`${known && html`<${Beginning} text=${known.value} />`}${state}${typed.current !== null && html`<p class="tb-dim">Your draft is kept.</p>`}`;
}

/**
 * The notes, and a form for another one.
 * @typedef {object} NoteProps
 * @property {import("./whole-notes.js").Notes} notes  as they were read last
 * @property {unknown} state  of loading newer ones; null if these are the newest
 * @property {string | null} draft  null for none
 * @property {(text: string | null) => void} keep  keeps a draft
 *
 * @param {import("./dialogs.js").DialogProps & NoteProps} props
 */
function Note({ store, runs, close, notes, state, draft: typed, keep }) {
  const [first] = notes;
  const isSame = notes.every((note) => !note?.is_cut && (note?.value ?? "") === (first?.value ?? ""));
  const saved = isSame ? (first?.value ?? "") : "";
  const [opened, setOpened] = useState(first);
  const canWrite = store.refusal.value === null;
  const [draft] = useState(typed);
  const [text, setText] = useState(draft ?? saved);
  const [isEdited, setEdited] = useState(canWrite && (saved === "" || draft !== null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  /** Whether the text is the reader's: without that, no note is replaced, however often "Save" is clicked. */
  const isTyped = useRef(draft !== null);
  const box = useRef(/** @type {HTMLElement | null} */ (null));

  // What is drawn after a text was loaded does not get the focus by itself.
  useEffect(() => box.current?.focus(), [isEdited]);

  const save = async () => {
    const isChanged = isTyped.current && !(isSame && text.trim() === saved);
    const refused = isChanged ? await store.send({ runs, set: { note: text } }) : null;
    setError(refused);
    if (refused !== null) return;
    keep(null);
    close();
  };
  const onChange = () => {
    // Somebody may have changed it while it was read.
    setOpened(first);
    setText(saved);
    setEdited(true);
  };
  if (!isEdited) {
    return html`${isSame ? html`<${NoteText} text=${saved} /><${Author} record=${first} />` : html`<${NotesOfRuns} ...${{ runs, notes }} />`}
      ${state}
      ${canWrite && html`<footer><button type="button" class="tb-button primary" ref=${box} autofocus onClick=${onChange}>Change</button></footer>`}`;
  }
  const isNew = runs.length === 1 && (state !== null || first?.time !== opened?.time);
  return html`<form
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      save();
    }}
  >
    ${!isSame && html`<p>What you save replaces ${notes.filter((note) => note?.value).length === 1 ? "this note" : "these notes"}:</p><${NotesOfRuns} ...${{ runs, notes }} />`}
    ${draft !== null && html`<p class="tb-dim">A draft, which is not saved yet.</p>`}
    ${(isNew || (draft !== null && saved !== "")) &&
    html`<div role="status">
      <p>${isNew ? "Changed since you opened it; what you save replaces it:" : "What you save replaces this note:"}</p>
      ${state === null && html`<${NoteText} text=${saved} /><${Author} record=${first} />`}
    </div>`}
    ${state}
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
        isTyped.current = true;
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
    ${!isNew && draft === null && runs.length === 1 && html`<${Author} record=${first} />`}
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

/** The notes on several runs, each text once. @param {{ runs: readonly string[], notes: import("./whole-notes.js").Notes }} props */
function NotesOfRuns({ runs, notes }) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  for (const [i, note] of notes.entries()) if (note?.value) groups.set(`${note.is_cut} ${note.value}`, [...(groups.get(`${note.is_cut} ${note.value}`) ?? []), i]);
  const items = Array.from(groups.values(), (group) => {
    const record = notes[group[0]];
    return html`<div>
      <p class="tb-dim">${namesOfRuns(group.map((i) => runs[i]))}</p>
      ${record?.is_cut ? html`<${Beginning} text=${record.value} /><p class="tb-dim">Only the first line is shown. The note on a single run opens whole.</p>` : html`<${NoteText} text=${record?.value} />`}
      <${Author} record=${record} />
    </div>`;
  });
  return html`<div class="tb-notes-several">${items}</div>`;
}

/** The first line of a text that is longer. @param {{ text: string }} props */
function Beginning({ text }) {
  return html`<${NoteText} text="${text} …" />`;
}
