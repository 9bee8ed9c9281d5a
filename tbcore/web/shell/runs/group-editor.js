/**
 * The form in the run list that sets the rule for grouping runs, with a preview of the groups, and
 * the rule for their colours. Loaded when it is first opened.
 */

import { computed } from "@preact/signals-core";
import { html } from "htm/preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { formatName, plural } from "../../lib/format.js";
import { describeFigure } from "../../lib/group-figure.js";
import { AVERAGES } from "../../lib/group-statistics.js";
import { expressionOf } from "../../lib/queries/expressions.js";
import { attributesFor } from "../state/attributes.js";
import { differingHparams } from "../state/groupings.js";
import { attributesOf, compileRule, groupRuns, suggestRules } from "../state/groups.js";
import { FIGURES } from "../state/rules.js";
import { groupsOf } from "../state/tree.js";
import { WORDS } from "../../lib/word-rules.js";
import { ColorField } from "./color-field.js";
import { resetColors } from "./seeds-offer.js";

/** Number of groups that the preview lists. */
const MAX_LISTED_GROUPS = 4;
/** Number of hyperparameters that are suggested. */
const MAX_SUGGESTED = 8;

/**
 * @typedef {object} Preview  the groups that a rule makes
 * @property {string | null} error  why the rule is invalid or useless
 * @property {[name: string, runs: string[]][]} groups  the groups of several runs, largest first
 * @property {number} numAlone  number of groups of one run
 */

/** @type {Preview} */
const NO_PREVIEW = { error: null, groups: [], numAlone: 0 };

/** The form. @param {{ state: import("../state/reader-state.js").State, onClose: () => void }} props */
export function GroupEditor({ state, onClose }) {
  const helpId = useId();
  const runs = state.sortedRuns.value;
  const [rule, setRule] = useState(state.groupRule.value);
  const suggested = useMemo(
    () => suggestRules(runs).map((word) => ({ word, title: titleOf(word, runs), numGroups: groupsOf(runs, compileRule(word)).size })),
    [runs],
  );
  const [closing] = useState(() => new AbortController());
  useEffect(() => () => closing.abort(), []);
  // Those whose values differ, but are not all different.
  const hparams = useMemo(() => differingHparams(state, closing.signal), []).value;
  useEffect(() => attributesFor(state).want(attributesOf(rule)), [rule]);
  const last = useRef(NO_PREVIEW);
  const preview = useMemo(() => computed(() => previewOf(rule, runs, state)), [rule, runs]).value ?? last.current;
  last.current = preview;
  const { groups, numAlone } = preview;
  const input = useRef(/** @type {HTMLElement | null} */ (null));
  const form = useRef(/** @type {HTMLElement | null} */ (null));
  // Most readers take a suggestion; the box for a rule would open the keyboard of a phone.
  useEffect(() => /** @type {HTMLElement | null} */ (form.current?.querySelector("button, input"))?.focus(), []);
  const applied = state.groupRule.value;
  const [before] = useState(applied);
  /** Groups by a rule, and leaves the form open. @param {string} next */
  const choose = (next) => {
    setRule(next);
    state.groupRule.value = next;
    if (next === "") resetColors(state);
  };
  /** @param {string} next */
  const apply = (next) => {
    choose(next);
    onClose();
  };
  const undo = () => {
    choose(before);
    // The button goes.
    input.current?.focus();
  };

  return html`<form
    class="tb-group-editor"
    aria-label="Group runs"
    ref=${form}
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (!preview.error) apply(rule);
    }}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && onClose()}
  >
    ${suggested.length + hparams.length > 0 &&
    html`<div class="tb-group-words">
      ${suggested.map(
        ({ word, title, numGroups }) => html`<button type="button" aria-pressed=${word === applied} onClick=${() => choose(word)}>
          <span>${title}</span><small>${plural(numGroups, "group")}</small>
        </button>`,
      )}
      ${hparams.slice(0, MAX_SUGGESTED).map(
        ({ name, numValues, numRanges }) => {
          const word = `by:${name}${numRanges ? "~" : ""}`;
          return html`<button type="button" aria-pressed=${word === applied} onClick=${() => choose(word)}>
            <span>By ${formatName(name)}</span><small>${numRanges ? plural(numRanges, "range") : plural(numValues, "value")}</small>
          </button>`;
        },
      )}
    </div>`}
    <input
      class="tb-input"
      aria-label="Rule"
      placeholder="exp/{seed}"
      spellcheck="false"
      autocomplete="off"
      maxlength="400"
      aria-describedby=${helpId}
      aria-invalid=${rule !== "" && preview.error ? "true" : undefined}
      value=${rule}
      ref=${input}
      onInput=${(/** @type {InputEvent} */ event) => setRule(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <div class="tb-group-preview" role="status">
      ${rule !== "" && preview.error && html`<p class="tb-filter-error">${preview.error}</p>`}
      ${groups.length > 0 &&
      html`<p>${plural(groups.length + numAlone, "group")} of ${plural(runs.length, "run")}${numAlone > 0 ? `, ${numAlone} with a single run` : ""}</p>
        <ul>
          ${groups
            .slice(0, MAX_LISTED_GROUPS)
            .map(([name, members]) => html`<li title=${members.slice(0, 20).map(formatName).join("\n")}><span>${formatName(name)}</span><small>${members.length}</small></li>`)}
          ${groups.length > MAX_LISTED_GROUPS && html`<li class="tb-dim">and ${plural(groups.length - MAX_LISTED_GROUPS, "more group")}</li>`}
        </ul>`}
    </div>
    <details>
      <summary>Syntax</summary>
      <dl id=${helpId}>
        <dt>exp/{seed}</dt>
        <dd>a path: runs in a group may differ in {…}, and each value of * makes another group</dd>
        <dt>re:lr=([^_]+)</dt>
        <dd>a regular expression: the text captured by ( ) is the name of the group</dd>
        <dt>seeds</dt>
        <dd>runs whose names differ only in a seed, such as seed=3, _s3 or -fold2</dd>
        <dt>numbers</dt>
        <dd>runs whose names differ only in numbers at the end of path segments</dd>
        <dt>by:lr,optimizer</dt>
        <dd>runs with the same hyperparameters; also values, as by:loss:last</dd>
        <dt>by:lr~</dt>
        <dd>runs with hyperparameters in the same range: 1 to 2, 2 to 5, 5 to 10, 10 to 20 …</dd>
      </dl>
    </details>
    <div class="tb-group-buttons">
      <button type="submit" class="tb-button primary" disabled=${rule === "" || rule === applied || Boolean(preview.error)}>Group</button>
      ${applied !== before && html`<button type="button" class="tb-button" onClick=${undo}>Undo</button>`}
      ${before !== "" && applied !== "" && html`<button type="button" class="tb-button" onClick=${() => apply("")}>Ungroup</button>`}
      <button type="button" class="tb-button" onClick=${onClose}>Close</button>
    </div>
    ${applied !== "" && html`<${AverageField} state=${state} />`}
    <${ColorField} state=${state} hparams=${hparams.map(({ name }) => name)} />
  </form>`;
}

/** The field that sets which average and which spread groups show, in the list and in all tabs. @param {{ state: import("../state/reader-state.js").State }} props */
function AverageField({ state }) {
  const { figure, average, spread } = state.rules.value ?? {};
  return html`<div class="tb-group-colors">
    <label>
      Groups show
      <select
        title="In the list of runs and in all tabs: the ${describeFigure(AVERAGES[average?.value ?? "mean"], spread?.value ?? "deviation")} of the runs' finite values"
        onChange=${(/** @type {Event} */ event) => {
          const { value } = /** @type {HTMLSelectElement} */ (event.currentTarget);
          state.average.value = value === "mean" ? "" : value;
        }}
      >
        ${Object.entries(FIGURES).map(([value, name]) => html`<option value=${value} selected=${value === figure?.value}>${name}</option>`)}
      </select>
    </label>
  </div>`;
}

/** The title of a suggested rule. That of a path pattern has names of the folders that it puts together. @param {string} rule @param {readonly string[]} runs */
function titleOf(rule, runs) {
  if (Object.hasOwn(WORDS, rule)) return WORDS[rule].title;
  const index = rule.split("/").length - 1;
  const [members] = [...groupsOf(runs, compileRule(rule)).values()].sort((a, b) => b.length - a.length);
  const [first, second, ...others] = new Set(members.map((run) => run.split("/")[index]));
  return `Average over ${first}, ${second}${others.length > 0 ? ", …" : ""}`;
}

/**
 * A preview of the groups that a rule makes; null while attributes are read, or nothing is known of
 * a regular expression.
 * @param {string} rule
 * @param {readonly string[]} runs
 * @param {import("../state/reader-state.js").State} state
 * @returns {Preview | null}
 */
function previewOf(rule, runs, state) {
  const attributes = attributesFor(state);
  if (rule === "") return NO_PREVIEW;
  try {
    const groupOf = groupRuns(rule, runs, expressionOf, attributes.valuesOf, attributes.nameOf);
    if (!groupOf) return null;
    for (const text of attributesOf(rule)) {
      const mistake = attributes.mistakeIn(text);
      if (mistake !== null) return { ...NO_PREVIEW, error: mistake };
      const close = attributes.unknown.value.get(text);
      if (close) return { ...NO_PREVIEW, error: `No run has ${text}.${close.length > 0 ? ` Close: ${close.join(", ")}` : ""}` };
    }
    const all = [...groupsOf(runs, (run) => groupOf.get(run) ?? run)];
    const groups = all.filter(([, members]) => members.length > 1).sort((a, b) => b[1].length - a[1].length);
    if (groups.length === 0) return { ...NO_PREVIEW, error: "No two runs are in the same group." };
    return { error: null, groups, numAlone: all.length - groups.length };
  } catch (error) {
    return { ...NO_PREVIEW, error: error instanceof Error ? error.message : String(error) };
  }
}
