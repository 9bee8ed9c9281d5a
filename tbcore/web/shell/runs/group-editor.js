/**
 * The form in the run list that sets the rule for grouping runs, with a preview of the groups.
 * Loaded when it is first opened.
 */

import { computed } from "@preact/signals-core";
import { html } from "htm/preact";
import { useId, useMemo, useRef, useState } from "preact/hooks";
import { plural } from "../../format.js";
import { expressionOf } from "../../lib/ui/expressions.js";
import { WORDS, compileRule, groupRuns, suggestRules } from "./groups.js";
import { groupsOf } from "./tree.js";

/** Number of groups that the preview lists. */
const MAX_LISTED_GROUPS = 4;

/**
 * @typedef {object} Preview  the groups that a rule makes
 * @property {string | null} error  why the rule is invalid or useless
 * @property {[name: string, runs: string[]][]} groups  the largest groups of several runs
 * @property {number} numMore  number of other groups of several runs
 * @property {number} numGroups  number of all groups
 * @property {number} numAlone  number of groups of one run
 */

/** @type {Preview} */
const NO_PREVIEW = { error: null, groups: [], numMore: 0, numGroups: 0, numAlone: 0 };

/**
 * The form.
 * @param {object} props
 * @param {import("../state/reader-state.js").State} props.state
 * @param {() => void} props.onClose
 */
export function GroupEditor({ state, onClose }) {
  const helpId = useId();
  const runs = state.sortedRuns.value;
  const [rule, setRule] = useState(state.groupRule.value);
  const suggested = useMemo(() => suggestRules(runs), [runs]);
  const last = useRef(NO_PREVIEW);
  const preview = useMemo(() => computed(() => previewOf(rule, runs)), [rule, runs]).value ?? last.current;
  last.current = preview;
  /** @param {string} next */
  const apply = (next) => {
    state.groupRule.value = next;
    onClose();
  };

  return html`<form
    class="tb-group-editor"
    aria-label="Group runs"
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      if (!preview.error) apply(rule);
    }}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Escape" && onClose()}
  >
    ${suggested.length > 0 &&
    html`<div class="tb-group-words">
      ${suggested.map(
        (word) => html`<button type="button" aria-pressed=${word === rule} onClick=${() => setRule(word)}>
          <span>${titleOf(word, runs)}</span><small>${plural(groupsOf(runs, compileRule(word)).size, "group")}</small>
        </button>`,
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
      ref=${(/** @type {HTMLInputElement | null} */ input) => input && !input.dataset.seen && ((input.dataset.seen = "yes"), input.focus())}
      onInput=${(/** @type {InputEvent} */ event) => setRule(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <div class="tb-group-preview" role="status">
      ${rule !== "" && preview.error && html`<p class="tb-filter-error">${preview.error}</p>`}
      ${preview.groups.length > 0 &&
      html`<p>${plural(preview.numGroups, "group")} of ${plural(runs.length, "run")}${preview.numAlone > 0 ? `, ${preview.numAlone} with a single run` : ""}</p>
        <ul>
          ${preview.groups.map(([name, members]) => html`<li title=${members.slice(0, 20).join("\n")}><span>${name}</span><small>${members.length}</small></li>`)}
          ${preview.numMore > 0 && html`<li class="tb-dim">and ${plural(preview.numMore, "more group")}</li>`}
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
      </dl>
    </details>
    <div class="tb-group-buttons">
      <button type="submit" class="tb-button primary" disabled=${rule === "" || Boolean(preview.error)}>Group</button>
      ${state.groupRule.value !== "" && html`<button type="button" class="tb-button" onClick=${() => apply("")}>Ungroup</button>`}
      <button type="button" class="tb-button" onClick=${onClose}>Cancel</button>
    </div>
  </form>`;
}

/**
 * The title of a suggested rule. A path pattern is shown by example: `exp/seed1 → exp/{}`.
 * @param {string} rule
 * @param {readonly string[]} runs
 */
function titleOf(rule, runs) {
  if (WORDS[rule]) return WORDS[rule].title;
  const group = compileRule(rule);
  const example = runs.find((run) => group(run) !== run) ?? "";
  return `${example} → ${group(example)}`;
}

/**
 * A preview of the groups that a rule makes; null while nothing is known of a regular expression.
 * @param {string} rule
 * @param {readonly string[]} runs
 * @returns {Preview | null}
 */
function previewOf(rule, runs) {
  if (rule === "") return NO_PREVIEW;
  try {
    const groupOf = groupRuns(rule, runs, expressionOf);
    if (!groupOf) return null;
    const all = [...groupsOf(runs, (run) => groupOf.get(run) ?? run)];
    const groups = all.filter(([, members]) => members.length > 1).sort((a, b) => b[1].length - a[1].length);
    if (groups.length === 0) return { ...NO_PREVIEW, error: "No two runs are in the same group." };
    const shown = groups.slice(0, MAX_LISTED_GROUPS);
    return { error: null, groups: shown, numMore: groups.length - shown.length, numGroups: all.length, numAlone: all.length - groups.length };
  } catch (error) {
    return { ...NO_PREVIEW, error: error instanceof Error ? error.message : String(error) };
  }
}
