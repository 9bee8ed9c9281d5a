/**
 * What every tab of tags knows of them: which there are, which groups of them are folded, and why none is shown.
 */

import { signal } from "@preact/signals-core";
import { formatLists, parseLists } from "./name-lists.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("./tag-index.js").RunToTags} RunToTags
 */

/**
 * The tags of each run, as the plugin's route `tags` has them, now and after they have changed.
 * @param {Host} host
 * @param {(json: any) => RunToTags} [read]  makes the tags of an answer of another form
 * @returns {Promise<import("@preact/signals-core").ReadonlySignal<RunToTags>>} rejects when they cannot be had at first
 */
export async function watchTags(host, read = (json) => json) {
  let { lists } = host.generations.value;
  let numAsked = 0;
  let newest = 0;
  const ask = async () => {
    const number = ++numAsked;
    const answer = await host.fetchJSON("tags");
    if (number < newest) return; // an answer to a later request has overtaken it
    newest = number;
    tags.value = read(answer);
  };
  const tags = signal(/** @type {RunToTags} */ ({}));
  await ask();
  // Called at once, too: there may be something new since it was asked.
  host.generations.subscribe(async (generations) => {
    if (generations.lists === lists) return;
    ({ lists } = generations);
    try {
      await ask();
    } catch {
      lists = ""; // the shell says that the server is away; asked again with the next reload
    }
  });
  return tags;
}

/**
 * Which groups of tags are folded, as the address has it. The group of tags without one stands there as "/", which no
 * name of a group has.
 * @param {Host} host
 * @returns {{ closed: ReadonlySet<string>, onToggle: (name: string, open: boolean) => void }}
 */
export function foldedGroups(host) {
  const read = () => new Set(parseLists(host.settings.value.closed).flat().map((name) => (name === "/" ? "" : name)));
  /** @param {string} name @param {boolean} open */
  const onToggle = (name, open) => {
    const closed = read(); // as of now: another group may have been folded since the tab was drawn
    if (open) closed.delete(name);
    else closed.add(name);
    host.settings.set("closed", formatLists([[...closed].map((group) => group || "/")]));
  };
  return { closed: read(), onToggle };
}

/**
 * What to say where no tag is shown.
 * @param {RunToTags} tags
 * @param {number} numRuns  shown
 * @param {import("./filter.js").Filter} filter
 * @param {string} what
 */
export function whyNothing(tags, numRuns, filter, what) {
  if (numRuns === 0) return "No run is selected. Check one in the list of runs, or change its filter.";
  if (filter.text !== "" && Object.values(tags).some((list) => list.length > 0)) return `No tag of the selected runs matches “${filter.text}”.`;
  return `The selected runs have no ${what}.`;
}
