/**
 * What tabs with tags share: fetching the tags, closing groups of tags, and the text to show if
 * there are no tags.
 */

import { signal } from "@preact/signals-core";
import { formatLists, parseLists } from "./name-lists.js";

/**
 * @typedef {import("tbcore/host.js").Host} Host
 * @typedef {import("./tag-index.js").RunToTags} RunToTags
 */

/**
 * The tags of each run. They are fetched from the plugin's route `tags` at once, and again whenever
 * the tags change.
 * @param {Host} host
 * @param {(json: any) => RunToTags} [read]  converts the response, if it has another form
 * @returns {Promise<import("@preact/signals-core").ReadonlySignal<RunToTags>>} rejects if the first
 *   request fails
 */
export async function watchTags(host, read = (json) => json) {
  let { lists } = host.generations.value;
  let numRequests = 0;
  let lastAnswered = 0; // number of the latest request that has a response
  const load = async () => {
    const requestNumber = ++numRequests;
    const response = await host.fetchJSON("tags");
    if (requestNumber < lastAnswered) return; // the response to a later request arrived first
    lastAnswered = requestNumber;
    tags.value = read(response);
  };
  const tags = signal(/** @type {RunToTags} */ ({}));
  await load();
  // The callback is also called at once, in case the tags changed during the first request.
  host.generations.subscribe(async (generations) => {
    if (generations.lists === lists) return;
    ({ lists } = generations);
    try {
      await load();
    } catch {
      // Try again after the next change of the generations. The shell shows that the server is
      // unreachable.
      lists = "";
    }
  });
  return tags;
}

/**
 * The closed groups of tags, which are kept in the URL. In the URL, "/" stands for the group with
 * the name "". The group named "/", of tags that start with "//", cannot be closed.
 * @param {Host} host
 * @returns {{ closed: ReadonlySet<string>, onToggle: (name: string, open: boolean) => void }}
 */
export function foldedGroups(host) {
  const read = () => new Set(parseLists(host.settings.value.closed).flat().map((name) => (name === "/" ? "" : name)));
  /** @param {string} name @param {boolean} open */
  const onToggle = (name, open) => {
    const closed = read(); // read it again: it may have changed since the tab was rendered
    if (open) closed.delete(name);
    else closed.add(name);
    host.settings.set("closed", formatLists([[...closed].map((group) => group || "/")]));
  };
  return { closed: read(), onToggle };
}

/**
 * The text to show in place of cards if there are no tags to show. It gives the reason.
 * @param {RunToTags} tags
 * @param {number} numRuns  number of runs to show
 * @param {import("./filter.js").Filter} filter  the filter for tags
 * @param {string} what  what the tab shows, in the plural: `images`
 */
export function whyNothing(tags, numRuns, filter, what) {
  if (numRuns === 0) return "No runs are selected. Check some in the run list, or change its filter.";
  const hasTags = Object.values(tags).some((list) => list.length > 0);
  if (filter.text !== "" && hasTags) return `No tag of the selected runs matches “${filter.text}”.`;
  return `The selected runs have no ${what}.`;
}
