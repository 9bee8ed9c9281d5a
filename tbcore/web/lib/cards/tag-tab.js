/** A complete tab with one card for each tag, or for each tag and run. Loaded when one is first drawn. */

import { html } from "htm/preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { formatName, plural } from "../format.js";
import { FilterBox } from "../queries/filter.js";
import { LazyCard } from "./card.js";
import { TagGroups, closedGroups, emptyReason, indexTags, runsInGroupOrder } from "./tags.js";

/** Number of cards that a tag shows at first, and that each click adds. */
const CARDS_PER_PAGE = 24;

/** @import { Host, Run, RunToTags } from "./tags.js" */

/**
 * @typedef {object} TagTabProps
 * @property {Host} host
 * @property {import("@preact/signals-core").ReadonlySignal<RunToTags>} tags
 * @property {string} what  what the cards show, in the plural: `numbers`
 * @property {string} [noun]  what a tag is called, in the singular, with a plural in s: `file`; by
 *   default `tag`
 * @property {unknown} [controls]  shown in the toolbar, after the filter
 * @property {string} [size]  CSS class of the content, which may set the cards' minimum width
 *   with `--tb-card-width`
 * @property {(card: { tag: string, run: Run, group: string }) => unknown} [renderCard]
 *   renders the card of one tag and run
 * @property {(card: { tag: string, title: string, runs: readonly Run[], group: string }) => unknown} [renderTag]
 *   renders the card of one tag, for all runs; its key must be unique
 * @property {(tag: string, tags: ReadonlySet<string>) => string} [titleOf]  returns the title of a card
 *   of `renderTag`, by which cards are sorted into sections; `tags` are all tags. Different tags must
 *   have different titles
 */

/** The tab. @param {TagTabProps} props */
export function TagTab({ host, tags, what, noun = "tag", controls, size = "", renderCard, renderTag, titleOf }) {
  const runs = runsInGroupOrder(host);
  const filter = host.tagFilter.value;
  const { titles, tagOf } = useMemo(() => titled(tags.value, titleOf), [tags.value, titleOf]);
  const { groups, runsOf, numTags } = useMemo(
    () => indexTags(titles, runs, (title) => filter.matches(tagOf.get(title) ?? title)),
    [titles, runs, filter],
  );
  const drawCard = useCallback(
    (/** @type {string} */ title, /** @type {string} */ group) => {
      const members = runsOf.get(title) ?? [];
      const tag = tagOf.get(title) ?? title;
      if (renderTag) return html`<${LazyCard} key=${tag} title=${title} label=${tag} draw=${() => renderTag({ tag, title, runs: members, group })} />`;
      return html`<${TagCards} key=${tag} tag=${tag} group=${group} runs=${members} renderCard=${renderCard} />`;
    },
    [runsOf, tagOf, renderTag, renderCard],
  );
  return html`
    <div class="tb-toolbar" role="toolbar" aria-label=${what}>
      <${FilterBox} filter=${filter} onInput=${host.tagFilter.set} names=${() => ({ value: { tags: [...runsOf.keys()] } })} label="Filter ${noun}s" />
      ${controls}
      <span class="tb-summary" role="status">${plural(numTags, noun)}, ${plural(runs.length, "run")}</span>
    </div>
    <div class="tb-content ${size}">
      ${numTags === 0 && html`<p class="tb-nothing">${emptyReason(tags.value, runs.length, filter, what, noun)}</p>`}
      <${TagGroups} groups=${groups} ...${closedGroups(host)} renderCard=${drawCard} />
    </div>
  `;
}

/**
 * The titles of each run's tags, and the tag of each title; without `titleOf` a tag is its title.
 * @param {RunToTags} runToTags
 * @param {TagTabProps["titleOf"]} titleOf
 * @returns {{ titles: RunToTags, tagOf: Map<string, string> }}
 */
function titled(runToTags, titleOf) {
  const tagOf = new Map();
  if (!titleOf) return { titles: runToTags, tagOf };
  const all = new Set(Object.values(runToTags).flat());
  const titles = Object.entries(runToTags).map(([run, tags]) => [run, tags.map((tag) => titleOf(tag, all))]);
  for (const tag of all) tagOf.set(titleOf(tag, all), tag);
  return { titles: Object.fromEntries(titles), tagOf };
}

/**
 * The cards of a tag, one for each run.
 * @param {{ tag: string, group: string, runs: readonly Run[] } & Required<Pick<TagTabProps, "renderCard">>} props
 */
function TagCards({ tag, group, runs, renderCard }) {
  const [numShown, setNumShown] = useState(CARDS_PER_PAGE);
  const rest = runs.length - numShown;
  return html`${runs.slice(0, numShown).map(
    (run) => html`<${LazyCard} key=${run.name} title=${tag} label="${tag} in ${run.label}" draw=${() => renderCard({ tag, run, group })} />`,
  )}
  ${rest > 0 &&
  html`<button type="button" class="tb-button tb-more-runs" onClick=${() => setNumShown(numShown + CARDS_PER_PAGE)}>
    ${formatName(tag)}: show ${Math.min(CARDS_PER_PAGE, rest)} more of ${rest} runs
  </button>`}`;
}
