/**
 * Tabs with one card for each tag, or for each tag and run: `watchTags` fetches the tags, and
 * `TagTab` of `tag-tab.js` is a complete tab:
 *
 *     const tags = await watchTags(host);
 *     html`<${TagTab} host=${host} tags=${tags} what="numbers" renderCard=${({ tag, run, group }) => html`...`} />`
 */

import { signal } from "@preact/signals-core";
import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatName } from "../format.js";
import { keepUpToDate } from "../requests.js";
import { arranged, filterGroups, formatLists, groupTags, parseLists } from "../text-names.js";
import { Icon } from "../ui/controls.js";
import { Lazy, useSeen } from "../ui/lazy.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("tbcore/host.js").Run} Run
 * @typedef {import("../text-names.js").TagGroup} TagGroup
 * @typedef {Record<string, string[]>} RunToTags  the tags of each run, as the server lists them
 */

/**
 * The tags of each run. They are fetched from the plugin's route `tags` at once, and again whenever
 * the tags change.
 * @param {Host} host
 * @param {(json: any) => RunToTags} [read]  converts the response, if it has another form
 * @returns {Promise<import("@preact/signals-core").ReadonlySignal<RunToTags>>} an object without a
 *   prototype; rejects if the first request fails
 */
export async function watchTags(host, read) {
  /** The version of the lists that `tags` has. */
  let known = /** @type {string | null} */ (null);
  const tags = signal(/** @type {RunToTags} */ ({}));
  const load = async () => {
    const { lists } = host.generations.value;
    if (lists === known) return;
    const response = await host.fetchJSON("tags", read ? {} : { shared: "" });
    known = lists;
    tags.value = Object.assign(Object.create(null), (read ?? perRun)(response));
  };
  await load();
  // The callback is also called at once, in case the tags changed during the first request.
  host.generations.subscribe(keepUpToDate(load, { signal: host.signal }));
  return tags;
}

/** Runs of a sweep have the same tags: servers may send each list once, and all its runs have one array. @param {any} response */
function perRun({ "": lists, ...runs }) {
  return lists ? Object.fromEntries(Object.entries(runs).map(([run, i]) => [run, lists[+i]])) : runs;
}

/**
 * Which groups of tags are closed, and their order. The URL has those that the reader toggled; there, "/" stands for
 * the group with the name "", because lists in the URL have no empty names. The group named "/", of tags that start with "//", cannot be closed.
 * The browser remembers them for the log directory, too, for addresses that do not say it, and the order in which the reader put the groups.
 * @param {Host} host
 * @param {string} [setting]  in the URL: the groups that the user opened or closed
 * @param {ReadonlySet<string>} [closedByDefault]  those that are closed until the user opens them
 * @returns {{ closed: ReadonlySet<string>, onToggle: (name: string, open: boolean) => void, order: readonly string[], onOrder: (order: readonly string[]) => void }}
 */
export function closedGroups({ settings, memory }, setting = "closed", closedByDefault = new Set()) {
  const namesIn = (/** @type {string} */ name) =>
    parseLists(new Map(Object.entries({ ...memory.value, ...settings.value })).get(name))
      .flat()
      .map((group) => (group === "/" ? "" : group));
  const textOf = (/** @type {Iterable<string>} */ names) => formatLists([[...names].map((name) => name || "/")]);
  const read = () => new Set(namesIn(setting));
  /** @param {string} name @param {boolean} open */
  const onToggle = (name, open) => {
    // Read it again: it may have changed since the tab was rendered.
    const toggled = read();
    if (open === closedByDefault.has(name)) toggled.add(name);
    else toggled.delete(name);
    for (const place of [memory, settings]) place.set(setting, textOf(toggled));
  };
  const toggled = read();
  const closed = [...closedByDefault, ...toggled].filter((name) => toggled.has(name) !== closedByDefault.has(name));
  return {
    closed: new Set(closed),
    onToggle,
    order: namesIn(`${setting}.order`),
    onOrder(order) {
      memory.set(`${setting}.order`, textOf(order));
      // That of a view.
      settings.set(`${setting}.order`, null);
    },
  };
}

/**
 * The text to show in place of cards if there are no tags to show. It gives the reason.
 * @param {RunToTags} tags
 * @param {number} numRuns  number of runs to show
 * @param {import("../queries/filter.js").Filter} filter  the filter for tags
 * @param {string} what  what the tab shows, in the plural: `images`
 * @param {string} [noun]  what a tag is called
 */
export function emptyReason(tags, numRuns, filter, what, noun = "tag") {
  if (numRuns === 0) return "No runs are shown.";
  if (filter.text && Object.values(tags).some(({ length }) => length > 0)) return `No ${noun} of the selected runs matches “${filter.text}”.`;
  return `The selected runs have no ${what}.`;
}

// --- which runs have which tag -------------------------------------------------------------------

/**
 * The groups of tags to show, and the runs of each tag.
 * @template {{ name: string }} R
 * @param {RunToTags} runToTags
 * @param {readonly R[]} runs  the runs to show
 * @param {(tag: string) => boolean} matches  the filter for tags
 * @returns {{ groups: TagGroup[], numTags: number, runsOf: Map<string, R[]> }}
 *   `groups`: the matching tags; `numTags`: their number; `runsOf`: the runs of each tag, matching
 *   or not, in the order of `runs`
 */
export function indexTags(runToTags, runs, matches) {
  let index = /** @type {Index<R> | undefined} */ (indexes.get(runToTags));
  if (index?.runs !== runs) indexes.set(runToTags, (index = makeIndex(runToTags, runs)));
  const groups = filterGroups(index.groups, matches);
  return { groups, numTags: groups.reduce((sum, { tags }) => sum + tags.length, 0), runsOf: index.runsOf };
}

/**
 * What an index is before a filter applies.
 * @template R
 * @typedef {{ runs: readonly R[], runsOf: Map<string, R[]>, groups: TagGroup[] }} Index
 */

/** The last index of each object of tags: sorting all tags at each key would take too long. @type {WeakMap<RunToTags, Index<any>>} */
const indexes = new WeakMap();

/**
 * @template {{ name: string }} R
 * @param {RunToTags} runToTags
 * @param {readonly R[]} runs
 * @returns {Index<R>}
 */
function makeIndex(runToTags, runs) {
  /** @type {Map<string, R[]>} */
  const runsOf = new Map();
  for (const run of runs) {
    for (const tag of Object.hasOwn(runToTags, run.name) ? runToTags[run.name] : []) {
      const members = runsOf.get(tag);
      if (members) members.push(run);
      else runsOf.set(tag, [run]);
    }
  }
  return { runs, runsOf, groups: groupTags(runsOf.keys()) };
}

// --- sections of cards ---------------------------------------------------------------------------

/** Number of tags that a group shows at first, and that each click adds. */
const TAGS_PER_PAGE = 48;
/** Number of cards after which a section that is far away is one box: ten thousand placeholders would take long at each key in the filter. */
const MAX_PLACEHOLDERS = 240;

/** Number of sections from which on there is a list of them. */
const MIN_LISTED = 10;
/** In the names of closed groups: all but the others. No group has this name. */
const ALL = "//";

/**
 * All sections.
 * @param {object} props
 * @param {readonly TagGroup[]} props.groups
 * @param {ReadonlySet<string>} props.closed  names of the collapsed groups; with `//`, those of the others
 * @param {(name: string, open: boolean) => void} props.onToggle
 * @param {(tag: string, group: string) => unknown} props.renderCard  the cards of a section are not
 *   rendered again while this is the same function and the group the same object
 * @param {readonly string[]} [props.order]  names of groups in the reader's order; the others follow
 * @param {(order: readonly string[]) => void} [props.onOrder]  called when the reader moves a group;
 *   without it none can be moved
 */
export function TagGroups({ groups: given, closed, onToggle, renderCard, order = [], onOrder }) {
  const groups = useMemo(() => arranged(given, order), [given, String(order)]);
  const mark = useRef(/** @type {HTMLElement | null} */ (null));
  const contentOf = () => /** @type {HTMLElement} */ (mark.current?.parentElement);
  useLayoutEffect(() => {
    const content = contentOf();
    const sizes = new ResizeObserver(() => fitCards(content));
    sizes.observe(content);
    fitCards(content);
    return () => sizes.disconnect();
  });
  /** What moves sections is loaded when a heading is reached. */
  const onReach = onOrder && (() => void import("./moves.js").then(({ watchMoves }) => watchMoves(contentOf(), { given, order, onOrder }), console.warn));
  let numCards = 0;
  return html`<i hidden ref=${mark}></i>
    ${groups.length >= MIN_LISTED && html`<${Lazy} key="" load=${() => import("./sections.js")} of="Sections" all=${ALL} ...${{ groups, closed, onToggle }} />`}
    ${groups.map((group) => {
      const isFar = numCards >= MAX_PLACEHOLDERS;
      numCards += Math.min(TAGS_PER_PAGE, group.tags.length);
      const isListed = closed.has(group.name);
      return html`<${Group} key=${group.name} open=${isListed === closed.has(ALL)} onToggle=${() => onToggle(group.name, isListed)} ...${{ group, isFar, onReach, renderCard }} />`;
    })}`;
}

/** Tells the styles how many columns the page has; few cards, in one row or two, are to fill the window. @param {HTMLElement} content */
function fitCards(content) {
  const sizes = Array.from(content.children, ({ children: [, grid] }) => grid?.childElementCount ?? 0);
  const numCards = sizes.reduce((sum, size) => sum + size);
  const set = (/** @type {string} */ name, /** @type {string} */ value) => content.style.setProperty(name, value);
  // So wide that there are no more columns than cards.
  set("--tb-card-least", `${100 / (numCards + 0.9)}%`);
  // Sections that span as many columns as before would keep these, wider than the window.
  if (content.scrollWidth > content.clientWidth) set("--tb-page-columns", "1");
  let { length } = getComputedStyle(content).gridTemplateColumns.split(" ");
  // Sections of two cards would leave a third column empty.
  if (length === 3 && sizes.every((size) => !size || size === 2)) set("--tb-card-least", `${100 / ((length = 2) + 0.9)}%`);
  set("--tb-page-columns", `${length}`);
  set("--tb-chart-few", numCards <= Math.min(3, length) ? "62vh" : numCards <= 2 * length ? `min(50vh - 155px, ${80 / length}vw)` : "0px");
}

/**
 * The section of one group; see TagGroups.
 * @param {{ group: TagGroup, open: boolean, isFar: boolean, onToggle: () => void, onReach?: () => void } & Pick<Parameters<typeof TagGroups>[0], "renderCard">} props
 */
function Group({ group, open, isFar, onToggle, onReach, renderCard }) {
  const { name, tags } = group;
  const [numShown, setNumShown] = useState(TAGS_PER_PAGE);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const shown = tags.slice(0, numShown);
  const rest = tags.length - numShown;
  const isBox = !useSeen(box, undefined, shown.length) && isFar;
  const cards = useMemo(() => !isBox && shown.map((tag) => renderCard(tag, name)), [group, numShown, isBox, renderCard]);
  // Only sections of few tags can have few cards; counting those of all in CSS would be slow.
  return html`<section class="tb-group ${tags.length < 4 ? "tb-few" : ""}" style=${cards ? "" : `--tb-cards: ${shown.length}`} data-group=${name} ref=${box}>
    <h2 onPointerEnter=${onReach} onFocusIn=${onReach}>
      <button type="button" aria-expanded=${open} onClick=${onToggle}>
        <${Icon} name="chevron" />
        <span>${name === "" ? "(no prefix)" : formatName(name)}</span>
        <small>${tags.length}</small>
      </button>
    </h2>
    ${open &&
    html`<div class="tb-grid">${cards || html`<p class="tb-unseen" style=${{ "--num": shown.length }}>${shown.map(formatName).join(" ")}</p>`}</div>
      ${rest > 0 &&
      html`<button type="button" class="tb-button tb-more" onClick=${() => setNumShown(numShown + TAGS_PER_PAGE)}>
        Show ${Math.min(TAGS_PER_PAGE, rest)} more of ${rest}
      </button>`}`}
  </section>`;
}

/**
 * Preact hook: the runs to show, as a flat list. If runs are grouped, the list has the runs of the
 * first group, then the runs of the second one, and so on.
 * @param {Host} host
 * @returns {readonly Run[]} the same array until something changes
 */
export function runsInGroupOrder(host) {
  const grouping = host.groups.value;
  const runs = host.runs.value;
  return useMemo(() => grouping?.groups.flatMap((group) => group.runs) ?? runs, [grouping, runs]);
}
