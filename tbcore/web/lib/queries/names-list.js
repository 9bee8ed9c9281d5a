/**
 * The list of names below a filter box that complete what is typed, and the keys of the box. Loaded
 * when the box first has the focus.
 *
 * Down and up choose a name, Tab takes it or the first one, Enter takes the chosen one, and Escape
 * closes the list. Without a list, down moves to the rows of the run list, and Escape undoes what
 * was typed since Enter, or since the box got the focus; if nothing was, it leaves the box.
 */

import { html } from "htm/preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatName } from "../format.js";
import { adoptSheet, loadSheet } from "../ui/lazy.js";
import { completionsOf } from "./completions.js";

const SHEET = await loadSheet(new URL("./filter.css", import.meta.url)).catch(console.warn);

/**
 * Asks for the names, maybe of a signal; null until they are known.
 * @typedef {() => { readonly value: Names | null } | Promise<{ readonly value: Names | null }>} Ask
 * @typedef {import("./completions.js").Names} Names
 * @typedef {import("./completions.js").Completion} Completion
 */

/**
 * The list. It is empty unless a part of a name was just typed.
 * @param {{ first: string, filter: Partial<import("./filter.js").Filter>, names?: Ask, onInput: (text: string) => void, onDone?: () => void }} props
 */
export function NamesList({ first, filter, names, onInput, onDone }) {
  const { text = "", subject = "runs" } = filter;
  const id = useId();
  const mark = useRef(/** @type {HTMLElement | null} */ (null));
  const [source, setSource] = useState(/** @type {{ readonly value: Names | null } | null} */ (null));
  /** Where the caret was after the last key that typed something; -1 while the list is closed. */
  const [caret, setCaret] = useState(-1);
  const [chosen, setChosen] = useState(-1);
  /** The text that Escape restores. */
  const accepted = useRef(first);
  const known = source?.value;
  const found = caret >= 0 && known ? completionsOf(text, caret, known, subject) : [];
  const boxOf = () => /** @type {HTMLInputElement} */ (mark.current?.closest(".tb-filter")?.querySelector("input"));

  /** @param {Completion} completion */
  const take = ({ text: completed, start }) => {
    const box = boxOf();
    const end = start + completed.length;
    // A whole name is followed by a sign or a blank, which the reader types; a part, by more of it.
    box.value = text.slice(0, start) + completed + text.slice(caret);
    box.setSelectionRange(end, end);
    onInput(box.value);
    setChosen(-1);
    setCaret(/[:/(]$/.test(completed) ? end : -1);
  };
  /** @param {KeyboardEvent} event */
  const onKey = (event) => {
    const { key, ctrlKey, metaKey, altKey, isComposing } = event;
    if (ctrlKey || metaKey || altKey || isComposing) return;
    const isOpen = found.length > 0;
    if (isOpen && (key === "ArrowDown" || key === "ArrowUp")) setChosen((chosen + (key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1) + found.length) % found.length);
    else if (isOpen && ((key === "Tab" && !event.shiftKey) || (key === "Enter" && chosen >= 0))) take(found[Math.max(0, chosen)]);
    else if (isOpen && key === "Escape") setCaret(-1);
    else if (key === "ArrowDown" && !isOpen) {
      /** @type {HTMLElement | null | undefined} */
      const row = boxOf().closest(".tb-runs")?.querySelector('[role="row"] input[tabindex="0"], [role="row"] input');
      if (!row) return;
      row.focus();
    } else {
      const box = boxOf();
      if (key === "Enter") {
        accepted.current = box.value;
        setCaret(-1);
      }
      if (key !== "Escape") return;
      // By itself, the browser would clear the box.
      event.preventDefault();
      setCaret(-1);
      if (box.value === accepted.current) box.blur();
      else onInput(accepted.current);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  useLayoutEffect(() => adoptSheet(boxOf().getRootNode(), SHEET), []);
  useEffect(() => void Promise.resolve(names?.()).then((next) => next && setSource(next), console.warn), [caret < 0]);
  useLayoutEffect(() => {
    const box = boxOf();
    const onType = () => {
      setCaret(box.selectionStart ?? -1);
      setChosen(-1);
    };
    const onBlur = (/** @type {FocusEvent} */ { relatedTarget }) => {
      accepted.current = box.value;
      setCaret(-1);
      // What the run list shows stays while the reader uses it.
      if (!(relatedTarget instanceof Element && box.closest(".tb-runs")?.contains(relatedTarget))) onDone?.();
    };
    // Keys were pressed while this module was loaded.
    if (box.value !== first && box.matches(":focus")) onType();
    box.setAttribute("aria-autocomplete", "list");
    box.setAttribute("role", "combobox");
    box.addEventListener("input", onType);
    box.addEventListener("blur", onBlur);
    return () => {
      box.removeEventListener("input", onType);
      box.removeEventListener("blur", onBlur);
    };
  }, []);
  useLayoutEffect(() => {
    const box = boxOf();
    box.setAttribute("aria-expanded", String(found.length > 0));
    if (found.length > 0) box.setAttribute("aria-controls", id);
    else box.removeAttribute("aria-controls");
    if (chosen >= 0 && chosen < found.length) box.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    else box.removeAttribute("aria-activedescendant");
    box.addEventListener("keydown", onKey);
    return () => box.removeEventListener("keydown", onKey);
  });

  if (found.length === 0) return html`<span hidden ref=${mark}></span>`;
  return html`<span hidden ref=${mark}></span>
    <ul class="tb-options" role="listbox" id=${id} aria-label="Names that complete the filter">
      ${found.map(
        (completion, i) => html`<li
          key=${completion.text}
          id="${id}-${i}"
          role="option"
          aria-selected=${String(i === chosen)}
          onMouseDown=${(/** @type {Event} */ event) => event.preventDefault()}
          onClick=${() => take(completion)}
        >
          <span class="tb-name"><span class="tb-name-tail">${formatName(completion.text)}</span></span>
          <small>${completion.what}</small>
        </li>`,
      )}
    </ul>`;
}
