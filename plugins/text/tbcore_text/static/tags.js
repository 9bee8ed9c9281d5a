/** The tags of each run, which the tab requests for its cards, for texts as well. */

import { signal } from "@preact/signals-core";

/** @typedef {import("tbcore/host.js").Host} Host */

/**
 * A host for the tab, and a signal with the latest tags that the tab received with it.
 * @param {Host} host
 */
export function withTags(host) {
  const tags = signal(/** @type {Record<string, string[]>} */ ({}));
  /** @type {Host["fetchJSON"]} */
  const fetchJSON = async (path, params) => {
    const response = await host.fetchJSON(path, params);
    if (path === "tags") tags.value = response;
    return response;
  };
  return { host: /** @type {Host} */ (Object.create(host, { fetchJSON: { value: fetchJSON } })), tags };
}
