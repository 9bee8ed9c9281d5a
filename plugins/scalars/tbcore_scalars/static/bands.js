/**
 * The bands that a chart draws for groups of runs. The module is loaded when runs are grouped.
 */

import { post, readColumns } from "tbcore/requests.js";
import { DASHES, colorForTag, nameOf, queryFor } from "./data-source.js";

/** @typedef {import("tbcore/chart.js").Band} Band */
/** @import { Host, Options, RunGroup, ShownBands, View } from "./types.js" */

/**
 * @typedef {{ group: string, num_runs: number, num_inside: number, reduced: boolean }} GroupEntry
 *   from the server
 */

/** Maps a spread to what a band covers, in words. */
const SPREADS = { range: "minimum to maximum", deviation: "± standard deviation (n − 1)", quartiles: "quartiles" };

/**
 * Fetches the bands of all groups of a chart.
 * @param {Host} host
 * @param {readonly { tag: string, groups: readonly RunGroup[] }[]} parts  the chart's tags, in the
 *   order of their dashes
 * @param {Options} options
 * @param {View | null} view
 * @param {number} pixels
 * @param {AbortSignal} signal
 * @returns {Promise<ShownBands>}
 */
export async function loadBands(host, parts, options, view, pixels, signal) {
  const found = await Promise.all(
    parts.map(async ({ tag, groups }, tagIndex) => {
      if (groups.length === 0) return [];
      const { view: _, ...query } = queryFor(tag, options, view, pixels);
      const runsInGroupOrder = Object.fromEntries(groups.map(({ name, runs }) => [name, runs.map((run) => run.name)]));
      const [from, to] = view ?? [null, null];
      const body = { ...query, from, to, spread: options.spread, groups: runsInGroupOrder };
      const { header, tables } = readColumns(await (await post(host, "bands", body, signal)).arrayBuffer());
      return header.groups.map((/** @type {GroupEntry} */ entry, /** @type {number} */ index) => {
        const { name, color } = /** @type {RunGroup} */ (groups.find((group) => group.name === entry.group));
        const { x, mean, low, high, count, nonfinite } = tables[index];
        /** @type {Band} */
        const band = {
          key: JSON.stringify([name, tag]),
          name: nameOf(name, tag, parts),
          color: colorForTag(color, tagIndex),
          dash: DASHES[tagIndex % DASHES.length],
          ...{ x, mean, low, high, count, nonfinite, numRuns: entry.num_runs, label: SPREADS[options.spread] },
        };
        return { band, numInside: entry.reduced ? entry.num_inside : 0 };
      });
    }),
  );
  const all = found.flat().filter(({ band }) => band.x.length > 0);
  const reduced = all.filter(({ numInside }) => numInside > 0);
  return {
    bands: all.map(({ band }) => band),
    numShown: reduced.reduce((sum, { band }) => sum + band.x.length, 0),
    numInside: reduced.reduce((sum, { numInside }) => sum + numInside, 0),
  };
}
