/**
 * The part of the run list where a rule for groups is chosen, with what it would make. Loaded when it is first opened.
 */

import { html } from "htm/preact";
import { useId, useMemo, useState } from "preact/hooks";
import { plural } from "./format.js";
import { WORDS, compileRule, groupsOf, suggestRules } from "./run-groups.js";

const NUM_EXAMPLES = 4;

/**
 * @param {object} props
 * @param {import("../state.js").State} props.state
 * @param {() => void} props.onClose
 */
export function GroupEditor({ state, onClose }) {
  const helpId = useId();
  const runs = state.sortedRuns.value;
  const [rule, setRule] = useState(state.groupRule.value);
  const suggested = useMemo(() => suggestRules(runs), [runs]);
  const preview = useMemo(() => previewOf(rule, runs), [rule, runs]);
  /** @param {string} next */
  const apply = (next) => {
    state.setGroupRule(next);
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
      html`<p>${plural(preview.numGroups, "group")} of ${plural(runs.length, "run")}${preview.numAlone > 0 ? `, ${preview.numAlone} of a single run` : ""}</p>
        <ul>
          ${preview.groups.map(([name, members]) => html`<li title=${members.slice(0, 20).join("\n")}><span>${name}</span><small>${members.length}</small></li>`)}
          ${preview.numMore > 0 && html`<li class="tb-dim">and ${plural(preview.numMore, "more group")}</li>`}
        </ul>`}
    </div>
    <details>
      <summary>What to write</summary>
      <dl id=${helpId}>
        <dt>exp/{seed}</dt>
        <dd>a path; what stands in braces differs within a group, * between groups</dd>
        <dt>re:lr=([^_]+)</dt>
        <dd>a regular expression; its groups in () name the group</dd>
        <dt>seeds</dt>
        <dd>names without seed=3, _s3, -fold2</dd>
        <dt>numbers</dt>
        <dd>names without a number at the end of any part</dd>
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
 * A suggested rule for a reader: a path by the first run that it says something about, `exp/seed1 → exp/{}`.
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
 * What a rule would make: the largest groups first.
 * @param {string} rule
 * @param {readonly string[]} runs
 * @returns {{ error: string | null, groups: [string, string[]][], numMore: number, numGroups: number, numAlone: number }}
 *   numMore: groups of several runs beyond those listed
 */
function previewOf(rule, runs) {
  const nothing = { error: null, groups: [], numMore: 0, numGroups: 0, numAlone: 0 };
  if (rule === "") return nothing;
  try {
    const all = [...groupsOf(runs, compileRule(rule))];
    const groups = all.filter(([, members]) => members.length > 1).sort((a, b) => b[1].length - a[1].length);
    if (groups.length === 0) return { ...nothing, error: "This puts no two runs together." };
    const shown = groups.slice(0, NUM_EXAMPLES);
    return { error: null, groups: shown, numMore: groups.length - shown.length, numGroups: all.length, numAlone: all.length - groups.length };
  } catch (error) {
    return { ...nothing, error: error instanceof Error ? error.message : String(error) };
  }
}
