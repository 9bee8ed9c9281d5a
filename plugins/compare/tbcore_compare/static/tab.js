/** The tab: what differs between the runs or groups that are shown. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { LazyCard } from "tbcore/cards.js";
import { makeCursor } from "tbcore/chart.js";
import { formatName, plural } from "tbcore/format.js";
import { useColumns } from "tbcore/requests.js";
import { groupTags, textTitle } from "tbcore/text-names.js";
import { Check, FilterBox, Pick } from "tbcore/ui.js";
import { columnsOf, leftOut } from "./columns.js";
import { CurveCard } from "./curves.js";
import { options } from "./options.js";
import { hparamErrors, hparamRows, tagRows, timeRows, valueRows } from "./rows.js";
import { Table } from "./table.js";
import { TextCard } from "./texts.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("./columns.js").Column} Column
 * @typedef {import("./rows.js").FactsOf} FactsOf
 */

/** Number of tags whose values, texts or curves are shown at first, and that each click adds. */
const TAGS_PER_PAGE = 48;
/** Maximum number of values in a request, as the server has it. */
const MAX_SERIES = 20_000;

/** @param {{ host: Host }} props */
export function Tab({ host }) {
  const runs = host.runs.value;
  const grouping = host.groups.value;
  const { run: base } = host.settings.value;
  const { all, columns } = useMemo(() => columnsOf(runs, grouping, base), [runs, grouping, base]);
  const { all: isAll } = options.parse(host.settings.value);
  const onBase = (/** @type {string} */ name) => host.settings.set("run", name);
  const filter = host.tagFilter.value;
  return html`
    <div class="tb-toolbar">
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} label="Filter tags" />
      ${columns.length > 1 && html`<${Pick} label="Baseline" choices=${all.map(({ name, label }) => [name, label, formatName(name)])} value=${columns[0].name} onChange=${onBase} />`}
      <${Check} label="Differences only" checked=${!isAll} onChange=${(/** @type {boolean} */ checked) => options.set(host, "all", !checked)} />
    </div>
    <div class="tb-content">
      ${columns.length < 2
        ? html`<p class="tb-nothing">${emptyText(all)}</p>`
        : html`<${Comparison} ...${{ host, columns, isAll, onBase }} note=${leftOut(all, columns)} matches=${filter.matches} />`}
    </div>
  `;
}

/** Why nothing is compared. @param {readonly Column[]} all */
function emptyText(all) {
  if (all.length === 0) return "No runs are shown. Check at least two in the list to compare them.";
  const [{ label, isGroup }] = all;
  const what = isGroup ? "group" : "run";
  if (all.length === 1) return `Only the ${what} ${formatName(label)} is shown. Check another one in the list to compare them${isGroup ? ", or ungroup the runs" : ""}.`;
  return `The ${what}s are too large to be compared. Show fewer runs in the list.`;
}

/**
 * @param {object} props
 * @param {Host} props.host
 * @param {readonly Column[]} props.columns
 * @param {boolean} props.isAll
 * @param {(name: string) => void} props.onBase
 * @param {string} props.note
 * @param {(tag: string) => boolean} props.matches
 */
function Comparison({ host, columns, isAll, onBase, note, matches }) {
  const runs = useMemo(() => columns.flatMap((column) => column.runs), [columns]);
  const { answer, error } = useColumns(host, "runs", {}, runs, true);
  const factsOf = useMemo(() => readFacts(answer?.header), [answer]);
  const scalars = useMemo(() => tagsOfType(runs, factsOf, "scalar"), [runs, factsOf]).filter(matches);
  const allTexts = useMemo(() => new Set(tagsOfType(runs, factsOf, "text")), [runs, factsOf]);
  const titleOf = (/** @type {string} */ tag) => textTitle(tag, allTexts);
  const texts = [...allTexts].filter(matches);
  const values = usePages(scalars, Math.floor(MAX_SERIES / runs.length));
  const { rows, error: valuesError } = useValueRows(host, columns, factsOf, values.shown);
  const sections = [
    { title: "Hyperparameters", rows: hparamRows(columns, factsOf), none: "none logged" },
    { title: "Values", rows, none: "no scalars", more: values.more },
    { title: "Runs", rows: timeRows(columns, factsOf), none: "" },
    { title: isAll ? "Tags" : "Tags in some only", rows: tagRows(columns, factsOf, matches, titleOf), none: "no tags", same: "in all" },
  ];
  const errors = [error, valuesError, ...hparamErrors(columns, factsOf)].filter(Boolean);
  return html`
    ${note && html`<p class="compare-note" role="note">${formatName(note)}</p>`}
    ${errors.map((text) => html`<p class="tb-card-error" role="status" key=${text}>${formatName(text)}</p>`)}
    ${answer ? html`<${Table} ...${{ columns, sections, isAll, onBase }} />` : !error && html`<p class="tb-dim">Loading …</p>`}
    <${Cards} title="Texts" tags=${texts} titleOf=${titleOf} card=${(/** @type {string} */ tag) => html`<${TextCard} key=${tag} ...${{ host, tag, columns }} title=${titleOf(tag)} has=${(/** @type {string} */ run) => hasTag(factsOf, run, tag, "text")} />`} />
    <${Curves} ...${{ host, columns, scalars }} />
  `;
}

/** @param {{ host: Host, columns: readonly Column[], scalars: readonly string[] }} props */
function Curves({ host, columns, scalars }) {
  const cursor = useMemo(makeCursor, []);
  useEffect(() => host.hoveredRun.subscribe((name) => cursor.highlight(name, host.runs.value)), [cursor]);
  return html`<${Cards} title="Curves" tags=${scalars} card=${(/** @type {string} */ tag) => html`<${CurveCard} key=${tag} ...${{ host, tag, columns, cursor }} />`} />`;
}

/** A section of cards, one of each tag. @param {{ title: string, tags: readonly string[], titleOf?: (tag: string) => string, card: (tag: string) => unknown }} props */
function Cards({ title, tags, titleOf = String, card }) {
  const { shown, more } = usePages(tags);
  if (tags.length === 0) return null;
  return html`<section class="compare-cards" aria-label=${title}>
    <h2>${title}</h2>
    <div class="tb-grid ${title.toLowerCase()}">${shown.map((tag) => html`<${LazyCard} key=${tag} title=${titleOf(tag)} draw=${() => card(tag)} />`)}</div>
    ${more}
  </section>`;
}

/**
 * Preact hook: the first tags, and a button for more, which is null if all are shown.
 * @param {readonly string[]} tags @param {number} [max]  maximum number of tags, whatever is clicked
 */
function usePages(tags, max = Infinity) {
  const [limit, setLimit] = useState(TAGS_PER_PAGE);
  const shown = tags.slice(0, Math.min(limit, max));
  const numMore = tags.length - shown.length;
  if (numMore === 0) return { shown, more: null };
  if (shown.length >= max) return { shown, more: html`<p class="tb-dim">${plural(numMore, "more tag")}: filter the tags to see them.</p>` };
  return { shown, more: html`<button type="button" class="tb-button" onClick=${() => setLimit(limit + TAGS_PER_PAGE)}>Show ${plural(Math.min(numMore, TAGS_PER_PAGE), "more tag")} of ${numMore}</button>` };
}

/** Preact hook: the rows of the tags' values. @param {Host} host @param {readonly Column[]} columns @param {FactsOf} factsOf @param {readonly string[]} tags */
function useValueRows(host, columns, factsOf, tags) {
  const runs = columns.flatMap((column) => column.runs);
  const { answer, error } = useColumns(host, "values", { tags }, runs, tags.length > 0);
  const valueOf = useMemo(() => readValues(answer), [answer]);
  const { average = "mean", averageName = "mean", spread = "deviation" } = host.groups.value ?? {};
  const rows = useMemo(
    () => valueRows(columns, factsOf, tags, valueOf, { average, averageName, spread }),
    [columns, factsOf, tags.join("\n"), valueOf, average, spread],
  );
  return { rows, error };
}

/** What the route `values` sends, by run and tag. @param {import("tbcore/requests.js").Columns | null} answer */
function readValues(answer) {
  /** @type {Map<string, Map<string, any>>} */
  const byRun = new Map();
  const known = new Set(answer?.header.tags);
  answer?.tables.forEach((table, i) => {
    const row = (/** @type {number} */ at) => Object.fromEntries(Object.entries(table).map(([name, column]) => [name, column[at]]));
    byRun.set(answer.header.runs[i], new Map(Array.from(table.tag, (tag, at) => [answer.header.tags[tag], row(at)])));
  });
  return (/** @type {string} */ run, /** @type {string} */ tag) => {
    const values = byRun.get(run);
    return values && known.has(tag) ? (values.get(tag) ?? null) : undefined;
  };
}

/** What the route `runs` sends, by run. @param {any} header @returns {FactsOf} */
function readFacts(header) {
  return new Map((header?.runs ?? []).map((/** @type {any} */ run) => [run.name, { ...run, tags: header.tag_sets.at(run.tag_set) }]));
}

/** The tags of a type in any of the runs, in the order of the page. @param {readonly { name: string }[]} runs @param {FactsOf} factsOf @param {string} wanted */
function tagsOfType(runs, factsOf, wanted) {
  const tags = runs.flatMap(({ name }) => factsOf.get(name)?.tags ?? []).filter(([, type]) => type === wanted);
  return groupTags(new Set(tags.map(([tag]) => tag))).flatMap((group) => group.tags);
}

/** @param {FactsOf} factsOf @param {string} run @param {string} tag @param {string} type */
function hasTag(factsOf, run, tag, type) {
  return factsOf.get(run)?.tags.some((one) => one[0] === tag && one[1] === type) ?? false;
}
