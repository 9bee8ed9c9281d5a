/** The form in the run list that adds, orders and removes columns. Loaded when it is first opened. */

import { html } from "htm/preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { describeFigure } from "../../lib/group-figure.js";
import { AVERAGES } from "../../lib/group-statistics.js";
import { FACTS, formatAttribute } from "../../lib/queries/names.js";
import { formatLists, parseLists } from "../../lib/text-names.js";
import { IconButton, save, toCSV } from "../../lib/ui/controls.js";
import { attributesFor } from "../state/attributes.js";
import { parseColumns, tableOf } from "../state/columns.js";
import { groupTableOf, lastIn } from "../state/group-columns.js";
import { widenList, widthOfNames } from "./fit.js";

/** @import { Column } from "../state/columns.js" */
/** @import { State } from "../state/reader-state.js" */

/** What a column can show. @type {Readonly<Record<string, string>>} */
const CHOICES = {
  hparam: "Hyperparameter",
  last: "Last value of a tag",
  min: "Lowest value of a tag",
  max: "Highest value of a tag",
  at: "Value of a tag at a step",
  change: "Change of a tag's value over the last steps",
  step: "Last step",
  age: "Age: time since the last event",
  took: "Duration: first to last event",
};
/** Maps choices with a number to its pattern and its name. @type {ReadonlyMap<string, { pattern: RegExp, title: string }>} */
const NUMBERS = new Map([["at", { pattern: /^[+-]?\d+$/, title: "Step" }], ["change", { pattern: /^\+?0*[1-9]\d*$/, title: "Number of steps" }]]);

/**
 * The form. `runs` are the runs of the list, in its order.
 * @param {{ state: State, runs: readonly string[], onClose: () => void }} props
 */
export function ColumnEditor({ state, runs, onClose }) {
  const attributes = attributesFor(state);
  const listId = useId();
  const names = attributes.names.value;
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  const [name, setName] = useState("");
  const [step, setStep] = useState("");
  const [choice, input] = [useRef(/** @type {HTMLElement | null} */ (null)), useRef(/** @type {HTMLElement | null} */ (null))];
  const focus = () => (input.current ?? choice.current)?.focus();
  /** The width that names had before columns were added, in CSS pixels; 0 if the list is as wide as it should be. */
  const [nameWidth, setNameWidth] = useState(0);
  useEffect(() => {
    attributes.areNamesWanted.value = true;
    import("./column-table.js").catch(console.warn); // will be needed soon
    focus();
  }, []);

  // A name that only a tag has means its last value, unless a hyperparameter was asked for.
  const isTagOnly = names?.hparams.length === 0 || (names?.tags.includes(name) && !names.hparams.includes(name));
  const what = chosen ?? (isTagOnly ? "last" : "hparam");
  const isFact = FACTS.includes(what);
  const number = NUMBERS.get(what);
  const known = [...(what === "hparam" ? (names?.hparams ?? []) : []), ...(what === "hparam" && chosen !== null ? [] : (names?.tags ?? []))];
  const columns = parseColumns(parseLists(state.columnsText.value).flat(), (text) => attributes.column(text).meaning.value);
  const texts = columns.map(({ text }) => text);
  const isComplete = isFact || (name !== "" && (!number || number.pattern.test(step.trim())));
  const isReading = columns.some(({ text }) => !attributes.valuesOf(text));
  useEffect(() => {
    if (nameWidth === 0 || isReading) return undefined;
    const frame = requestAnimationFrame(() => {
      widenList(nameWidth);
      setNameWidth(0);
    });
    return () => cancelAnimationFrame(frame);
  }, [nameWidth, isReading, state.columnsText.value]);
  /** @param {readonly string[]} next */
  const show = (next) => void (state.columnsText.value = formatLists([next]) ?? "");
  /** @param {number} from @param {number} to */
  const move = (from, to) => to >= 0 && to < texts.length && show(texts.with(from, texts[to]).with(to, texts[from]));

  /** @param {Event} event */
  const onSubmit = (event) => {
    event.preventDefault();
    if (!isComplete) return;
    setNameWidth(nameWidth || widthOfNames());
    show([...texts, textOf(what, name, step)]);
    setName("");
    focus();
  };

  return html`<form class="tb-group-editor tb-column-editor" aria-label="Columns" onSubmit=${onSubmit} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && onClose()}>
    ${columns.length > 0 &&
    html`<ol>
      ${columns.map(({ text, title, error, attribute }, i) => {
        const unknown = attributes.unknown.value.get(text);
        const isTag = attribute?.kind === "hparam" && names?.tags.includes(attribute.name);
        const close = unknown && isTag ? [textOf("last", attribute.name, ""), ...unknown] : unknown;
        return html`<li key=${text}>
          <span class=${error === null ? "" : "tb-filter-error"} title=${title}>${error === null ? text : title}</span>
          <${IconButton} icon="up" label="Move ${text} up" aria-disabled=${i === 0} onClick=${() => move(i, i - 1)} />
          <${IconButton} icon="down" label="Move ${text} down" aria-disabled=${i === columns.length - 1} onClick=${() => move(i, i + 1)} />
          <${IconButton} icon="close" label="Remove ${text}" onClick=${() => {
            show(texts.filter((other) => other !== text));
            focus();
          }} />
          ${close &&
          html`<small role="status">
            No run has it${close.length > 0 ? ". Close: " : "."}
            ${close.map((other) => html`<button type="button" onClick=${() => show(texts.with(i, other))}>${other}</button>`)}
          </small>`}
        </li>`;
      })}
    </ol>`}
    <div class="tb-column-new">
      <select
        class="tb-input"
        aria-label="What to show"
        ref=${choice}
        onChange=${(/** @type {Event} */ event) => setChosen(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}
      >
        ${Object.entries(CHOICES).map(([value, title]) => html`<option value=${value} selected=${value === what}>${title}</option>`)}
      </select>
      ${!isFact &&
      html`<input
        class="tb-input"
        list=${listId}
        aria-label=${what === "hparam" ? "Name of the hyperparameter" : "Tag"}
        placeholder=${known.length === 0 ? "Name" : `Name, such as ${known[0]}`}
        spellcheck="false"
        autocomplete="off"
        value=${name}
        ref=${input}
        onInput=${(/** @type {InputEvent} */ event) => setName(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      />`}
      ${number &&
      html`<input
        class="tb-input"
        inputmode="numeric"
        aria-label=${number.title}
        placeholder=${number.title}
        value=${step}
        onInput=${(/** @type {InputEvent} */ event) => setStep(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
      />`}
      <button type="submit" class="tb-button primary" disabled=${!isComplete}>Add</button>
      <datalist id=${listId}>${known.map((one) => html`<option value=${one}></option>`)}</datalist>
    </div>
    <div class="tb-group-buttons">
      <button type="button" class="tb-button" onClick=${onClose}>Done</button>
      <${Downloads} state=${state} runs=${runs} columns=${columns} isDisabled=${columns.length === 0 || isReading} />
    </div>
  </form>`;
}

/**
 * The buttons that save the columns of the list: a row for each run, and one for each group.
 * @param {{ state: State, runs: readonly string[], columns: readonly Column[], isDisabled: boolean }} props
 */
function Downloads({ state, runs, columns, isDisabled }) {
  const attributes = attributesFor(state);
  const groupOf = state.groupOf.value;
  const average = state.rules.value?.average.value ?? "mean";
  const spread = state.rules.value?.spread.value ?? "deviation";
  const given = () => columns.map(({ text, attribute }) => ({ text, attribute, values: attributes.valuesOf(text), steps: attributes.column(text).steps.value, last: lastIn(attributes, attribute) }));
  /** @param {{ header: string[], rows: (string | number)[][] }} table @param {string} name */
  const download = ({ header, rows }, name) => save(toCSV(header, rows), name, "text/csv");
  const first = columns.length === 0 ? "Add a column first. " : "";
  return html`<button type="button" class="tb-button" disabled=${isDisabled} title="${first}All runs of the list with all columns, in full precision" onClick=${() => download(tableOf(runs, groupOf, given()), "runs.csv")}>
      Download CSV
    </button>
    ${groupOf &&
    html`<button
      type="button"
      class="tb-button"
      disabled=${isDisabled}
      title="${first}All groups of the list, in full precision: of each tag's values the ${describeFigure(AVERAGES[average], spread)}, how many are finite, and how many are not; of lowest and highest values, also how many of their runs end with NaN or infinity"
      onClick=${() => download(groupTableOf(runs, groupOf, given(), average, spread), "groups.csv")}
    >
      CSV of groups
    </button>`}`;
}

/** The attribute that a column is to show, as text. @param {string} what  a key of CHOICES @param {string} name @param {string} step */
function textOf(what, name, step) {
  if (FACTS.includes(what)) return formatAttribute({ kind: "fact", name: what });
  if (what === "hparam") return formatAttribute({ kind: "hparam", name });
  return formatAttribute({ kind: "value", name, stat: what, step: NUMBERS.has(what) ? Number(step) : null });
}
