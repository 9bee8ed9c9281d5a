/** The whole texts of notes. The page has their first lines; what is longer is loaded when it is opened. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { plural } from "tbcore/format.js";

/** @import { NoteRecord } from "./records.js" */
/** @import { Store } from "./store.js" */

/** Notes on runs, in the order of the runs. @typedef {readonly (NoteRecord | undefined)[]} Notes */

/** The most runs whose texts are loaded: as many as the server answers at once. */
const MAX_RUNS = 20;
/** The most characters of their names in an address: less than what proxies take. */
const MAX_CHARACTERS = 4000;

/**
 * The notes on runs with their whole texts: those that were read last while newer ones are loaded, null while there are none. Of
 * many runs, some may stay cut. `state` says that texts are being loaded, or why they cannot be; null if all are here.
 * @param {Store} store
 * @param {readonly string[]} runs
 * @returns {{ notes: Notes | null, state: unknown }}
 */
export function useWholeNotes(store, runs) {
  const saved = useRef(/** @type {Notes | null} */ (null));
  const read = useRef(/** @type {{ key: string, notes: Notes } | null} */ (null));
  const [error, setError] = useState("");
  const [attempt, setAttempt] = useState(0);
  const [, setDrawn] = useState(0);
  const records = runs.map((run) => store.records.value.get(run)?.note);
  // One that is on its way has no author yet. It may be refused, and be as before.
  if (records.every((record) => record?.by !== "")) saved.current = records;
  const notes = saved.current ?? [];
  const key = keyOf(notes);
  const wanted = wantedOf(runs, notes);
  if (saved.current && wanted.length === 0) read.current = { key, notes };
  const isRead = read.current !== null && (read.current.key === key || keyOf(read.current.notes) === key);
  useEffect(() => {
    if (isRead || wanted.length === 0) return undefined;
    let isOver = false;
    setError("");
    load(store, wanted).then(
      (texts) => {
        if (isOver) return;
        read.current = { key, notes: notes.map((note, i) => (wanted.includes(runs[i]) ? texts.get(runs[i]) : note)) };
        setDrawn((count) => count + 1);
      },
      ({ message }) => isOver || setError(message),
    );
    return () => void (isOver = true);
  }, [key, attempt]);
  const what = runs.length === 1 ? "note" : `notes on ${plural(runs.length, "run")}`;
  const state = error
    ? html`<div class="tb-notes-error" role="alert">
        <p>The ${what} cannot be loaded: ${error}</p>
        <button type="button" class="tb-button" onClick=${() => setAttempt(attempt + 1)}>Try again</button>
      </div>`
    : html`<p class="tb-dim" role="status">Loading the ${what}…</p>`;
  return { notes: read.current?.notes ?? null, state: isRead ? null : state };
}

/** When the notes were written. @param {Notes} notes */
function keyOf(notes) {
  return notes.map((note) => note?.time).join();
}

/** The runs whose texts are to be loaded. @param {readonly string[]} runs @param {Notes} notes */
function wantedOf(runs, notes) {
  let length = 0;
  const cut = runs.filter((_, i) => notes[i]?.is_cut).slice(0, MAX_RUNS);
  return cut.filter((run, i) => (length += String(new URLSearchParams({ run })).length) < MAX_CHARACTERS || i === 0);
}

/** Reads the notes on runs. Rejects with why they cannot be read. @param {Store} store @param {readonly string[]} runs @returns {Promise<Map<string, NoteRecord | undefined>>} */
async function load(store, runs) {
  const url = new URL(store.page.url("data/notes"));
  for (const run of runs) url.searchParams.append("run", run);
  const response = await fetch(url).catch(() => {
    throw new Error("the server cannot be reached.");
  });
  if (!response.ok) throw new Error((await response.text()).trim());
  /** @type {{ runs: Record<string, import("./records.js").Fields> }} */
  const answer = await response.json();
  return new Map(Object.entries(answer.runs).map(([run, { note }]) => [run, note]));
}
