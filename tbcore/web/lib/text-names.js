/** Names of runs and tags: their groups, lists of them in the address, and elements. */

import { html } from "htm/preact";
import { byName, compareNames, decode, escapeName, unescapeName } from "./address.js";
import { formatName } from "./format.js";

/** The tags with the same first path segment. @typedef {{ name: string, tags: string[] }} TagGroup */

/** What most readers look at first, as words in the name of a group or of a tag. */
const FIRST = [/(?<![a-z])loss(es)?(?![a-z])/i, /(?<![a-z])acc(uracy)?(?![a-z])/i, /(?<![a-z])(val|valid|validation|eval)(?![a-z])/i];
/** Words in the names of groups about the settings and the machine. */
const LAST = /(?<![a-z])(hp|hparams?|sys(tem)?|perf(ormance)?|timings?|gpu|cpu|mem(ory)?)(?![a-z])/i;

/** Which of FIRST a name has; their number if none. @param {string} name */
function rankOf(name) {
  const rank = FIRST.findIndex((word) => word.test(name));
  return rank < 0 ? FIRST.length : rank;
}

/** The tags of a group in their order: by what they say after its name, then in natural order. @param {string} name @param {readonly string[]} tags */
function sortedTags(name, tags) {
  /** @type {string[][]} */
  const byRank = Array.from(Array(FIRST.length + 1), () => []);
  for (const tag of tags) byRank[rankOf(tag.slice(name.length))].push(tag);
  return byRank.flatMap((some) => byName(some));
}

/** The place of a group among all, which grows. @param {TagGroup} group  with sorted tags */
function rankOfGroup({ name, tags }) {
  const own = rankOf(name || tags[0]);
  if (own < FIRST.length) return own;
  if (LAST.test(name)) return FIRST.length + 2;
  // The rank of a loss is 0, of an accuracy 1.
  return FIRST.length + (name === "" || rankOf(tags[0].slice(name.length)) > 1 ? 1 : 0);
}

/**
 * Groups tags by their first path segment. Groups with the word loss, acc or val in their name come
 * first, in this order. Groups of which a tag has the word loss or acc follow, then all others, and
 * last those about settings and the machine, such as hp, sys and perf. Inside a group, tags with the
 * word loss come first, then acc, then val. What is equal in this is in natural order. Tags without a
 * `/` are in one group with the name "", unless their name is that of a group: then they are in that
 * group. The group "" is where its first tag with such a word belongs, or
 * before the groups without.
 * @param {Iterable<string>} tags
 * @returns {TagGroup[]}
 */
export function groupTags(tags) {
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const tag of new Set(tags)) {
    // Not a leading one: "/a/b" is in group "/a".
    const slash = tag.indexOf("/", 1);
    const segment = slash === -1 ? tag : tag.slice(0, slash);
    const members = groups.get(segment);
    if (members) members.push(tag);
    else groups.set(segment, [tag]);
  }
  return ordered(Array.from(groups, ([name, members]) => ({ name, tags: sortedTags(name, members) })));
}

/**
 * The groups of the tags that match: the same as `groupTags` makes of these tags.
 * @param {readonly TagGroup[]} groups  from `groupTags`
 * @param {(tag: string) => boolean} matches
 * @returns {TagGroup[]} a group of which all tags match is the same object as before
 */
export function filterGroups(groups, matches) {
  return ordered(
    groups.map((group) => {
      const tags = group.tags.filter(matches);
      return tags.length === group.tags.length ? group : { name: group.name, tags };
    }),
  );
}

/** Groups in their order, with those of one tag without a `/` in the group "". @param {TagGroup[]} groups  with sorted tags @returns {TagGroup[]} */
function ordered(groups) {
  /** @type {TagGroup[]} */
  const result = [];
  /** @type {string[]} */
  const single = [];
  for (const group of groups) {
    const { name, tags } = group;
    if (name !== "" && tags.length === 1 && tags[0] === name) single.push(name);
    else if (tags.length > 0) result.push(group);
  }
  if (single.length > 0) {
    const at = result.findIndex(({ name }) => name === "");
    const others = at < 0 ? [] : result.splice(at, 1)[0].tags;
    result.push({ name: "", tags: sortedTags("", [...others, ...single]) });
  }
  const ranks = new Map(result.map((group) => [group, rankOfGroup(group)]));
  const rank = (/** @type {TagGroup} */ group) => /** @type {number} */ (ranks.get(group));
  return result.sort((a, b) => rank(a) - rank(b) || compareNames(a.name, b.name));
}

/** Groups in the reader's order: those of `order` first, then all others as they are. @param {readonly TagGroup[]} groups @param {readonly string[]} order */
export function arranged(groups, order) {
  if (order.length === 0) return groups;
  const places = new Map(order.map((name, place) => [name, place]));
  const placeOf = (/** @type {TagGroup} */ { name }) => places.get(name) ?? order.length;
  return [...groups].sort((a, b) => placeOf(a) - placeOf(b));
}

/** Parses lists of names, without empty ones: `a,b;c` is [["a", "b"], ["c"]]. @param {string | undefined} text */
export function parseLists(text) {
  /** @param {string} name */
  // As in older links.
  const unescape = (name) => (name.includes("%") ? decode(name) : unescapeName(name));
  const lists = (text ?? "").split(";").map((list) => list.split(",").filter(Boolean).map(unescape));
  return lists.filter((list) => list.length > 0);
}

/** Formats lists of names for `parseLists`; null if there are no names. @param {readonly (readonly string[])[]} lists */
export function formatLists(lists) {
  const text = lists.map((list) => list.map(escapeName).join(",")).filter(Boolean).join(";");
  return text || null;
}

/**
 * A name that is truncated if there is too little space: at first what is outside of `part`, by
 * default nothing, and then the middle of the part.
 * @param {{ name: string, part?: readonly [start: number, end: number] }} props
 */
export function Name({ name, part: [start, end] = [0, name.length] }) {
  const [head, tail] = cutLabel(name.slice(start, end));
  const common = (/** @type {string} */ text) => text && html`<span class="tb-name-common">${formatName(text)}</span>`;
  return html`<span class="tb-name">
    ${common(name.slice(0, start))}${head && html`<span class="tb-name-head">${head}</span>`}<span class="tb-name-tail">${tail}</span>${common(name.slice(end))}
  </span>`;
}

/** The label of a run in a card: its colour and the name to show. @param {{ run: import("../host.js").Run }} props */
export function RunLabel({ run }) {
  return html`<i style=${{ background: run.color }}></i>
    <${Name} name=${run.label ?? run.name} />`;
}

/**
 * The title of a text: its tag, without the suffix that `add_text` of PyTorch and tensorboardX adds
 * unless what is before it is another tag.
 * @param {string} tag @param {ReadonlySet<string>} tags  all tags
 */
export function textTitle(tag, tags) {
  const title = tag.replace(/(?<=.)\/text_summary$/s, "");
  return tags.has(title) ? tag : title;
}

/** The label of a run, by its name; the name itself if the run is not one of these. @param {readonly { name: string, label: string }[]} runs @param {string} name */
export function labelOf(runs, name) {
  return runs.find((run) => run.name === name)?.label ?? name;
}

/** The tooltip of a run: its label, and its name and its group if they are others. @param {{ name: string, label?: string, group?: string | null }} run */
export function runTitle({ name, label = name, group }) {
  return [...new Set([label, name, group ?? name])].map(formatName).join("\n");
}

/**
 * Splits a label into a head, which is truncated when space is short, and a tail, which is not:
 * names mostly differ at their ends. The tail begins with a word if it can. A shorter head than three
 * characters is narrower than its place. Hidden characters are escaped, see
 * `formatName`.
 * @param {string} name
 * @returns {[head: string, tail: string]} `head` is "" for a short label
 */
export function cutLabel(name) {
  const label = formatName(name);
  const word = label.search(/(?<=..[^a-z\d])[a-z\d].{3,11}$/i);
  // If no word begins in the last four to twelve characters, the tail has eight, or seven after a surrogate pair.
  const at = word < 0 ? label.search(/(?<=^|...)(?![\udc00-\udfff]).{1,8}$/) : word;
  return [label.slice(0, at), label.slice(at)];
}
