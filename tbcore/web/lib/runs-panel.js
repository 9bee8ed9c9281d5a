/**
 * The run list: colours, check boxes, a filter, "only this one". Fast for thousands of runs, because only the visible
 * rows exist.
 *
 * Keys inside the list: up, down, Home and End walk, Space checks, Enter checks this run alone.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { FilterBox } from "./filter-box.js";
import { commonPrefixLength, splitName } from "./names.js";
import { VirtualList } from "./virtual-list.js";

const ROW_HEIGHT = 26;

/**
 * @typedef {object} RunsPanelProps
 * @property {readonly string[]} runs  all runs, in the order in which they are listed
 * @property {ReadonlySet<string>} checked
 * @property {ReadonlyMap<string, string>} colors
 * @property {import("./filter.js").Filter} filter
 * @property {(text: string) => void} onFilter
 * @property {(names: string[], checked: boolean) => void} onCheck
 * @property {(name: string) => void} onOnly
 * @property {string} [note]  one line about what is checked while nobody has chosen
 */

/** @param {RunsPanelProps} props */
export function RunsPanel({ runs, checked, colors, filter, onFilter, onCheck, onOnly, note }) {
  const shown = useMemo(() => runs.filter(filter.matches), [runs, filter]);
  const numChecked = useMemo(() => shown.reduce((sum, run) => sum + (checked.has(run) ? 1 : 0), 0), [shown, checked]);
  const [active, setActive] = useState(0);
  const focused = useRef(false);
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const current = Math.min(active, Math.max(0, shown.length - 1));

  useEffect(() => {
    // Only after an arrow key: the focus stays where it is when runs arrive.
    if (!focused.current) return;
    focused.current = false;
    /** @type {HTMLElement | null | undefined} */
    const row = panel.current?.querySelector('.tb-run input[tabindex="0"]');
    row?.focus({ preventScroll: true });
  }, [current]);

  /** @param {number} index */
  const moveTo = (index) => {
    focused.current = true;
    setActive(Math.min(shown.length - 1, Math.max(0, index)));
  };

  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const actions = {
      ArrowDown: () => moveTo(current + 1),
      ArrowUp: () => moveTo(current - 1),
      PageDown: () => moveTo(current + 12),
      PageUp: () => moveTo(current - 12),
      Home: () => moveTo(0),
      End: () => moveTo(shown.length - 1),
    };
    if (event.key === "Enter" && event.target instanceof HTMLInputElement) actions.Enter = () => onOnly(shown[current]);
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };

  return html`<section class="tb-runs" aria-label="Runs" ref=${panel}>
    <${FilterBox} filter=${filter} onInput=${onFilter} label="Filter runs (regular expression)" />
    <div class="tb-runs-all">
      <label>
        <${CheckBox}
          checked=${shown.length > 0 && numChecked === shown.length}
          mixed=${numChecked > 0 && numChecked < shown.length}
          disabled=${shown.length === 0}
          onChange=${(/** @type {boolean} */ on) => onCheck(shown, on)}
        />
        <span>${shown.length < runs.length ? "All matching" : "All runs"}</span>
      </label>
      <span class="tb-runs-count" role="status">${countText(numChecked, shown.length, runs.length)}</span>
    </div>
    ${note && html`<p class="tb-runs-note">${note}</p>`}
    ${shown.length === 0
      ? html`<p class="tb-runs-note">${runs.length > 0 ? "No run matches." : "No runs yet."}</p>`
      : html`<${VirtualList}
          items=${shown}
          rowHeight=${ROW_HEIGHT}
          keyOf=${(/** @type {string} */ run) => run}
          label="Runs"
          showIndex=${focused.current ? current : undefined}
          onKeyDown=${onKeyDown}
          renderRow=${(/** @type {string} */ run, /** @type {number} */ index) =>
            html`<${RunRow}
              run=${run}
              previous=${shown[index - 1] ?? ""}
              color=${colors.get(run)}
              checked=${checked.has(run)}
              isCurrent=${index === current}
              onCheck=${onCheck}
              onOnly=${onOnly}
              onFocus=${() => setActive(index)}
            />`}
        />`}
  </section>`;
}

/**
 * @param {object} props
 * @param {string} props.run
 * @param {string} props.previous  the row above, whose path is not said again
 * @param {string | undefined} props.color
 * @param {boolean} props.checked
 * @param {boolean} props.isCurrent  the one row in the tab order
 * @param {(names: string[], checked: boolean) => void} props.onCheck
 * @param {(name: string) => void} props.onOnly
 * @param {() => void} props.onFocus
 */
function RunRow({ run, previous, color, checked, isCurrent, onCheck, onOnly, onFocus }) {
  return html`<div class="tb-run" title=${run}>
    <label>
      <input
        type="checkbox"
        class="tb-check"
        style=${{ "--tb-check": color }}
        checked=${checked}
        tabindex=${isCurrent ? 0 : -1}
        onFocus=${onFocus}
        onChange=${(/** @type {Event} */ event) =>
          onCheck([run], /** @type {HTMLInputElement} */ (event.currentTarget).checked)}
      />
      <${Name} name=${run} dimmed=${commonPrefixLength(run, previous)} />
    </label>
    <button type="button" class="tb-run-only" tabindex="-1" onClick=${() => onOnly(run)} aria-label="Only ${run}">only</button>
  </div>`;
}

/**
 * A name whose parents give way where there is no room, and are dimmed as far as they were said before.
 * @param {object} props
 * @param {string} props.name
 * @param {number} [props.dimmed]  characters; by default all parents
 */
export function Name({ name, dimmed }) {
  const [parents, leaf] = splitName(name);
  const cut = Math.min(dimmed ?? parents.length, parents.length);
  return html`<span class="tb-name">
    ${cut > 0 && html`<span class="tb-name-said">${parents.slice(0, cut)}</span>`}
    ${cut < parents.length && html`<span class="tb-name-head">${parents.slice(cut)}</span>`}
    <span class="tb-name-tail">${leaf}</span>
  </span>`;
}

/**
 * @param {object} props
 * @param {boolean} props.checked
 * @param {boolean} props.mixed
 * @param {boolean} props.disabled
 * @param {(checked: boolean) => void} props.onChange
 */
function CheckBox({ checked, mixed, disabled, onChange }) {
  return html`<input
    type="checkbox"
    class="tb-check"
    checked=${checked}
    indeterminate=${mixed}
    disabled=${disabled}
    onChange=${(/** @type {Event} */ event) => onChange(/** @type {HTMLInputElement} */ (event.currentTarget).checked)}
  />`;
}

/**
 * @param {number} numChecked  of those shown
 * @param {number} numShown
 * @param {number} numRuns
 */
function countText(numChecked, numShown, numRuns) {
  if (numRuns === 0) return "";
  return numShown < numRuns ? `${numChecked} of ${numShown} (of ${numRuns})` : `${numChecked} of ${numRuns}`;
}
