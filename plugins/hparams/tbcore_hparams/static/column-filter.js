/**
 * The form to filter a column: by an interval of numbers, a list of values, or a regular
 * expression.
 */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { formatValue } from "tbcore/format.js";
import { FilterBox, makeFilter } from "tbcore/ui.js";
import { distinctTexts, testOf } from "./filters.js";
import { extentOf, isNumeric, labelOf } from "./scales.js";
import { countCells } from "./sorting.js";

/**
 * @typedef {import("./types.js").Cell} Cell
 * @typedef {import("./types.js").Column} Column
 * @typedef {import("./types.js").ColumnFilter} ColumnFilter
 */

/** Most values that the list shows. */
const MAX_LISTED_VALUES = 200;
/**
 * A numeric column with at most this many distinct values has a list beside the interval: no
 * interval contains the batch sizes 16 and 64 but not 32.
 */
const MAX_NUMBERS_AS_LIST = 12;

/**
 * The form.
 * @param {object} props
 * @param {Column} props.column
 * @param {ColumnFilter | null} props.filter
 * @param {(filter: ColumnFilter | null) => void} props.onFilter
 */
export function ColumnFilterForm({ column, filter, onFilter }) {
  const values = useMemo(() => countCells(column.cells), [column]);
  const isList = column.kind !== "metric" && (!isNumeric(column) || values.length <= MAX_NUMBERS_AS_LIST);
  return html`<div class="filter-form">
    ${column.type === "number" && html`<${Interval} column=${column} filter=${filter} onFilter=${onFilter} />`}
    ${isList && column.type !== "time" && column.type !== "duration" && html`<${ValueList} column=${column} values=${values} filter=${filter} onFilter=${onFilter} />`}
    ${!isNumeric(column) && column.type !== "bool" && html`<${Pattern} column=${column} filter=${filter} onFilter=${onFilter} />`}
    <button type="button" class="tb-button" disabled=${filter === null} onClick=${() => onFilter(null)}>Clear filter</button>
  </div>`;
}

/**
 * Two boxes for the bounds of an interval.
 * @param {Parameters<typeof ColumnFilterForm>[0]} props
 */
function Interval({ column, filter, onFilter }) {
  const [low, high] = extentOf(column.cells);
  const { min, max } = filter && "min" in filter ? filter : { min: null, max: null };
  /** @param {number | null} from @param {number | null} to */
  const change = (from, to) => onFilter(from === null && to === null ? null : { key: column.key, min: from, max: to });
  return html`<div class="interval">
    <${Bound} title="From" label="${column.label}, minimum" hint=${formatValue(low)} value=${min} onChange=${(/** @type {any} */ next) => change(next, max)} />
    <${Bound} title="To" label="${column.label}, maximum" hint=${formatValue(high)} value=${max} onChange=${(/** @type {any} */ next) => change(min, next)} />
  </div>`;
}

/**
 * A box for an optional number. Typed text stays when the form is redrawn, until it is submitted or
 * the value changes.
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.label
 * @param {string} props.hint
 * @param {number | null} props.value
 * @param {(value: number | null) => void} props.onChange
 */
function Bound({ title, label, hint, value, onChange }) {
  const [typed, setTyped] = useState(/** @type {{ text: string, original: number | null } | null} */ (null));
  const text = typed?.original === value ? typed.text : String(value ?? "");
  const onDone = () => {
    const next = text.trim() === "" || Number.isNaN(Number(text)) ? null : Number(text);
    setTyped(null);
    if (next !== value) onChange(next);
  };
  return html`<label>
    <span>${title}</span>
    <input
      class="tb-input"
      type="number"
      step="any"
      aria-label=${label}
      placeholder=${hint}
      value=${text}
      onInput=${(/** @type {Event} */ event) => setTyped({ text: /** @type {HTMLInputElement} */ (event.currentTarget).value, original: value })}
      onChange=${onDone}
    />
  </label>`;
}

/**
 * A list of values with check boxes.
 * @param {object} props
 * @param {Column} props.column
 * @param {readonly { value: Cell, count: number }[]} props.values
 * @param {ColumnFilter | null} props.filter
 * @param {(filter: ColumnFilter | null) => void} props.onFilter
 */
function ValueList({ column, values, filter, onFilter }) {
  // A value is checked if it passes, whatever kind of filter there is: that of an expression is below the list.
  const passes = filter && !("text" in filter) ? testOf(filter, new Map()) : () => true;
  /** @param {Cell} value @param {boolean} isChecked */
  const onCheck = (value, isChecked) => {
    const next = values.map((entry) => entry.value).filter((other) => (other === value ? isChecked : passes(other)));
    onFilter(next.length === values.length ? null : { key: column.key, values: next });
  };
  const listed = values.slice(0, MAX_LISTED_VALUES);
  const texts = distinctTexts(listed.map(({ value }) => value ?? ""));
  return html`<fieldset class="values">
    <legend class="tb-hidden">Values of ${column.label}</legend>
    ${listed.map(
      ({ value, count }, i) => html`<div class="value">
        <label>
          <input
            type="checkbox"
            class="tb-check"
            checked=${passes(value)}
            onChange=${(/** @type {Event} */ event) => onCheck(value, /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
          />
          <span class=${value === null ? "tb-dim" : ""}>${valueText(column, value, texts[i])}</span>
        </label>
        <button type="button" class="only" aria-label="Only ${valueText(column, value, texts[i])}" onClick=${() => onFilter({ key: column.key, values: [value] })}>only</button>
        <small>${count}</small>
      </div>`,
    )}
    ${values.length > listed.length && html`<p class="tb-dim">and ${values.length - listed.length} more; use the search below</p>`}
  </fieldset>`;
}

/**
 * Preact hook: the regular expressions among some filters.
 * @param {readonly ColumnFilter[]} filters
 * @returns {ReadonlyMap<string, import("tbcore/ui.js").Filter>} by the keys of columns; the same map
 *   until any expression matches other texts
 */
export function usePatterns(filters) {
  const last = useRef(/** @type {ReadonlyMap<string, import("tbcore/ui.js").Filter>} */ (new Map()));
  const old = last.current;
  const patterns = new Map(filters.flatMap((filter) => ("text" in filter ? [[filter.key, makeFilter(filter.text, old.get(filter.key))]] : [])));
  const isSame = patterns.size === old.size && [...patterns].every(([key, pattern]) => old.get(key) === pattern);
  if (!isSame) last.current = patterns;
  return last.current;
}

/** A box for a regular expression. @param {Parameters<typeof ColumnFilterForm>[0]} props */
function Pattern({ column, filter, onFilter }) {
  const pattern = usePatterns([filter && "text" in filter ? filter : { key: column.key, text: "" }]).get(column.key);
  /** @param {string} next */
  const onInput = (next) => onFilter(next === "" ? null : { key: column.key, text: next });
  return html`<div onKeyDown=${onEscape}><${FilterBox} filter=${pattern} onInput=${onInput} label="Matches (regular expression)" /></div>`;
}

/**
 * Escape closes the form. Browsers would also clear a search box, which would remove the filter.
 * @param {KeyboardEvent} event
 */
function onEscape(event) {
  if (event.key !== "Escape") return;
  event.preventDefault();
  /** @type {HTMLElement | null} */ (/** @type {HTMLElement} */ (event.currentTarget).closest("[popover]"))?.hidePopover();
}

/** The text of a value. @param {Column} column @param {Cell} cell @param {string} text  which tells it from the other values */
function valueText(column, cell, text) {
  if (cell === null) return "— (missing)";
  if (typeof cell === "number") return labelOf(column, cell);
  return cell === "" ? "“” (empty)" : text;
}
