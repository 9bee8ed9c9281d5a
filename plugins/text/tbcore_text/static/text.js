/**
 * One text or table of texts: rendered, as logged, or as differences from another step.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName, formatStep, plural } from "tbcore/format.js";
import { useAnswer } from "tbcore/requests.js";
import { describePlace } from "tbcore/steps.js";
import { labelOf } from "tbcore/text-names.js";
import { IconButton, copy } from "tbcore/ui.js";
import { diffTexts } from "./diff.js";
import { highlightMatches } from "./highlight.js";
import { elementsOf } from "./nodes.js";
import { baseOf, baseRunOf, options } from "./options.js";

/**
 * @typedef {import("./nodes.js").Node} Node
 * @typedef {object} Entry  the text of one step, as `tbcore_text.reader` sends it
 * @property {number[]} shape
 * @property {string[][]} cells  rows of texts; only their beginnings if `is_cut`
 * @property {Node[][][] | null} nodes  each cell as parsed Markdown; null if the text is too long
 * @property {number} length  number of characters in the whole text
 * @property {boolean} is_cut
 *
 * @typedef {import("tbcore/steps.js").SampleProps & {
 *   baseAnswers: import("tbcore/requests.js").Answers<any>, search: import("./search.js").Search }} Props
 */

/** The text of one sample. @param {Props} props */
export function Text({ host, entry, url, run, tag, found, label, expanded, onBroken, baseAnswers, tags, search }) {
  const { show, from, base } = options.parse(host.settings.value);
  const [isOpen, setOpen] = useState(false);
  const [whole, setWhole] = useState({ url: "", text: "" });
  const [isCopied, setCopied] = useState(false);
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isLong = useOverflow(body);
  const query = search.query.value;
  useEffect(() => (body.current && query ? highlightMatches(body.current, query) : undefined));

  const wholeText = whole.url === url ? whole.text : null;
  const load = async () => {
    const response = await fetch(url, { signal: host.signal });
    if (!response.ok) return onBroken();
    setOpen(true);
    setWhole({ url, text: await response.text() });
  };
  const onCopy = async () => {
    if (wholeText === null && entry.is_cut) {
      const response = await fetch(url, { signal: host.signal });
      if (!response.ok) return onBroken();
      await copy(await response.text());
    } else await copy(wholeText ?? toText(entry));
    setCopied(true);
    setTimeout(setCopied, 1500, false);
  };

  const isFolded = !expanded && !isOpen;
  return html`<div class="text-sample" aria-label=${label}>
    <div class="text-body ${isFolded ? "text-folded" : ""} ${isFolded && isLong ? "text-fades" : ""}" ref=${body}>
      ${show === "changes"
        ? html`<${Changes} ...${{ entry, found, baseAnswers }} ...${baseFor({ from, base }, host, tags, run.name, tag, found)} />`
        : wholeText !== null
          ? html`<pre class="text-source">${wholeText}</pre>`
          : html`<${Cells} entry=${entry} isSource=${show === "source"} />`}
    </div>
    <div class="text-foot">
      ${!expanded &&
      (isLong || isOpen) &&
      html`<button type="button" class="tb-button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>${isOpen ? "Show less" : "Show all"}</button>`}
      ${wholeText === null && entry.is_cut && show !== "changes" && html`<button type="button" class="tb-button" onClick=${load}>Load all ${plural(entry.length, "character")}</button>`}
      ${notesOf(entry, show, wholeText !== null).map((note) => html`<span class="tb-dim" key=${note}>${note}</span>`)}
      <span class="text-copied" role="status">${isCopied ? "Copied" : ""}</span>
      <${IconButton} icon=${isCopied ? "check" : "copy"} label="Copy: ${label}" title="Copy the text" onClick=${onCopy} />
    </div>
  </div>`;
}

/**
 * A table of texts; a single text is shown without a table.
 * @param {{ entry: Entry, isSource: boolean }} props
 */
function Cells({ entry, isSource }) {
  const { cells, nodes } = entry;
  const elements = useMemo(() => nodes?.map((row) => row.map(elementsOf)), [nodes]);
  /** @param {number} row @param {number} column */
  const cellAt = (row, column) =>
    isSource || !elements ? html`<pre class="text-source">${cells[row][column]}</pre>` : html`<div class="text-drawn">${elements[row][column]}</div>`;
  if (isSingleCell(entry)) return cellAt(0, 0);
  return html`<table class="text-cells">
    <tbody>
      ${cells.map((row, i) => html`<tr key=${i}>${row.map((_, j) => html`<td key=${j}>${cellAt(i, j)}</td>`)}</tr>`)}
    </tbody>
  </table>`;
}

/**
 * The differences between a text and that of another step or run.
 * @param {object} props
 * @param {Entry} props.entry
 * @param {import("tbcore/requests.js").Params | null} props.params  of the request for the other
 *   text; null if there is none
 * @param {string} props.why  why there is none
 * @param {string} props.of  the other run; "" if it is the same
 * @param {{ index: number | null }} props.found
 * @param {import("tbcore/requests.js").Answers<any>} props.baseAnswers
 */
function Changes({ entry, params, why, of, found, baseAnswers }) {
  const { value: baseAnswer, error } = useAnswer(baseAnswers, params ?? { run: "", tag: "" }, params !== null);
  const lines = useMemo(() => (baseAnswer?.samples?.[0] ? diffTexts(toText(baseAnswer.samples[0]), toText(entry)) : []), [baseAnswer, entry]);
  if (params === null) {
    return html`<p class="tb-dim">${why}</p>
      <${Cells} entry=${entry} isSource=${true} />`;
  }
  if (error) return html`<p class="tb-card-error" role="status">${error}</p>`;
  if (!baseAnswer) return html`<p class="tb-dim">Loading …</p>`;
  if (baseAnswer.index === null) return html`<p class="tb-dim">${of ? `${of} logged nothing` : "Nothing was logged"} at or before step ${formatStep(Number(params.step))}.</p>`;
  if (!of && baseAnswer.index === found.index) return html`<p class="tb-dim">Other steps are compared with this one.</p>`;
  const base = of ? `from ${of}, ${describePlace(baseAnswer)}` : `since ${describePlace(baseAnswer)}`;
  if (lines.length === 0) return html`<p class="tb-dim">No changes ${base}.</p>`;
  return html`<p class="tb-dim">Changes ${base}:</p>
    <pre class="text-diff">${lines.map((line) =>
      line.kind === "gap"
        ? html`<span class="text-gap">${plural(line.count, "unchanged line")}</span>`
        : html`<${ELEMENTS[line.kind]} class="text-line">
            <span class="text-sign">${SIGNS[line.kind]}</span>${line.parts.map((part) => (part.kind === "same" || line.parts.length === 1 ? part.text : html`<mark>${part.text}</mark>`))}${"\n"}</${ELEMENTS[line.kind]}>`,
    )}</pre>`;
}

/** Maps each kind of line in a comparison to the name of its element. */
const ELEMENTS = { same: "span", removed: "del", added: "ins" };
/** Maps each kind of line in a comparison to the sign before the line. */
const SIGNS = { same: "  ", removed: "− ", added: "+ " };

/**
 * What a text is compared with, as props of `Changes`.
 * @param {{ from: string, base: number }} choice
 * @param {import("tbcore/host.js").Host} host
 * @param {Readonly<Record<string, string[]>>} tags  of each run
 * @param {string} run
 * @param {string} tag
 * @param {any} found
 */
function baseFor(choice, host, tags, run, tag, found) {
  const query = baseOf(choice, found);
  if (choice.from !== "run") return { params: query && { run, tag, ...query }, of: "", why: "This is the first step, so there is nothing to compare it with." };
  const base = baseRunOf(host);
  const of = formatName(labelOf(host.wantedRuns.value, base));
  if (base === run) return { params: null, of, why: "Other runs are compared with this one." };
  const hasTag = Object.hasOwn(tags, base) && tags[base].includes(tag);
  return { params: hasTag ? { run: base, tag, ...query } : null, of, why: `${of} has no such text to compare it with.` };
}

/** Whether the entry is one text, not a table. @param {Entry} entry */
function isSingleCell({ cells, shape }) {
  return shape.every((size) => size === 1) && cells.length === 1;
}

/** The entry as plain text: one line per row, cells separated by tabs. @param {Entry} entry */
function toText({ cells }) {
  return cells.map((row) => row.join("\t")).join("\n");
}

/**
 * Notes on what is not shown.
 * @param {Entry} entry
 * @param {string} show
 * @param {boolean} isWhole
 * @returns {string[]}
 */
function notesOf(entry, show, isWhole) {
  const notes = [];
  if (entry.shape.length > 2) notes.push(`Only the first table is shown (shape ${entry.shape.join(" × ")}).`);
  if (entry.is_cut && !isWhole) notes.push(show === "changes" ? "Only the beginning of each text is compared." : "Only the beginning is shown.");
  else if (entry.nodes === null && show === "text") notes.push("Too long to render as Markdown.");
  return notes;
}

/**
 * Preact hook: whether an element's contents are taller than the element.
 * @param {{ current: HTMLElement | null }} ref
 */
function useOverflow(ref) {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const { current } = ref;
    if (!current) return undefined;
    const update = () => setLong(current.scrollHeight > current.clientHeight + 4);
    const sizes = new ResizeObserver(update);
    const observe = () => {
      sizes.disconnect();
      sizes.observe(current);
      for (const child of current.children) sizes.observe(child);
      update();
    };
    const children = new MutationObserver(observe);
    children.observe(current, { childList: true });
    observe();
    return () => {
      sizes.disconnect();
      children.disconnect();
    };
  }, []);
  return isLong;
}
