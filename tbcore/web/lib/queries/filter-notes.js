/** The notes below a filter box: what is wrong and where, what is being read, and other texts that may be meant. Loaded for the first note. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { adoptSheet, loadSheet } from "../ui/lazy.js";
import { TOO_LONG } from "./expression-syntax.js";

/** Time without a key after which it is an answer that a text finds nothing. */
const PAUSE_MS = 1000;
const SHEET = await loadSheet(new URL("./filter.css", import.meta.url)).catch(console.warn);

/** @typedef {import("./filter.js").Filter} Filter */

/**
 * The notes of a filter box.
 * @param {{ filter: Pick<Filter, "text" | "error"> & Partial<Filter>, id: string, onInput: (text: string) => void, onDone?: () => void }} props
 *   `id` is that of the message
 */
export function FilterNotes({ filter, id, onInput, onDone }) {
  const { text, error, note, offers = [], numAnswers = 1, isHeld, shown = text } = filter;
  const what = shown === "" ? "all" : `what “${shown.trim()}” finds`;
  const old = isHeld ? `Nothing matches. Still shown for a moment: ${what}.` : shown !== text && `Still shown: ${what}.`;
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const timer = isHeld && setTimeout(() => onDone?.(), PAUSE_MS);
    return () => clearTimeout(timer || undefined);
  }, [text, isHeld]);
  useLayoutEffect(() => adoptSheet(box.current?.getRootNode(), SHEET), []);
  /** Uses an offer. @param {MouseEvent} event @param {string} text */
  const accept = ({ currentTarget }, text) => {
    /** @type {Element} */ (currentTarget).closest(".tb-filter")?.querySelector("input")?.focus();
    onInput(text);
  };
  return html`<div class="tb-filter-error ${error ? "" : "tb-filter-note"} ${numAnswers > 0 ? "" : "tb-brief"}" ref=${box}>
    <p id=${id} role="status">${error ? html`<${Mistake} ...${filter} />` : note}${note && isHeld && "."} ${old}</p>
    ${offers.map(
      ({ label, text }) => html`<button
        type="button"
        class="tb-button"
        onMouseDown=${keepFocus}
        onClick=${(/** @type {MouseEvent} */ event) => accept(event, text)}
      >
        ${label}
      </button>`,
    )}
  </div>`;
}

/** What is wrong with a text, and where. @param {Pick<Filter, "text" | "error" | "at" | "subject">} props */
function Mistake({ text, error, at, subject }) {
  if (error === TOO_LONG) return `The regular expression ${error}`;
  if (!subject) return `Not a valid regular expression: ${error}`;
  if (at === undefined) return `Cannot search: ${error}`;
  const chars = [...text];
  return html`At character ${at + 1}: ${error}
    <samp>${chars.slice(0, at).join("")}<mark>${chars[at] ?? " "}</mark>${chars.slice(at + 1).join("")}</samp>`;
}

/** Keeps the focus in the text box while a button is pressed: without it, the offers would be hidden. @param {Event} event */
function keepFocus(event) {
  event.preventDefault();
}
