/** Cards of texts: the lines in which those of other runs differ from that of the baseline. */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Card } from "tbcore/cards.js";
import { formatName, formatStep, plural } from "tbcore/format.js";
import { useColumns } from "tbcore/requests.js";
import { useNear } from "tbcore/ui.js";

/**
 * @typedef {import("./columns.js").Column} Column
 * @typedef {import("tbcore/host.js").Run} Run
 *
 * @typedef {object} Difference  of a run's text, as the route `texts` sends it
 * @property {string} run
 * @property {string} [error]
 * @property {number} step
 * @property {boolean} same
 * @property {boolean} is_cut
 * @property {number} removed
 * @property {number} added
 * @property {["same" | "removed" | "added" | "gap", string | number][]} lines
 * @property {number} num_more
 *
 * @typedef {{ column: Column, run: Run | undefined }} Member  a column, with its run whose text counts
 */

/**
 * The texts of a tag. Of a group, that of its first run with the tag is compared.
 * @param {object} props
 * @param {import("tbcore/host.js").Host} props.host
 * @param {string} props.tag @param {string} props.title
 * @param {readonly Column[]} props.columns  the baseline first
 * @param {(run: string) => boolean} props.has  whether a run has the tag
 */
export function TextCard({ host, tag, title, columns, has }) {
  const [expanded, setExpanded] = useState(false);
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const isNear = useNear(body);
  const members = columns.map((column) => ({ column, run: column.runs.find(({ name }) => has(name)) }));
  const [base, ...others] = members;
  const logged = members.flatMap(({ run }) => run ?? []);
  const { answer, error } = useColumns(host, "texts", { tag, base: base.run?.name ?? null }, logged, isNear);
  /** @type {Difference[]} */
  const differences = answer?.header ?? [];
  const baseStep = differences.find(({ run }) => run === base.run?.name)?.step;
  const parts = useMemo(() => partsOf(others, differences), [columns, others.map(({ run }) => run?.name).join("\n"), answer]);
  return html`<${Card} title=${title} expanded=${expanded} onExpand=${setExpanded}>
    <div class="compare-text ${expanded ? "" : "compare-folded"}" ref=${body} tabindex="0" role="region" aria-label=${`Differences of ${formatName(title)}`}>
      ${!base.run && html`<p class="tb-dim">${labelOf(base)} has not logged it, so all lines of the others are shown.</p>`}
      ${base.run && base.column.isGroup && html`<p class="tb-dim">Compared with the text of ${formatName(base.run.label)}.</p>`}
      ${parts.map(({ key, members: some, difference }) => html`<${Part} key=${key} members=${some} difference=${difference} baseStep=${baseStep} />`)}
    </div>
    ${error && html`<p class="tb-card-error" role="status">${error}</p>`}
  <//>`;
}

/**
 * Columns that differ in the same way, together.
 * @param {readonly Member[]} members @param {readonly Difference[]} differences
 * @returns {{ key: string, members: Member[], difference: Difference | null | undefined }[]} null if they
 *   have no text, undefined while it is not known
 */
export function partsOf(members, differences) {
  const differenceOf = new Map(differences.map((difference) => [difference.run, difference]));
  /** @type {Map<string, { key: string, members: Member[], difference: Difference | null | undefined }>} */
  const parts = new Map();
  for (const member of members) {
    const difference = member.run ? differenceOf.get(member.run.name) : null;
    const step = difference?.same ? 0 : difference?.step;
    const key = JSON.stringify([difference === undefined, { ...difference, run: "", step }]);
    const part = parts.get(key) ?? { key, members: [], difference };
    parts.set(key, part);
    part.members.push(member);
  }
  return [...parts.values()];
}

/** A column in words; of a group, with the run whose text counts. @param {Member} member */
function labelOf({ column, run }) {
  return column.isGroup && run && run.name !== column.name ? `${formatName(column.label)} (text of ${formatName(run.label)})` : formatName(column.label);
}

/** @param {{ members: readonly Member[], difference: Difference | null | undefined, baseStep: number | undefined }} props */
function Part({ members, difference, baseStep }) {
  return html`<section>
    <h4>${members.map((member) => html`<span key=${member.column.name}><i style=${{ background: member.column.color }}></i>${labelOf(member)}</span>`)}</h4>
    ${difference?.error ? html`<p class="tb-card-error">${difference.error}</p>` : html`<p class="tb-dim">${describe(difference, baseStep)}</p>`}
    ${difference && !difference.error && difference.lines.length > 0 && html`<${Lines} difference=${difference} />`}
  </section>`;
}

/** What is known about a text, in a sentence. @param {Difference | null | undefined} difference @param {number} [baseStep]  of the baseline's text */
export function describe(difference, baseStep = difference?.step) {
  if (difference === undefined) return "Loading …";
  if (difference === null) return "Not logged.";
  const { same, lines, is_cut, step, removed, added } = difference;
  const cut = is_cut ? " Only the beginning is compared." : "";
  if (same) return `The same as the baseline.${cut}`;
  if (lines.length === 0) return `The same values as the baseline, written differently.${cut}`;
  return `Step ${formatStep(step)}${step === baseStep ? "" : `, baseline step ${formatStep(Number(baseStep))}`}: ${plural(removed, "line")} removed, ${plural(added, "line")} added.${cut}`;
}

const ELEMENTS = { same: "span", removed: "del", added: "ins" };
const SIGNS = { same: "  ", removed: "− ", added: "+ " };

/** @param {{ difference: Difference }} props */
function Lines({ difference: { lines, num_more } }) {
  return html`<pre>${lines.map(([kind, line]) =>
      kind === "gap"
        ? html`<span class="gap">${plural(Number(line), "equal line")}</span>`
        : html`<${ELEMENTS[kind]}><span aria-hidden="true">${SIGNS[kind]}</span>${line}${"\n"}</${ELEMENTS[kind]}>`,
    )}${num_more > 0 && html`<span class="gap">${plural(num_more, "more line")} not shown</span>`}</pre>`;
}
