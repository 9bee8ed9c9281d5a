/**
 * A list to select columns and to reorder them, by dragging or with the keyboard.
 */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { formatName } from "tbcore/format.js";
import { moveKey } from "./sorting.js";

/** @typedef {import("./types.js").Column} Column */

/** The data type of a dragged column's key. */
const COLUMN_KEY_TYPE = "application/x-tbcore-column";

/**
 * The list, with a search box.
 * @param {object} props
 * @param {string} props.label
 * @param {readonly Column[]} props.columns  all columns
 * @param {readonly Column[]} props.chosen  the selected columns, in order
 * @param {(keys: readonly string[] | null) => void} props.onChoose  null resets to the default
 */
export function ColumnList({ label, columns, chosen, onChoose }) {
  const [search, setSearch] = useState("");
  const keys = chosen.map(({ key }) => key);
  const rest = columns.filter((column) => !chosen.includes(column));
  const matching = [...chosen, ...rest].filter((column) => column.label.toLowerCase().includes(search.toLowerCase()));
  /** @param {Column} column @param {boolean} isChecked */
  const onCheck = (column, isChecked) => onChoose(isChecked ? [...keys, column.key] : keys.filter((key) => key !== column.key));
  /** @param {KeyboardEvent} event @param {Column} column */
  const onKeyDown = (event, column) => {
    const by = event.altKey && { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const target = keys[keys.indexOf(column.key) + by];
    if (target !== undefined) onChoose(moveKey(keys, column.key, target));
  };
  return html`<div class="column-list">
    <input
      class="tb-input"
      type="search"
      aria-label="Search ${label}"
      placeholder="Search"
      value=${search}
      onInput=${(/** @type {Event} */ event) => setSearch(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <ul aria-label=${label}>
      ${matching.map((column) => {
        const isChosen = keys.includes(column.key);
        return html`<li key=${column.key} ...${dragColumn(column.key, (key) => onChoose(moveKey(keys, key, column.key)), isChosen)}>
          <label title=${column.description || formatName(column.label)}>
            <input
              type="checkbox"
              class="tb-check"
              checked=${isChosen}
              onChange=${(/** @type {Event} */ event) => onCheck(column, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
              onKeyDown=${(/** @type {KeyboardEvent} */ event) => onKeyDown(event, column)}
            />
            <span>${formatName(column.label)}</span>
          </label>
          <small>${remarkOf(column)}</small>
        </li>`;
      })}
    </ul>
    <footer>
      <button type="button" class="tb-button" onClick=${() => onChoose(null)}>Reset</button>
      <button type="button" class="tb-button" onClick=${() => onChoose([...keys, ...rest.map(({ key }) => key)])}>Select all</button>
    </footer>
    <p class="tb-dim">Drag to reorder, or press Alt ↑ ↓.</p>
  </div>`;
}

/** Remarks beside a column's name; "" if there are none. @param {Column} column */
function remarkOf({ kind, differs, isUndeclared }) {
  const remarks = [];
  if (isUndeclared) remarks.push("not declared");
  if (kind === "metric") remarks.push("metric");
  if (kind === "hparam" && !differs) remarks.push("same for all");
  return remarks.join(", ");
}

/**
 * The attributes of an element that stands for a column, to drag it onto such an element of another
 * column.
 * @param {string} key  of the column
 * @param {(key: string) => void} onKey  called with the key of the column that is dropped here
 * @param {boolean} [canMove]  false: the column cannot be dragged, and none can be dropped here
 */
export function dragColumn(key, onKey, canMove = true) {
  return {
    draggable: canMove,
    /** @param {DragEvent} event */
    onDragStart: ({ dataTransfer }) => dataTransfer?.setData(COLUMN_KEY_TYPE, key),
    /** @param {DragEvent} event */
    onDragOver(event) {
      if (canMove && event.dataTransfer?.types.includes(COLUMN_KEY_TYPE)) event.preventDefault();
    },
    /** @param {DragEvent} event */
    onDrop(event) {
      const dropped = event.dataTransfer?.getData(COLUMN_KEY_TYPE);
      if (!dropped) return;
      event.preventDefault();
      onKey(dropped);
    },
  };
}
